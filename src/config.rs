//! `.crew/config.toml`, as far as commands need it.

use board::Board;
use board::place::Place;
use board::task::Command;
use teammates::config::{self, Config, ConfigError};
use teammates::tools::servers::settings::Settings;
use teammates::waits::Waits;

use crate::exit::Failure;

/// Gives a board what the project's configuration says of it; the answer is the clock of tasks that wait.
///
/// A file that cannot be used is refused, with its line: a misspelt limit must not be no limit.
pub(crate) fn apply(board: &mut Board) -> Result<Waits, Failure> {
    let config = read(board.place())?;
    board.set_max_lost(usize::try_from(config.max_lost.get()).unwrap_or(usize::MAX));
    Ok(Waits::of(&config))
}

/// What it says.
pub(crate) fn read(place: &Place) -> Result<Config, Failure> {
    config::read(place).map_err(|e| match e {
        ConfigError::Unreadable(board::Error::Refused(refusal)) => refused(refusal.message),
        e => refused(e.to_string()),
    })
}

/// Who judges a `done`: `auditor = "command"`, `["program", "argument"]`, or a table with `command`. `None`: nobody.
pub(crate) fn auditor(place: &Place) -> Result<Option<Command>, Failure> {
    let bad = |why: &str| refused(format!("{}: `auditor`: {why}", config::path(place).display()));
    let Some(value) = read(place)?.auditor else { return Ok(None) };
    let command = value.as_table().map_or(Some(&value), |table| table.get("command")).ok_or_else(|| bad("it names no `command`"))?;
    command.clone().try_into().map(Some).map_err(|_| bad("a command is a line for the shell, or a list of words"))
}

/// The MCP servers that it names.
pub(crate) fn servers(place: &Place) -> Result<Vec<Settings>, Failure> {
    Settings::all(&read(place)?.mcp).map_err(|e| refused(format!("{}: {e}", config::path(place).display())))
}

/// It cannot be used.
pub(crate) fn refused(message: String) -> Failure {
    Failure::Refused { rule: "config", message }
}
