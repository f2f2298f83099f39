//! The verbs: one file each, with its arguments and what it does. A new verb is its module, its line in the list
//! below, and its file.

mod add;
mod answer;
mod approve;
mod archive;
mod arm;
mod block;
mod cancel;
mod checkpoints;
mod claim;
mod completions;
mod deny;
mod doctor;
mod edit;
mod exec;
mod fail;
mod finish;
mod goal;
mod graph;
mod init;
mod logs;
mod ls;
mod mcp;
mod memory;
mod needs;
mod new_run;
mod next;
mod notice;
mod pause;
mod post;
mod quota;
mod release;
mod reopen;
mod restore;
mod resume;
mod retry;
mod schema;
mod send;
mod send_message;
mod show;
mod shutdown;
mod spawn;
mod start;
mod status;
mod stop;
mod task_options;
pub(crate) mod team;
mod thread;
mod tree;
mod unblock;
mod wait;
mod work;

use std::time::Duration;

use board::Error;
use board::run::Run;
use clap::{Args as _, FromArgMatches as _};

use crate::cli;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::view::summary::Counts;

/// How long a person or a script waits for the board's lock, which is held for moments.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

macro_rules! verbs {
    ($($name:literal = $module:ident::$verb:ident,)*) => {
        /// What is to be done.
        pub(crate) enum Verb {
            $($verb($module::$verb),)*
        }

        impl Verb {
            /// The definition of a verb's part of the command line; `None`: there is no such verb.
            pub(crate) fn definition(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some($module::$verb::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
            }

            /// The definitions of all, in the order in which help lists them.
            pub(crate) fn definitions() -> impl Iterator<Item = clap::Command> {
                [$($name),*].into_iter().filter_map(Verb::definition)
            }

            /// Reads what the command line says of the verb that it names.
            pub(crate) fn read(name: &str, matches: &clap::ArgMatches) -> Result<Verb, clap::Error> {
                match name {
                    $($name => $module::$verb::from_arg_matches(matches).map(Verb::$verb),)*
                    _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
                }
            }

            /// Does it.
            pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
                match self { $(Verb::$verb(verb) => verb.run(context),)* }
            }
        }
    };
}

verbs! {
    "init" = init::Init,
    "add" = add::Add,
    "ls" = ls::Ls,
    "show" = show::Show,
    "edit" = edit::Edit,
    "next" = next::Next,
    "claim" = claim::Claim,
    "exec" = exec::Exec,
    "finish" = finish::Finish,
    "fail" = fail::Fail,
    "release" = release::Release,
    "retry" = retry::Retry,
    "cancel" = cancel::Cancel,
    "reopen" = reopen::Reopen,
    "block" = block::Block,
    "unblock" = unblock::Unblock,
    "graph" = graph::Graph,
    "archive" = archive::Archive,
    "wait" = wait::Wait,
    "doctor" = doctor::Doctor,
    "work" = work::Work,
    "spawn" = spawn::Spawn,
    "arm" = arm::Arm,
    "team" = team::Team,
    "logs" = logs::Logs,
    "shutdown" = shutdown::Shutdown,
    "send-message" = send_message::SendMessage,
    "start" = start::Start,
    "status" = status::Status,
    "stop" = stop::Stop,
    "pause" = pause::Pause,
    "resume" = resume::Resume,
    "new-run" = new_run::NewRun,
    "send" = send::Send,
    "thread" = thread::Thread,
    "post" = post::Post,
    "needs" = needs::Needs,
    "answer" = answer::Answer,
    "notice" = notice::Notice,
    "approve" = approve::Approve,
    "deny" = deny::Deny,
    "goal" = goal::Goal,
    "memory" = memory::Memory,
    "quota" = quota::Quota,
    "tree" = tree::Tree,
    "checkpoints" = checkpoints::Checkpoints,
    "restore" = restore::Restore,
    "mcp" = mcp::Mcp,
    "completions" = completions::Completions,
    "schema" = schema::Schema,
}

/// `crew` alone: begins a run again that was at work when its daemon died, and says how everything stands; where there
/// is no board, what can be done.
pub(crate) fn summary(context: &Context) -> Result<Exit, Failure> {
    let mut board = match context.seen_board() {
        Err(Failure::Board(Error::NoBoard(_))) if !context.json => {
            context.print(cli::definition().render_help())?;
            return Ok(Exit::DONE);
        }
        board => board?,
    };
    let run = Run::existing(board.place())?;
    if let Some(run) = run.as_ref().filter(|run| run.state.read().is_ok_and(|state| state.state.is_active())) {
        // A teammate that looks how things stand begins nothing.
        if context.only_for_a_person(&board, "start").is_ok() {
            crate::arming::check(&mut board)?;
            if crate::run::starting::again(&board, run)?.is_some() {
                context.say("the run goes on where it was");
            }
        }
    }
    let is_run = board.place().crew().is_dir() || run.is_some_and(|run| run.state.read().is_ok_and(|state| state.starts > 0));
    if is_run {
        status::print(context, &board)?;
        return Ok(Exit::DONE);
    }
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
