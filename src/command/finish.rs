//! `crew finish`, and what ends of turns have in common.

use board::ready;
use board::task::{Outcome, Status};
use board::task_id::TaskId;
use board::transition::{self, By, Ending};

use super::PATIENCE;
use crate::context::{Acting, Context};
use crate::exit::{Exit, Failure};
use crate::rehearsal::{moment, rehearse};

/// Say that a task that you hold is done
///
/// Runs no command, also not the task's `check`: `crew exec` and `crew work` do. Refused (4) for a task that NAME does
/// not hold, and with a turn that is no longer the claim's.
#[derive(Debug, clap::Args)]
pub(crate) struct Finish {
    #[command(flatten)]
    ends: Ends,

    /// What came of it
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,

    /// The exit code of what was run
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    exit: Option<i32>,
}

/// Whose turn on which task ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Ends {
    /// The task
    #[arg(value_name = "ID")]
    pub(super) id: TaskId,

    #[command(flatten)]
    pub(super) acting: Acting,

    /// The turn, as `crew claim --json` printed it (default: CREW_TURN, inside that task)
    #[arg(long, value_name = "TURN")]
    pub(super) turn: Option<String>,
}

impl Finish {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let ending = Ending { summary: self.summary, exit: self.exit, ..Ending::of(Outcome::Done) };
        self.ends.run(context, &ending)
    }
}

impl Ends {
    /// Ends the turn of the one who acts.
    pub(super) fn run(self, context: &Context, ending: &Ending) -> Result<Exit, Failure> {
        context.check_acting(&context.board()?, &self.acting.name)?;
        let turn = self.turn.or_else(|| context.turn_on(&self.id));
        end(context, &self.id, &By::Holder { name: self.acting.name.as_str(), turn: turn.as_deref() }, ending)
    }
}

/// Ends a turn and says how the task stands then.
pub(super) fn end(context: &Context, id: &TaskId, by: &By<'_>, ending: &Ending) -> Result<Exit, Failure> {
    let mut board = context.seen_board()?;
    let at = moment();
    rehearse(&board, std::slice::from_ref(id), |document, task| transition::end(document, task, by, ending, at).map(drop))?;
    let blockers = board.index().blockers(id);
    if ending.outcome == Outcome::Done && !blockers.is_empty() {
        let no = ready::blocked(&blockers);
        return Err(Failure::Refused { rule: no.rule.name(), message: format!("task {id}: {}", no.why) });
    }
    let mut locked = board.lock(PATIENCE)?;
    let status = locked.end(id, by, ending)?;
    locked.unlock()?.settle()?;
    match context.json {
        true => context.print(serde_json::json!({ "id": id, "status": status }))?,
        false => context.confirm(match status {
            Status::Pending => format!("task {id} is pending again"),
            status => format!("task {id}: {status}"),
        }),
    }
    Ok(Exit::DONE)
}
