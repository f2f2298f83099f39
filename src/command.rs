//! The verbs: one file each, with its arguments and what it does. A new verb is its module, its line in the list
//! below, and its file.

mod add;
mod archive;
mod block;
mod cancel;
mod claim;
mod completions;
mod doctor;
mod edit;
mod exec;
mod fail;
mod finish;
mod graph;
mod init;
mod logs;
mod ls;
mod next;
mod rehearsal;
mod release;
mod reopen;
mod retry;
mod schema;
mod send_message;
mod show;
mod shutdown;
mod spawn;
mod task_options;
pub(crate) mod team;
mod unblock;
mod wait;
mod work;

use std::time::Duration;

use board::Error;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::view::summary::Counts;

/// How long a person or a script waits for the board's lock, which is held for moments.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

macro_rules! verbs {
    ($($verb:ident = $module:ident,)*) => {
        /// What is to be done.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Verb {
            $(#[allow(missing_docs)] $verb($module::$verb),)*
        }

        impl Verb {
            /// Does it.
            pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
                match self { $(Verb::$verb(verb) => verb.run(context),)* }
            }
        }
    };
}

verbs! {
    Init = init,
    Add = add,
    Ls = ls,
    Show = show,
    Edit = edit,
    Next = next,
    Claim = claim,
    Exec = exec,
    Finish = finish,
    Fail = fail,
    Release = release,
    Retry = retry,
    Cancel = cancel,
    Reopen = reopen,
    Block = block,
    Unblock = unblock,
    Graph = graph,
    Archive = archive,
    Wait = wait,
    Doctor = doctor,
    Work = work,
    Spawn = spawn,
    Team = team,
    Logs = logs,
    Shutdown = shutdown,
    SendMessage = send_message,
    Completions = completions,
    Schema = schema,
}

/// `crew` alone: how the board stands, or where there is none, what can be done.
pub(crate) fn summary(context: &Context, definition: &mut clap::Command) -> Result<Exit, Failure> {
    let board = match context.seen_board() {
        Err(Failure::Board(Error::NoBoard(_))) if !context.json => {
            context.print(definition.render_help())?;
            return Ok(Exit::DONE);
        }
        board => board?,
    };
    let counts = Counts::of(&board);
    match context.json {
        true => context.print(counts.json())?,
        false => {
            context.print(counts.text())?;
            context.say("`crew ls` lists them, `crew help` says what can be done.");
        }
    }
    Ok(Exit::DONE)
}
