//! `.crew/config.toml`: what a team is allowed, and where it stops.
//!
//! Every key has a default, and so has the file: [`Config::default`] is a team without one. Keys are
//! camelCase, at the top level; an unknown one is an error that names the nearest known key, for a
//! misspelt limit must not be no limit. The tables `[accounts.NAME]`, `[clis.NAME]`, `[mcp.NAME]`,
//! `[prices.MODEL]`, `[hooks]` and the value of `auditor` are kept as they are, for those who use
//! them to check.
//!
//! Parsing is pure: the text and the name of the file come in, nothing is read.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Path, PathBuf};

use board::disk::written;
use board::place::Place;
use serde::Deserialize;
use toml::de::DeTable;
use toml::{Table, Value};

use crate::nearest::nearest;

/// What `config.toml` says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// Whether `BOARD.md` is kept up to date.
    pub board_file: bool,
    /// So often within one boot may the holder of a task be lost before the task fails.
    pub max_lost: NonZeroU32,
    /// Turns of the thread in a row without verified work before only work is accepted.
    pub max_talk_turns: NonZeroU32,
    /// Audits before a run pauses.
    pub max_accept_checks: NonZeroU32,
    /// The first interval of a wait, in seconds; each further one is twice as long.
    pub wait_base_sec: NonZeroU32,
    /// The longest interval of a wait, in minutes.
    pub wait_cap_min: NonZeroU32,
    /// How long a wait may last altogether, in minutes, before the run pauses.
    pub max_wait_min: NonZeroU32,
    /// What becomes of a gate that no pattern decides.
    pub gate_mode: GateMode,
    /// Regular expressions, looked at first: a gate whose text one of them is found in is denied.
    pub gate_auto_deny: Vec<String>,
    /// Regular expressions: a gate whose whole text one of them matches is approved.
    pub gate_auto_approve: Vec<String>,
    /// Regular expressions of commands that run only once per approved gate that quotes them;
    /// `None`: the list that comes with the program.
    pub gate_ask: Option<Vec<String>>,
    /// How long a run may last, in minutes, anew with each daemon; `None`: without end.
    pub max_run_min: Option<NonZeroU32>,
    /// What a run may spend, in US dollars; `None`: without limit.
    pub max_spend_usd: Option<Usd>,
    /// Where checkpoints are kept.
    pub checkpoints: Checkpoints,
    /// Whether a run begins with a plan.
    pub plan: Plan,
    /// Who audits a `done`: a model or a command, or a table that says more.
    pub auditor: Option<Value>,
    /// Whether the machine is suspended when a run ends.
    pub suspend_on_completion: bool,
    /// How full a model's context may be before it is compacted.
    pub compact_at: Percent,
    /// Rounds of a review before it is blocked.
    pub max_rounds: NonZeroU32,
    /// Accounts by name.
    pub accounts: BTreeMap<String, Table>,
    /// Coding CLIs by name, as runners.
    pub clis: BTreeMap<String, Table>,
    /// MCP servers by name.
    pub mcp: BTreeMap<String, Table>,
    /// What a model costs, by its name.
    pub prices: BTreeMap<String, Table>,
    /// Commands at points of a run.
    pub hooks: Table,
}

/// What becomes of a gate that no pattern decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GateMode {
    /// It waits for a person.
    Gated,
    /// It is approved.
    Auto,
}

/// Where checkpoints are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Checkpoints {
    /// Under refs of their own, on no branch.
    Refs,
    /// As commits on the user's branch.
    Branch,
    /// Nowhere: none are made.
    Off,
}

/// Whether a run begins with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Plan {
    /// It begins with the tasks that are there.
    Off,
    /// The first turn proposes tasks, and a person approves them.
    Propose,
}

/// A percentage from 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "i64")]
pub struct Percent(u8);

/// An amount of US dollars that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Usd(f64);

/// Why `config.toml` cannot be used. Every message names the file and the line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read: the system would not give it, or it is no text that could be a configuration.
    #[error(transparent)]
    Unreadable(#[from] board::Error),
    /// It is no TOML, or a value is not what its key allows.
    #[error("{}:{line}: {}{message}", file.display(), key_prefix(key.as_deref()))]
    Toml {
        /// The configuration file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The top-level key whose value it is about, when it is about one.
        key: Option<String>,
        /// What is wrong, on one line.
        message: String,
    },
    /// A top-level key or table that means nothing.
    #[error("{}:{line}: unknown key `{key}`: did you mean `{nearest}`?", file.display())]
    UnknownKey {
        /// The configuration file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// As it stands in the file.
        key: String,
        /// The known key that is most like it.
        nearest: &'static str,
    },
}

