//! A turn that a coding CLI performs: it is started with the turn's request, given the team's tools as an MCP server, and
//! listened to until it ends.
//!
//! What it does is its own, by its own tools and permissions. Its move is what it posts by the team's tools; its words
//! move nothing. The conversation is its own too: its session's id is kept, so that the next turn goes on with it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use board::clock;
use board::disk::Dir;
use board::run::Session;
use jiff::Timestamp;
use tokio::time::Instant as Moment;

use super::heard::{Heard, Judged, judge};
use super::journal::Journal;
use super::lines::{self, Lines};
use super::{Go, Mind, Outcome, Thinker, With, words};
use crate::attempt;
use crate::clis::Known;
use crate::clis::events::{self, Event};
use crate::environment;
use crate::models::{Agent, Spending};
use crate::process::{Ended, Ending, Spawn, SpawnError};
use crate::provider::{self, Delta, Usage};
use crate::tools::crew::At;

/// Between SIGTERM and SIGKILL: a CLI ends its own tools meanwhile.
const GRACE: Duration = Duration::from_secs(3);
/// How long it may take to end by itself after its post.
const AFTER_POST: Duration = Duration::from_secs(15);
/// How often it is looked whether there is a post, besides when a tool's result comes.
const LOOK: Duration = Duration::from_secs(2);
/// How long what it printed is waited for when it has ended: what it left running may hold its output open.
const LAST_LINES: Duration = Duration::from_millis(500);
/// Variables without which the team's tools do not find the board, or where to write.
const FOR_TOOLS: [&str; 5] = ["HOME", "XDG_STATE_HOME", "CREWBOARD_HOME", "TMPDIR", "RUST_LOG"];
/// What begins a program with an environment that is all said.
const ENV: &str = "/usr/bin/env";

/// A turn under way.
struct Under<'a> {
    thinker: &'a Thinker,
    go: &'a Go<'a>,
    agent: &'a Agent,
    dir: &'a Path,
    began: Timestamp,
    /// Whose conversations are kept for the next process.
    keeps: bool,
}

impl Thinker {
    /// Performs a turn by a CLI.
    pub(super) async fn with_agent(&self, go: &Go<'_>, agent: &Agent, mind: &mut Mind, journal: &mut Journal) -> With {
        let dir = match go.turn.workspace.canonicalize() {
            Ok(dir) => dir,
            Err(e) => return With::Done(Outcome::Failed(format!("the workspace cannot be opened: {e}"))),
        };
        if let Some(spent) = self.overspent() {
            return With::Done(Outcome::CutShort(spent));
        }
        let under = Under { thinker: self, go, agent, dir: &dir, began: clock::now(), keeps: mind.number == 0 };
        if mind.session.is_none() && go.may_resume && under.keeps {
            mind.session = self.run.sessions.last(self.name().as_str(), &agent.runner, &dir).unwrap_or_else(|e| {
                tracing::warn!("{e}");
                None
            });
        }
        mind.session = mind.session.take().filter(|session| session.dir == dir);
        let mail = self.mail.take(&go.turn.at.turn);
        let mut why_anew = None;
        loop {
            let had_one = mind.session.is_some();
            match under.perform(mind, journal, mail.as_deref(), why_anew.as_deref()).await {
                Ok(Judged::Posted) => return With::Done(Outcome::Posted),
                Ok(Judged::Silent(how)) => return With::Done(Outcome::Silent(how)),
                Ok(Judged::Failed(why)) => return With::Done(Outcome::Failed(why)),
                Ok(Judged::Stopped { whole_account, lasts, why }) => {
                    let [account, model] = agent.keys();
                    return With::Stopped { key: if whole_account { account } else { model }, lasts, why };
                }
                // Once: a conversation that is new cannot be too long, nor gone.
                Ok(Judged::Anew(why)) if had_one && why_anew.is_none() => {
                    go.diary.note(&format!("its conversation is not gone on with: {why}"));
                    mind.session = None;
                    under.keep(None);
                    journal.begin_anew();
                    why_anew = Some(why);
                }
                Ok(Judged::Anew(why)) => return With::Done(Outcome::Failed(why)),
                Err(e) => return With::Done(Outcome::Failed(e.to_string())),
            }
        }
    }
}

