//! Who speaks next, for whoever looks from outside.

use board::Board;
use board::run::Run;

use crate::exit::Failure;
use crate::rules::scheduler::{self, Next, Seat, Situation};
use crate::run::roster;
use crate::run::window::Window;

/// What the scheduler would say now; `None`: nobody on the team can take a turn.
pub(crate) fn speaker(board: &Board, run: &Run) -> Result<Option<Next>, Failure> {
    let roster = roster::of(board)?;
    (!roster.is_empty()).then(|| among(run, &roster)).transpose()
}

/// The same among these.
pub(crate) fn among(run: &Run, roster: &[Seat]) -> Result<Next, Failure> {
    let window = Window::of(run)?;
    Ok(scheduler::next(Situation { posts: &window.posts, last_seq: &window.last_seq, roster }))
}
