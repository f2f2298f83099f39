//! Checkpoints of a run.

use board::checkpoints::{self, Kind};
use board::{Board, Result};
use teammates::config::Checkpoints;

/// Puts the working tree on record; the answer is the checkpoint's number. `None`: there is no repository, or none are
/// wanted.
pub(super) fn checkpoint(board: &Board, kind: Checkpoints, why: &str, seq: Option<u64>) -> Result<Option<u64>> {
    let kind = match kind {
        Checkpoints::Off => return Ok(None),
        Checkpoints::Refs => Kind::Refs,
        Checkpoints::Branch => Kind::Branch,
    };
    let made = checkpoints::Checkpoints::of(board.place()).make(why, seq, kind)?;
    Ok(made.map(|made| made.number))
}
