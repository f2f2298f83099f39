//! The command line: global options, and from the arguments to an exit code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args as _, FromArgMatches as _};

use crate::command::Verb;
use crate::context::Context;
use crate::exit::{self, Exit, Failure};

const ABOUT: &str = "A task board in a directory, worked by people, scripts and teammates together";

const LONG_ABOUT: &str = "A task board in a directory, worked by people, scripts and teammates together.

Each task is one JSON file in .tasks/. Put them there with an editor, cp, a script or `crew add`; \
whoever claims one holds it alone, and it is finished once, whatever dies meanwhile.

Without a command: how the board stands.";

/// What can stand before and after every verb.
#[derive(Debug, clap::Args)]
struct Everywhere {
    /// Do everything as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Everywhere")]
    directory: Option<PathBuf>,

    /// Print data as JSON: one document, or one object a line for lists; errors too
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
}

/// What the arguments say.
struct Cli {
    everywhere: Everywhere,
    verb: Option<Verb>,
}

impl Cli {
    /// To define the options of all verbs takes longer than most verbs do, so at first only those of the verb that the
    /// arguments seem to name are defined. What does not fit them is read again with all.
    fn read(arguments: &[OsString]) -> Result<Cli, clap::Error> {
        let seems_named = arguments.iter().skip(1).filter_map(|argument| argument.to_str()).find_map(Verb::definition);
        match Cli::read_by(without_verbs().subcommands(seems_named), arguments) {
            Err(error) if error.kind() != ErrorKind::DisplayVersion => Cli::read_by(definition(), arguments),
            read => read,
        }
    }

    fn read_by(definition: clap::Command, arguments: &[OsString]) -> Result<Cli, clap::Error> {
        let matches = definition.try_get_matches_from(arguments)?;
        let verb = matches.subcommand().map(|(name, matches)| Verb::read(name, matches)).transpose()?;
        Ok(Cli { everywhere: Everywhere::from_arg_matches(&matches)?, verb })
    }
}

/// The command line's definition.
pub(crate) fn definition() -> clap::Command {
    without_verbs().subcommands(Verb::definitions())
}

fn without_verbs() -> clap::Command {
    // What the options' type says of itself is not what the command is about, so that is said last.
    let command = Everywhere::augment_args(clap::Command::new("crew").version(env!("CARGO_PKG_VERSION")).max_term_width(100));
    command.about(ABOUT).long_about(LONG_ABOUT).after_long_help(exit::help())
}

/// Does what the arguments say; everything that can be said about it is said when this returns.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let Cli { everywhere, verb } = match Cli::read(&arguments) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error, arguments.iter().any(|argument| argument == "--json")).into(),
    };
    let json = everywhere.json;
    let done = enter(everywhere.directory).and_then(|()| {
        let context = Context::of_process(json);
        match verb {
            Some(verb) => verb.run(&context),
            None => crate::command::summary(&context),
        }
    });
    done.unwrap_or_else(|failure| exit::report(&failure, json)).into()
}

/// Other paths on the command line are relative to `-C DIR`, as with git and make.
fn enter(directory: Option<PathBuf>) -> Result<(), Failure> {
    let Some(directory) = directory else { return Ok(()) };
    std::env::set_current_dir(&directory).map_err(|e| Failure::Usage(format!("cannot enter {}: {e}", directory.display())))
}

/// Help, the version, or what is wrong with the arguments.
fn not_parsed(error: &clap::Error, json: bool) -> Exit {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if json && !asked_for {
        let text = error.render().to_string();
        return exit::report(&Failure::Usage(text.trim().trim_start_matches("error: ").to_owned()), true);
    }
    // Nobody to tell: a closed pipe.
    let _ = error.print();
    if asked_for { Exit::DONE } else { Exit::USAGE }
}
