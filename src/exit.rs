//! How the command ends: its exit codes, and the one place that turns an error into a code, words and a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use board::Error;

use crate::view::escape;

/// An exit code. Scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Everything asked for was done. A reader that closed its pipe early has what it wanted, too.
    pub(crate) const DONE: Exit = Exit(0);
    /// The work failed: a task, a command, the disk.
    pub(crate) const FAILED: Exit = Exit(1);
    /// The command line makes no sense, or there is no board to work on.
    pub(crate) const USAGE: Exit = Exit(2);
    /// A rule refused; nothing was changed.
    pub(crate) const REFUSED: Exit = Exit(4);
    /// A lock was not had in time.
    pub(crate) const LOCKED: Exit = Exit(5);
    /// There is nothing to do.
    pub(crate) const NOTHING_TO_DO: Exit = Exit(6);
    /// Interrupted by SIGINT or SIGTERM.
    pub(crate) const INTERRUPTED: Exit = Exit(130);
}

/// What each of them means, in words.
const MEANINGS: [(Exit, &str); 7] = [
    (Exit::DONE, "done"),
    (Exit::FAILED, "the work failed"),
    (Exit::USAGE, "the command line makes no sense, or there is no board"),
    (Exit::REFUSED, "refused by a rule: nothing was changed"),
    (Exit::LOCKED, "a lock was not had in time"),
    (Exit::NOTHING_TO_DO, "nothing to do (next, claim, exec, thread next)"),
    (Exit::INTERRUPTED, "interrupted"),
];

/// What `crew --help` says at its end: how it ends, and what it takes from its environment.
pub(crate) fn help() -> String {
    let codes: String = MEANINGS.iter().map(|(exit, meaning)| format!("  {:>3}  {meaning}\n", exit.0)).collect();
    format!("Exit codes:\n{codes}\n{ENVIRONMENT}")
}

const ENVIRONMENT: &str = "\
Environment:
  CREW_BOARD      the board, as the path of its .tasks directory
  CREW_AS         the default of --as
  CREW_TURN       the default of --turn, inside a task
  CREW_NO_NOTIFY  1: look again now and then instead of relying on file events
  CREWBOARD_HOME  where logs and inboxes are kept (default: $XDG_STATE_HOME/crewboard)
  CREW_PASS_ENV   NAME,NAME: variables that commands get though they look like secrets
  NO_COLOR        1: no colours";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.0)
    }
}

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The board says so.
    Board(Error),
    /// The command line makes no sense.
    Usage(String),
    /// A rule refused.
    Refused {
        /// The rule's name, for scripts.
        rule: &'static str,
        /// What happened, to what, and the way on.
        message: String,
    },
    /// Something that the command needs failed.
    Failed(String),
    /// The output could not be written.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Board(error)
    }
}

/// For writing output only; other failures say what they did.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// Something that a command needs could not be begun: a process, a runtime, a signal handler.
pub(crate) fn start(error: io::Error) -> Failure {
    Failure::Failed(format!("cannot begin: {error}"))
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Failure::Board(Error::Io { .. }) | Failure::Failed(_) => Exit::FAILED,
            Failure::Board(Error::LockTimeout { .. }) => Exit::LOCKED,
            Failure::Board(Error::NoBoard(_)) | Failure::Usage(_) => Exit::USAGE,
            Failure::Board(_) | Failure::Refused { .. } => Exit::REFUSED,
            Failure::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Exit::DONE,
            Failure::Output(_) => Exit::FAILED,
        }
    }

    /// The name of the rule that refused.
    fn rule(&self) -> Option<&'static str> {
        match self {
            Failure::Board(error) => match error {
                Error::Refused(refusal) => Some(refusal.rule.name()),
                Error::NotATask { .. } => Some(board::Rule::NotValid.name()),
                Error::NoSuchTask(_) => Some(board::Rule::UnknownId.name()),
                Error::NewerFormat { .. } => Some("newer-format"),
                Error::NoBoard(_) => Some("no-board"),
                Error::Name(_) => Some("bad-name"),
                Error::NameTaken { .. } => Some("name-taken"),
                Error::LockTimeout { .. } => Some("lock"),
                Error::Io { .. } => None,
            },
            Failure::Refused { rule, .. } => Some(rule),
            Failure::Usage(_) => Some("usage"),
            Failure::Failed(_) | Failure::Output(_) => None,
        }
    }

    /// What happened, in words.
    pub(crate) fn message(&self) -> String {
        match self {
            Failure::Board(error) => error.to_string(),
            Failure::Usage(message) | Failure::Failed(message) => message.clone(),
            Failure::Refused { rule, message } => format!("{message} [{rule}]"),
            Failure::Output(e) => format!("cannot write the output: {e}"),
        }
    }

    /// What to do next, where the message does not say it.
    fn hint(&self) -> Option<&'static str> {
        match self {
            Failure::Board(Error::NotATask { .. }) => Some("mend the file with an editor; `crew doctor` lists every such file"),
            Failure::Board(Error::Io { source, .. }) | Failure::Output(source) => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("make room on the disk and do it again; nothing was lost"),
                io::ErrorKind::ReadOnlyFilesystem => Some("the disk is mounted read-only: the board can be looked at, not changed"),
                io::ErrorKind::PermissionDenied => Some("`ls -ld` shows whose it is and who may write there"),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Says on stderr why a command failed, and with which code it ends.
pub(crate) fn report(failure: &Failure, json: bool) -> Exit {
    let exit = failure.exit();
    if exit != Exit::DONE {
        let (message, hint) = (failure.message(), failure.hint());
        // Nobody to tell: stderr is closed.
        let _ = match json {
            true => writeln!(io::stderr(), "{}", as_json(&message, failure.rule(), hint)),
            false => writeln!(io::stderr(), "crew: {}{}", escape::block(&message), hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default()),
        };
    }
    exit
}

/// `{"error":…,"rule":…}`, with `"hint"` where there is one.
fn as_json(message: &str, rule: Option<&str>, hint: Option<&str>) -> String {
    let mut object = serde_json::json!({ "error": message, "rule": rule });
    if let Some(hint) = hint {
        object["hint"] = hint.into();
    }
    escape::json(object.to_string())
}
