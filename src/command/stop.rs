//! `crew stop`: ends the run.

use std::time::{Duration, Instant};

use board::run::{Reason, Run, RunState};
use board::{Board, clock};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::boundary::Request;
use crate::run::{requests, starting};

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
        let board = context.board()?;
        let run = Run::of(board.place())?;
        if !starting::is_at_work(&run)? {
            let stopped = run.state.update(|state| {
                let was_active = state.state.is_active();
                if was_active {
                    state.state = RunState::Stopped;
                    state.reason = Some(Reason { code: "stop".into(), who: None, text: "a person stopped it; `crew start` goes on".into(), at: clock::now() });
                }
                was_active
            })?;
            context.say(if stopped { "the run was not at work any more; it is stopped now" } else { "no run is at work" });
            return Ok(Exit::DONE);
        }
        requests::ask(run.dir(), Request::Stop)?;
        match wait_until_ended(&run, self.timeout)? {
            true => {
                context.say("stopped; `crew start` goes on");
                Ok(Exit::DONE)
            }
            false => Err(Failure::Failed(format!("it has not stopped within {}; {}", board::duration::print(self.timeout), still_running(&board, &run)?))),
        }
    }
}

/// Waits until neither daemon nor supervisor lives.
pub(super) fn wait_until_ended(run: &Run, patience: Duration) -> Result<bool, Failure> {
    let deadline = Instant::now() + patience;
    while starting::is_at_work(run)? {
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
        Some(begun) => format!(
            "the turn of {} ({}), log {}",
            turn.of,
            begun.process,
            board.place().state().join("logs/thread").join(format!("{}.log", turn.turn)).display()
        ),
        None => format!("the turn of {}, which nobody has taken up", turn.of),
    });
    let running: Vec<String> = daemon.into_iter().chain(turn).collect();
    Ok(format!("still there: {}", running.join("; ")))
}
