//! What a batch left, and what each kind of it waits for.

use board::Board;
use board::facts::{Facts, Phase};
use board::task::Parked;
use board::task_id::TaskId;

/// Unfinished tasks, by what they wait for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// They are ready, but have no command.
    pub(crate) need_thought: Vec<TaskId>,
    /// They failed.
    pub(crate) failed: Vec<TaskId>,
    /// They are somebody's: dispatched or held.
    pub(crate) of_others: Vec<TaskId>,
    /// They wait for an answer.
    pub(crate) wait_for_answer: Vec<TaskId>,
    /// Something unfinished is in their way.
    pub(crate) blocked: Vec<TaskId>,
    /// They are ready to be worked on.
    pub(crate) ready: Vec<TaskId>,
    /// Their files are no valid tasks.
    pub(crate) invalid: usize,
}

/// What is left of a board as last seen.
pub(crate) fn of(board: &Board) -> Left {
    let index = board.index();
    let mut left = Left { invalid: index.nameless().count(), ..Left::default() };
    for (id, entry) in index.entries() {
        let Some(facts) = entry.facts() else {
            left.invalid += 1;
            continue;
        };
        if let Some(kind) = kind(&mut left, facts, || !index.blockers(id).is_empty()) {
            kind.push(id.clone());
        }
    }
    left
}

fn kind<'a>(left: &'a mut Left, facts: &Facts, is_blocked: impl FnOnce() -> bool) -> Option<&'a mut Vec<TaskId>> {
    match facts.status {
        Phase::Completed | Phase::Cancelled => None,
        Phase::Failed => Some(&mut left.failed),
        Phase::Unknown => Some(&mut left.of_others),
        Phase::InProgress if matches!(facts.parked(), Some(Parked::Ask { .. })) => Some(&mut left.wait_for_answer),
        Phase::InProgress => Some(&mut left.of_others),
        Phase::Pending if is_blocked() => Some(&mut left.blocked),
        Phase::Pending if facts.owner.is_some() => Some(&mut left.of_others),
        Phase::Pending if !facts.runs => Some(&mut left.need_thought),
        Phase::Pending => Some(&mut left.ready),
    }
}

impl Left {
    /// A line for each kind that there is: how many, what about it, and which.
    pub(crate) fn lines(&self) -> Vec<String> {
        let kinds = [
            (&self.failed, "failed; `crew show ID` says why, `crew retry ID` tries again"),
            (&self.need_thought, "have no command and need a teammate that thinks"),
            (&self.wait_for_answer, "wait for an answer"),
            (&self.of_others, "are somebody else's"),
            (&self.blocked, "wait for unfinished tasks"),
            (&self.ready, "are still to be done"),
        ];
        let mut lines: Vec<String> =
            kinds.iter().filter(|(ids, _)| !ids.is_empty()).map(|(ids, what)| format!("{} {what}: {}", ids.len(), some(ids))).collect();
        if self.invalid > 0 {
            lines.push(format!("{} are no valid tasks; `crew doctor` says why", self.invalid));
        }
        lines
    }
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
