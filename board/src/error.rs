//! What can go wrong on disk, and what the rules refuse.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::document::Problem;
use crate::name::NameError;
use crate::task_id::TaskId;

/// The result of an operation on the board.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on the board did not happen. Every variant leaves the board as it was.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused: the action, the path and its reason.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb: `read`, `create`, `lock` …
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A rule of the board refused the operation.
    #[error("{0}")]
    Refused(Refusal),
    /// The file is there, but it is no valid task.
    #[error("{file} is no valid task: {problem}")]
    NotATask {
        /// The file's name in `.tasks/`.
        file: String,
        /// What is wrong with it, and where.
        problem: Problem,
    },
    /// No file of that id in `.tasks/`.
    #[error("there is no task {0}; `crew ls` lists the tasks")]
    NoSuchTask(TaskId),
    /// A lock was not had in the time that was allowed.
    #[error(
        "the lock {} was not free within {} s{}; end the process that holds it, or try again",
        .path.display(), .waited.as_secs(), .holder.as_deref().map(|h| format!(" (held by {h})")).unwrap_or_default()
    )]
    LockTimeout {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
        /// Who holds it, where that could be found out.
        holder: Option<String>,
    },
    /// The board was written by a newer crewboard than this one.
    #[error("{} says format {found}, and this crewboard knows {known}: it only reads this board; update crewboard to change it", .path.display())]
    NewerFormat {
        /// The file that says so.
        path: PathBuf,
        /// The format found.
        found: u64,
        /// The newest format known here.
        known: u64,
    },
    /// There is no `.tasks/` here or above.
    #[error("there is no .tasks/ in {} or above it; `crew init` makes one", .0.display())]
    NoBoard(PathBuf),
    /// A name or an id that could leave its directory, or that is reserved.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A teammate of that name lives already.
    #[error("a teammate named {name} is already at work ({holder}); `crew team` shows it, `crew shutdown {name}` ends it")]
    NameTaken {
        /// The name.
        name: String,
        /// The process that has it.
        holder: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>, source: impl Into<io::Error>) -> Self {
        Error::Io { action, path: path.as_ref().to_path_buf(), source: source.into() }
    }

    /// The kind of the system's answer, where this is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether a rule refused (as opposed to something being broken).
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Refused(_) | Error::NoSuchTask(_) | Error::Name(_) | Error::NameTaken { .. } | Error::NotATask { .. })
    }
}

/// A rule's no: which rule, about which task, in words that say what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The rule that refused.
    pub rule: Rule,
    /// The task, where one is concerned.
    pub task: Option<TaskId>,
    /// What happened and the way on.
    pub message: String,
}

impl Refusal {
    pub(crate) fn of(rule: Rule, task: &TaskId, message: impl Into<String>) -> Error {
        Error::Refused(Refusal { rule, task: Some(task.clone()), message: message.into() })
    }

    pub(crate) fn board(rule: Rule, message: impl Into<String>) -> Error {
        Error::Refused(Refusal { rule, task: None, message: message.into() })
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.task {
            Some(task) => write!(f, "task {task}: {} [{}]", self.message, self.rule.name()),
            None => write!(f, "{} [{}]", self.message, self.rule.name()),
        }
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The rules that can refuse, by the names that messages print.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule { $($(#[$doc])* $variant,)* }

        impl Rule {
            /// The rule's stable name, as printed in messages and `--json` errors.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$variant => $name,)* }
            }
        }
    };
}

rules! {
    /// The status does not allow this transition.
    IllegalTransition = "illegal-transition",
    /// Somebody else holds the task.
    OneHolder = "one-holder",
    /// The turn that the writer names is no longer the claim's.
    TurnOver = "turn-over",
    /// A turn id is needed, since an earlier turn of that name was lost.
    TurnNeeded = "turn-needed",
    /// An unfinished task stands in the way.
    Blocked = "blocked",
    /// The task is dispatched to another teammate.
    Dispatched = "dispatched",
    /// The task waits for an answer or a time.
    Parked = "parked",
    /// The teammate's tier is too low.
    Tier = "tier",
    /// The teammate has another role.
    Role = "role",
    /// The teammate lacks a capability.
    Needs = "needs",
    /// A task with a command is for command teammates, one without is not for one that has no command.
    Runner = "runner",
    /// The teammate handed this task off to anybody else.
    HandedOff = "handed-off",
    /// Its last attempt was cut short: for a minute it is left to the teammate that had it.
    Left = "left",
    /// The teammate already holds as many tasks as it may.
    OneClaim = "one-claim",
    /// The file is no valid task, or was not yet written to its end.
    NotValid = "not-valid",
    /// An edge to itself.
    SelfEdge = "self-edge",
    /// The edge would close a cycle.
    Cycle = "cycle",
    /// An edge to a task that does not exist.
    UnknownId = "unknown-id",
    /// A task of that id exists (or existed).
    IdTaken = "id-taken",
    /// `completed` is left only with a reason.
    ReasonNeeded = "reason-needed",
    /// The writer holds no turn.
    NoTurn = "no-turn",
    /// The turn has its post.
    SecondPost = "second-post",
    /// The turn accepts other kinds of post.
    NotAccepted = "not-accepted",
    /// What was asked has its answer.
    Answered = "answered",
    /// The value is not what the key takes.
    BadValue = "bad-value",
    /// It needs a git repository with files, or one with a commit.
    NoRepository = "no-repository",
    /// The repository, or a file in it, stands in the way.
    InTheWay = "in-the-way",
}
