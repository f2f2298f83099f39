//! Which tasks may be run here: those that may not are left alone.

use board::locked::Claimed;
use board::ready::Claimant;
use board::task::{Outcome, Task};
use board::task_id::TaskId;
use board::transition::Ending;
use board::{Board, Result};

use crate::workplace::{Seat, Workplace};

/// Who says so.
pub trait Consent {
    /// Whether a task may be claimed, as far as its name tells.
    fn may_claim(&self, id: &TaskId) -> bool;
    /// Whether what it runs may be run. Asked of every task that was claimed; a no holds from then on.
    fn may_run(&self, task: &Task) -> bool;
}

/// The best task that is ready for a claimant and that may be claimed.
pub(crate) fn best<'b>(board: &'b Board, claimant: &'b Claimant, consent: &dyn Consent) -> Option<&'b TaskId> {
    board.index().ready_for(claimant).find(|id| consent.may_claim(id))
}

/// Claims the best task that may be run here. `None`: there is none.
pub(crate) async fn claim(workplace: &Workplace, seat: &Seat, claimant: &Claimant, consent: &dyn Consent) -> Result<Option<Claimed>> {
    let mut refused: Vec<TaskId> = Vec::new();
    loop {
        let Some(wanted) = wanted(workplace, claimant, consent, &refused)? else { return Ok(None) };
        let claimed = match (workplace.claim(seat, claimant, wanted.as_ref()), wanted) {
            // Somebody else was faster, or its file has changed.
            (Err(e), Some(id)) if e.is_refusal() => {
                refused.push(id);
                continue;
            }
            (claimed, _) => claimed?,
        };
        match claimed {
            Some(claimed) if !consent.may_run(&claimed.task) => give_back(workplace, seat, &claimed).await?,
            claimed => return Ok(claimed),
        }
    }
}

/// What was claimed and may not be run.
pub(crate) async fn give_back(workplace: &Workplace, seat: &Seat, claimed: &Claimed) -> Result<()> {
    let released = Ending::because(Outcome::Released, "nobody here has allowed what it runs");
    match workplace.end(seat, claimed, released).await {
        Err(e) if !e.is_refusal() => Err(e),
        Err(_) => Ok(()),
        Ok(settling) => settling.settle().await.map(drop),
    }
}

/// Which task to claim: whichever is best then (`Some(None)`), as long as nothing that stands before the others is to be
/// left alone.
fn wanted(workplace: &Workplace, claimant: &Claimant, consent: &dyn Consent, refused: &[TaskId]) -> Result<Option<Option<TaskId>>> {
    let mut board = workplace.board();
    let may_claim = |id: &&TaskId| !refused.contains(id) && consent.may_claim(id);
    if board.index().ready_for(claimant).next().is_none_or(|best| may_claim(&best)) {
        return Ok(Some(None));
    }
    board.look()?;
    Ok(board.index().ready_for(claimant).find(may_claim).cloned().map(Some))
}
