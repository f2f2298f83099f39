//! `crew reopen`.

use board::clock;
use board::task::Status;
use board::task_id::TaskId;
use board::transition;

use super::PATIENCE;
use super::retry::say_status;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::{once, rehearse};

/// Put cancelled tasks back, or with a reason completed ones
#[derive(Debug, clap::Args)]
pub(crate) struct Reopen {
    /// The tasks; of several all are put back or none
    #[arg(value_name = "ID", required = true)]
    ids: Vec<TaskId>,

    /// Why they are not done after all; needed for completed ones, and kept in the task
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
}

impl Reopen {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (ids, because) = (once(self.ids), self.because.as_deref());
        let mut board = context.board()?;
        context.not_while_it_plans(&board, "reopen")?;
        rehearse(&board, &ids, |document, task| transition::reopen(document, task, because, clock::now()))?;
        let mut locked = board.lock(PATIENCE)?;
        for id in &ids {
            locked.reopen(id, because)?;
        }
        locked.unlock()?.settle()?;
        say_status(context, &ids, &Status::Pending)
    }
}
