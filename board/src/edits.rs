//! What people change of tasks that no turn holds: each as a pure change of a document with its rule, and under the
//! lock.

use std::sync::Arc;

use jiff::Timestamp;

use crate::add::print_cycle;
use crate::board::Board;
use crate::disk;
use crate::document::Document;
use crate::error::{Error, Refusal, Result, Rule};
use crate::facts::{Facts, Phase};
use crate::graph;
use crate::index::Entry;
use crate::locked::LockedBoard;
use crate::task::{Status, Task};
use crate::task_id::TaskId;
use crate::transition;

/// Keys that only transitions write.
const NOT_EDITED: [&str; 9] = ["id", "status", "claim", "parked", "attempts", "result", "created", "updated", "retriedAfter"];

/// Sets keys (`None`: takes them out) that are a person's to set.
pub fn edit(document: &mut Document<'_>, task: &Task, keys: &[(String, Option<String>)], now: Timestamp) -> Result<()> {
    if let Some((key, _)) = keys.iter().find(|(key, _)| NOT_EDITED.contains(&key.as_str())) {
        let message = format!("`{key}` is not edited: the transitions write it (`crew retry`, `reopen`, `cancel`, …)");
        return Err(Refusal::of(Rule::BadValue, &task.id, message));
    }
    if keys.iter().any(|(key, _)| matches!(key.as_str(), "blockedBy" | "dependsOn" | "blocks")) {
        return Err(Refusal::of(Rule::BadValue, &task.id, "edges are set with `crew block` and `crew unblock`"));
    }
    for (key, value) in keys {
        match value {
            Some(value) => document.set_raw(key, value.clone()),
            None => document.remove(key),
        }
    }
    transition::touch(document, task, now);
    // What is set must be a task again.
    let text = document.pretty();
    let sound = Document::parse(text.as_bytes()).and_then(|document| Task::read(&task.id, &document));
    sound.map(drop).map_err(|problem| Refusal::of(Rule::BadValue, &task.id, problem.reason))
}

/// Lets a task wait for others. That they exist and that no cycle is closed is [`Board::check_block`]'s to say.
pub fn block(document: &mut Document<'_>, task: &Task, on: &[TaskId], now: Timestamp) -> Result<()> {
    // One that is parked is nobody's turn, and pending when it goes on.
    let waits = task.parked.is_some() && task.claim.is_none() && task.status == Status::InProgress;
    if task.status != Status::Pending && !waits {
        return Err(Refusal::of(Rule::IllegalTransition, &task.id, format!("it is {}, so it cannot be blocked", task.status)));
    }
    transition::touch(document, task, now);
    set_edges(document, task, |edges| edges.extend(on.iter().filter(|blocker| !task.blocked_by.contains(blocker)).cloned()));
    Ok(())
}

/// Lets a task wait no longer for others; with none named, for nobody.
pub fn unblock(document: &mut Document<'_>, task: &Task, from: &[TaskId], now: Timestamp) -> Result<()> {
    if let Some(other) = from.iter().find(|blocker| !task.blocked_by.contains(blocker)) {
        return Err(Refusal::of(Rule::UnknownId, &task.id, format!("it does not wait for {other}")));
    }
    transition::touch(document, task, now);
    set_edges(document, task, |edges| edges.retain(|blocker| !from.is_empty() && !from.contains(blocker)));
    Ok(())
}

/// Lets a task wait again for one that is being reopened, whoever works on it.
fn block_again(document: &mut Document<'_>, task: &Task, on: &TaskId, now: Timestamp) -> Result<()> {
    if task.status == Status::Completed {
        return Err(Refusal::of(Rule::IllegalTransition, &task.id, "it is completed, so it waits for none"));
    }
    transition::touch(document, task, now);
    set_edges(document, task, |edges| edges.extend((!task.blocked_by.contains(on)).then(|| on.clone())));
    Ok(())
}

