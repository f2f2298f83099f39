//! What the index keeps of a task: as little as readiness needs, since a hundred processes keep it side by side.

use std::sync::Arc;

use jiff::Timestamp;

use crate::task::{Outcome, Parked, Status, Task, Tier};
use crate::task_id::TaskId;

/// A task as the rules of readiness see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Where it stands.
    pub status: Phase,
    /// Whether it has a command.
    pub runs: bool,
    /// Higher first.
    pub priority: i64,
    /// Who holds it, or the only one who may.
    pub owner: Option<Arc<str>>,
    /// Ids in the way, by its own `blockedBy`.
    pub blocked_by: Box<[TaskId]>,
    /// What few tasks have.
    pub rare: Option<Box<Rare>>,
}

/// A status in one byte; an unknown word is read again where it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// `pending`
    Pending,
    /// `in_progress`
    InProgress,
    /// `completed`
    Completed,
    /// `failed`
    Failed,
    /// `cancelled`
    Cancelled,
    /// Anything else.
    Unknown,
}

impl From<&Status> for Phase {
    fn from(status: &Status) -> Self {
        match status {
            Status::Pending => Phase::Pending,
            Status::InProgress => Phase::InProgress,
            Status::Completed => Phase::Completed,
            Status::Failed => Phase::Failed,
            Status::Cancelled => Phase::Cancelled,
            Status::Unknown(_) => Phase::Unknown,
        }
    }
}

/// The facts that most tasks do not have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rare {
    /// Ids that this task stands in the way of, by its own `blocks`.
    pub blocks: Vec<TaskId>,
    /// Every edge that there ever was, where the document says so.
    pub depends_on: Option<Vec<TaskId>>,
    /// The lowest tier that may claim it.
    pub tier: Option<Tier>,
    /// The only role that may claim it.
    pub role: Option<String>,
    /// Capabilities that its teammate must have.
    pub needs: Vec<String>,
    /// The turn that holds it, and whose it is.
    pub turn: Option<(String, String)>,
    /// Whether it waits for an answer or a time.
    pub parked: Option<Parked>,
    /// Who handed it off to anybody else, if that was the last move.
    pub handed_off_by: Option<String>,
    /// Who may come back for it: see [`Lost`].
    pub lost: Option<Lost>,
}

/// An attempt that was cut short, on a task without a command that nobody was dispatched to: what it had done is worth
/// something to whoever had it, and less to anybody else.
#[derive(Debug, Clone, PartialEq)]
pub struct Lost {
    /// Whose attempt it was.
    pub by: String,
    /// When it came back to the board.
    pub at: Timestamp,
}

/// An attempt without a log did nothing yet, or was a shell's.
fn lost(task: &Task) -> Option<Lost> {
    let last = task.attempts.last().filter(|last| last.outcome == Outcome::Lost && last.log.is_some())?;
    let is_open = task.status == Status::Pending && task.owner.is_none() && task.run.is_none();
    is_open.then(|| Lost { by: last.by.clone(), at: last.ended })
}

impl Facts {
    /// What the index keeps of a task.
    pub fn of(task: &Task) -> Facts {
        let handed_off_by = task.attempts.last().filter(|last| last.outcome == Outcome::Handoff && last.to.is_none()).map(|last| last.by.clone());
        let rare = Rare {
            blocks: task.blocks.clone(),
            depends_on: task.depends_on.clone(),
            tier: task.tier,
            role: task.role.clone(),
            needs: task.needs.clone(),
            turn: task.claim.as_ref().map(|claim| (claim.turn.clone(), claim.by.clone())),
            parked: task.parked.clone(),
            handed_off_by,
            lost: lost(task),
        };
        Facts {
            status: Phase::from(&task.status),
            runs: task.run.is_some(),
            priority: task.priority,
            owner: task.owner.as_deref().map(Arc::from),
            blocked_by: task.blocked_by.clone().into(),
            rare: (rare != Rare::default()).then(|| Box::new(rare)),
        }
    }

    /// Whether nothing is left to be done of it.
    pub fn is_finished(&self) -> bool {
        matches!(self.status, Phase::Completed | Phase::Cancelled | Phase::Failed)
    }

    /// Ids that this task stands in the way of, by its own `blocks`.
    pub fn blocks(&self) -> &[TaskId] {
        self.rare.as_ref().map_or(&[], |rare| &rare.blocks)
    }

    /// Every edge that there ever was; without `dependsOn`: those that there are.
    pub fn depends_on(&self) -> &[TaskId] {
        self.rare.as_ref().and_then(|rare| rare.depends_on.as_deref()).unwrap_or(&self.blocked_by)
    }

    /// What it waits for, while nobody works on it.
    pub fn parked(&self) -> Option<&Parked> {
        self.rare.as_ref()?.parked.as_ref()
    }

    /// Who may come back for it.
    pub fn lost(&self) -> Option<&Lost> {
        self.rare.as_ref()?.lost.as_ref()
    }

    /// The turn that holds it, and whose it is.
    pub fn turn(&self) -> Option<(&str, &str)> {
        self.rare.as_ref()?.turn.as_ref().map(|(turn, by)| (turn.as_str(), by.as_str()))
    }
}
