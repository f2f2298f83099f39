//! `crew unblock`.

use board::clock;
use board::edits;
use board::task_id::TaskId;

use super::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::rehearse;

/// Let a task wait no longer
#[derive(Debug, clap::Args)]
pub(crate) struct Unblock {
    /// The task that waits
    #[arg(value_name = "ID")]
    id: TaskId,

    /// What it is no longer to wait for (default: everything)
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    from: Vec<TaskId>,
}

impl Unblock {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.seen_board()?;
        let id = &self.id;
        rehearse(&board, std::slice::from_ref(id), |document, task| edits::unblock(document, task, &self.from, clock::now()))?;
        let mut locked = board.lock(PATIENCE)?;
        locked.unblock(id, &self.from)?;
        locked.unlock()?.settle()?;
        let (_, task) = board.read_task(id)?;
        let left: Vec<&str> = task.blocked_by.iter().map(TaskId::as_str).collect();
        match context.json {
            true => {
                let left: Vec<_> = task.blocked_by.iter().collect();
                context.print(serde_json::json!({ "id": id, "status": task.status, "blockedBy": left }))?;
            }
            false if left.is_empty() => context.confirm(format!("task {id} waits for none")),
            false => context.confirm(format!("task {id} still waits for {}", left.join(", "))),
        }
        Ok(Exit::DONE)
    }
}
