//! A turn that a coding CLI performs: it is started with the turn's request, given the team's tools as an MCP server, and
//! listened to until it ends.
//!
//! What it does is its own, by its own tools and permissions. Its move is what it posts by the team's tools; its words
//! move nothing. The conversation is its own too: its session's id is kept, so that the next turn goes on with it.

use std::ffi::OsString;
use std::path::Path;

use board::clock;
use board::run::{Lasts, Session};
use jiff::Timestamp;

use super::journal::Journal;
use super::{Go, Mind, Outcome, Thinker, With};
use crate::attempt;
use crate::clis::Known;
use crate::models::Agent;
use crate::process::{self, Spawn, SpawnError};

mod given;
mod heard;
mod lines;
mod listening;

use heard::{Heard, Judged, judge};

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
            tools: agent.tools.as_deref(),
            base_url: agent.base_url.as_deref(),
            key: agent.key.as_ref().map(|key| key.expose()),
            session: mind.session.as_ref().map(|session| session.id.as_str()),
            workspace: &workspace,
            files: &files_text,
            crew: &crew,
            writes: thinker.profile.writes,
        };
        given::write_files(&files, &agent.cli.files(&known))?;
        let prompt = self.prompt(mind.session.as_ref(), journal, mail, why_anew);
        let (output, mut printed) = lines::pipe()?;
        let (errors, mut complained) = lines::pipe()?;
        let spawn = Spawn {
            turn: &go.turn.at.turn,
            argv: agent.cli.argv(&known).into_iter().map(OsString::from).collect(),
            cwd: self.dir.to_path_buf(),
            env: self.env(agent.cli.environment(&known, |name| std::env::var_os(name).is_some())),
            stdin: Some(process::as_stdin(&prompt)?),
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
            thinker.lift(&agent.keys());
        }
        for tool in &heard.denied {
            go.diary.note(&format!("it may not use {tool}"));
        }
        if let (true, Some((until, why))) = (posted, heard.limit()) {
            thinker.tell_limit(&agent.account, until.map_or(Lasts::Unknown, Lasts::Until), why);
        }
        Ok(judge(&heard, posted, &agent.cli, &ended))
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
}
