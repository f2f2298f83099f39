//! A teammate's file: who it is, what runs it, and its standing instructions.
//!
//! `.crew/teammates/<name>.md` is YAML front matter between two lines of `---`, then Markdown. Every
//! key has a default, and so has the file: [`Profile::named`] is a teammate without one. An unknown
//! key is an error that names the nearest known one, for a misspelt `writes: false` must not give
//! a teammate that writes.
//!
//! `.claude/agents/<name>.md` is read as it is ([`Origin::ClaudeAgent`]). Such files are written for
//! another program, so keys that mean nothing here are no error; they are listed in
//! [`Profile::ignored`], for whoever starts the teammate to say so. Their descriptions often are no
//! valid YAML (an unquoted colon); then the lines are read as plain `key: value`, as that program
//! does.
//!
//! Parsing is pure: the text and the name of the file come in, nothing is read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use board::name::{Name, NameError};
use board::task::{Command, Tier};

use crate::front_matter::{self, Fault, split};

mod claude_agent;
mod front;
mod rules;

pub use rules::runner;

/// A teammate: who it is, what runs it, what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// How it is called on the board and in the thread.
    pub name: Name,
    /// One line about it, for people and for other teammates.
    pub description: Option<String>,
    /// Tasks that name a role go only to teammates with that role.
    pub role: String,
    /// What performs its turns.
    pub runner: Runner,
    /// The model, as its provider calls it.
    pub model: Option<String>,
    /// How hard the model is to think, as its provider calls it.
    pub effort: Option<String>,
    /// Models of other providers to go on with when a limit is reached, in order.
    pub fallback: Vec<String>,
    /// The name of the account in `config.toml` that pays.
    pub account: Option<String>,
    /// How capable it is. `None`: it was not said, and no task that names a tier is for it.
    pub tier: Option<Tier>,
    /// Whether it may change the workspace.
    pub writes: bool,
    /// What it can do beyond the ordinary; tasks name these in `needs`.
    pub capabilities: Vec<String>,
    /// How many tasks it works on side by side; at least 1.
    pub lanes: u32,
    /// Between two looks of an idle teammate; never zero.
    pub poll: Duration,
    /// How long it stays with nothing to do.
    pub idle_timeout: Duration,
    /// The tools that it has; `None`: all that its runner offers.
    pub tools: Option<Vec<String>>,
    /// What a `command` teammate runs for tasks without a command of their own.
    pub command: Option<Command>,
    /// What its command reads on standard input.
    pub stdin: Stdin,
    /// Wall clock for one attempt at a task that names none; never zero.
    pub timeout: Option<Duration>,
    /// Whether it works in a git worktree of its own.
    pub worktree: bool,
    /// Whether a task that it makes may carry a command.
    pub may_run: bool,
    /// Where its model is served, when not by the provider itself.
    pub base_url: Option<String>,
    /// How tools are offered to its model; its runner knows the values.
    pub tool_mode: Option<String>,
    /// How much its model takes at once, in tokens; `None`: as much as its API's models usually do.
    pub context: Option<u64>,
    /// The longest answer of its model, in tokens; `None`: the default.
    pub max_output: Option<u32>,
    /// The most calls of its model in one turn.
    pub max_calls: u32,
    /// The recording that is played: a path in the project.
    pub script: Option<PathBuf>,
    /// How much a coding CLI may do unasked; that CLI knows the values.
    pub permission_mode: Option<String>,
    /// Its standing instructions: the file after the front matter, without blank lines around.
    pub instructions: String,
    /// Keys of the other program's format that have no meaning here.
    pub ignored: Vec<String>,
}

/// What performs a teammate's turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    /// A command, without any model.
    Command,
    /// Anthropic's Messages API.
    Anthropic,
    /// An OpenAI-compatible API.
    Openai,
    /// The Claude Code CLI.
    ClaudeCode,
    /// The Codex CLI.
    Codex,
    /// A CLI that speaks the Agent Client Protocol.
    Acp,
    /// Recorded turns, played again.
    Script,
    /// Another coding CLI, by its name.
    Other(String),
}

/// As it is written in a teammate's file.
impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runner::Command => "command",
            Runner::Anthropic => "anthropic",
            Runner::Openai => "openai",
            Runner::ClaudeCode => "claude-code",
            Runner::Codex => "codex",
            Runner::Acp => "acp",
            Runner::Script => "script",
            Runner::Other(name) => name,
        })
    }
}

