//! `crew tree`.

use board::tree;

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Print the SHA of the working tree
///
/// It is that of everything git would add, without .tasks/ and .crew/. Changes nothing but git's store of objects.
#[derive(Debug, clap::Args)]
pub(crate) struct Tree {}

impl Tree {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let Some(sha) = tree::sha(board.place())? else {
            let project = board.place().project().display();
            return Err(Failure::Failed(format!("{project} is in no git working tree, so there is nothing to tell changes by; `git init` makes one")));
        };
        match context.json {
            true => context.print(serde_json::json!({ "tree": sha }))?,
            false => context.print(sha)?,
        }
        Ok(Exit::DONE)
    }
}