impl Under<'_> {
    async fn perform(&self, mind: &mut Mind, journal: &mut Journal, mail: Option<&str>, why_anew: Option<&str>) -> Result<Judged, Box<dyn std::error::Error>> {
        let Under { thinker, go, agent, .. } = self;
        let files = self.files(mind.number)?;
        let (workspace, files_text) = (self.dir.to_string_lossy(), files.path().to_string_lossy().into_owned());
        let crew = self.crew();
        let known = Known {
            model: agent.model.as_deref(),
            effort: agent.effort.as_deref(),
            permission_mode: agent.permission_mode.as_deref(),
            base_url: agent.base_url.as_deref(),
            key: agent.key.as_ref().map(|key| key.expose()),
            session: mind.session.as_ref().map(|session| session.id.as_str()),
            workspace: &workspace,
            files: &files_text,
            crew: &crew,
            writes: thinker.profile.writes,
        };
        write_files(&files, &agent.cli.files(&known))?;
        let prompt = self.prompt(mind.session.as_ref(), journal, mail, why_anew);
        let (output, mut printed) = lines::pipe()?;
        let (errors, mut complained) = lines::pipe()?;
        let spawn = Spawn {
            turn: &go.turn.at.turn,
            argv: agent.cli.argv(&known).into_iter().map(OsString::from).collect(),
            cwd: self.dir.to_path_buf(),
            env: self.env(agent.cli.environment(&known, |name| std::env::var_os(name).is_some())),
            stdin: Some(as_file(&prompt)?),
            output: &output,
            errors: Some(&errors),
            group_record: Some(thinker.seat.groups()),
        };
        thinker.say(Some(&agent.runner));
        let running = match thinker.workplace.children().spawn(spawn) {
            Ok(running) => running,
            Err(e) => return Ok(Judged::not_started(&agent.cli, &e, matches!(e, SpawnError::Program { .. }))),
        };
        drop((output, errors));
        let mut heard = Heard::default();
        let ended = self.listen(running, &mut printed, &mut complained, &mut heard, mind, journal).await;
        attempt::end_leftovers(&thinker.workplace, &thinker.seat, &go.turn.at.turn, false).await;
        let posted = self.has_post();
        if posted || heard.is_answered() {
            self.lift();
        }
        for tool in &heard.denied {
            go.diary.note(&format!("it may not use {tool}"));
        }
        if let (true, Some(why)) = (posted, heard.what_stops_it()) {
            self.limited_after_its_post(&why);
        }
        Ok(judge(&heard, posted, &agent.cli, &ended))
    }

    /// Listens until it has ended.
    async fn listen(
        &self,
        running: crate::process::Running,
        printed: &mut Lines,
        complained: &mut Lines,
        heard: &mut Heard,
        mind: &mut Mind,
        journal: &mut Journal,
    ) -> Result<Ended, String> {
        let (stop, stopped) = provider::cancel();
        let cancel = async {
            tokio::select! {
                () = self.go.cancel.cancelled() => {}
                () = stopped.cancelled() => {}
            }
        };
        let ending = Ending { timeout: None, grace: GRACE, keep: false };
        let mut waiting = std::pin::pin!(running.wait(ending, cancel));
        let mut posted: Option<Moment> = None;
        let mut ended: Option<Result<Ended, String>> = None;
        // Its streams, as long as somebody may still write to them.
        let (mut prints, mut complains) = (true, true);
        while ended.is_none() || prints || complains {
            let until = match (&ended, posted) {
                (Some(_), _) => Moment::now() + LAST_LINES,
                (None, Some(posted)) => posted + AFTER_POST,
                (None, None) => Moment::now() + LOOK,
            };
            let line = tokio::select! {
                line = printed.next(), if prints => {
                    prints = line.is_some();
                    line
                }
                line = complained.next(), if complains => {
                    complains = line.is_some();
                    line.map(|line| {
                        let line = String::from_utf8_lossy(&line).into_owned();
                        heard.complained(&line);
                        events::of_stderr(&line)
                    })
                }
                how = &mut waiting, if ended.is_none() => {
                    ended = Some(how.map_err(|e| e.to_string()));
                    None
                }
                () = tokio::time::sleep_until(until) => {
                    match (&ended, posted) {
                        // What it left running holds its streams open.
                        (Some(_), _) => break,
                        (None, None) if self.has_post() => posted = Some(Moment::now()),
                        (None, None) => {}
                        (None, Some(_)) => {
                            stop.cancel();
                            posted = Some(Moment::now());
                        }
                    }
                    None
                }
            };
            let Some(line) = line else { continue };
            for event in events::read(&self.agent.cli.events, &line) {
                if matches!(&event, Event::Result { .. }) && posted.is_none() && self.has_post() {
                    posted = Some(Moment::now());
                }
                self.heard(event, heard, mind, journal);
            }
            if heard.cannot_go_on() {
                stop.cancel();
            }
        }
        ended.unwrap_or_else(|| Err("it is not known how it ended".into()))
    }

    fn heard(&self, event: Event, heard: &mut Heard, mind: &mut Mind, journal: &mut Journal) {
        let Under { thinker, go, agent, .. } = self;
        match &event {
            Event::Session(id) => {
                let goes_on = mind.session.as_ref().is_some_and(|session| session.id == *id);
                if !goes_on {
                    mind.session = Some(Session { id: id.clone(), dir: self.dir.to_path_buf(), compacted: false, counted: board::run::Counted::default() });
                } else if !heard.began()
                    && let Some(session) = &mut mind.session
                {
                    // It was told again who it is with this turn.
                    session.compacted = false;
                }
                self.keep(mind.session.as_ref());
            }
            Event::Compacted => {
                go.diary.note("its conversation was made shorter");
                if let Some(session) = &mut mind.session {
                    session.compacted = true;
                }
                self.keep(mind.session.as_ref());
            }
            Event::Said(text) => {
                go.diary.delta(Delta::Text(text));
                go.diary.delta(Delta::Text("\n"));
            }
            Event::Calls { name, input, .. } => {
                thinker.say(Some(name));
                go.diary.call(name, input);
            }
            Event::Result { id, text, is_error } => {
                thinker.say(Some(&agent.runner));
                if let Some(call) = heard.call(id) {
                    go.diary.result(&call.name, text, *is_error);
                    if !is_error && let Some(own) = agent.cli.own_tool(call) {
                        journal.add(&own, text);
                    }
                }
            }
            Event::Used(used) => {
                let before = mind.session.as_ref().map(|session| session.counted).unwrap_or_default();
                let (new, counted) = used.after(before);
                if let Some(session) = &mut mind.session {
                    session.counted = counted;
                }
                self.keep(mind.session.as_ref());
                self.spent(&new, heard.since);
            }
            Event::Failed { text, .. } if !text.is_empty() => go.diary.note(text),
            _ => {}
        }
        heard.add(event);
    }

    fn spent(&self, used: &events::Used, began: Instant) {
        let Under { thinker, go, agent, .. } = self;
        let [input, output, cache_read, cache_write] = used.tokens;
        let usage = Usage { input, output, cache_read, cache_write };
        if usage == Usage::default() && used.micro_usd.is_none() {
            return;
        }
        let At { name, task, turn, .. } = &go.turn.at;
        let spending = Spending {
            ledger: &thinker.ledger,
            prices: &thinker.thinking.prices,
            paid: (*agent).into(),
            teammate: name.as_str(),
            task: task.as_ref().map(board::task_id::TaskId::as_str),
            turn,
        };
        match used.micro_usd {
            #[allow(clippy::cast_precision_loss)] // exact up to 2^53
            Some(micro_usd) => spending.put_down_as(&usage, Some(micro_usd as f64 / 1e6), began),
            None => spending.put_down(&usage, began),
        }
    }

    /// What it is asked. Where its conversation is new or was made shorter, it is told first who it is.
    fn prompt(&self, session: Option<&Session>, journal: &Journal, mail: Option<&str>, why_anew: Option<&str>) -> String {
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
    fn crew(&self) -> Vec<String> {
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

    fn env(&self, described: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
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
    fn files(&self, number: usize) -> board::Result<Dir> {
        let state = self.thinker.workplace.place().state().join("clis");
        Dir::make(&state, 0o700)?;
        Dir::make(&state.join(format!("{}.{}.{number}", self.thinker.name(), self.agent.runner)), 0o700)
    }

    fn has_post(&self) -> bool {
        let thread = &self.thinker.run.thread;
        thread.of_turn(&self.go.turn.at.turn, self.began).is_ok_and(|post| post.is_some())
    }

    fn keep(&self, session: Option<&Session>) {
        let Under { thinker, agent, .. } = self;
        if self.keeps
            && let Err(e) = thinker.run.sessions.set(thinker.name().as_str(), &agent.runner, session)
        {
            tracing::warn!("{e}");
        }
    }

    fn lift(&self) {
        let keys = self.agent.keys();
        if let Err(e) = self.thinker.run.limits.lift(&keys.each_ref().map(String::as_str)) {
            tracing::warn!("{e}");
        }
    }

    /// A limit that came when the turn had its post already: others of the account need not find out by themselves.
    fn limited_after_its_post(&self, (until, why): &(Option<Timestamp>, String)) {
        let [account, _] = self.agent.keys();
        let lasts = until.map_or(board::run::Lasts::Unknown, board::run::Lasts::Until);
        if let Err(e) = self.thinker.run.limits.set(&account, lasts, why, clock::now()) {
            tracing::warn!("{e}");
        }
    }
}

fn write_files(dir: &Dir, files: &[(String, String)]) -> board::Result<()> {
    for (name, text) in files {
        match name.split_once('/') {
            Some((below, name)) => Dir::make(&dir.path().join(below), 0o700)?.replace(name, text.as_bytes(), 0o600, false)?,
            None => dir.replace(name, text.as_bytes(), 0o600, false)?,
        }
    }
    Ok(())
}

fn as_file(text: &str) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
