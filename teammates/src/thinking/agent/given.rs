//! What a CLI is given for a turn: what it is asked, the team's tools, an environment and files.

use std::ffi::OsString;

use board::disk::Dir;
use board::run::Session;

use super::Under;
use crate::environment;
use crate::thinking::journal::Journal;
use crate::thinking::words;

/// Variables without which the team's tools do not find the board, or where to write.
const FOR_TOOLS: [&str; 5] = ["HOME", "XDG_STATE_HOME", "CREWBOARD_HOME", "TMPDIR", "RUST_LOG"];
/// What begins a program with an environment that is all said.
const ENV: &str = "/usr/bin/env";

impl Under<'_> {
    /// What it is asked. Where its conversation is new or was made shorter, it is told first who it is.
    pub(super) fn prompt(&self, session: Option<&Session>, journal: &Journal, mail: Option<&str>, why_anew: Option<&str>) -> String {
        let Under { thinker, go, .. } = self;
        let before = why_anew.or(go.before);
        let identity = session
            .is_none_or(|session| session.compacted)
            .then(|| format!("{}\n\n{}\n\n{}", thinker.identity().text(), words::BY_SERVER, words::system(&thinker.profile, self.dir)));
        let anew = before.map(|why| words::begun_anew(why, journal));
        let parts = [identity, anew, Some(go.turn.request.clone()), go.turn.index.clone(), mail.map(str::to_owned)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    /// The program that is the team's tools. It is given what it needs of the environment and nothing else, however much
    /// the CLI has and passes on.
    pub(super) fn crew(&self) -> Vec<String> {
        let Under { thinker, go, .. } = self;
        let (place, at) = (thinker.workplace.place(), &go.turn.at);
        let inherited = FOR_TOOLS.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let own = [
            ("CREW_BOARD", Some(place.tasks().display().to_string())),
            ("CREW_AS", Some(at.name.to_string())),
            (environment::TURN, Some(at.turn.clone())),
            ("CREW_TASK_ID", at.task.as_ref().map(ToString::to_string)),
            // Somebody waits for the end of the turn: a post does not end it by itself.
            ("CREW_LOG_DIR", Some(go.turn.logs.path().display().to_string())),
        ];
        let variables = inherited.chain(own.into_iter().filter_map(|(name, value)| Some((name, value?)))).map(|(name, value)| format!("{name}={value}"));
        let program = thinker.thinking.program.display().to_string();
        let arguments = [program, "-C".into(), place.project().display().to_string(), "mcp".into(), "--as".into(), at.name.to_string()];
        [ENV.to_owned(), "-i".to_owned()].into_iter().chain(variables).chain(arguments).collect()
    }

    pub(super) fn env(&self, described: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
        let Under { thinker, go, agent, .. } = self;
        let at = &go.turn.at;
        let mut all: Vec<(OsString, OsString)> = agent.kept.iter().cloned().chain(described).map(|(name, value)| (name.into(), value.into())).collect();
        all.push(("CREW_BOARD".into(), thinker.workplace.place().tasks().into()));
        all.push(("CREW_AS".into(), at.name.as_str().into()));
        all.push(("CREW_LOG_DIR".into(), go.turn.logs.path().into()));
        all.extend(at.task.as_ref().map(|task| ("CREW_TASK_ID".into(), task.as_str().into())));
        all
    }

    /// Where its files are: the same in each of a teammate's turns, for some keep their conversations beside them.
    pub(super) fn files(&self, number: usize) -> board::Result<Dir> {
        let state = self.thinker.workplace.place().state().join("clis");
        Dir::make(&state, 0o700)?;
        Dir::make(&state.join(format!("{}.{}.{number}", self.thinker.name(), self.agent.runner)), 0o700)
    }
}

pub(super) fn write_files(dir: &Dir, files: &[(String, String)]) -> board::Result<()> {
    for (name, text) in files {
        match name.split_once('/') {
            Some((below, name)) => Dir::make(&dir.path().join(below), 0o700)?.replace(name, text.as_bytes(), 0o600, false)?,
            None => dir.replace(name, text.as_bytes(), 0o600, false)?,
        }
    }
    Ok(())
}
