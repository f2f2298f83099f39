//! `crew block`.

use board::clock;
use board::edits;
use board::task_id::TaskId;

use super::PATIENCE;
use super::retry::say_status;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::rehearse;

/// Let a task wait for others
#[derive(Debug, clap::Args)]
pub(crate) struct Block {
    /// The task that is to wait
    #[arg(value_name = "ID")]
    id: TaskId,

    /// What it waits for
    #[arg(long, value_name = "ID,…", required = true, value_delimiter = ',')]
    by: Vec<TaskId>,
}

impl Block {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.seen_board()?;
        board.check_block(&self.id, &self.by)?;
        let ids = [self.id];
        rehearse(&board, &ids, |document, task| edits::block(document, task, &self.by, clock::now()))?;
        let mut locked = board.lock(PATIENCE)?;
        locked.block(&ids[0], &self.by)?;
        locked.unlock()?.settle()?;
        say_status(context, &ids, &board::task::Status::Pending)
    }
}