impl Board {
    /// The edges that come back when a completed task is reopened: the tasks that wait for it again, and those that it
    /// waits for again itself, because they were reopened while it was completed. An edge that would close a cycle
    /// stays out: what is on a cycle can never be done.
    fn edges_of_reopened(&self, task: &Task) -> (Vec<TaskId>, Vec<TaskId>) {
        let (index, id) = (self.index(), &task.id);
        let mut graph = index.waiting_graph();
        graph.insert(id.clone(), index.tidy_edges(id).unwrap_or_default());
        let mut closes_none = |from: &TaskId, to: &TaskId| {
            let closes = graph::would_close(from, to, |id| graph.get(id).cloned().unwrap_or_default()).is_some();
            if !closes {
                graph.entry(from.clone()).or_default().push(to.clone());
            }
            !closes
        };
        let depends = |facts: &&Facts| facts.status != Phase::Completed && facts.depends_on().contains(id) && !facts.blocked_by.contains(id);
        let dependants = index.entries().filter(|(_, entry)| entry.facts().filter(depends).is_some()).map(|(other, _)| other);
        let dependants = dependants.filter(|other| closes_none(other, id)).cloned().collect();
        let own = task.edges().filter(|blocker| !task.blocked_by.contains(blocker) && self.was_reopened(blocker));
        (dependants, own.filter(|blocker| closes_none(id, blocker)).cloned().collect())
    }

    /// Whether a task was completed once and is no longer.
    fn was_reopened(&self, id: &TaskId) -> bool {
        let unfinished = self.index().get(id).and_then(Entry::facts).is_some_and(|facts| facts.status != Phase::Completed);
        let told = |bytes: &[u8]| Document::parse(bytes).is_ok_and(|document| document.get("reopened").is_some());
        unfinished && self.read_task(id).is_ok_and(|(bytes, _)| told(&bytes))
    }

    /// Refuses edges to oneself, to what does not exist, and those that would close a cycle.
    pub fn check_block(&self, id: &TaskId, on: &[TaskId]) -> Result<()> {
        let graph = self.index().waiting_graph();
        for blocker in on {
            if blocker == id {
                return Err(Refusal::of(Rule::SelfEdge, id, "it cannot wait for itself"));
            }
            if !self.is_known(blocker) {
                return Err(Refusal::of(Rule::UnknownId, id, format!("there is no task {blocker} to wait for")));
            }
            if let Some(way) = graph::would_close(id, blocker, |id| graph.get(id).cloned().unwrap_or_default()) {
                return Err(Refusal::of(Rule::Cycle, id, format!("these tasks would wait for each other: {}", print_cycle(&way))));
            }
        }
        Ok(())
    }

    /// The unfinished tasks that wait for this one.
    pub fn waiting_for(&self, id: &TaskId) -> Vec<TaskId> {
        let index = self.index();
        let unfinished = |dependant: &&TaskId| {
            let facts = index.get(dependant).and_then(Entry::facts);
            facts.is_some_and(|facts| !matches!(facts.status, Phase::Completed | Phase::Cancelled))
        };
        let mut waiting: Vec<TaskId> = index.dependants(id).iter().filter(unfinished).cloned().collect();
        waiting.sort();
        waiting.dedup();
        waiting
    }

    /// Whether a task may be archived: completed, or cancelled with nobody waiting for it.
    pub fn check_archive(&self, id: &TaskId) -> Result<()> {
        let (_, task) = self.read_task(id)?;
        if !matches!(task.status, Status::Completed | Status::Cancelled) {
            return Err(Refusal::of(Rule::IllegalTransition, id, format!("it is {}; only completed and cancelled tasks are archived", task.status)));
        }
        let waiting = self.waiting_for(id);
        if task.status == Status::Cancelled && !waiting.is_empty() {
            let list: Vec<&str> = waiting.iter().map(TaskId::as_str).collect();
            return Err(Refusal::of(Rule::Blocked, id, format!("tasks still wait for it: {}; `crew unblock` them first", list.join(", "))));
        }
        Ok(())
    }
}

