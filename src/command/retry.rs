//! `crew retry`.

use board::clock;
use board::task::Status;
use board::task_id::TaskId;
use board::transition;

use super::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::{once, rehearse};

/// Put failed tasks back: pending again, with all their retries
#[derive(Debug, clap::Args)]
pub(crate) struct Retry {
    /// The tasks; of several all are put back or none
    #[arg(value_name = "ID", required = true)]
    ids: Vec<TaskId>,
}

impl Retry {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let ids = once(self.ids);
        let mut board = context.board()?;
        context.not_while_it_plans(&board, "retry")?;
        rehearse(&board, &ids, |document, task| transition::retry(document, task, clock::now()))?;
        let mut locked = board.lock(PATIENCE)?;
        for id in &ids {
            locked.retry(id)?;
        }
        locked.unlock()?.settle()?;
        say_status(context, &ids, &Status::Pending)
    }
}

/// Says how tasks stand after a change: with `--json` one object a line, else in words.
pub(super) fn say_status(context: &Context, ids: &[TaskId], status: &Status) -> Result<Exit, Failure> {
    for id in ids {
        match context.json {
            true => context.print(serde_json::json!({ "id": id, "status": status }))?,
            false => context.confirm(format!("task {id}: {status}")),
        }
    }
    Ok(Exit::DONE)
}
