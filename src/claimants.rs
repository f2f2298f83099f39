//! Who a name is to the rules of readiness, and which task would be its next.

use std::path::Path;

use board::Board;
use board::clock;
use board::index::Entry;
use board::name::Name;
use board::ready::{self, Claimant};
use board::task_id::TaskId;
use teammates::profile::{Origin, Profile};
use teammates::profiles::{self, Unusable};
use teammates::teammate;

use crate::exit::Failure;

/// The teammate of that name as its profile has it; without one, a shell, which fits everything.
pub(crate) fn by_name(board: &Board, name: &Name) -> Result<Claimant, Failure> {
    let profile = read_profile(&board.place().profile(name), Origin::Crew)?;
    Ok(profile.map_or_else(|| Claimant::shell(name.as_str()), |profile| teammate::claimant(&profile)))
}

/// What a teammate's file says; `None`: there is no such file. What is wrong in it is said with its line.
pub(crate) fn read_profile(file: &Path, origin: Origin) -> Result<Option<Profile>, Failure> {
    profiles::read(file, origin).map_err(|e| match e {
        Unusable::Unreadable(board::Error::Refused(refusal)) => Failure::Usage(refusal.message),
        Unusable::Unreadable(e) => e.into(),
        Unusable::Profile(e) => Failure::Usage(e.to_string()),
    })
}

/// The task that a claimant takes up next: its own before any other.
pub(crate) fn first_choice(board: &Board, claimant: &Claimant) -> Option<TaskId> {
    let ready = || board.index().ready_for(claimant).filter(|id| board.why_not(id, claimant).is_ok());
    own(board, claimant).or_else(|| ready().next().cloned())
}

/// The task that is the claimant's already: parked by it until a time that has come, or dispatched to it.
pub(crate) fn own(board: &Board, claimant: &Claimant) -> Option<TaskId> {
    let index = board.index();
    let is_own = |id: &&TaskId| index.get(id).and_then(Entry::facts).is_some_and(|facts| facts.owner.as_deref() == Some(&claimant.name));
    let due = index.due(clock::now()).into_iter().find(|id| is_due_for(board, claimant, id));
    // Its own come before any other.
    due.or_else(|| index.ready_for(claimant).next().filter(is_own).cloned())
}

/// Whether a task is parked for the claimant until a time that has come.
pub(crate) fn is_due_for(board: &Board, claimant: &Claimant, id: &TaskId) -> bool {
    let facts = board.index().get(id).and_then(Entry::facts);
    facts.is_some_and(|facts| facts.owner.as_deref() == Some(&claimant.name) && ready::is_due(facts, clock::now()))
}
