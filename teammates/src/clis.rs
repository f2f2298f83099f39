//! Coding CLIs that take a teammate's turns: how each is started, given the team's tools, told which of its conversations
//! to go on with, and what the lines that it prints mean.
//!
//! All that differs between them is a description, a table in TOML; the program is one. Those that are known are in
//! [`built_in`]; `[clis.NAME]` of `config.toml` adds one, or takes the place of one that is known.
//!
//! # A description
//!
//! Words in `{…}` stand for what is known when a turn begins. A list of arguments with a word of which nothing is known
//! (no model was named) is left out whole, and so is a variable of `environment`:
//!
//! - `{model}`, `{effort}`, `{permissionMode}`, `{tools}`, `{baseUrl}`, `{key}`: what the teammate's file and its account say;
//! - `{session}`: the conversation to go on with;
//! - `{allows}`: `allow` or `deny`, as the teammate may write or not;
//! - `{workspace}`: the directory of the work; `{files}`: the directory of [`Cli::files`];
//! - `{crewProgram}` (a JSON string), `{crewArguments}` (an array of them), `{crewArgv}` (both in one array): the program
//!   that speaks the Model Context Protocol on its standard streams and is the team's tools.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use toml::Table;

pub mod events;
#[cfg(test)]
mod tests;

use crate::conversation::ToolCall;
use events::Rule;

/// A coding CLI.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cli {
    /// Whose models it calls, so that a limit is not gone round with the same ones: `anthropic`, `openai`, or another word.
    pub provider: String,
    /// The program, looked up in `PATH`.
    pub program: String,
    /// Its arguments for a turn.
    pub arguments: Vec<String>,
    /// More of them, where a conversation goes on.
    #[serde(default)]
    pub resume: Vec<String>,
    /// Where one begins.
    #[serde(default)]
    pub begin: Vec<String>,
    /// Where a model is named.
    #[serde(default)]
    pub model: Vec<String>,
    /// Where it is said how hard that is to think.
    #[serde(default)]
    pub effort: Vec<String>,
    /// Where its file says how much it may do unasked.
    #[serde(default)]
    pub permission_mode: Vec<String>,
    /// Where it does not, for a teammate that writes.
    #[serde(default)]
    pub writes: Vec<String>,
    /// The same for one that does not.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Where its file says which tools it has. Without it no file may say so.
    #[serde(default)]
    pub only: Vec<String>,
    /// Where the model is served elsewhere.
    #[serde(default)]
    pub base_url: Vec<String>,
    /// After all the others.
    #[serde(default)]
    pub last: Vec<String>,
    /// What it is to find in its environment; what has no words in it gives way to the person's own.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Variables of the person's environment that it gets although they hold secrets: its own.
    #[serde(default)]
    pub keeps: Vec<String>,
    /// Files that are written for each turn, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Arguments with which it says its version and nothing else.
    #[serde(default)]
    pub version: Vec<String>,
    /// Arguments with which it ends well where somebody is logged in.
    #[serde(default)]
    pub logged_in: Vec<String>,
    /// How a tool of the team's is called there: this and its name.
    #[serde(default)]
    pub tools: String,
    /// How it is installed, for people.
    #[serde(default)]
    pub install: String,
    /// How one logs in to it, for people.
    #[serde(default)]
    pub login: String,
    /// What its lines mean: every rule that fits is followed.
    pub events: Vec<Rule>,
}

/// What is known when a turn begins; `None`: nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// How hard it is to think.
    pub effort: Option<&'a str>,
    /// How much it may do unasked.
    pub permission_mode: Option<&'a str>,
    /// The tools that it has, separated by commas.
    pub tools: Option<&'a str>,
    /// Where it is served.
    pub base_url: Option<&'a str>,
    /// The key that its account names.
    pub key: Option<&'a str>,
    /// The conversation to go on with.
    pub session: Option<&'a str>,
    /// Where the work is done.
    pub workspace: &'a str,
    /// Where the files of the turn are.
    pub files: &'a str,
    /// The program that is the team's tools, with its arguments.
    pub crew: &'a [String],
    /// Whether the teammate may change files.
    pub writes: bool,
}

