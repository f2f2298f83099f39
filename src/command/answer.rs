//! `crew answer`: the answer to a question or a notice.

use board::run::{AskKind, Run};

use super::send::{begin_where_allowed, check};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::answering;

/// Answer a question or a notice that waits for you (`crew needs` lists them)
///
/// A question's answer stands in the thread, and the run goes on. A notice's reaches its teammate in a later turn.
#[derive(Debug, clap::Args)]
pub(crate) struct Answer {
    /// Its number, and the words; the number may be left out when only one waits
    #[arg(required = true, num_args = 1..=2, value_names = ["NUMBER", "TEXT"])]
    what: Vec<String>,
}

impl Answer {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (number, text) = match self.what.as_slice() {
            [number] if number.parse::<u64>().is_ok() => return Err(Failure::Usage(format!("`crew answer {number} \"…\"`: the words are missing"))),
            [text] => (None, text),
            [number, text, ..] => (Some(number.parse().map_err(|_| Failure::Usage(format!("{number:?} is no number; `crew answer NUMBER TEXT`")))?), text),
            [] => return Err(Failure::Usage("`crew answer NUMBER TEXT`".into())),
        };
        if text.trim().is_empty() || text.len() > board::thread::LONGEST_TEXT {
            return Err(Failure::Usage("an answer says something, in at most 64 KiB".into()));
        }
        let mut board = context.board()?;
        context.only_for_a_person(&board, "answer")?;
        let run = Run::of(board.place())?;
        let ask = answering::meant(&run, number, &[AskKind::Question, AskKind::Notice], "answer")?;
        match ask.kind {
            AskKind::Question => check(&mut board, &run)?,
            _ => run.check()?,
        }
        answering::answer(&mut board, &run, &ask, text)?;
        context.confirm(format!("answered {} {} of {}", ask.kind.as_str(), ask.id, ask.from));
        if ask.kind == AskKind::Question {
            begin_where_allowed(context, &mut board, &run)?;
        }
        Ok(Exit::DONE)
    }
}
