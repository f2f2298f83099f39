//! The tasks that a model makes, changes and claims.

use board::add::Draft;
use board::clock;
use board::edits;
use board::locked::{LockedBoard, Unlocked};
use board::task::{Status, Task};
use board::task_id::TaskId;
use serde_json::{Map, Value};
use teammates::tools::crew::id::Id;
use teammates::tools::crew::{ClaimTask, TaskCreate, TaskUpdate, letters};

use super::{Done, OfTurn};
use crate::claimants;
use crate::rehearsal::rehearse;
use crate::run::{PATIENCE, planning};

/// Keys that say who may take a task up and what runs then: not changed under whoever works on it.
const TERMS: [&str; 5] = ["owner", "role", "tier", "run", "check"];

impl OfTurn {
    pub(super) fn create(&self, task: TaskCreate) -> Done {
        self.check_commands(task.run.is_some() || task.check.is_some())?;
        let subject = one_line(&task.subject)?;
        let mut board = self.teammate.workplace.board();
        if let Some(owner) = &task.owner {
            letters::on_team(&board, owner)?;
        }
        let (mut text, origin) = (serde_json::to_string(&TaskCreate { subject, ..task }).map_err(|e| e.to_string())?, "the new task");
        let is_planned = planning::is_planned(&board, Some(&self.at.turn), std::slice::from_ref(self.name())).map_err(told)?;
        if is_planned {
            text = planning::as_proposal(&text, origin).map_err(told)?;
        }
        let ids = board.add(&[Draft { text, origin: origin.into() }], PATIENCE).map_err(told)?;
        let id = ids.first().map(TaskId::as_str).unwrap_or_default();
        let what = if is_planned { ", part of your proposal: nobody works on it before a person has approved that" } else { "" };
        Ok(format!("It is task {id}{what}."))
    }

    pub(super) fn update(&self, update: &TaskUpdate) -> Done {
        self.check_commands(update.run.is_some() || update.check.is_some())?;
        let change = &Change::read(update)?;
        let mut board = self.teammate.workplace.board();
        if let Some(owner) = &update.owner {
            letters::on_team(&board, owner)?;
        }
        let mut locked = board.lock(PATIENCE).map_err(told)?;
        let changed = self.change(&mut locked, change);
        locked.unlock().and_then(Unlocked::settle).map_err(told)?;
        changed.map(|()| format!("Task {} was changed.", change.id))
    }

    /// All of it or nothing: it is tried on copies first.
    fn change(&self, locked: &mut LockedBoard<'_>, change: &Change) -> Result<(), String> {
        let Change { id, keys, on, from } = change;
        locked.see().map_err(told)?;
        let (board, now) = (locked.board(), clock::now());
        let (_, task) = board.read_task(id).map_err(told)?;
        self.check_standing(&task, keys)?;
        let ids = std::slice::from_ref(id);
        board.check_block(id, on).map_err(told)?;
        rehearse(board, ids, |document, task| edits::edit(document, task, keys, now)).map_err(told)?;
        if !on.is_empty() {
            rehearse(board, ids, |document, task| edits::block(document, task, on, now)).map_err(told)?;
        }
        if !from.is_empty() {
            rehearse(board, ids, |document, task| edits::unblock(document, task, from, now)).map_err(told)?;
        }
        if !keys.is_empty() {
            locked.edit(id, keys).map_err(told)?;
        }
        if !from.is_empty() {
            locked.unblock(id, from).map_err(told)?;
        }
        match on.is_empty() {
            true => Ok(()),
            false => locked.block(id, on).map_err(told),
        }
    }

