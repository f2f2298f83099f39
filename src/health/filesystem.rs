//! Whether the board's filesystem does what the board relies on: tried, in a directory beside the tasks that is
//! removed again.

use std::io::ErrorKind;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use board::disk::{self, Dir};
use board::watch::Watch;
use board::{Board, Result, duration, turn};

use super::{Finding, Level, lock_trial};
use crate::machine;

/// How long an event may take before events count as not working.
const EVENT: Duration = Duration::from_secs(2);
/// How long a filesystem's clock is watched.
const CLOCK: Duration = Duration::from_secs(3);
/// The board takes two changes of a file within so long for possibly one.
const GRAIN: Duration = Duration::from_millis(20);

/// Tries everything. What cannot be written is said, and nothing else is tried.
pub(crate) fn findings(board: &Board) -> Vec<Finding> {
    let tasks = board.place().tasks();
    let name = format!(".doctor.{}", turn::fresh());
    let tried = Dir::make(&tasks.join(&name), 0o700).and_then(|trial| {
        let found = no_room(&trial).map_or_else(|| in_trial(board, &trial), |full| vec![full]);
        Dir::open(tasks)?.remove_dir(&name)?;
        Ok(found)
    });
    tried.unwrap_or_else(|e| vec![Finding::of(Level::Problem, "writable", format!("nothing can be changed on this board: {e}"))])
}

/// Without room nothing else can be tried, and nothing that fails says anything.
fn no_room(trial: &Dir) -> Option<Finding> {
    let error = trial.write_new("room", &[0; 4096], 0o600).err()?;
    let full = matches!(error.io_kind(), Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded));
    full.then(|| Finding::of(Level::Problem, "room", format!("there is no room for tasks to change: {error}; make room, then look again")))
}

fn in_trial(board: &Board, trial: &Dir) -> Vec<Finding> {
    let ok = |check, message: &str| Finding::of(Level::Ok, check, message);
    let problem = |check, message: String| Finding::of(Level::Problem, check, message);
    vec![
        match lock_trial::two_processes(trial) {
            Ok(()) => ok("locks", "two processes exclude each other"),
            Err(message) => problem("locks", message),
        },
        match exchanges(trial) {
            Ok(true) => ok("exchange", "two names are exchanged in one step, and a new name replaces none"),
            Ok(false) => problem("exchange", "two names cannot be exchanged in one step here".into()),
            Err(e) => problem("exchange", format!("two names cannot be exchanged in one step here: {e}")),
        },
        events(board, trial),
        clock(board, trial),
    ]
}

/// Whether names are exchanged, and a taken name is not taken again.
fn exchanges(trial: &Dir) -> Result<bool> {
    trial.write_new("one", b"1", 0o600)?;
    trial.write_new("two", b"2", 0o600)?;
    disk::exchange(trial, "one", trial, "two")?;
    let exchanged = trial.read("one")?.as_deref() == Some(b"2") && trial.read("two")?.as_deref() == Some(b"1");
    Ok(exchanged && !disk::rename_new(trial, "one", trial, "two")?)
}

/// Whether a task that appears is told of.
fn events(board: &Board, trial: &Dir) -> Finding {
    let every = "the board is looked at every 5 s instead";
    if !machine::events() {
        return Finding::of(Level::Note, "events", format!("not relied on, since CREW_NO_NOTIFY is set; {every}"));
    }
    if !board.is_local() {
        return Finding::of(Level::Note, "events", format!("not relied on, since this is a network or unknown filesystem; {every}"));
    }
    let (told, wait) = mpsc::channel();
    let wake = move || {
        // Nobody waits any more.
        let _ = told.send(());
    };
    let watch = Watch::begin(trial.path(), &[], wake);
    let began = Instant::now();
    let written = watch.and_then(|watch| trial.write_new("task_1.json", b"{}", 0o600).map(|_| watch));
    match written.map(|watch| (wait.recv_timeout(EVENT), watch)) {
        Ok((Ok(()), _)) => Finding::of(Level::Ok, "events", format!("a new task was told of after {}", milliseconds(began.elapsed()))),
        Ok((Err(_), _)) => Finding::of(Level::Problem, "events", format!("none came within {}; set CREW_NO_NOTIFY=1, so that {every}", duration::print(EVENT))),
        Err(e) => Finding::of(Level::Note, "events", format!("there are none ({e}); {every}")),
    }
}

/// How far apart two changes of a file must be to have different times.
fn clock(board: &Board, trial: &Dir) -> Finding {
    match grain(trial) {
        Ok(Some(grain)) if grain > GRAIN && board.is_local() => {
            let message =
                format!("file times differ only after {}, and {} are counted on: edits by hand may be seen late", milliseconds(grain), milliseconds(GRAIN));
            Finding::of(Level::Problem, "clock", message)
        }
        Ok(Some(grain)) => Finding::of(Level::Ok, "clock", format!("file times differ after {}", milliseconds(grain))),
        Ok(None) => Finding::of(Level::Problem, "clock", "file times do not change with the files".to_owned()),
        Err(e) => Finding::of(Level::Problem, "clock", e.to_string()),
    }
}

/// The distance between two file times that follow each other.
fn grain(trial: &Dir) -> Result<Option<Duration>> {
    let (file, path) = (trial.open_record("clock", 0o600)?, trial.join("clock"));
    let began = Instant::now();
    let next = || -> Result<Option<(i64, i64)>> {
        disk::write_at(&file, &path, b"x", 0)?;
        let first = disk::stamp(&file, &path)?.ctime;
        loop {
            disk::write_at(&file, &path, b"x", 0)?;
            let then = disk::stamp(&file, &path)?.ctime;
            if then != first || began.elapsed() > CLOCK {
                return Ok((then != first).then_some((first, then)));
            }
        }
    };
    // The first change may come at any time after the file was written; the second a whole grain later.
    let Some((_, one)) = next()? else { return Ok(None) };
    let Some((_, two)) = next()? else { return Ok(None) };
    Ok(Some(Duration::from_nanos(two.abs_diff(one))))
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1000.0)
}
