//! `crew send`: words for the run.

use std::io::Read as _;

use board::clock;
use board::run::Run;

use crate::arming;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::starting::{self, Started, Why};

/// Say something to the run: it stands in the thread from the next turn on. Prints the message's id
///
/// It answers a question that waits, and is new scope else. A run that has ended is begun again by it, where what the
/// repository's files would run is allowed on this machine (`crew arm`).
#[derive(Debug, clap::Args)]
pub(crate) struct Send {
    /// The words; `-`: what comes on standard input
    text: String,
}

impl Send {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let text = match self.text.as_str() {
            "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map_err(|e| Failure::Usage(format!("the text cannot be read: {e}")))?;
                text
            }
            text => text.to_owned(),
        };
        let longest = board::thread::LONGEST_TEXT;
        if text.trim().is_empty() || text.len() > longest {
            return Err(Failure::Usage(format!("a message has between 1 and {longest} bytes; this one has {}", text.len())));
        }
        let mut board = context.board()?;
        context.only_for_a_person(&board, "send")?;
        let run = Run::of(board.place())?;
        let id = run.inbox()?.send_to_run(text.trim_end(), run.thread.last_seq()?, clock::now())?;
        context.print(match context.json {
            true => serde_json::json!({ "id": id }).to_string(),
            false => id,
        })?;
        begin_where_allowed(context, &mut board, &run)?;
        Ok(Exit::DONE)
    }
}

/// Begins the run that a message or an answer is for, unless it is at work, or may not.
pub(super) fn begin_where_allowed(context: &Context, board: &mut board::Board, run: &Run) -> Result<(), Failure> {
    let has_team = board.place().crew().is_dir() || run.state.read()?.starts > 0;
    if !has_team || starting::goes_on(run)? {
        return Ok(());
    }
    match arming::check(board) {
        Err(Failure::Refused { rule: "not-armed", .. }) => {
            context.say("the run does not begin by itself: what it would run here is not allowed (`crew arm`); `crew start` asks, and begins it");
            return Ok(());
        }
        checked => checked?,
    }
    if let Started::Now(state) = starting::begin(board, run, Why::Person)? {
        context.say(format!("the run goes on ({})", state.state));
    }
    Ok(())
}
