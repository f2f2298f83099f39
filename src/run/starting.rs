//! How a run is begun, from wherever that is asked: `crew start`, an answer, a message, `crew` alone.

use std::process::Child;
use std::time::{Duration, Instant};

use board::Board;
use board::checkpoints::Checkpoints;
use board::memory::Memory;
use board::run::{Run, State};

use crate::exit::{Failure, start};
use crate::machine;
use crate::run::at_work::{Part, is_at_work};
use crate::run::requests;

/// How long a daemon may take to begin.
const BEGIN: Duration = Duration::from_secs(20);
/// How long one may take to end whose run is not active any more.
const END: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(3);

/// What became of it.
#[derive(Debug)]
pub(crate) enum Started {
    /// The run goes on, or has already come to its end.
    Now(Box<State>),
    /// One was at work already.
    Already(Box<State>),
}

/// Why a run is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// A person wants it to go on: what had stopped it does not stop it again at once.
    Person,
    /// It was active when its daemon died: everything stands as it did.
    Again,
}

/// Begins it, unless it goes on already.
pub(crate) fn begin(board: &Board, run: &Run, why: Why) -> Result<Started, Failure> {
    if goes_on(run)? {
        // To start is to want that it goes on.
        requests::withdraw(run.dir())?;
        if !Part::Supervisor.lives(run)? {
            // The daemon has outlived its supervisor: the next one waits for its end.
            supervise(board, run)?;
        }
        return Ok(Started::Already(Box::new(run.state.read()?)));
    }
    run.check_formats()?;
    // A restore that a crash has cut short comes to its end before anybody works on the files.
    Checkpoints::of(board.place()).finish_restore()?;
    if board.place().crew().is_dir() {
        Memory::of(board.place()).make()?;
    }
    requests::withdraw(run.dir())?;
    let last = run.thread.last_seq()?;
    let before = run.state.update(|state| {
        if why == Why::Person {
            state.go_on(last);
        }
        state.starts
    })?;
    wait_until_begun(run, before, &mut supervise(board, run)?)
}

fn supervise(board: &Board, run: &Run) -> Result<Child, Failure> {
    let log = run.dir().open_append("supervisor.log", 0o600)?;
    let arguments = ["-C".into(), board.place().project().into(), "start".into(), "--supervisor".into()];
    teammates::detach::start(&machine::program().map_err(start)?, &arguments, &log).map_err(start)
}

/// Whether a run is at work that hears what is said to it. One that has just come to its end is waited for: then it
/// is not.
pub(crate) fn goes_on(run: &Run) -> Result<bool, Failure> {
    let deadline = Instant::now() + END;
    loop {
        if !is_at_work(run)? {
            return Ok(false);
        }
        if run.state.read()?.state.is_active() || Instant::now() > deadline {
            return Ok(true);
        }
        std::thread::sleep(LOOK);
    }
}

/// Begins a run again that was at work when its daemon died, for `crew` alone. `None`: it was not.
pub(crate) fn again(board: &Board, run: &Run) -> Result<Option<Started>, Failure> {
    let was_at_work = run.state.read()?.state.is_active() && !is_at_work(run)?;
    was_at_work.then(|| begin(board, run, Why::Again)).transpose()
}

fn wait_until_begun(run: &Run, before: u64, supervisor: &mut Child) -> Result<Started, Failure> {
    let deadline = Instant::now() + BEGIN;
    loop {
        let state = run.state.read()?;
        if state.starts > before {
            return Ok(Started::Now(Box::new(state)));
        }
        let ended = supervisor.try_wait().map_err(start)?;
        if ended.is_some() && is_at_work(run)? {
            // Another start was faster.
            return Ok(Started::Already(Box::new(state)));
        }
        if ended.is_some() || Instant::now() > deadline {
            let said = |log: &str| std::fs::read_to_string(run.dir().join(log)).ok().and_then(|text| text.lines().next_back().map(str::to_owned));
            let said = said("daemon.log").or_else(|| said("supervisor.log")).map(|line| format!(": {line}")).unwrap_or_default();
            return Err(Failure::Failed(format!("the run did not begin{said} (its logs are daemon.log and supervisor.log in {})", run.dir().path().display())));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test that is surprised ends there.

    use std::sync::mpsc;

    use board::Durability;
    use board::lock::{LockFile, Mode};
    use board::place::Surroundings;
    use board::run::RunState;

    use super::*;

    #[test]
    fn a_run_that_is_about_to_be_gone_does_not_go_on() {
        let place = tempfile::tempdir().unwrap();
        let surroundings = Surroundings { crewboard_home: Some(place.path().join("home").into()), ..Surroundings::default() };
        let board = Board::init(place.path(), Durability::Relaxed, &surroundings).unwrap();
        let run = Run::of(board.place()).unwrap();
        let lock = LockFile::open(run.dir(), Part::Supervisor.lock()).unwrap();
        let stands = |state| run.state.update(|kept| kept.state = state).unwrap();
        assert!(!goes_on(&run).unwrap());
        let held = lock.try_lock(Mode::Exclusive).unwrap().unwrap();
        stands(RunState::Running);
        assert!(goes_on(&run).unwrap());
        stands(RunState::Gated);
        std::thread::scope(|scope| {
            let (asked, answer) = mpsc::channel();
            let run = &run;
            scope.spawn(move || asked.send(goes_on(run).unwrap()).unwrap());
            let early = answer.recv_timeout(Duration::from_millis(200));
            assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout), "its processes are still there");
            drop(held);
            assert!(!answer.recv().unwrap());
        });
    }
}
