//! A lane: one turn on one task, from its claim to its end on the board.

use std::sync::Arc;

use board::locked::Claimed;
use board::task::Outcome;
use board::transition::Ending;
use board::{Error, Result};
use tokio::sync::watch;

use crate::attempt::{self, Plan};
use crate::lane_move;
use crate::taken;
use crate::workplace::{Seat, Settling, Workplace};
use crate::worktree;

/// Whether lanes are to end now, and why. The sender is whoever may tell them.
pub type Told = watch::Receiver<Option<String>>;

/// Waits until lanes are told to end; the answer is why. Whoever could tell them being gone, they never are.
pub async fn told_to_end(mut told: Told) -> String {
    match told.wait_for(Option::is_some).await {
        Ok(why) => why.clone().unwrap_or_default(),
        Err(_) => std::future::pending().await,
    }
}

/// What came of a turn.
pub struct Worked {
    /// The task as it was claimed, and the turn.
    pub claimed: Claimed,
    /// How the attempt ended.
    pub ending: Ending,
    /// The end on the board. A rule's no: the task was taken away meanwhile.
    pub on_board: std::result::Result<Settling, Error>,
}

/// Works on a claimed task until its end is on the board.
///
/// An error is one of this machine: see [`attempt()`] and [`end`].
pub async fn work(workplace: Workplace, seat: Arc<Seat>, claimed: Claimed, plan: Plan, told: Told) -> Result<Worked> {
    let ending = attempt(&workplace, &seat, &claimed, &plan, told).await?;
    end(&workplace, &seat, claimed, ending).await
}

/// The attempt alone. Its command is ended when lanes are told to end, and when its turn no longer holds the task:
/// cancelled, released by force, another's. Work in a worktree of its own is merged when it is done. An error: no
/// command can be run now, and the task was given back.
pub async fn attempt(workplace: &Workplace, seat: &Seat, claimed: &Claimed, plan: &Plan, told: Told) -> Result<Ending> {
    let cut_short = async {
        tokio::select! {
            why = told_to_end(told) => why,
            why = taken::away(workplace, claimed) => why,
        }
    };
    let cwd = match worktree::take(workplace, claimed, plan.worktree).await {
        Ok(cwd) => cwd,
        Err(ending) => return Ok(ending),
    };
    match attempt::run(workplace, seat, claimed, plan, &cwd, cut_short).await {
        Ok(ending) => Ok(worktree::merge(workplace, seat, claimed, plan.worktree, &cwd, ending).await),
        Err(e) => {
            let released = Ending::because(Outcome::Released, format!("the attempt could not begin: {e}"));
            if let Ok(settling) = workplace.end(seat, claimed, released).await {
                settling.settle().await?;
            }
            Err(e)
        }
    }
}

/// The end of an attempt on the board. An error: it could not be written, and the task goes back when this process
/// ends.
pub async fn end(workplace: &Workplace, seat: &Seat, claimed: Claimed, ending: Ending) -> Result<Worked> {
    let on_board = match workplace.end(seat, &claimed, ending.clone()).await {
        Err(e) if !e.is_refusal() => return Err(e),
        other => other,
    };
    if on_board.is_ok() {
        lane_move::take_up_answered(&mut workplace.board(), &claimed.task.id, &ending)?;
    }
    Ok(Worked { claimed, ending, on_board })
}
