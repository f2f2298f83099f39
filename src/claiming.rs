//! A claim by hand: from a shell, or for whoever sits at a client of `crew mcp`. Nothing of the run makes it, and nothing
//! ends it by itself unless a process or a lease is named.

use board::alive::Process;
use board::index::Entry;
use board::locked::{Claimed, Terms};
use board::ready::Claimant;
use board::task::Claim as Held;
use board::task_id::TaskId;
use board::{Board, Rule};

use crate::claimants;
use crate::exit::Failure;
use crate::run::PATIENCE;

/// Claims a task: the one that is wanted, else the claimant's own, else the best that is ready for it. `None`: there is
/// nothing. What is refused is refused before anything is locked or made; under the lock all of it holds again.
/// `second`: what is said of a task that the claimant holds already; `None`: it may have one more.
pub(crate) fn claim(board: &mut Board, claimant: &Claimant, wanted: Option<&TaskId>, terms: &Terms, second: Option<&str>) -> Result<Option<Claimed>, Failure> {
    check_second(board, claimant, second)?;
    match wanted {
        Some(id) => check(board, claimant, id)?,
        None if claimants::first_choice(board, claimant).is_none() => return Ok(None),
        None => {}
    }
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    check_second(locked.board(), claimant, second)?;
    let own = claimants::own(locked.board(), claimant);
    let claimed = match (wanted, own) {
        // Its own may be gone or edited at this moment: then the next one is as good.
        (None, Some(own)) => match locked.claim(None, claimant, Some(&own), terms) {
            Err(e) if e.is_refusal() => locked.claim(None, claimant, None, terms)?,
            claimed => claimed?,
        },
        (wanted, _) => locked.claim(None, claimant, wanted, terms)?,
    };
    locked.unlock()?.settle()?;
    Ok(claimed)
}

/// A task that a name holds: for any of its processes, or for one. What is parked is not held.
pub(crate) fn held_by(board: &Board, name: &str, holder: Option<&Process>) -> Option<(TaskId, Held)> {
    all_held_by(board, name).find(|(_, claim)| holder.is_none_or(|holder| claim.process.as_ref() == Some(holder)))
}

/// All that a name holds.
pub(crate) fn all_held_by<'b>(board: &'b Board, name: &'b str) -> impl Iterator<Item = (TaskId, Held)> + 'b {
    let index = board.index();
    let is_by = move |id: &&TaskId| index.get(id).and_then(Entry::facts).and_then(|facts| facts.turn()).is_some_and(|(_, by)| by == name);
    index.in_progress().filter(is_by).filter_map(move |id| {
        let claim = board.read_task(id).ok()?.1.claim?;
        (claim.by == name).then(|| (id.clone(), claim))
    })
}

/// Refuses a second claim of one name, unless that is wanted.
fn check_second(board: &Board, claimant: &Claimant, second: Option<&str>) -> Result<(), Failure> {
    let Some(way_on) = second else { return Ok(()) };
    match held_by(board, &claimant.name, None) {
        Some((id, _)) => Err(Failure::Refused { rule: Rule::OneClaim.name(), message: format!("{} holds task {id} already; {way_on}", claimant.name) }),
        None => Ok(()),
    }
}

/// Refuses a task that the claimant may not have.
fn check(board: &Board, claimant: &Claimant, id: &TaskId) -> Result<(), Failure> {
    board.read_task(id)?;
    if claimants::is_due_for(board, claimant, id) {
        return Ok(());
    }
    board.why_not(id, claimant).map_err(|no| Failure::Refused { rule: no.rule.name(), message: format!("task {id}: {}", no.why) })
}
