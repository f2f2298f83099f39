//! How a turn begins and ends.

use jiff::Timestamp;

use super::LockedBoard;
use super::replacing::parse;
use crate::alive::Process;
use crate::clock;
use crate::crash;
use crate::disk::Stamp;
use crate::document::Document;
use crate::error::{Refusal, Result};
use crate::index::Entry;
use crate::journal::Op;
use crate::presence::Presence;
use crate::ready::{self, Claimant};
use crate::task::{Claim, Outcome, Status, Task};
use crate::task_id::TaskId;
use crate::transition::{self, By, Ending};
use crate::turn;

/// On what terms a task is claimed.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The holder's process; `None`: a shell that names none.
    pub process: Option<Process>,
    /// When the claim runs out.
    pub lease: Option<Timestamp>,
    /// The lead's epoch.
    pub epoch: Option<u64>,
}

/// A task that was claimed.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// As it was read under the lock, before the claim.
    pub task: Task,
    /// The turn that holds it now.
    pub turn: String,
    /// The number of this attempt, from 1.
    pub attempt: usize,
    /// Since when.
    pub at: Timestamp,
}

impl LockedBoard<'_> {
    /// Claims a task: the one that is wanted, else its own that was parked and whose time has come, else the best that
    /// is ready for the claimant.
    ///
    /// `None`: there is nothing to claim. A wanted task that cannot be claimed is refused with the rule. With a
    /// presence its record names the turn before the file does.
    pub fn claim(&mut self, presence: Option<&mut Presence>, claimant: &Claimant, wanted: Option<&TaskId>, terms: &Terms) -> Result<Option<Claimed>> {
        self.see()?;
        let mut passed_over: Vec<TaskId> = Vec::new();
        let mut presence = presence;
        loop {
            let id = match wanted {
                Some(id) => id.clone(),
                None => {
                    let index = &self.board.index;
                    let due = index.due(clock::now()).into_iter().find(|id| self.due_for(id, claimant) && !passed_over.contains(id));
                    match due.or_else(|| index.ready_for(claimant).find(|id| !passed_over.contains(id)).cloned()) {
                        Some(id) => id,
                        None => return Ok(None),
                    }
                }
            };
            match self.claim_one(presence.as_deref_mut(), claimant, &id, terms) {
                Ok(claimed) => return Ok(Some(claimed)),
                // Gone, edited or broken since it was seen: the next one.
                Err(e) if wanted.is_none() && e.is_refusal() => {
                    self.board.read_again(&id);
                    passed_over.push(id);
                }
                Err(e) => return Err(e),
            }
        }
    }

    fn claim_one(&mut self, mut presence: Option<&mut Presence>, claimant: &Claimant, id: &TaskId, terms: &Terms) -> Result<Claimed> {
        let found = self.find(id)?;
        self.board
            .index
            .why_not(id, claimant)
            .or_else(|no| self.due_for(id, claimant).then_some(()).ok_or(no))
            .map_err(|no| Refusal::of(no.rule, id, no.why))?;
        let now = clock::now();
        let turn = turn::fresh();
        let claim = Claim {
            turn: turn.clone(),
            by: claimant.name.clone(),
            at: now,
            process: terms.process.clone(),
            lease: terms.lease,
            epoch: terms.epoch,
            dispatched: found.task.owner.is_some(),
        };
        if let Some(presence) = presence.as_deref_mut() {
            presence.hold(id, &turn, now)?;
        }
        crash::point("claim.presence");
        let take = |document: &mut Document<'_>, task: &Task| transition::claim(document, task, &claim, now);
        // Somebody who saw the presence may have put the claim there: then it stands.
        let stamp = match self.replace(id, &found, false, &take).or_else(|e| self.claimed_by(id, &turn).ok_or(e)) {
            Ok(stamp) => stamp,
            Err(e) => {
                // A living teammate must not go on naming a turn that never began.
                if let Some(presence) = presence {
                    presence.let_go(&turn)?;
                }
                return Err(e);
            }
        };
        self.board.index.put_claim(id, stamp, &turn, &claim.by);
        self.tell(id, Op::Claim, Some(&turn), Some(&claim.by), Some(stamp));
        Ok(Claimed { attempt: found.task.next_attempt(), task: found.task, turn, at: now })
    }

    /// The stamp of a task's file, where it says that this turn holds it.
    fn claimed_by(&self, id: &TaskId, turn: &str) -> Option<Stamp> {
        let (_, stamp, task) = self.board.read_with_stamp(id).ok()?;
        let held = task.status == Status::InProgress && task.claim.is_some_and(|claim| claim.turn == turn);
        held.then_some(stamp)
    }

    /// Whether a parked task's time has come, for its owner.
    fn due_for(&self, id: &TaskId, claimant: &Claimant) -> bool {
        let facts = self.board.index.get(id).and_then(Entry::facts);
        facts.is_some_and(|facts| ready::is_due(facts, clock::now()) && facts.owner.as_deref() == Some(&claimant.name))
    }

    /// Ends the turn on a task and returns the status that the task has then. Dependants of a completed task are
    /// freed in the same step.
    pub fn end(&mut self, id: &TaskId, by: &By<'_>, ending: &Ending) -> Result<Status> {
        self.see()?;
        let found = self.find(id)?;
        let blockers = self.board.index.blockers(id);
        if ending.outcome == Outcome::Done && !blockers.is_empty() {
            let no = ready::blocked(&blockers);
            return Err(Refusal::of(no.rule, id, no.why));
        }
        let at = self.moment();
        let turn = found.task.claim.as_ref().map(|claim| claim.turn.clone());
        let end = |document: &mut Document<'_>, task: &Task| transition::end(document, task, by, ending, at).map(drop);
        let status = transition::end(&mut parse(id, &found.bytes)?, &found.task, by, ending, at)?;
        self.names_changed = true;
        crash::point("end.written");
        let durable = self.is_full();
        let stamp = self.replace(id, &found, durable, &end)?;
        crash::point("end.exchanged");
        turn.iter().for_each(|turn| self.board.index.turn_is_over(turn));
        self.board.index.end_turn(id);
        self.board.suspects.remove(id);
        match status {
            Status::Completed => {
                self.board.index.put_done(id, stamp);
                self.tell(id, Op::Done, turn.as_deref(), None, Some(stamp));
                self.tidy();
            }
            _ => {
                self.board.read_again(id);
                self.tell(id, Op::End, turn.as_deref(), None, Some(stamp));
            }
        }
        Ok(status)
    }
}
