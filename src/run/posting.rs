//! A teammate's move in the thread, with the credit that its work has.

use board::place::Place;
use board::post::Kind;
use board::run::{Move, OpenTurn, Run};
use board::thread::Appended;
use board::tree;

use crate::exit::Failure;
use crate::rules::credit::{self, Credit};
use crate::run::PATIENCE;

/// How a turn's work is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// By the tree.
    ByTree,
    /// By the exit code 0 of its command too, where nothing is to be written: the teammate does not write, or there is no
    /// repository.
    ByExit {
        /// Whether the teammate writes.
        writes: bool,
    },
}

/// Posts in the turn that is open. Work is judged before the thread is locked: that may take its time.
pub(crate) fn post(place: &Place, run: &Run, who: &str, turn: Option<&str>, said: Move, shown: Shown) -> Result<Appended, Failure> {
    let open = run.open_turn()?.filter(|open| open.of == who);
    let credited = match (said.kind, &open) {
        (Kind::WorkDone, Some(open)) => {
            let nothing_to_write = open.base.is_none() || shown == Shown::ByExit { writes: false };
            Some(credit_of(place, open)? == Credit::Given || (shown != Shown::ByTree && nothing_to_write))
        }
        _ => None,
    };
    // The turn that was judged is the one that the post ends.
    let turn = turn.or(open.as_ref().map(|open| open.turn.as_str()));
    let appended = run.thread.lock(PATIENCE)?.post(who, turn, Move { credited, ..said })?;
    board::crash::point("post.effects");
    Ok(appended)
}

/// What the tree says of a turn's work.
pub(crate) fn credit_of(place: &Place, turn: &OpenTurn) -> Result<Credit, Failure> {
    Ok(credit::of_turn(turn.base.as_ref(), tree::state(place)?.as_ref(), turn.shared))
}
