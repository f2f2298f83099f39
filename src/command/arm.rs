//! `crew arm`.

use crate::arming;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Allow what the repository's files would run here
///
/// Shows the commands of the tasks that git tracks and those of the teammates' files, and asks, unless they are allowed
/// already. What is allowed runs without a question from then on, on this machine alone, until .crew/config.toml, a
/// teammate's file or a program that one names changes, or a task that git tracks has another command or is new.
#[derive(Debug, clap::Args)]
pub(crate) struct Arm {
    /// Allow it without asking
    #[arg(short, long)]
    yes: bool,
}

impl Arm {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board_on_every_core()?;
        context.only_for_a_person(&board, "arm")?;
        let brought = arming::arm(&mut board, self.yes, "crew arm")?;
        if context.json {
            context.print(serde_json::json!({ "allowed": brought }))?;
        } else if brought.is_empty() {
            context.say("the repository's files run nothing here; there is nothing to allow");
        } else {
            context.say("allowed, until one of these files changes");
        }
        Ok(Exit::DONE)
    }
}