/// The keys of [`Config`], as they stand in the file.
const KEYS: [&str; 24] = [
    "boardFile",
    "maxLost",
    "maxTalkTurns",
    "maxAcceptChecks",
    "waitBaseSec",
    "waitCapMin",
    "maxWaitMin",
    "gateMode",
    "gateAutoDeny",
    "gateAutoApprove",
    "gateAsk",
    "maxRunMin",
    "maxSpendUsd",
    "checkpoints",
    "plan",
    "auditor",
    "suspendOnCompletion",
    "compactAt",
    "maxRounds",
    "accounts",
    "clis",
    "mcp",
    "prices",
    "hooks",
];

/// Where a project's configuration is.
pub fn path(place: &Place) -> PathBuf {
    place.crew().join("config.toml")
}

/// Reads a project's configuration. Without a file it is the default.
pub fn read(place: &Place) -> Result<Config, ConfigError> {
    let file = path(place);
    written::read_text(&file)?.map_or_else(|| Ok(Config::default()), |text| parse(&text, &file))
}

/// Reads `text`, the content of `file`.
pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table = DeTable::parse(text).map_err(|error| refused(file, text, None, &error))?;
    let mut entries: Vec<(&str, Range<usize>, Range<usize>)> =
        table.get_ref().iter().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value.span())).collect();
    entries.sort_by_key(|(_, key, _)| key.start);
    for (key, span, _) in &entries {
        if !KEYS.contains(key)
            && let Some(nearest) = nearest(key, &KEYS)
        {
            return Err(ConfigError::UnknownKey { file: file.to_owned(), line: line_of(text, span.start), key: key.escape_debug().to_string(), nearest });
        }
    }
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let about = |at: &Range<usize>| entries.iter().find(|(_, _, value)| value.start <= at.start && at.start < value.end);
        let key = error.span().as_ref().and_then(about).map(|(key, _, _)| (*key).to_owned());
        refused(file, text, key, &error)
    })
}

fn refused(file: &Path, text: &str, key: Option<String>, error: &toml::de::Error) -> ConfigError {
    ConfigError::Toml {
        file: file.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        key,
        message: error.message().lines().collect::<Vec<_>>().join(", ").escape_debug().to_string(),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

fn key_prefix(key: Option<&str>) -> String {
    key.map_or_else(String::new, |key| format!("`{key}`: "))
}

impl Default for Config {
    fn default() -> Config {
        Config {
            board_file: false,
            max_lost: count(5),
            max_talk_turns: count(6),
            max_accept_checks: count(3),
            wait_base_sec: count(30),
            wait_cap_min: count(30),
            max_wait_min: count(240),
            gate_mode: GateMode::Gated,
            gate_auto_deny: Vec::new(),
            gate_auto_approve: Vec::new(),
            gate_ask: None,
            max_run_min: None,
            max_spend_usd: None,
            checkpoints: Checkpoints::Refs,
            plan: Plan::Off,
            auditor: None,
            suspend_on_completion: false,
            compact_at: Percent(75),
            max_rounds: count(3),
            accounts: BTreeMap::new(),
            clis: BTreeMap::new(),
            mcp: BTreeMap::new(),
            prices: BTreeMap::new(),
            hooks: Table::new(),
        }
    }
}

const fn count(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(count) => count,
        None => NonZeroU32::MIN,
    }
}

impl Config {
    /// The environment variables that keys of accounts are in.
    pub fn key_variables(&self) -> Vec<String> {
        self.accounts.values().filter_map(|account| account.get("keyEnv")?.as_str().map(str::to_owned)).collect()
    }
}

impl Percent {
    /// The number, from 1 to 100.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<i64> for Percent {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Percent, &'static str> {
        match u8::try_from(number) {
            Ok(percent @ 1..=100) => Ok(Percent(percent)),
            _ => Err("a percentage is a whole number from 1 to 100"),
        }
    }
}

impl Usd {
    /// The amount, finite and not negative.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Usd {
    type Error = &'static str;

