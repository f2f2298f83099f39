//! `crew resume`: takes a pause back.

use board::run::{Run, RunState};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::{at_work, requests};

/// Take a pause or a stop back, without beginning anything
///
/// Where the run is at work, it goes on. Where it has ended, `crew` begins it again.
#[derive(Debug, clap::Args)]
pub(crate) struct Resume {}

impl Resume {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        context.only_for_a_person(&board, "resume")?;
        let run = Run::of(board.place())?;
        run.check()?;
        requests::withdraw(run.dir())?;
        if at_work::is_at_work(&run)? {
            context.say("the run goes on");
            return Ok(Exit::DONE);
        }
        let last = run.thread.last_seq()?;
        let state = run.state.update(|state| {
            if matches!(state.state, RunState::Paused | RunState::Stopped) {
                state.go_on(last);
            }
            state.state
        })?;
        match state {
            RunState::Running => context.say("noted; `crew` begins it again"),
            state => context.say(format!("there is nothing to resume: the run is {state}; `crew status` says what goes on from there")),
        }
        Ok(Exit::DONE)
    }
}
