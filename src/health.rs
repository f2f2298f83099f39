//! What `crew doctor` looks for, and what it finds.

pub(crate) mod board;
pub(crate) mod clis;
pub(crate) mod filesystem;
pub(crate) mod lock_trial;
pub(crate) mod team;

use ::board::task_id::TaskId;
use serde::Serialize;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing needs to be done.
    Note,
    /// Something does not work, or is not as its author meant it.
    Problem,
    /// It was a problem, and is put right.
    Fixed,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// How much it matters.
    pub(crate) level: Level,
    /// What was looked for: a stable word.
    pub(crate) check: &'static str,
    /// The file in `.tasks/`, where one is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The task, where one is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskId>,
    /// The place in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column there, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// What is so, and what to do about it.
    pub(crate) message: String,
}

impl Finding {
    /// A finding about the board or its disk as a whole.
    pub(crate) fn of(level: Level, check: &'static str, message: impl Into<String>) -> Finding {
        Finding { level, check, file: None, task: None, line: None, column: None, message: message.into() }
    }

    /// A finding about a task.
    pub(crate) fn of_task(level: Level, check: &'static str, id: &TaskId, message: impl Into<String>) -> Finding {
        Finding { task: Some(id.clone()), ..Finding::of(level, check, message) }
    }
}
