//! `crew memory`.

use board::memory::{Memory as Kept, entries};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::view::escape;

/// Print what the team remembers, .crew/memory.md, or change it
///
/// Its entries are the Markdown list items in the file, counted from 1; everything else in it stays as it is. With --json
/// {"file":…,"text":…,"entries":[{"number":1,"text":…}]}.
#[derive(Debug, clap::Args)]
pub(crate) struct Memory {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Add an entry at the end, and print its number
    Remember {
        /// What is to be known again
        text: String,
    },
    /// Give an entry other words
    Revise {
        /// The entry
        #[arg(value_name = "N")]
        number: usize,
        /// The words
        text: String,
    },
    /// Take an entry out; those behind it move up by one
    Forget {
        /// The entry
        #[arg(value_name = "N")]
        number: usize,
    },
}

impl Memory {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let memory = Kept::of(context.board()?.place());
        let (number, done) = match self.what {
            None => return print(context, &memory),
            Some(What::Remember { text }) => {
                let number = memory.remember(&text)?;
                if !context.json {
                    context.print(number)?;
                }
                (number, None)
            }
            Some(What::Revise { number, text }) => {
                memory.revise(number, &text)?;
                (number, Some("changed"))
            }
            Some(What::Forget { number }) => {
                memory.forget(number)?;
                (number, Some("taken out"))
            }
        };
        if context.json {
            context.print(serde_json::json!({ "number": number }))?;
        } else if let Some(done) = done {
            context.confirm(format!("entry {number}: {done}"));
        }
        Ok(Exit::DONE)
    }
}

fn print(context: &Context, memory: &Kept) -> Result<Exit, Failure> {
    let text = memory.text()?;
    if context.json {
        let entries: Vec<_> = entries(&text).into_iter().zip(1..).map(|(entry, number)| serde_json::json!({ "number": number, "text": entry.text })).collect();
        let all = serde_json::json!({ "file": memory.path(), "text": text, "entries": entries });
        context.print(escape::json(all.to_string()))?;
    } else if text.trim().is_empty() {
        context.say("nothing is remembered yet; `crew memory remember TEXT` adds an entry");
    } else {
        context.print(escape::block(text.trim_end()))?;
    }
    Ok(Exit::DONE)
}
