//! `crew next`.

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
            context.say(format!("there is nothing that {} could claim; `crew ls` says why", self.acting.name));
            return Ok(Exit::NOTHING_TO_DO);
        };
        match context.json {
            true => context.print(serde_json::json!({ "id": id }))?,
            false => context.print(id)?,
        }
        Ok(Exit::DONE)
    }
}
