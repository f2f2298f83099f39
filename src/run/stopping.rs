//! What a run leaves that is stopped: nothing of it goes on.

use std::time::{Duration, Instant};

use board::alive::{Liveness, Process};
use board::run::{OpenTurn, Run};
use board::{Board, Result};
use teammates::cleaning;
use teammates::detach::{self, Force};

use crate::exit::{Failure, start};
use crate::run::{PATIENCE, audit, crewing, servers};

/// How long a process that was told to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(8);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Ends the turn that is open and the teammates that the run had started, once no daemon is at work. The answer is what
/// is still there at the deadline.
pub(crate) fn end_what_is_left(board: &mut Board, run: &Run, deadline: Instant) -> Result<Vec<Process>, Failure> {
    let turn = tell_turn_to_end(run)?;
    let state = run.state.read()?;
    let hired = crewing::of_run(board, &state.hired);
    if state.audit.is_some() {
        // First: an audit that is not on record any more ends by itself.
        run.state.update(|state| state.audit = None)?;
    }
    audit::end_left(state.audit.as_ref());
    crewing::dismiss(board, &hired, true);
    let kill_at = Instant::now() + GRACE;
    let mut left: Vec<Process> = hired.into_values().collect();
    let performs = turn.as_ref().and_then(|turn| turn.begun.as_ref()).map(|begun| begun.process.clone());
    loop {
        left.retain(|process| process.liveness() == Liveness::Alive);
        let mut all = left.clone();
        all.extend(performs.clone().filter(|process| !left.contains(process) && is_open(run) && process.liveness() == Liveness::Alive));
        if all.is_empty() {
            break;
        }
        if Instant::now() >= deadline {
            return Ok(all);
        }
        for process in all.iter().filter(|process| Instant::now() >= kill_at || process.is_stopped()) {
            detach::end(process, Force::Kill).map_err(start)?;
        }
        std::thread::sleep(LOOK);
    }
    servers::end(board.place());
    cleaning::return_stale_claims(board)?;
    if let Some(turn) = turn {
        close(run, &turn)?;
    }
    Ok(Vec::new())
}

/// Whoever performs it sees that, and ends it.
fn tell_turn_to_end(run: &Run) -> Result<Option<OpenTurn>> {
    let thread = run.thread.lock(PATIENCE)?;
    let Some(mut open) = thread.open_turn()? else { return Ok(None) };
    if open.stop.is_none() && open.ended.is_none() {
        open.stop = Some("a person stopped the run".into());
        thread.set_open_turn(Some(&open))?;
    }
    Ok(Some(open))
}

/// Whether somebody still performs it.
fn is_open(run: &Run) -> bool {
    run.open_turn().ok().flatten().is_some_and(|open| open.ended.is_none())
}

/// Closes it, unless it has its post: what that brings about is the next daemon's to do.
fn close(run: &Run, turn: &OpenTurn) -> Result<()> {
    let thread = run.thread.lock(PATIENCE)?;
    match thread.open_turn()? {
        Some(open) if open.turn == turn.turn && thread.post_of(&open)?.is_none() => thread.set_open_turn(None),
        _ => Ok(()),
    }
}
