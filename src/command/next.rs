//! `crew next`.

use board::clock;

use crate::claimants;
use crate::context::{Acting, Context};
use crate::exit::{Exit, Failure};

/// Show which task a teammate would claim next, without claiming it
///
/// Prints its id. Exit code 6: there is nothing that it could claim.
#[derive(Debug, clap::Args)]
pub(crate) struct Next {
    #[command(flatten)]
    acting: Acting,
}

impl Next {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.seen_board()?;
        let claimant = claimants::by_name(&board, &self.acting.name)?;
        let Some(id) = claimants::first_choice(&board, &claimant) else {
            let name = &self.acting.name;
            context.say(match board.index().left_until(&claimant, clock::now()) {
                Some(until) => format!("what {name} could claim was cut short, and is left to the teammate that had begun it until {until}"),
                None => format!("there is nothing that {name} could claim; `crew ls` says why"),
            });
            return Ok(Exit::NOTHING_TO_DO);
        };
        match context.json {
            true => context.print(serde_json::json!({ "id": id }))?,
            false => context.print(id)?,
        }
        Ok(Exit::DONE)
    }
}
