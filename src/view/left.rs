//! What a batch left, and what each kind of it waits for.

use board::Board;
use board::facts::{Facts, Phase};
use board::task::Parked;
use board::task_id::TaskId;
use serde_json::{Value, json};

use crate::view::escape;

/// Unfinished tasks, by what they wait for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// They failed.
    pub(crate) failed: Vec<TaskId>,
    /// They are ready, but have no command.
    pub(crate) need_thought: Vec<TaskId>,
    /// They wait for an answer.
    pub(crate) wait_for_answer: Vec<TaskId>,
    /// They are somebody's: dispatched or held.
    pub(crate) of_others: Vec<TaskId>,
    /// Another program's word stands where crew's would.
    pub(crate) unknown: Vec<TaskId>,
    /// Something unfinished is in their way.
    pub(crate) blocked: Vec<TaskId>,
    /// They are ready, and git brought them after the question what may be run.
    pub(crate) not_allowed: Vec<TaskId>,
    /// They are ready to be worked on.
    pub(crate) ready: Vec<TaskId>,
    /// The names of files that are no valid tasks.
    pub(crate) invalid: Vec<String>,
}

/// What is left of a board as last seen.
pub(crate) fn of(board: &Board, may_run: impl Fn(&TaskId) -> bool) -> Left {
    let index = board.index();
    let mut left = Left { invalid: index.nameless().map(|(name, _)| name.to_owned()).collect(), ..Left::default() };
    for (id, entry) in index.entries() {
        let Some(facts) = entry.facts() else {
            left.invalid.push(id.file_name());
            continue;
        };
        if let Some(kind) = kind(&mut left, facts, || !index.blockers(id).is_empty(), || may_run(id)) {
            kind.push(id.clone());
        }
    }
    left
}

fn kind<'a>(left: &'a mut Left, facts: &Facts, is_blocked: impl FnOnce() -> bool, may_run: impl FnOnce() -> bool) -> Option<&'a mut Vec<TaskId>> {
    match facts.status {
        Phase::Completed | Phase::Cancelled => None,
        Phase::Failed => Some(&mut left.failed),
        Phase::Unknown => Some(&mut left.unknown),
        Phase::InProgress if matches!(facts.parked(), Some(Parked::Ask { .. })) => Some(&mut left.wait_for_answer),
        Phase::InProgress => Some(&mut left.of_others),
        Phase::Pending if is_blocked() => Some(&mut left.blocked),
        Phase::Pending if facts.owner.is_some() => Some(&mut left.of_others),
        Phase::Pending if !facts.runs => Some(&mut left.need_thought),
        Phase::Pending if !may_run() => Some(&mut left.not_allowed),
        Phase::Pending => Some(&mut left.ready),
    }
}

impl Left {
    /// Each kind: its tasks, its word for scripts, and what is said of one task and of several.
    fn kinds(&self) -> [(&Vec<TaskId>, &'static str, &'static str, &'static str); 8] {
        let failed = "failed; `crew show ID` says why, `crew retry ID` tries again";
        [
            (&self.failed, "failed", failed, failed),
            (&self.need_thought, "needThought", "has no command and needs a teammate that thinks", "have no command and need a teammate that thinks"),
            (&self.wait_for_answer, "waitForAnswer", "waits for an answer", "wait for an answer"),
            (&self.of_others, "ofOthers", "is somebody else's", "are somebody else's"),
            (&self.unknown, "unknownStatus", "has a status that crew does not know", "have a status that crew does not know"),
            (
                &self.blocked,
                "blocked",
                "waits for tasks that are not done; `crew ls` says which",
                "wait for tasks that are not done; `crew ls` says which",
            ),
            (
                &self.not_allowed,
                "notAllowed",
                "was not run, for git brought it meanwhile; `crew work` shows what it runs and asks",
                "were not run, for git brought them meanwhile; `crew work` shows what they run and asks",
            ),
            (&self.ready, "ready", "is still to be done", "are still to be done"),
        ]
    }

    /// A line for each kind that there is: how many, what about it, and which.
    pub(crate) fn lines(&self) -> Vec<String> {
        let kinds = self.kinds().into_iter().filter(|(ids, ..)| !ids.is_empty());
        let line =
            |(ids, _, one, many): (&Vec<TaskId>, _, _, _)| format!("{} {}: {}", count(ids.len(), "task"), if ids.len() == 1 { one } else { many }, some(ids));
        let mut lines: Vec<String> = kinds.map(line).collect();
        match self.invalid.len() {
            0 => {}
            1 => lines.push(format!("1 file is no valid task; `crew doctor` says why: {}", escape::line(&self.invalid[0]))),
            many => lines.push(format!("{many} files are no valid tasks; `crew doctor` says why")),
        }
        lines
    }

    /// The same for scripts: an object for each kind that there is.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let kinds = self.kinds().into_iter().filter(|(ids, ..)| !ids.is_empty());
        let invalid = (!self.invalid.is_empty()).then(|| json!({ "why": "invalid", "files": self.invalid }));
        kinds.map(|(ids, why, ..)| json!({ "why": why, "tasks": ids })).chain(invalid).collect()
    }
}

/// A number with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The first few of them.
fn some(ids: &[TaskId]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<&str> = ids.iter().take(SHOWN).map(TaskId::as_str).collect();
    match ids.len() > SHOWN {
        true => format!("{}, …", shown.join(", ")),
        false => shown.join(", "),
    }
}