impl LockedBoard<'_> {
    /// `failed → pending`.
    pub fn retry(&mut self, id: &TaskId) -> Result<()> {
        let now = self.moment().now;
        self.change(id, &|document, task| transition::retry(document, task, now))
    }

    /// Any but `completed` `→ cancelled`. Returns the unfinished tasks that wait for it: they stay blocked.
    pub fn cancel(&mut self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.see()?;
        let at = self.moment();
        self.change(id, &|document, task| transition::cancel(document, task, at))?;
        Ok(self.board.waiting_for(id))
    }

    /// `cancelled → pending`; with a reason `completed → pending`.
    ///
    /// What went on because a task was completed waits for it again: of every task that is not completed and has it in
    /// `dependsOn` it is put back into `blockedBy`. An edge that `crew unblock` took out comes back too, since nothing
    /// tells it from one that the completion took out.
    pub fn reopen(&mut self, id: &TaskId, because: Option<&str>) -> Result<()> {
        self.see()?;
        let (_, task) = self.board.read_task(id)?;
        transition::check_reopen(&task, because)?;
        let now = self.moment().now;
        let (dependants, own) = match task.status {
            Status::Completed => self.board.edges_of_reopened(&task),
            _ => (Vec::new(), Vec::new()),
        };
        // Before the task itself: if this is cut short, they name a completed task, which the next writer takes out.
        for dependant in &dependants {
            match self.change(dependant, &|document, task| block_again(document, task, id, now)) {
                // Gone, broken or completed by somebody's hand at this moment.
                Err(e) if e.is_refusal() => self.board.read_again(dependant),
                done => done?,
            }
        }
        self.change(id, &|document, task| {
            transition::reopen(document, task, because, now)?;
            if !own.is_empty() {
                set_edges(document, task, |edges| edges.extend(own.iter().filter(|blocker| !task.blocked_by.contains(blocker)).cloned()));
            }
            Ok(())
        })?;
        self.tidy();
        Ok(())
    }

    /// Parked `→ pending`, its owner kept, unless that is one that never comes back.
    pub fn unpark(&mut self, id: &TaskId, keep_owner: bool) -> Result<()> {
        let now = self.moment().now;
        self.change(id, &|document, task| transition::unpark(document, task, keep_owner, now))
    }

    /// Sets keys (`None`: takes them out) that are a person's to set.
    pub fn edit(&mut self, id: &TaskId, keys: &[(String, Option<String>)]) -> Result<()> {
        let now = self.moment().now;
        self.change(id, &|document, task| edit(document, task, keys, now))
    }

    /// Lets a task wait for others.
    pub fn block(&mut self, id: &TaskId, on: &[TaskId]) -> Result<()> {
        self.see()?;
        self.board.check_block(id, on)?;
        let now = self.moment().now;
        self.change(id, &|document, task| block(document, task, on, now))?;
        self.tidy();
        Ok(())
    }

    /// Lets a task wait no longer for others; with none named, for nobody.
    pub fn unblock(&mut self, id: &TaskId, from: &[TaskId]) -> Result<()> {
        self.see()?;
        let now = self.moment().now;
        self.change(id, &|document, task| unblock(document, task, from, now))
    }

    /// Moves finished tasks (completed or cancelled) out of the way, into `.board/archive/`.
    pub fn archive(&mut self, id: &TaskId) -> Result<()> {
        self.see()?;
        self.board.check_archive(id)?;
        let dirs = Arc::clone(&self.board.dirs);
        let archive = &dirs.make_ours()?.archive;
        self.names_changed = true;
        match disk::rename_new(&dirs.tasks, &id.file_name(), archive, &id.file_name())? {
            true => {
                self.board.read_again(id);
                self.board.look_up_archived();
                self.tell_changed(id);
                Ok(())
            }
            false => Err(Error::io("archive", archive.join(&id.file_name()), std::io::Error::from(std::io::ErrorKind::AlreadyExists))),
        }
    }
}

fn set_edges(document: &mut Document<'_>, task: &Task, change: impl FnOnce(&mut Vec<TaskId>)) {
    let mut edges = task.blocked_by.clone();
    change(&mut edges);
    let mut full: Vec<TaskId> = task.edges().cloned().collect();
    full.extend(edges.iter().filter(|edge| !task.edges().any(|known| known == *edge)).cloned());
    document.set("blockedBy", &edges);
    document.set("dependsOn", &full);
}
