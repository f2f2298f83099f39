//! How the run stands, as the daemon keeps it: its state, and its end.

use board::alive::Process;
use board::post::Post;
use board::run::{Reason, RunState, State};
use board::{Result, clock};

use super::{After, Daemon, NOT_ARMED};
use crate::arming;
use crate::exit::Failure;
use crate::rules::boundary::{Request, SPEND_BUDGET};
use crate::run::{crewing, requests};

impl Daemon {
    /// Ends the run, unless a person has said something meanwhile.
    pub(super) fn end(&mut self, state: RunState, code: &str, who: Option<String>, text: String, request: Option<Request>) -> Result<After, Failure> {
        let applied = self.window.last();
        let reason = Reason { code: code.to_owned(), who, text, at: clock::now(), until: None };
        self.change_state(|kept| {
            kept.applied = applied;
            kept.daemon = None;
            kept.state = state;
            kept.reason = Some(reason.clone());
        })?;
        if request.is_none() && code != NOT_ARMED && self.hears_more()? {
            self.change_state(|kept| {
                kept.go_on(applied);
                kept.daemon = Some(Process::current().clone());
            })?;
            return Ok(After::Again);
        }
        tracing::info!("{state}: {}", reason.text);
        self.tell("run", serde_json::json!({ "state": state.as_str(), "code": code, "text": reason.text }));
        if request.is_some() {
            requests::withdraw(self.run.dir())?;
        }
        self.close_untaken()?;
        crewing::dismiss(&self.board, &crewing::of_run(&self.board, &self.state.hired), state == RunState::Stopped || code == SPEND_BUDGET);
        Ok(After::End)
    }

    /// Ends the run where what the repository's files would run is not allowed any more: somebody has changed it.
    pub(super) fn end_unless_armed(&mut self) -> Result<Option<After>, Failure> {
        match arming::check(&mut self.board) {
            Err(Failure::Refused { rule: "not-armed", message }) => self.end_not_armed(&message).map(Some),
            checked => checked.map(|()| None),
        }
    }

    pub(super) fn end_not_armed(&mut self, message: &str) -> Result<After, Failure> {
        self.end(RunState::Paused, NOT_ARMED, None, format!("{message}; then `crew start`"), None)
    }

    /// Whether a person has said something since it last looked: whoever does relies on a run that is active.
    fn hears_more(&self) -> Result<bool> {
        let is_word = |post: &Post| post.is_of_user() || post.decision.is_some();
        Ok(self.run.thread.since(self.window.last())?.iter().any(is_word) || !self.run.inbox()?.is_empty())
    }

    pub(super) fn enter_state(&mut self, state: RunState, reason: Option<Reason>) -> Result<()> {
        let same_words = self.state.reason.as_ref().map(|reason| &reason.text) == reason.as_ref().map(|reason| &reason.text);
        if self.state.state == state && same_words {
            return Ok(());
        }
        self.change_state(|kept| (kept.state, kept.reason) = (state, reason))
    }

    /// Says that the effects of all that was read are there.
    pub(super) fn applied(&mut self) -> Result<()> {
        let last = self.window.last();
        if self.state.applied == last {
            return Ok(());
        }
        self.change_state(|state| state.applied = last)
    }

    pub(super) fn change_state(&mut self, change: impl FnOnce(&mut State)) -> Result<()> {
        self.state = self.run.state.update(|state| {
            change(state);
            state.clone()
        })?;
        Ok(())
    }
}
