//! How a board stands, in a few lines.

use board::Board;
use board::facts::Phase;
use board::index::State;
use board::ready::Claimant;

/// How many tasks stand how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Pending, and a teammate that can do everything may claim it.
    pub(crate) ready: usize,
    /// Pending otherwise.
    pub(crate) waiting: usize,
    /// In progress, parked ones too.
    pub(crate) in_progress: usize,
    /// Completed.
    pub(crate) completed: usize,
    /// Failed.
    pub(crate) failed: usize,
    /// Cancelled.
    pub(crate) cancelled: usize,
    /// Of a status that this board does not know.
    pub(crate) unknown: usize,
    /// Files that are no valid task (yet).
    pub(crate) invalid: usize,
}

impl Counts {
    /// Counts what a board was last seen to hold.
    pub(crate) fn of(board: &Board) -> Counts {
        let anybody = Claimant::shell("");
        let mut counts = Counts { invalid: board.index().nameless().count(), ..Counts::default() };
        for (id, entry) in board.index().entries() {
            let count = match &entry.state {
                State::Invalid(_) | State::Unsettled(_) => &mut counts.invalid,
                State::Task(facts) => match facts.status {
                    Phase::Pending if board.why_not(id, &anybody).is_ok() => &mut counts.ready,
                    Phase::Pending => &mut counts.waiting,
                    Phase::InProgress => &mut counts.in_progress,
                    Phase::Completed => &mut counts.completed,
                    Phase::Failed => &mut counts.failed,
                    Phase::Cancelled => &mut counts.cancelled,
                    Phase::Unknown => &mut counts.unknown,
                },
            };
            *count += 1;
        }
        counts
    }

    /// As `crew --json` prints them.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "pending": self.ready + self.waiting,
            "ready": self.ready,
            "inProgress": self.in_progress,
            "completed": self.completed,
            "failed": self.failed,
            "cancelled": self.cancelled,
            "invalid": self.invalid + self.unknown,
        })
    }

    /// In words.
    pub(crate) fn text(&self) -> String {
        let all = self.ready + self.waiting + self.in_progress + self.completed + self.failed + self.cancelled + self.unknown;
        let parts = [
            (self.ready, "ready"),
            (self.in_progress, "in progress"),
            (self.waiting, "waiting"),
            (self.completed, "completed"),
            (self.failed, "failed"),
            (self.cancelled, "cancelled"),
            (self.unknown, "of unknown status"),
        ];
        let parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let mut text = match all {
            0 => "No tasks yet: `crew add \"what is to be done\"` adds one.".to_owned(),
            1 => format!("1 task: {}", parts.join(", ")),
            _ => format!("{all} tasks: {}", parts.join(", ")),
        };
        match self.invalid {
            0 => {}
            1 => text.push_str("\n1 file is no valid task: `crew ls --invalid` shows it"),
            count => text.push_str(&format!("\n{count} files are no valid tasks: `crew ls --invalid` shows them")),
        }
        text
    }
}
