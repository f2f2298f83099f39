//! `crew send`: words for the run.

use board::run::Run;
use board::{Board, clock};

use crate::arming;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::at_work;
use crate::run::settings::Settings;
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
        let text = context.words(&self.text)?;
        let longest = board::thread::LONGEST_TEXT;
        if text.trim().is_empty() || text.len() > longest {
            return Err(Failure::Usage(format!("a message has between 1 and {longest} bytes; this one has {}", text.len())));
        }
        let mut board = context.board()?;
        context.only_for_a_person(&board, "send")?;
        let run = Run::of(board.place())?;
        check(&mut board, &run)?;
        let id = run.inbox()?.send_to_run(text.trim_end(), run.thread.last_seq()?, clock::now())?;
        context.print(match context.json {
            true => serde_json::json!({ "id": id }).to_string(),
            false => id,
        })?;
        begin_where_allowed(context, &mut board, &run)?;
        Ok(Exit::DONE)
    }
}

/// Looks, before a message or an answer is written, whether what comes of it can come: an error means that nothing was
/// changed.
pub(super) fn check(board: &mut Board, run: &Run) -> Result<(), Failure> {
    run.check()?;
    let hears = at_work::is_at_work(run)? && run.state.read()?.state.is_active();
    if has_team(board, run)? && !hears {
        may_begin(board)?;
    }
    Ok(())
}

/// Begins the run that a message or an answer is for, unless it is at work, or may not.
pub(super) fn begin_where_allowed(context: &Context, board: &mut Board, run: &Run) -> Result<(), Failure> {
    if !has_team(board, run)? || starting::goes_on(run)? {
        return Ok(());
    }
    if !may_begin(board)? {
        context.say("the run does not begin by itself: what it would run here is not allowed (`crew arm`); `crew start` asks, and begins it");
        return Ok(());
    }
    if let Started::Now(state) = starting::begin(board, run, Why::Person)? {
        context.say(format!("the run goes on ({})", state.state));
    }
    Ok(())
}

fn has_team(board: &Board, run: &Run) -> Result<bool, Failure> {
    Ok(board.place().crew().is_dir() || run.state.read()?.starts > 0)
}

/// Whether what the run would run here is allowed. An error names the file that cannot be used.
fn may_begin(board: &mut Board) -> Result<bool, Failure> {
    Settings::read(board)?;
    match arming::check(board) {
        Err(Failure::Refused { rule: "not-armed", .. }) => Ok(false),
        checked => checked.map(|()| true),
    }
}
