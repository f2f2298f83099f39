//! What a writer puts right of what others did: claims that an old version was saved over, and edges.

use std::sync::Arc;

use super::LockedBoard;
use super::replacing::Found;
use crate::clock;
use crate::document::Document;
use crate::error::Result;
use crate::journal::Op;
use crate::presence;
use crate::task::{Claim, Outcome, Status, Task};
use crate::task_id::TaskId;
use crate::transition::{self, By, Ending};

impl LockedBoard<'_> {
    /// Puts claims back that an editor's old version has overwritten, where their holders live and still hold them.
    pub(super) fn restore_suspects(&mut self) -> Result<()> {
        while let Some((id, suspected)) = self.board.suspects.pop_first() {
            let dirs = Arc::clone(&self.board.dirs);
            // What cannot be read now is looked at again when it has changed: its turn stays known.
            let Ok((bytes, stamp, task)) = self.board.read_with_stamp(&id) else { continue };
            let claim = task.claim.as_ref().filter(|_| task.status == Status::InProgress);
            if let Some(claim) = claim.filter(|claim| !self.board.is_over(&claim.turn)) {
                self.board.index.begin_turn(&id, &claim.turn, &claim.by);
                continue;
            }
            let over = |turn: &str| task.attempts.iter().any(|attempt| attempt.turn == turn) || self.board.is_over(turn);
            let mut holds = presence::living_holds(&dirs.make_ours()?.teammates)?.into_iter();
            let Some((by, record, hold)) = holds.find(|(_, _, hold)| hold.task == id && !over(&hold.turn)) else {
                self.board.index.end_turn(&id);
                if let Some(turn) = claim.map(|claim| claim.turn.clone()) {
                    self.return_ended(&id, &turn, Found { bytes, stamp, task })?;
                }
                continue;
            };
            self.board.index.begin_turn(&id, &hold.turn, by.as_str());
            // A person said that nobody is to work on it: that stands, until it is to be worked on again.
            if !matches!(task.status, Status::Pending | Status::InProgress) {
                continue;
            }
            let (by, dispatched) = (by.to_string(), task.owner.as_deref() == Some(by.as_str()));
            let claim = Claim { turn: hold.turn, by, at: record.since, process: Some(record.process), lease: None, epoch: None, dispatched };
            let restore = |document: &mut Document<'_>, task: &Task| {
                transition::restore(document, task, &claim, clock::now());
                Ok(())
            };
            match self.replace(&id, &Found { bytes, stamp, task }, false, &restore) {
                Ok(stamp) => {
                    self.board.read_again(&id);
                    self.tell(&id, Op::Changed, None, None, Some(stamp));
                }
                // Gone or edited at this moment: its next reading tells.
                Err(e) if e.is_refusal() => self.board.read_again(&id),
                Err(e) => {
                    self.board.suspects.insert(id, suspected);
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Gives a task back that an old version says is held by a turn that is over: nobody works on it.
    fn return_ended(&mut self, id: &TaskId, turn: &str, found: Found) -> Result<()> {
        let ending = Ending::because(Outcome::Released, "an old version of its file was saved after this turn had ended");
        let at = self.moment();
        let end = |document: &mut Document<'_>, task: &Task| transition::end(document, task, &By::Cleaner { turn }, &ending, at).map(drop);
        match self.replace(id, &found, false, &end) {
            Ok(stamp) => {
                self.board.read_again(id);
                self.tell(id, Op::End, Some(turn), None, Some(stamp));
                Ok(())
            }
            Err(e) if e.is_refusal() => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Puts edges right: finished blockers out of the way, edges from the other side in. What cannot be written now
    /// is left to the next writer.
    pub(crate) fn tidy(&mut self) {
        let untidy: Vec<TaskId> = self.board.index.untidy().cloned().collect();
        for id in untidy {
            let Some(edges) = self.board.index.tidy_edges(&id) else { continue };
            let set = |document: &mut Document<'_>, task: &Task| {
                let mut full: Vec<&TaskId> = task.edges().collect();
                full.extend(edges.iter().filter(|edge| !task.edges().any(|known| known == *edge)));
                document.set("dependsOn", &full);
                document.set("blockedBy", &edges);
                Ok(())
            };
            let Ok((bytes, stamp, task)) = self.board.read_with_stamp(&id) else { continue };
            if let Ok(stamp) = self.replace(&id, &Found { bytes, stamp, task }, false, &set) {
                self.board.read_again(&id);
                self.tell(&id, Op::Changed, None, None, Some(stamp));
            }
        }
    }
}
