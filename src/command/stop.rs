//! `crew stop`: ends the run.

use std::time::{Duration, Instant};

use board::alive::{Liveness, Process};
use board::run::{Reason, Run, RunState};
use board::{Board, clock};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::boundary::Request;
use crate::run::at_work::{self, Part};
use crate::run::{requests, stopping};

/// Stop the run: the turn under way ends, and everything is kept
///
/// Waits until it has ended; exit code 1, and what still runs, when it takes longer than --timeout.
#[derive(Debug, clap::Args)]
pub(crate) struct Stop {
    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = board::duration::parse)]
    timeout: Duration,
}

impl Stop {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        context.only_for_a_person(&board, "stop")?;
        let run = Run::of(board.place())?;
        let deadline = Instant::now() + self.timeout;
        let said = if at_work::is_at_work(&run)? {
            requests::ask(run.dir(), Request::Stop)?;
            if !wait_until_ended(&run, self.timeout)? {
                return Err(self.too_slow(&still_running(&board, &run)?));
            }
            "stopped; `crew start` goes on"
        } else if say_stopped(&run)? {
            "the run was not at work any more; it is stopped now"
        } else {
            "no run is at work"
        };
        let left = stopping::end_what_is_left(&mut board, &run, deadline)?;
        if !left.is_empty() {
            let left: Vec<String> = left.iter().map(ToString::to_string).collect();
            return Err(self.too_slow(&format!("of its teammates are still there: {}", left.join("; "))));
        }
        context.say(said);
        Ok(Exit::DONE)
    }

    fn too_slow(&self, what: &str) -> Failure {
        Failure::Failed(format!("it has not stopped within {}; {what}", board::duration::print(self.timeout)))
    }
}

/// Where its daemon died with the run still active. `false`: it had ended otherwise.
fn say_stopped(run: &Run) -> Result<bool, Failure> {
    Ok(run.state.update(|state| {
        let was_active = state.state.is_active();
        if was_active {
            state.state = RunState::Stopped;
            state.reason =
                Some(Reason { code: "stop".into(), who: None, text: "a person stopped it; `crew start` goes on".into(), at: clock::now(), until: None });
        }
        was_active
    })?)
}

/// Waits until neither daemon nor supervisor lives.
pub(super) fn wait_until_ended(run: &Run, patience: Duration) -> Result<bool, Failure> {
    let deadline = Instant::now() + patience;
    while at_work::is_at_work(run)? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(true)
}

/// What keeps a run from ending: what of it lives.
pub(super) fn still_running(board: &Board, run: &Run) -> Result<String, Failure> {
    let mut running = Vec::new();
    if Part::Supervisor.lives(run)? {
        running.push(named("the supervisor", at_work::supervisor(run).as_ref()));
    }
    if Part::Daemon.lives(run)? {
        running.push(named("the daemon", run.state.read()?.daemon.as_ref()));
    }
    if let Some(turn) = run.open_turn()? {
        match &turn.begun {
            Some(begun) if is_alive(&begun.process) => {
                let what = named(&format!("the turn of {}", turn.of), Some(&begun.process));
                running.push(format!("{what}, log {}", board.place().turn_log(&turn.turn).display()));
            }
            Some(_) => {}
            None => running.push(format!("the turn of {}, which nobody has taken up", turn.of)),
        }
    }
    Ok(match running.is_empty() {
        true => "it has ended meanwhile; do it again".into(),
        false => format!("still there: {}", running.join("; ")),
    })
}

fn is_alive(process: &Process) -> bool {
    process.liveness() != Liveness::Dead
}

/// What lives, with its process where that is known; what is stopped does nothing that it is told.
fn named(what: &str, process: Option<&Process>) -> String {
    match process.filter(|process| is_alive(process)) {
        Some(process) if process.is_stopped() => {
            format!("{what} ({process}), which is suspended (`kill -CONT {0}` lets it go on, `kill -KILL {0}` ends it)", process.pid)
        }
        Some(process) => format!("{what} ({process})"),
        None => what.to_owned(),
    }
}
