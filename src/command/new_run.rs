//! `crew new-run`: begins anew.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::archiving;

/// Archive the thread, the state and the memory, and begin with empty ones; tasks stay
///
/// They are kept in the state directory, in runs/N. Posts go on to be numbered from where they were.
#[derive(Debug, clap::Args)]
pub(crate) struct NewRun {}

impl NewRun {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        context.only_for_a_person(&board, "new-run")?;
        let archived = archiving::archive(&board)?;
        match context.json {
            true => context.print(serde_json::json!({ "run": archived.number, "path": archived.path }))?,
            false => context.say(format!("archived as run {} in {}; `crew start` begins the next", archived.number, archived.path.display())),
        }
        Ok(Exit::DONE)
    }
}