/// Why a description cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[clis.{name}]: {problem}")]
pub struct CliError {
    name: String,
    problem: String,
}

const BUILT_IN: [(&str, &str); 4] = [
    ("claude-code", include_str!("clis/claude-code.toml")),
    ("codex", include_str!("clis/codex.toml")),
    ("gemini", include_str!("clis/gemini.toml")),
    ("opencode", include_str!("clis/opencode.toml")),
];

/// The longest name of a CLI, in bytes.
const LONGEST_NAME: usize = 64;

/// The CLIs that come with the program, by the runner that names them.
pub fn built_in() -> &'static BTreeMap<&'static str, Cli> {
    static ALL: OnceLock<BTreeMap<&'static str, Cli>> = OnceLock::new();
    // One that cannot be read is in none of the teammates' files by then: a test reads them all.
    ALL.get_or_init(|| BUILT_IN.iter().filter_map(|(name, text)| Some((*name, toml::from_str(text).ok()?))).collect())
}

/// The CLI of that name: what the configuration describes, or what is known. `None`: there is none.
pub fn named(name: &str, described: &BTreeMap<String, Table>) -> Result<Option<Cli>, CliError> {
    match described.get(name) {
        Some(table) => Cli::of(name, table).map(Some),
        None => Ok(built_in().get(name).cloned()),
    }
}

impl Cli {
    /// What `[clis.NAME]` describes. Of one that is known by that name, what is not said there is as it is known.
    pub fn of(name: &str, table: &Table) -> Result<Cli, CliError> {
        let wrong = |problem: String| CliError { name: name.to_owned(), problem };
        // Its name is part of those of files.
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)) {
            return Err(wrong(format!("a CLI is called by letters, digits, `-` and `_`, at most {LONGEST_NAME} of them")));
        }
        let known = BUILT_IN.iter().find(|(known, _)| *known == name).and_then(|(_, text)| text.parse::<Table>().ok());
        let mut whole = known.unwrap_or_default();
        whole.extend(table.clone());
        let cli: Cli = whole.try_into().map_err(|e: toml::de::Error| wrong(e.message().lines().collect::<Vec<_>>().join(", ")))?;
        if cli.program.trim().is_empty() {
            return Err(wrong("`program` is empty: name the program".to_owned()));
        }
        cli.check().map_err(wrong)?;
        Ok(cli)
    }

    /// What is wrong with it; `Ok`: it can be used.
    fn check(&self) -> Result<(), String> {
        self.events.iter().try_for_each(Rule::check)?;
        // Whoever lists processes sees their arguments.
        if let Some(word) = self.lists().into_iter().flatten().find(|word| word.contains("{key}")) {
            return Err(format!("a key is no argument: put {word:?} into `environment`"));
        }
        let texts = self.lists().into_iter().flatten().chain(self.environment.values()).chain(self.files.values());
        if let Some(word) = texts.filter_map(|text| unknown_word(text)).next() {
            return Err(format!("nothing is known of {{{word}}}: the words are {}", WORDS.map(|(word, _)| word).join(" ")));
        }
        let is_plain = |name: &&String| name.split('/').count() <= 2 && name.split('/').all(|part| !["", ".", ".."].contains(&part));
        match self.files.keys().find(|name| !is_plain(name)) {
            Some(name) => Err(format!("`files`: {name:?} is no name, nor one in one directory")),
            None => Ok(()),
        }
    }

    fn lists(&self) -> [&Vec<String>; 12] {
        let Cli { arguments, model, effort, permission_mode, writes, reads, only, base_url, resume, begin, last, version, .. } = self;
        [arguments, model, effort, permission_mode, writes, reads, only, base_url, resume, begin, last, version]
    }

    /// The program and its arguments for a turn.
    pub fn argv(&self, known: &Known<'_>) -> Vec<String> {
        let mode = match (known.permission_mode, known.writes) {
            (Some(_), _) => &self.permission_mode,
            (None, true) => &self.writes,
            (None, false) => &self.reads,
        };
        let conversation = if known.session.is_some() { &self.resume } else { &self.begin };
        let parts = [&self.arguments, &self.model, &self.effort, mode, &self.only, &self.base_url, conversation, &self.last];
        let filled = parts.into_iter().filter_map(|part| part.iter().map(|word| known.fill(word)).collect::<Option<Vec<_>>>());
        std::iter::once(self.program.clone()).chain(filled.flatten()).collect()
    }

    /// How it is installed, behind what says that it is not there.
    pub fn to_install(&self) -> String {
        if self.install.is_empty() { String::new() } else { format!(": install it ({})", self.install) }
    }

    /// What it finds in its environment. What is the description's alone gives way to what `is_set` there already.
    pub fn environment(&self, known: &Known<'_>, is_set: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let filled = self.environment.iter().filter_map(|(name, value)| Some((name, value, known.fill(value)?)));
        filled.filter(|(name, value, filled)| *value != filled || !is_set(name)).map(|(name, _, filled)| (name.clone(), filled)).collect()
    }

    /// A call of one of the team's tools, by its own name; `None`: it is the CLI's own, or another server's.
    pub(crate) fn own_tool(&self, call: &ToolCall) -> Option<ToolCall> {
        let name = call.name.strip_prefix(self.tools.as_str()).filter(|_| !self.tools.is_empty())?;
        Some(ToolCall { name: name.to_owned(), ..call.clone() })
    }

    /// The files of a turn, by name, with what they say.
    pub fn files(&self, known: &Known<'_>) -> Vec<(String, String)> {
        self.files.iter().filter_map(|(name, text)| Some((name.clone(), known.fill(text)?))).collect()
    }
}