    /// Whether a task is this turn's to change: what somebody else works on is not, nor what is over; and on what terms a
    /// task is worked on does not change while it is, not even for whoever holds it.
    fn check_standing(&self, task: &Task, keys: &[(String, Option<String>)]) -> Result<(), String> {
        let id = &task.id;
        if matches!(task.status, Status::Completed | Status::Cancelled) {
            return Err(format!("task {id} is {}, and stays as it is; `task_create` makes another", task.status));
        }
        let Some(claim) = task.claim.as_ref().filter(|_| task.status == Status::InProgress) else { return Ok(()) };
        if claim.turn != self.at.turn {
            return Err(format!("{} works on task {id}: `send_message` tells it what has changed", claim.by));
        }
        match keys.iter().find(|(key, _)| TERMS.contains(&key.as_str())) {
            Some((key, _)) => Err(format!("`{key}` of task {id} does not change while you work on it")),
            None => Ok(()),
        }
    }

    pub(super) fn claim(&self, claim: &ClaimTask) -> Done {
        let wanted = claim.id.as_ref().map(read_id).transpose()?;
        let claimant = &self.teammate.claimant;
        let mut board = self.teammate.workplace.board();
        let mut locked = board.lock(PATIENCE).map_err(told)?;
        locked.see().map_err(told)?;
        let id = match wanted {
            Some(id) => id,
            None => claimants::first_choice(locked.board(), claimant).ok_or("there is no task that you could claim; `task_list` shows all of them")?,
        };
        let (_, task) = locked.board().read_task(&id).map_err(told)?;
        if task.claim.as_ref().is_some_and(|claim| claim.turn == self.at.turn) {
            return Err(format!("task {id} is the one that you are working on"));
        }
        if !claimants::is_due_for(locked.board(), claimant, &id) {
            locked.board().why_not(&id, claimant).map_err(|no| format!("task {id} is not yours to claim: {} [{}]", no.why, no.rule.name()))?;
        }
        if task.owner.as_deref() != Some(self.name().as_str()) {
            locked.edit(&id, &[("owner".into(), Some(Value::from(self.name().as_str()).to_string()))]).map_err(told)?;
        }
        locked.unlock().and_then(Unlocked::settle).map_err(told)?;
        Ok(format!("Task {id} is yours and nobody else's now. It is given to you when this turn has ended: do not begin with it before."))
    }

    fn check_commands(&self, has_commands: bool) -> Result<(), String> {
        match has_commands && !self.teammate.may_run {
            true => Err("a task that you make or change has no `run` and no `check`: your profile does not say `mayRun: true`".into()),
            false => Ok(()),
        }
    }
}

/// What is to change of a task.
struct Change {
    id: TaskId,
    /// Keys with the JSON text of their values.
    keys: Vec<(String, Option<String>)>,
    on: Vec<TaskId>,
    from: Vec<TaskId>,
}

impl Change {
    fn read(update: &TaskUpdate) -> Result<Change, String> {
        let subject = update.subject.as_deref().map(one_line).transpose()?;
        let only_keys = TaskUpdate { subject, block_on: Vec::new(), unblock_from: Vec::new(), ..update.clone() };
        let mut keys: Map<String, Value> = serde_json::to_value(only_keys).and_then(serde_json::from_value).map_err(|e| e.to_string())?;
        keys.remove("id");
        let keys: Vec<_> = keys.into_iter().map(|(key, value)| (key, Some(value.to_string()))).collect();
        let (on, from) = (read_ids(&update.block_on)?, read_ids(&update.unblock_from)?);
        match keys.is_empty() && on.is_empty() && from.is_empty() {
            true => Err("say what is to change: nothing was given but the id".into()),
            false => Ok(Change { id: read_id(&update.id)?, keys, on, from }),
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // As `map_err` gives it.
pub(super) fn told(error: board::Error) -> String {
    error.to_string()
}

fn one_line(subject: &str) -> Result<String, String> {
    let line = subject.replace(['\n', '\r'], " ").trim().to_owned();
    if line.is_empty() { Err("a task says in one line what is to be done: give it a `subject`".into()) } else { Ok(line) }
}

pub(super) fn read_id(id: &Id) -> Result<TaskId, String> {
    id.as_ref().trim().parse().map_err(|e| format!("{e}"))
}

fn read_ids(ids: &[Id]) -> Result<Vec<TaskId>, String> {
    ids.iter().map(read_id).collect()
}
