//! `crew send-message`: words for a teammate.

use std::sync::Arc;

use board::clock;
use board::inbox::{Inbox, Kind};
use board::name::Name;

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Send a teammate a message: it reads it with its next turn. Prints the message's id
///
/// One with a command of its own reads it as text on standard input; one that only executes tasks hands it to the
/// command of its next task. Both find it as JSON in the file that CREW_MESSAGES names. It is taken out of the inbox
/// when the command has ended by itself; cut short, it comes again.
#[derive(Debug, clap::Args)]
pub(crate) struct SendMessage {
    /// To whom
    to: Name,
    /// The words
    text: String,
    /// From whom, if it is a teammate
    #[arg(long = "as", env = "CREW_AS", value_name = "NAME")]
    from: Option<Name>,
}

/// The longest message, in bytes.
const LONGEST: usize = 64 << 10;

impl SendMessage {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let known = board.teammates()?.iter().any(|seen| seen.name == self.to) || board.place().profile(&self.to).is_file();
        let refused = |message: String| Err(Failure::Refused { rule: "unknown-recipient", message });
        if !known {
            return refused(format!("nobody is called {}; `crew team --all` shows who was here, .crew/teammates/ who may be", self.to));
        }
        if self.text.len() > LONGEST || self.text.trim().is_empty() {
            return refused(format!("a message has between 1 and {LONGEST} bytes; this one has {}", self.text.len()));
        }
        match &self.from {
            Some(from) => context.check_acting(&board, from)?,
            // Without a name it is the user who speaks.
            None if context.teammate_above(&board)?.is_some() => context.only_for_a_person(&board, "send-message` without `--as")?,
            None => {}
        }
        let from = self.from.as_ref().map_or("user", Name::as_str);
        let inbox = Inbox::open(Arc::new(board.place().inboxes()?), &self.to)?;
        let id = inbox.send(from, Kind::Say, &self.text, clock::now())?;
        context.print(match context.json {
            true => serde_json::json!({ "id": id }).to_string(),
            false => id,
        })?;
        Ok(Exit::DONE)
    }
}
