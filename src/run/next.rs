//! Who speaks next, for whoever looks from outside.

use board::Board;
use board::run::Run;

use crate::exit::Failure;
use crate::rules::scheduler::{self, Next, Situation};
use crate::run::roster::{self, Profiles};
use crate::run::window::Window;

/// What the scheduler would say now; `None`: nobody on the team can take a turn.
pub(crate) fn speaker(board: &Board, run: &Run) -> Result<Option<Next>, Failure> {
    let mut profiles = Profiles::default();
    let roster = roster::seats(board, &profiles.read(board.place())?)?;
    if roster.is_empty() {
        return Ok(None);
    }
    let window = Window::of(run)?;
    Ok(Some(scheduler::next(Situation { posts: &window.posts, last_seq: &window.last_seq, roster: &roster })))
}
