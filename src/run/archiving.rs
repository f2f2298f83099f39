//! `crew new-run`: what a run has said and learned is put away.

use std::path::PathBuf;

use board::Board;
use board::disk::Dir;
use board::memory::Memory;
use board::run::{AskKind, Run, State};

use crate::exit::Failure;
use crate::run::{PATIENCE, at_rest};

/// Where a run was put.
#[derive(Debug)]
pub(crate) struct Archived {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its directory.
    pub(crate) path: PathBuf,
}

/// Puts the run away. Refused while it is at work.
///
/// What a crash leaves half done is done again by the next call: each part is copied before it is emptied, and the
/// thread, which is moved, comes last but one.
pub(crate) fn archive(board: &Board) -> Result<Archived, Failure> {
    let run = Run::of(board.place())?;
    let _at_rest = at_rest::hold(board)?;
    let runs = Dir::make(&run.dir().join("runs"), 0o700)?;
    // One that has no state yet was cut short.
    let mut number = 1;
    while runs.stat(&number.to_string())?.is_some() && Dir::open(&runs.join(&number.to_string()))?.stat("state.json")?.is_some() {
        number += 1;
    }
    let to = Dir::make(&runs.join(&number.to_string()), 0o700)?;
    let memory = Memory::of(board.place());
    to.replace("memory.md", memory.text()?.as_bytes(), 0o600, true)?;
    board::crash::point("archive.memory");
    if to.stat("thread.jsonl")?.is_none() && run.thread.last(1)?.pop().is_some() {
        run.thread.lock(PATIENCE)?.archive(&to, "thread.jsonl")?;
    }
    board::crash::point("archive.thread");
    run.thread.lock(PATIENCE)?.set_open_turn(None)?;
    for name in ["asks.json", "cursors.json"] {
        if let Some(bytes) = run.dir().read(name)? {
            to.replace(name, &bytes, 0o600, true)?;
        }
    }
    // What a task waits for still waits; the rest was about what is put away now.
    run.asks.retain(|ask| ask.answer.is_none() && ask.task.is_some() && ask.kind != AskKind::Notice)?;
    memory.empty()?;
    let state = run.dir().read("state.json")?.unwrap_or_default();
    let last = run.thread.last_seq()?;
    run.state.update(|state| *state = State { starts: state.starts, applied: last, others: std::mem::take(&mut state.others), ..State::default() })?;
    // Last: it says that the rest is there.
    to.replace("state.json", &state, 0o600, true)?;
    Ok(Archived { number, path: to.path().to_owned() })
}
