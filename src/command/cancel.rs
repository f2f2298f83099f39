//! `crew cancel`.

use std::collections::BTreeSet;

use board::Board;
use board::task_id::TaskId;
use board::transition;

use super::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::{moment, once, rehearse};

/// Cancel tasks: they are not to be done
///
/// Tasks that wait for a cancelled one are named and stay blocked, until `crew unblock` or --cascade. Everything that
/// a holder of a cancelled task still writes about it is refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    /// The tasks; of several all are cancelled or none
    #[arg(value_name = "ID", required = true)]
    ids: Vec<TaskId>,

    /// Also cancel the tasks that wait for them, and those that wait for these
    #[arg(long)]
    cascade: bool,
}

impl Cancel {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.seen_board()?;
        let mut ids = once(self.ids);
        if self.cascade {
            ids = with_waiting(&board, ids);
        }
        let at = moment();
        rehearse(&board, &ids, |document, task| transition::cancel(document, task, at))?;
        let mut locked = board.lock(PATIENCE)?;
        for id in &ids {
            locked.cancel(id)?;
        }
        let left: BTreeSet<TaskId> = ids.iter().flat_map(|id| locked.board().waiting_for(id)).collect();
        locked.unlock()?.settle()?;

        if context.json {
            context.print(serde_json::json!({ "cancelled": ids, "waiting": left }))?;
            return Ok(Exit::DONE);
        }
        ids.iter().for_each(|id| context.confirm(format!("task {id}: cancelled")));
        if !left.is_empty() {
            let names: Vec<&str> = left.iter().map(TaskId::as_str).collect();
            context.say(format!("still waiting for it: {}; `crew unblock` them, or cancel them too (--cascade)", names.join(", ")));
        }
        Ok(Exit::DONE)
    }
}

/// The tasks and all that wait for them, near or far.
fn with_waiting(board: &Board, mut ids: Vec<TaskId>) -> Vec<TaskId> {
    let mut seen: BTreeSet<TaskId> = ids.iter().cloned().collect();
    let mut next = 0;
    while let Some(id) = ids.get(next) {
        let waiting = board.waiting_for(id);
        ids.extend(waiting.into_iter().filter(|id| seen.insert(id.clone())));
        next += 1;
    }
    ids
}
