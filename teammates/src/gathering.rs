//! What a turn of the thread shows its teammate, gathered from the records of the run.

use board::Result;
use board::place::Place;
use board::run::{OpenTurn, Run};

use crate::opening::Opening;
use crate::profile::Profile;

/// What an opening shows, for the records: the next one shows what came after.
pub(crate) struct Shown {
    /// The last post.
    pub(crate) seen: u64,
    /// The notices whose answers it tells.
    pub(crate) answers: Vec<u64>,
}

/// Gathers it. Costs what is shown, not the thread.
pub(crate) fn gather(_place: &Place, run: &Run, _profile: &Profile, _turn: &OpenTurn) -> Result<(Opening, Shown)> {
    Ok((Opening, Shown { seen: run.thread.last_seq()?, answers: vec![] }))
}
