//! `crew restore`.

use board::checkpoints::{Checkpoints, Restored};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::at_rest;

/// Go back to a checkpoint
///
/// Puts back every file of the working tree, tracked by git or not, as it was then, and removes those that came later.
/// What is there is made a checkpoint first, so that this can be undone. What git ignores, .tasks/, .crew/, HEAD,
/// branches and what is staged stay as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// The checkpoint's number: see `crew checkpoints`
    #[arg(value_name = "N")]
    number: u64,
}

impl Restore {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        context.only_for_a_person(&board, "restore")?;
        // Held, so that no turn is opened meanwhile: whoever works would find other files under its hands.
        let _at_rest = at_rest::hold(&board)?;
        let restored = Checkpoints::of(board.place()).restore(self.number)?;
        match context.json {
            true => context.print(serde_json::json!(restored))?,
            false => context.say(told(self.number, &restored)),
        }
        Ok(Exit::DONE)
    }
}

fn told(number: u64, restored: &Restored) -> String {
    let files = |count: usize| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    match restored {
        Restored { changed: 0, removed: 0, .. } => format!("the working tree is as at checkpoint {number} already"),
        Restored { before, changed, removed } => {
            let (put_back, removed) = (files(*changed), files(*removed));
            format!("back at checkpoint {number}: {put_back} put back, {removed} removed; `crew restore {before}` undoes it")
        }
    }
}
