//! `crew stop`: ends the run.

use std::time::{Duration, Instant};

use board::run::{Reason, Run, RunState};
use board::{Board, clock};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::boundary::Request;
use crate::run::{at_work, requests, stopping};

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
            state.reason = Some(Reason { code: "stop".into(), who: None, text: "a person stopped it; `crew start` goes on".into(), at: clock::now() });
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

/// What keeps a run from ending.
pub(super) fn still_running(board: &Board, run: &Run) -> Result<String, Failure> {
    let daemon = run.state.read()?.daemon.map(|daemon| format!("the daemon ({daemon})"));
    let turn = run.open_turn()?.map(|turn| match &turn.begun {
        Some(begun) => format!("the turn of {} ({}), log {}", turn.of, begun.process, board.place().turn_log(&turn.turn).display()),
        None => format!("the turn of {}, which nobody has taken up", turn.of),
    });
    let running: Vec<String> = daemon.into_iter().chain(turn).collect();
    Ok(format!("still there: {}", running.join("; ")))
}
