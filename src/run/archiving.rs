//! `crew new-run`: what a run has said and learned is put away.

use std::path::PathBuf;

use board::Board;
use board::disk::Dir;
use board::memory::Memory;
use board::run::{AskKind, Cursor, Run, State};

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
/// What a crash leaves half done is done again by the next call: everything is copied, or moved, before anything is
/// emptied, and the copy of the state says that all of it is there.
pub(crate) fn archive(board: &Board) -> Result<Archived, Failure> {
    let run = Run::of(board.place())?;
    let _at_rest = at_rest::hold(board)?;
    run.check_formats()?;
    let runs = Dir::make(&run.dir().join("runs"), 0o700)?;
    let has_posts = !run.thread.is_empty()?;
    let number = number(&runs, has_posts)?;
    let to = Dir::make(&runs.join(&number.to_string()), 0o700)?;
    let memory = Memory::of(board.place());
    to.replace("memory.md", memory.text()?.as_bytes(), 0o600, true)?;
    for name in ["asks.json", "cursors.json", "sessions.json"] {
        if let Some(bytes) = run.dir().read(name)? {
            to.replace(name, &bytes, 0o600, true)?;
        }
    }
    board::crash::point("archive.memory");
    if has_posts {
        run.thread.lock(PATIENCE)?.archive(&to, "thread.jsonl")?;
    }
    board::crash::point("archive.thread");
    to.replace("state.json", &run.dir().read("state.json")?.unwrap_or_default(), 0o600, true)?;
    board::crash::point("archive.copied");
    empty(&run, &memory)?;
    Ok(Archived { number, path: to.path().to_owned() })
}

/// The next number, or the last where that was cut short and still takes what there is.
fn number(runs: &Dir, has_posts: bool) -> Result<u64, Failure> {
    let mut number = 0;
    while runs.stat(&(number + 1).to_string())?.is_some() {
        number += 1;
    }
    if number == 0 {
        return Ok(1);
    }
    let last = Dir::open(&runs.join(&number.to_string()))?;
    let goes_on = last.stat("state.json")?.is_none() && !(has_posts && last.stat("thread.jsonl")?.is_some());
    Ok(if goes_on { number } else { number + 1 })
}

fn empty(run: &Run, memory: &Memory) -> Result<(), Failure> {
    run.thread.lock(PATIENCE)?.set_open_turn(None)?;
    // What a task waits for still waits; the rest was about what is put away now.
    run.asks.retain(|ask| ask.answer.is_none() && ask.task.is_some() && ask.kind != AskKind::Notice)?;
    memory.empty()?;
    run.sessions.forget()?;
    board::crash::point("archive.emptied");
    let last = run.thread.last_seq()?;
    // Whatever there was is nobody's news any more, and nobody has spoken yet.
    run.cursors.update(|cursors| cursors.teammates.values_mut().for_each(|cursor| *cursor = Cursor { seen: last, spoke: 0 }))?;
    run.state.update(|state| *state = State { starts: state.starts, applied: last, others: std::mem::take(&mut state.others), ..State::default() })?;
    Ok(())
}