/// What a command reads on standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    None,
    /// The task's document, as JSON.
    Task,
}

/// Which program's format a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `.crew/teammates/<name>.md`: every key must be known, and the file's name is the teammate's.
    Crew,
    /// `.claude/agents/<name>.md`: the runner is `claude-code`, unknown keys are passed over, and
    /// `name` inside counts.
    ClaudeAgent,
}

/// Why a teammate's file cannot be used. Every message names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The first line is `---` and no second one follows.
    #[error("{}:1: the front matter has no end: put a line of `---` after its last key", file.display())]
    Unclosed {
        /// The teammate's file.
        file: PathBuf,
    },
    /// The front matter is no YAML, or a value has the wrong type.
    #[error("{}:{line}: {message}", file.display())]
    Yaml {
        /// The teammate's file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What the parser says.
        message: String,
    },
    /// A key that no teammate has.
    #[error("{}:{line}: unknown key `{key}`: did you mean `{nearest}`?", file.display())]
    UnknownKey {
        /// The teammate's file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// As it stands in the file.
        key: String,
        /// The known key that is most like it.
        nearest: &'static str,
    },
    /// A value that its key does not allow.
    #[error("{}:{line}: `{key}: {value}`: {rule}", file.display())]
    Value {
        /// The teammate's file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The key that the value belongs to.
        key: &'static str,
        /// As it stands in the file.
        value: String,
        /// What is allowed.
        rule: &'static str,
    },
    /// The name of the file, or `name` in a file of [`Origin::ClaudeAgent`], is no teammate's name.
    #[error("{}: {source}", file.display())]
    Name {
        /// The teammate's file.
        file: PathBuf,
        /// Which rule it breaks.
        source: NameError,
    },
    /// The file says another name inside.
    #[error(
        "{}:{line}: `name: {inside}` is not the file's name: rename the file to `{inside}.md`, or take the line out",
        file.display()
    )]
    OtherName {
        /// The teammate's file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What `name` says.
        inside: String,
    },
}

impl Profile {
    /// Whether it can take a turn in the thread: one that only executes tasks has nothing to say.
    pub fn can_speak(&self) -> bool {
        self.thinks() || (self.runner == Runner::Command && self.command.is_some())
    }

    /// Whether a model performs its turns, called from here or by a coding CLI.
    pub fn thinks(&self) -> bool {
        !matches!(self.runner, Runner::Command | Runner::Acp)
    }

    /// The teammate that `name` is without a file: the defaults.
    pub fn named(name: &str) -> Result<Profile, NameError> {
        Ok(Profile {
            name: Name::new(name)?,
            description: None,
            role: "teammate".to_owned(),
            runner: Runner::Command,
            model: None,
            effort: None,
            fallback: Vec::new(),
            account: None,
            tier: None,
            writes: true,
            capabilities: Vec::new(),
            lanes: 1,
            poll: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            tools: None,
            command: None,
            stdin: Stdin::None,
            timeout: None,
            worktree: false,
            may_run: false,
            base_url: None,
            tool_mode: None,
            context: None,
            max_output: None,
            max_calls: 200,
            script: None,
            permission_mode: None,
            instructions: String::new(),
            ignored: Vec::new(),
        })
    }
}

/// Reads `text`, the content of `file`, as a teammate's file of that `origin`.
pub fn parse(text: &str, file: &Path, origin: Origin) -> Result<Profile, ProfileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split(text).ok_or_else(|| ProfileError::Unclosed { file: file.to_owned() })?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut profile = match origin {
        Origin::Crew => front::profile(front, file, &stem)?,
        Origin::ClaudeAgent => claude_agent::profile(front, file, &stem)?,
    };
    profile.instructions = body.trim().to_owned();
    Ok(profile)
}

fn refused(file: &Path, error: &serde_saphyr::Error) -> ProfileError {
    let file = file.to_owned();
    match front_matter::fault(error) {
        Fault::UnknownKey { line, key, nearest } => ProfileError::UnknownKey { file, line, key, nearest },
        Fault::Yaml { line, message } => ProfileError::Yaml { file, line, message },
    }
}

#[cfg(test)]
mod tests;
