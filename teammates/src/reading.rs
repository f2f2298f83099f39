//! The record of a turn over messages: which turn of which process it is, for whoever cleans up if that dies.
//!
//! A turn on a task is named by the task's claim. One over messages has none: it is named by a file beside the record
//! of its teammate's process groups, from before its command starts until what that left has been ended.

use board::alive::{Liveness, Process};
use board::disk::Dir;
use board::name::Name;
use board::place::Place;
use board::{Board, Result};
use serde::{Deserialize, Serialize};

/// A turn over messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// The turn.
    pub(crate) turn: String,
    /// The process that began it.
    pub(crate) process: Process,
}

/// Says that this process begins a turn over messages, under a name that it holds.
pub(crate) fn begin(place: &Place, name: &Name, turn: &str) -> Result<()> {
    let reading = Reading { turn: turn.to_owned(), process: Process::current().clone() };
    groups(place)?.replace(&file_name(name), &serde_json::to_vec(&reading).unwrap_or_default(), 0o600, false)
}

/// Says that the turn is over, and that nothing of it is left.
pub(crate) fn end(place: &Place, name: &Name) -> Result<()> {
    groups(place)?.remove(&file_name(name))
}

/// Whether this turn over messages is under way.
pub fn is_under_way(place: &Place, name: &Name, turn: &str) -> bool {
    groups(place).ok().and_then(|groups| read(&groups, name)).is_some_and(|reading| reading.turn == turn)
}

/// The turns over messages whose processes have died.
pub(crate) fn left(board: &Board) -> Vec<(Name, Reading)> {
    // No directory: nobody has begun anything.
    let Ok(groups) = groups(board.place()) else { return Vec::new() };
    let names = groups.names().unwrap_or_default();
    let readers = names.iter().filter_map(|(file, _)| Name::new(file.strip_suffix(ENDING)?).ok());
    readers.filter_map(|name| read(&groups, &name).map(|reading| (name, reading))).filter(|(name, reading)| has_died(board, name, reading)).collect()
}

/// Forgets a turn that is over, unless another of that teammate has begun meanwhile.
pub(crate) fn forget(place: &Place, name: &Name, reading: &Reading) -> Result<()> {
    let groups = groups(place)?;
    match read(&groups, name) {
        Some(now) if now == *reading => groups.remove(&file_name(name)),
        _ => Ok(()),
    }
}

fn read(groups: &Dir, name: &Name) -> Option<Reading> {
    serde_json::from_slice(&groups.read(&file_name(name)).ok()??).ok()
}

/// As for a claim: the process is dead, and the teammate's lock is free or another process's.
fn has_died(board: &Board, name: &Name, reading: &Reading) -> bool {
    let held_by_another = || board.teammates().is_ok_and(|all| all.iter().any(|seen| seen.name == *name && is_another(seen, reading)));
    reading.process.shares_our_kernel() && reading.process.liveness() == Liveness::Dead && (!board.lives(name) || held_by_another())
}

fn is_another(seen: &board::presence::Seen, reading: &Reading) -> bool {
    seen.record.as_ref().is_some_and(|record| record.process != reading.process)
}

fn groups(place: &Place) -> Result<Dir> {
    Dir::open(&place.ours().join("groups"))
}

const ENDING: &str = ".reading";

fn file_name(name: &Name) -> String {
    format!("{name}{ENDING}")
}
