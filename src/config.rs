//! `.crew/config.toml`, as far as commands need it.

use std::fmt;
use std::path::PathBuf;

use board::Board;
use board::place::Place;
use board::task::Command;
use serde::Deserialize;
use teammates::clis::Cli;
use teammates::config::{self, Config, ConfigError};
use teammates::models::{self, ModelError};
use teammates::tools::servers::settings::Settings;
use teammates::waits::Waits;
use toml::Value;

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

/// Who judges a `done`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auditor {
    /// A command.
    Command(Command),
    /// A model.
    Model(AuditorModel),
}

/// A model that judges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AuditorModel {
    /// `PROVIDER/MODEL`, or `ACCOUNT/MODEL`; only a recording says it itself.
    pub(crate) model: Option<String>,
    /// The account that pays.
    pub(crate) account: Option<String>,
    /// How hard it is to think.
    pub(crate) effort: Option<String>,
    /// Where it is served.
    pub(crate) base_url: Option<String>,
    /// A recording that is played in its place: a path in the project.
    pub(crate) script: Option<PathBuf>,
}

/// Reads who judges a `done`: `auditor = "command"`, `["program", "argument"]`, `"PROVIDER/MODEL"`, or a table with
/// `command` or what an [`AuditorModel`] has. `None`: nobody.
pub(crate) fn auditor(place: &Place) -> Result<Option<Auditor>, Failure> {
    let bad = |why: String| refused(format!("{}: `auditor`: {why}", config::path(place).display()));
    let config = read(place)?;
    let Some(value) = &config.auditor else { return Ok(None) };
    let is_model = |word: &str| !word.contains(char::is_whitespace) && models::is_named(word, &config);
    let command = match (value, value.as_str()) {
        (_, Some(word)) if is_model(word) => return Ok(Some(Auditor::Model(AuditorModel { model: Some(word.to_owned()), ..AuditorModel::default() }))),
        (Value::Table(table), _) if !table.contains_key("command") => {
            let model: AuditorModel = table.clone().try_into().map_err(|e: toml::de::Error| bad(e.message().to_owned()))?;
            match &model.model {
                None if model.script.is_none() => return Err(bad("it names neither a `command` nor a `model`, nor a `script` to play".into())),
                Some(word) if !is_model(word) => return Err(bad(ModelError::Word(word.clone()).to_string())),
                _ => return Ok(Some(Auditor::Model(model))),
            }
        }
        (Value::Table(table), _) => match table.iter().find(|(key, _)| *key != "command") {
            Some((key, _)) => return Err(bad(format!("`{key}` means nothing beside `command`"))),
            None => table.get("command").unwrap_or(value),
        },
        _ => value,
    };
    let command = command.clone().try_into().map_err(|_| bad("a command is a line for the shell, or a list of words".into()))?;
    Ok(Some(Auditor::Command(command)))
}

/// For people who are asked whether it may.
impl fmt::Display for Auditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AuditorModel { model, account, base_url, script, .. } = match self {
            Auditor::Command(command) => return command.fmt(f),
            Auditor::Model(model) => model,
        };
        if let Some(script) = script {
            return write!(f, "plays {} as the auditor", script.display());
        }
        write!(f, "asks the model {} as the auditor", model.as_deref().unwrap_or_default())?;
        account.iter().try_for_each(|account| write!(f, " (account {account})"))?;
        base_url.iter().try_for_each(|url| write!(f, " at {url}"))?;
        f.write_str(": it is sent the goal, the changes, and what tasks and checks said")
    }
}

/// The MCP servers that it names.
pub(crate) fn servers(place: &Place) -> Result<Vec<Settings>, Failure> {
    Settings::all(&read(place)?.mcp).map_err(|e| refused(format!("{}: {e}", config::path(place).display())))
}

/// The coding CLIs that a project describes itself, with their names.
pub(crate) fn clis(place: &Place) -> Result<Vec<(String, Cli)>, Failure> {
    let of = |(name, table): (&String, &toml::Table)| Cli::of(name, table).map(|cli| (name.clone(), cli));
    let all = read(place)?.clis.iter().map(of).collect::<Result<_, _>>();
    all.map_err(|e| refused(format!("{}: {e}", config::path(place).display())))
}

/// It cannot be used.
pub(crate) fn refused(message: String) -> Failure {
    Failure::Refused { rule: "config", message }
}