    fn try_from(amount: f64) -> Result<Usd, &'static str> {
        if amount.is_finite() && amount >= 0.0 { Ok(Usd(amount)) } else { Err("an amount of dollars is a number that is not negative") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigError> {
        parse(text, Path::new("crew/config.toml"))
    }

    #[test]
    fn without_keys_the_defaults() {
        for text in ["", "# nothing yet\n", "\u{feff}\r\n"] {
            assert_eq!(read(text).unwrap(), Config::default(), "{text:?}");
        }
    }

    #[test]
    fn every_key() {
        let text = r#"
boardFile = true
maxLost = 1
maxTalkTurns = 2
maxAcceptChecks = 3
waitBaseSec = 4
waitCapMin = 5
maxWaitMin = 6
gateMode = "auto"
gateAutoDeny = ["prod"]
gateAutoApprove = ["staging .*"]
gateAsk = []
maxRunMin = 7
maxSpendUsd = 8
checkpoints = "branch"
plan = "propose"
auditor = "anthropic/some-model"
suspendOnCompletion = true
compactAt = 60
maxRounds = 9

[accounts.work1]
kind = "anthropic"
keyEnv = "WORK_KEY"

[clis.mine]
program = "mine"

[mcp.browser]
command = ["server"]

[prices."some-model"]
input = 3.0

[hooks]
start = "make"
"#;
        let table = |text: &str| text.parse::<Table>().unwrap();
        let named = |name: &str, text: &str| BTreeMap::from([(name.to_owned(), table(text))]);
        let expected = Config {
            board_file: true,
            max_lost: count(1),
            max_talk_turns: count(2),
            max_accept_checks: count(3),
            wait_base_sec: count(4),
            wait_cap_min: count(5),
            max_wait_min: count(6),
            gate_mode: GateMode::Auto,
            gate_auto_deny: vec!["prod".into()],
            gate_auto_approve: vec!["staging .*".into()],
            gate_ask: Some(Vec::new()),
            max_run_min: Some(count(7)),
            max_spend_usd: Some(Usd(8.0)),
            checkpoints: Checkpoints::Branch,
            plan: Plan::Propose,
            auditor: Some(Value::String("anthropic/some-model".into())),
            suspend_on_completion: true,
            compact_at: Percent(60),
            max_rounds: count(9),
            accounts: named("work1", "kind = \"anthropic\"\nkeyEnv = \"WORK_KEY\""),
            clis: named("mine", "program = \"mine\""),
            mcp: named("browser", "command = [\"server\"]"),
            prices: named("some-model", "input = 3.0"),
            hooks: table("start = \"make\""),
        };
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn the_list_of_keys_is_the_struct() {
        let error = toml::from_str::<Config>("noSuchKey = 1").unwrap_err();
        let offered = error.message().split_once("expected one of ").unwrap().1;
        let expected: Vec<String> = KEYS.iter().map(|key| format!("`{key}`")).collect();
        assert_eq!(offered, expected.join(", "));
    }

    #[test]
    fn what_is_refused_says_where_and_why() {
        let cases = [
            ("boardFile = true\nmax_talk_turns = 3", "crew/config.toml:2: unknown key `max_talk_turns`: did you mean `maxTalkTurns`?"),
            ("\n[account.x]\nkind = \"a\"", "crew/config.toml:2: unknown key `account`: did you mean `accounts`?"),
            // The first in the file, not in the alphabet.
            ("zz = 1\naa = 1", "crew/config.toml:1: unknown key `zz`: did you mean `mcp`?"),
            ("[hooks]\nx = 1\n\n[hoks]\n", "crew/config.toml:4: unknown key `hoks`: did you mean `hooks`?"),
            ("maxLost = 0", "crew/config.toml:1: `maxLost`: invalid value: integer `0`, expected a nonzero u32"),
            ("\ncompactAt = 101", "crew/config.toml:2: `compactAt`: a percentage is a whole number from 1 to 100"),
            ("maxSpendUsd = -1", "crew/config.toml:1: `maxSpendUsd`: an amount of dollars is a number that is not negative"),
            ("maxSpendUsd = nan", "crew/config.toml:1: `maxSpendUsd`: an amount of dollars is a number that is not negative"),
            ("gateMode = \"open\"", "crew/config.toml:1: `gateMode`: unknown variant `open`, expected `gated` or `auto`"),
            ("checkpoints = false", "crew/config.toml:1: `checkpoints`: wanted string or table"),
            ("gateAutoDeny = [\"a\",\n 1]", "crew/config.toml:2: `gateAutoDeny`: invalid type: integer `1`, expected a string"),
        ];
        for (text, message) in cases {
            assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
        }
        for (text, line) in [("maxLost = ", 1), ("maxLost = 1\nmaxLost = 2", 2), ("\n\n[hooks", 3)] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("crew/config.toml:{line}: ")), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
