//! `crew needs`: what waits for a person.

use board::run::Run;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::needs;
use crate::view::{escape, run as view};

/// List what waits for you, each with the command that answers it
///
/// Gates, questions, notices, and tasks that have failed. With --json one object a line.
#[derive(Debug, clap::Args)]
pub(crate) struct Needs {}

impl Needs {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.seen_board()?;
        let run = Run::existing(board.place())?;
        let needs = needs::all(&board, run.as_ref())?;
        for need in &needs {
            context.print(match context.json {
                true => escape::json(need.json().to_string()),
                false => view::need(need),
            })?;
        }
        if needs.is_empty() && !context.json {
            context.say("nothing waits for you");
        }
        Ok(Exit::DONE)
    }
}
