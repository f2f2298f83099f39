//! What dead holders left: their processes are ended, then their tasks go back to the board.

use std::time::Duration;

use board::alive::Liveness;
use board::board::Stale;
use board::name::Name;
use board::run::{Ended, OpenTurn, Run};
use board::task::{Outcome, Status};
use board::task_id::TaskId;
use board::transition::{By, Ending};
use board::{Board, Result, clock};
use jiff::Timestamp;

use crate::config;
use crate::group_record;
use crate::lane_move;
use crate::leftovers;
use crate::reading;
use crate::speaking;
use crate::waits::Waits;

/// Between SIGTERM and SIGKILL for what a dead holder left running.
const GRACE: Duration = Duration::from_secs(2);
/// How long the board's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A claim that went back to the board.
#[derive(Debug, Clone)]
pub struct Returned {
    /// The task.
    pub task: TaskId,
    /// Whose claim it was.
    pub by: String,
    /// The status that it has now: pending, or failed when it was lost too often.
    pub status: Status,
    /// How many processes of it were ended.
    pub ended: usize,
}

impl Returned {
    /// Tells of it in this process's log.
    pub fn log(&self) {
        tracing::info!("task {}: lost by {}, {} again; {} processes of it ended", self.task, self.by, self.status, self.ended);
    }
}

/// Returns every claim whose holder is gone for certain. What the holder left running is ended first, without the
/// board's lock: never for claims from a shell, which name no process of ours. What turns over messages and turns of
/// the thread left running is ended in the same way.
pub fn return_stale_claims(board: &mut Board) -> Result<Vec<Returned>> {
    end_left_readings(board)?;
    end_left_turn(board)?;
    board.look()?;
    let stale = board.stale_claims(clock::now())?;
    if stale.is_empty() {
        return Ok(Vec::new());
    }
    let ended: Vec<usize> = stale.iter().map(|stale| end_leftovers(board, stale)).collect();
    let mut locked = board.lock(PATIENCE)?;
    let mut returned = Vec::new();
    for (Stale { task, claim }, ended) in stale.into_iter().zip(ended) {
        let reason = match claim.process {
            Some(process) => format!("its holder died ({process})"),
            None => "its lease ran out".to_owned(),
        };
        // A turn that had its post has ended by it, though its holder did not come to write that down.
        let posted = lane_move_of(locked.board(), &task, &claim.turn, claim.at)?;
        let lost = Ending { log: log_of(locked.board(), &task, &claim.turn), ..Ending::because(Outcome::Lost, reason) };
        match locked.end(&task, &By::Cleaner { turn: &claim.turn }, &posted.unwrap_or(lost)) {
            Ok(status) => returned.push(Returned { task, by: claim.by, status, ended }),
            // Somebody else was faster, or a person is writing the file: the next look finds it, if it is still so.
            Err(e) if e.is_refusal() => {}
            Err(e) => return Err(e),
        }
    }
    locked.unlock()?.settle()?;
    Ok(returned)
}

fn lane_move_of(board: &Board, id: &TaskId, turn: &str, since: Timestamp) -> Result<Option<Ending>> {
    let Ok((_, task)) = board.read_task(id) else { return Ok(None) };
    // A configuration that cannot be read now was read when the work began.
    let waits = Waits::of(&config::read(board.place()).unwrap_or_default());
    lane_move::of(board.place(), &task, turn, since, waits)
}

fn log_of(board: &Board, task: &TaskId, turn: &str) -> Option<String> {
    let log = board.place().log(task, turn);
    log.is_file().then(|| log.display().to_string())
}

/// Ends what dead teammates' turns over messages left running. Their messages still wait, and come again.
fn end_left_readings(board: &Board) -> Result<()> {
    for (name, reading) in reading::left(board) {
        let ended = end_turn(board, &name, &reading.turn, &reading.process.boot);
        tracing::info!("a turn of {name} over its messages: lost with its process; {ended} processes of it ended");
        reading::forget(board.place(), &name, &reading)?;
    }
    Ok(())
}

/// Ends what the turn of the thread left running whose process has died, and says in its record that it is over.
fn end_left_turn(board: &Board) -> Result<()> {
    let Some(run) = Run::existing(board.place())? else { return Ok(()) };
    let Some(OpenTurn { turn, of, begun: Some(begun), ended: None, .. }) = run.open_turn()? else { return Ok(()) };
    if begun.process.liveness() != Liveness::Dead {
        return Ok(());
    }
    if let Ok(name) = Name::new(&of)
        && begun.process.shares_our_kernel()
    {
        let ended = end_turn(board, &name, &turn, &begun.process.boot);
        tracing::info!("the turn of {of} in the thread: lost with its process; {ended} processes of it ended");
    }
    speaking::say_ended(&run, &turn, Ended { exit: None, how: format!("its process died ({})", begun.process), lost: true, limited: false })
}

fn end_leftovers(board: &Board, stale: &Stale) -> usize {
    // Its processes can only be here if it ran under this kernel.
    match (&stale.claim.process, Name::new(&stale.claim.by)) {
        (Some(process), Ok(name)) if process.shares_our_kernel() => end_turn(board, &name, &stale.claim.turn, &process.boot),
        _ => 0,
    }
}

fn end_turn(board: &Board, name: &Name, turn: &str, boot: &str) -> usize {
    let groups = board.groups_of(name).map(|record| group_record::parse(&record, boot)).unwrap_or_default();
    match leftovers::end(turn, &groups, GRACE) {
        Ok(report) => report.ended.len(),
        Err(e) => {
            tracing::warn!("{e}");
            0
        }
    }
}
