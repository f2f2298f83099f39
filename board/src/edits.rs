//! What people change of tasks that no turn holds: all under the lock, each with its rule.

use std::sync::Arc;

use crate::add::print_cycle;
use crate::disk;
use crate::document::Document;
use crate::error::{Error, Refusal, Result, Rule};
use crate::facts::Phase;
use crate::graph;
use crate::index::Entry;
use crate::locked::LockedBoard;
use crate::task::{Status, Task};
use crate::task_id::TaskId;
use crate::transition;

/// Keys that only transitions write.
const NOT_EDITED: [&str; 9] = ["id", "status", "claim", "parked", "attempts", "result", "created", "updated", "retriedAfter"];

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
        Ok(self.waiting_for(id))
    }

    /// `cancelled → pending`; with a reason `completed → pending`.
    pub fn reopen(&mut self, id: &TaskId, because: Option<&str>) -> Result<()> {
        let now = self.moment().now;
        self.change(id, &|document, task| transition::reopen(document, task, because, now))
    }

    /// Parked `→ pending`, its owner kept, unless that is one that never comes back.
    pub fn unpark(&mut self, id: &TaskId, keep_owner: bool) -> Result<()> {
        let now = self.moment().now;
        self.change(id, &|document, task| transition::unpark(document, task, keep_owner, now))
    }

    /// Sets keys (`None`: takes them out) that are a person's to set.
    pub fn edit(&mut self, id: &TaskId, keys: &[(String, Option<String>)]) -> Result<()> {
        if let Some((key, _)) = keys.iter().find(|(key, _)| NOT_EDITED.contains(&key.as_str())) {
            return Err(Refusal::of(Rule::BadValue, id, format!("`{key}` is not edited: the transitions write it (`crew retry`, `reopen`, `cancel`, …)")));
        }
        let edges = keys.iter().any(|(key, _)| matches!(key.as_str(), "blockedBy" | "dependsOn" | "blocks"));
        if edges {
            return Err(Refusal::of(Rule::BadValue, id, "edges are set with `crew block` and `crew unblock`"));
        }
        let now = self.moment().now;
        self.change(id, &|document, task| {
            for (key, value) in keys {
                match value {
                    Some(value) => document.set_raw(key, value.clone()),
                    None => document.remove(key),
                }
            }
            transition::touch(document, task, now);
            // What is set must be a task again.
            let text = document.pretty();
            let sound = Document::parse(text.as_bytes()).and_then(|document| Task::read(id, &document));
            sound.map(drop).map_err(|problem| Refusal::of(Rule::BadValue, id, problem.reason))
        })
    }

    /// Lets a task wait for others.
    pub fn block(&mut self, id: &TaskId, on: &[TaskId]) -> Result<()> {
        self.see()?;
        for blocker in on {
            if blocker == id {
                return Err(Refusal::of(Rule::SelfEdge, id, "it cannot wait for itself"));
            }
            if !self.is_known(blocker) {
                return Err(Refusal::of(Rule::UnknownId, id, format!("there is no task {blocker} to wait for")));
            }
            let graph = self.board.index.waiting_graph();
            if let Some(way) = graph::would_close(id, blocker, |id| graph.get(id).cloned().unwrap_or_default()) {
                return Err(Refusal::of(Rule::Cycle, id, format!("these tasks would wait for each other: {}", print_cycle(&way))));
            }
        }
        let now = self.moment().now;
        self.change(id, &|document, task| {
            if task.status != Status::Pending {
                return Err(Refusal::of(Rule::IllegalTransition, id, format!("it is {}, so it cannot be blocked", task.status)));
            }
            set_edges(document, task, |edges| edges.extend(on.iter().filter(|blocker| !task.blocked_by.contains(blocker)).cloned()));
            transition::touch(document, task, now);
            Ok(())
        })?;
        self.tidy();
        Ok(())
    }

    /// Lets a task wait no longer for others; with none named, for nobody.
    pub fn unblock(&mut self, id: &TaskId, from: &[TaskId]) -> Result<()> {
        self.see()?;
        let now = self.moment().now;
        self.change(id, &|document, task| {
            if let Some(other) = from.iter().find(|blocker| !task.blocked_by.contains(blocker)) {
                return Err(Refusal::of(Rule::UnknownId, id, format!("it does not wait for {other}")));
            }
            set_edges(document, task, |edges| edges.retain(|blocker| !from.is_empty() && !from.contains(blocker)));
            transition::touch(document, task, now);
            Ok(())
        })
    }

    /// The unfinished tasks that wait for this one.
    pub fn waiting_for(&self, id: &TaskId) -> Vec<TaskId> {
        let index = &self.board.index;
        let unfinished = |dependant: &&TaskId| {
            let facts = index.get(dependant).and_then(Entry::facts);
            facts.is_some_and(|facts| !matches!(facts.status, Phase::Completed | Phase::Cancelled))
        };
        let mut waiting: Vec<TaskId> = index.dependants(id).iter().filter(unfinished).cloned().collect();
        waiting.sort();
        waiting.dedup();
        waiting
    }

    /// Moves finished tasks (completed or cancelled) out of the way, into `.board/archive/`.
    pub fn archive(&mut self, id: &TaskId) -> Result<()> {
        self.see()?;
        let dirs = Arc::clone(&self.board.dirs);
        let (_, task) = self.board.read_task(id)?;
        if !matches!(task.status, Status::Completed | Status::Cancelled) {
            return Err(Refusal::of(Rule::IllegalTransition, id, format!("it is {}; only completed and cancelled tasks are archived", task.status)));
        }
        let waiting = self.waiting_for(id);
        if task.status == Status::Cancelled && !waiting.is_empty() {
            let list: Vec<&str> = waiting.iter().map(TaskId::as_str).collect();
            return Err(Refusal::of(Rule::Blocked, id, format!("tasks still wait for it: {}; `crew unblock` them first", list.join(", "))));
        }
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
