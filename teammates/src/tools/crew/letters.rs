//! A message from one teammate to another, and who is on the team at all.

use std::sync::Arc;

use board::Board;
use board::clock;
use board::inbox::{Inbox, Kind};
use board::name::Name;
use board::place::Place;

use crate::profiles;

/// The longest message, in bytes.
const LONGEST: usize = 64 << 10;

/// The teammate of that name: one that is or was on the board, or has a file. What is refused is named, and who there is.
pub fn on_team(board: &Board, name: &str) -> Result<Name, String> {
    let name = Name::new(name.trim()).map_err(|e| e.to_string())?;
    let team = team(board)?;
    match team.contains(&name) {
        true => Ok(name),
        false => Err(format!("nobody is called {name}; there are: {}", team.iter().map(Name::as_str).collect::<Vec<_>>().join(", "))),
    }
}

/// Sends a message; its id. Refused: to nobody who is there, to oneself, and what is empty or too long.
pub fn send(board: &Board, from: &Name, to: &str, text: &str) -> Result<String, String> {
    let to = on_team(board, to)?;
    if to == *from {
        return Err(format!("{to} is you; the memory (`remember`) keeps what you want to know later"));
    }
    if text.trim().is_empty() || text.len() > LONGEST {
        return Err(format!("a message has between 1 and {LONGEST} bytes; this one has {}", text.len()));
    }
    let sent = board.place().inboxes().and_then(|dir| Inbox::open(Arc::new(dir), &to)?.send(from.as_str(), Kind::Say, text, clock::now()));
    sent.map(|id| format!("Message {id} waits for {to}.")).map_err(|e| e.to_string())
}

fn team(board: &Board) -> Result<Vec<Name>, String> {
    let seen = board.teammates().map_err(|e| e.to_string())?.into_iter().map(|seen| seen.name);
    let mut team: Vec<Name> = seen.chain(with_files(board.place())).collect();
    team.sort();
    team.dedup();
    Ok(team)
}

/// Those that have a file. A directory that cannot be read names nobody; the run's state says why.
fn with_files(place: &Place) -> Vec<Name> {
    let files = profiles::files(place).unwrap_or_default();
    files.iter().filter_map(|file| Name::new(file.file_stem()?.to_str()?).ok()).collect()
}
