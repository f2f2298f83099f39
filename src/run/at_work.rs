//! Whether a run is at work: its supervisor and its daemon each hold a lock for their lives.

use std::time::Duration;

use board::alive::Process;
use board::lock::{Held, LockFile, Mode};
use board::run::Run;

/// Whoever only looks whether a lock is held has it for a moment.
const MOMENT: Duration = Duration::from_millis(250);

/// A process of which a run has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It begins the daemon, and begins it again.
    Supervisor,
    /// The run's loop.
    Daemon,
}

impl Part {
    /// The file of its lock.
    pub(crate) fn lock(self) -> &'static str {
        match self {
            Part::Supervisor => "supervisor.lock",
            Part::Daemon => "daemon.lock",
        }
    }

    /// Takes its place for the life of this process. `None`: another process lives that has it.
    pub(crate) fn hold(self, run: &Run) -> board::Result<Option<Held>> {
        match LockFile::open(run.dir(), self.lock())?.lock(Mode::Exclusive, MOMENT) {
            Err(board::Error::LockTimeout { .. }) => Ok(None),
            held => held.map(Some),
        }
    }

    /// Whether a process of this kind lives.
    pub(crate) fn lives(self, run: &Run) -> board::Result<bool> {
        Ok(match LockFile::open_existing(run.dir(), self.lock())? {
            Some(lock) => lock.try_lock(Mode::Shared)?.is_none(),
            None => false,
        })
    }
}

/// Whether a supervisor or a daemon of this project lives.
pub(crate) fn is_at_work(run: &Run) -> board::Result<bool> {
    Ok(Part::Supervisor.lives(run)? || Part::Daemon.lives(run)?)
}

/// Which process the supervisor is, for whoever waits for its end. It may have died since.
const SUPERVISOR: &str = "supervisor.process";

/// Says that this process is the supervisor, whose place it has taken.
pub(crate) fn sign_supervisor(run: &Run) -> board::Result<()> {
    run.dir().replace(SUPERVISOR, serde_json::json!(Process::current()).to_string().as_bytes(), 0o600, false)
}

/// The last one that has said so; `None`: that is not known.
pub(crate) fn supervisor(run: &Run) -> Option<Process> {
    serde_json::from_slice(&run.dir().read(SUPERVISOR).ok()??).ok()
}
