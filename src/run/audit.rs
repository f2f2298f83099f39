//! The audit of a `done`, as the daemon sees it: a process of its own, whose verdict comes as a file.

mod judge;
mod model;

use std::process::Child;
use std::sync::Arc;

use board::alive::Process;
use board::disk::Dir;
use board::post::{AUDIT, Decision};
use board::run::{Audit, Run};
use board::thread::Draft;
use board::{Board, Result};
use teammates::{detach, trial};

use crate::exit::{Failure, start};
use crate::machine;
use crate::rules::audit::Verdict;
use crate::run::PATIENCE;

pub(crate) use judge::judge;

/// An audit that is under way.
#[derive(Debug)]
pub(super) struct Auditing {
    /// The post that is audited.
    pub(super) done: u64,
    process: Child,
    dir: Arc<Dir>,
    id: String,
}

impl Auditing {
    /// Begins one.
    pub(super) fn begin(board: &Board, done: u64, id: String) -> Result<Auditing, Failure> {
        let dir = Arc::new(Dir::make(&board.place().state().join("logs/audits"), 0o700)?);
        let log = dir.open_append(&format!("{id}.log"), 0o600)?;
        let arguments = ["-C".into(), board.place().project().into(), "start".into(), "--audit".into(), id.as_str().into()];
        let process = teammates::detach::start(&machine::program().map_err(start)?, &arguments, &log).map_err(start)?;
        Ok(Auditing { done, process, dir, id })
    }

    /// What came of it; `None`: it goes on. An audit that fails has not accepted.
    pub(super) fn verdict(&mut self) -> Option<Verdict> {
        let failed = |why: String| Verdict {
            accept: false,
            gap: format!("the audit has failed: {why}; its log is {}", self.dir.join(&format!("{}.log", self.id)).display()),
        };
        match self.process.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) if !status.success() => {
                trial::end_left(&self.id);
                Some(failed(format!("it ended with {status}")))
            }
            Ok(Some(status)) => Some(match self.dir.read(&verdict_file(&self.id)) {
                Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|e| failed(e.to_string())),
                Ok(None) => failed(format!("it ended with {status}")),
                Err(e) => failed(e.to_string()),
            }),
            Err(e) => Some(failed(e.to_string())),
        }
    }

    /// What is kept of it, so that it can be ended by whoever comes after.
    pub(super) fn record(&self) -> Audit {
        Audit { id: self.id.clone(), process: Process::of(self.process.id()) }
    }

    /// Ends it without a verdict.
    pub(super) fn stop(&mut self) {
        // By the handle: its process may be a stranger's when that has ended and nobody has waited for it.
        let _ = self.process.kill();
        let _ = self.process.wait();
        trial::end_left(&self.id);
    }
}

/// Ends an audit that an earlier process has begun, and all that it runs.
pub(crate) fn end_left(audit: Option<&Audit>) {
    let Some(audit) = audit else { return };
    if let Some(Err(e)) = audit.process.as_ref().map(|process| detach::end(process, detach::Force::Kill)) {
        tracing::warn!("the audit: {e}");
    }
    trial::end_left(&audit.id);
}

fn verdict_file(id: &str) -> String {
    format!("{id}.verdict.json")
}

/// Says the verdict in the thread, unless there is one.
pub(super) fn post(run: &Run, done: u64, verdict: &Verdict) -> Result<()> {
    let mut thread = run.thread.lock(PATIENCE)?;
    if thread.since(done)?.iter().any(|post| post.is_of_audit() && post.re == Some(done)) {
        return Ok(());
    }
    let (decision, text) = match verdict.accept {
        true => (Decision::Approved, "accepted".to_owned()),
        false => (Decision::Denied, verdict.gap.clone()),
    };
    let text = text.chars().take(board::thread::LONGEST_TEXT / 4).collect();
    thread.append(Draft { from: AUDIT.into(), text, re: Some(done), decision: Some(decision), ..Draft::default() }).map(drop)
}
