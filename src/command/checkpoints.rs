//! `crew checkpoints`.

use std::io::Write as _;

use board::checkpoints::{Checkpoint, Checkpoints as All};
use board::tree;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::terminal;
use crate::view::escape;
use crate::view::table::{Line, Shade, lay_out};

/// So much of a tree's SHA tells it from others.
const SHORT: usize = 10;

/// List the checkpoints of the working tree
///
/// Oldest first; with --json one object a line. `crew restore N` goes back to one.
#[derive(Debug, clap::Args)]
pub(crate) struct Checkpoints {}

impl Checkpoints {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let all = All::of(board.place()).list()?;
        let mut out = context.out();
        if context.json {
            for one in &all {
                writeln!(out, "{}", escape::json(serde_json::json!(one).to_string()))?;
            }
        } else if all.is_empty() {
            let project = board.place().project().display();
            context.say(match tree::sha(board.place())? {
                Some(_) => "there is no checkpoint yet".to_owned(),
                None => format!("there is no checkpoint, and none can be made: {project} is in no git working tree; `git init` makes one"),
            });
        } else {
            for line in lay_out(&["N", "WHEN", "TREE", "WHY"], all.iter().map(row).collect(), terminal::width(), false) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()?;
        Ok(Exit::DONE)
    }
}

fn row(one: &Checkpoint) -> Line {
    let why = escape::line(one.why.lines().next().unwrap_or_default()).into_owned();
    Line { cells: vec![one.number.to_string(), one.at.to_string(), one.tree.chars().take(SHORT).collect(), why], shade: Shade::Plain }
}
