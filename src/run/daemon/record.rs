//! What the daemon puts on record of the working tree.

use board::{Result, tree};

use super::Daemon;
use crate::run::recording::{self, Taken, Wanted};

impl Daemon {
    /// What was there before the run is on record, also what a turn had written that died with the last daemon.
    pub(super) fn baseline(&mut self) -> Result<()> {
        // The work of a turn after which the last daemon died is still to be put on record.
        let work = self.run.thread.since(self.state.applied)?.into_iter().rfind(|post| post.task.is_none() && post.is_of_teammate() && post.is_work());
        self.wanted = Some(work.map_or_else(|| Wanted { why: "baseline before run".into(), seq: None }, |post| Wanted::of(&post)));
        self.record_now();
        if self.state.baseline.is_none()
            && let Ok(Some(tree)) = tree::sha(self.board.place())
        {
            self.change_state(|state| state.baseline = Some(tree))?;
        }
        Ok(())
    }

    /// Puts the tree on record that a turn has begun with, if that is wanted.
    pub(super) fn record(&mut self, taken: &Taken) {
        if let Some(wanted) = self.wanted.take() {
            self.recorded(&wanted, recording::keep(self.board.place(), self.settings.checkpoints, taken, &wanted));
        }
    }

    /// The same of what is there now.
    pub(super) fn record_now(&mut self) {
        if let Some(wanted) = self.wanted.take() {
            self.recorded(&wanted, recording::make(self.board.place(), self.settings.checkpoints, &wanted));
        }
    }

    /// The tree as the next turn begins with it.
    pub(super) fn take_tree(&mut self) -> Taken {
        match recording::take(self.board.place(), self.settings.checkpoints, &mut self.wanted) {
            Ok((taken, made)) => {
                if let Some(number) = made {
                    self.tell("checkpoint", serde_json::json!({ "number": number }));
                }
                taken
            }
            // What git cannot say now credits nothing later; the turn is given all the same.
            Err(e) => {
                self.say(format!("no work of this turn can be credited: {e}"));
                Taken::default()
            }
        }
    }

    fn recorded(&self, wanted: &Wanted, made: Result<Option<u64>>) {
        match made {
            Ok(Some(number)) => self.tell("checkpoint", serde_json::json!({ "number": number, "why": wanted.why })),
            Ok(None) => {}
            // What cannot be put on record now is no reason to stop the work.
            Err(e) => self.say(format!("no checkpoint: {e}")),
        }
    }
}