/// What a word in braces stands for; `None`: of that nothing is known.
type Word = fn(&Known<'_>) -> Option<String>;

/// The words that stand for something.
const WORDS: [(&str, Word); 13] = [
    ("model", |known| known.model.map(str::to_owned)),
    ("effort", |known| known.effort.map(str::to_owned)),
    ("permissionMode", |known| known.permission_mode.map(str::to_owned)),
    ("tools", |known| known.tools.map(str::to_owned)),
    ("baseUrl", |known| known.base_url.map(str::to_owned)),
    ("key", |known| known.key.map(str::to_owned)),
    ("session", |known| known.session.map(str::to_owned)),
    ("allows", |known| Some(if known.writes { "allow" } else { "deny" }.to_owned())),
    ("workspace", |known| Some(known.workspace.to_owned())),
    ("files", |known| Some(known.files.to_owned())),
    ("crewProgram", |known| Some(serde_json::json!(known.crew.first()?).to_string())),
    ("crewArguments", |known| Some(serde_json::json!(known.crew.get(1..)?).to_string())),
    ("crewArgv", |known| Some(serde_json::json!(known.crew).to_string())),
];

fn word(name: &str) -> Option<Word> {
    WORDS.iter().find(|(word, _)| *word == name).map(|(_, value)| *value)
}

/// A word in braces that stands for nothing.
fn unknown_word(text: &str) -> Option<&str> {
    let words = text.split('{').skip(1).filter_map(|behind| behind.split_once('}')).map(|(word, _)| word);
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(char::is_alphabetic);
    words.filter(is_word).find(|name| word(name).is_none())
}

impl Known<'_> {
    /// A text with the words filled in; `None`: of one of them nothing is known.
    fn fill(&self, text: &str) -> Option<String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            rest = match after.split_once('}').and_then(|(name, behind)| Some((word(name)?, behind))) {
                Some((value, behind)) => {
                    filled.push_str(&value(self)?);
                    behind
                }
                // A brace of the text's own.
                None => {
                    filled.push('{');
                    after
                }
            };
        }
        filled.push_str(rest);
        Some(filled)
    }
}
