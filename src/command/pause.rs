//! `crew pause`: lets the turn under way end, and no other begin.

use std::time::Duration;

use board::run::Run;

use super::stop::{still_running, wait_until_ended};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::boundary::Request;
use crate::run::{at_work, requests};

/// Pause the run at the end of the turn under way
///
/// Waits for that; exit code 1, and what still runs, when it takes longer than --timeout. The request stands then, too:
/// `crew resume` takes it back.
#[derive(Debug, clap::Args)]
pub(crate) struct Pause {
    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = board::duration::parse)]
    timeout: Duration,
}

impl Pause {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        context.only_for_a_person(&board, "pause")?;
        let run = Run::of(board.place())?;
        if !at_work::is_at_work(&run)? {
            return Err(Failure::Refused {
                rule: "no-run",
                message: "no run is at work, so there is nothing to pause; `crew status` says how it stands".into(),
            });
        }
        requests::ask(run.dir(), Request::Pause)?;
        match wait_until_ended(&run, self.timeout)? {
            true => {
                context.say("paused; `crew start` goes on");
                Ok(Exit::DONE)
            }
            false => {
                let running = still_running(&board, &run)?;
                Err(Failure::Failed(format!(
                    "it pauses when the turn under way has ended, which it has not within {}; {running}",
                    board::duration::print(self.timeout)
                )))
            }
        }
    }
}
