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

use std::borrow::Borrow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use board::name::{Name, NameError};
use board::task::{Command, Tier};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

use crate::front_matter::{self, Fault, OneOrMore, command, split, yaml};

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
        Origin::Crew => from_crew(front, file, &stem)?,
        Origin::ClaudeAgent => from_claude_agent(front, file, &stem)?,
    };
    profile.instructions = body.trim().to_owned();
    Ok(profile)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CrewFront {
    name: Option<Spanned<String>>,
    description: Option<String>,
    role: Option<Spanned<String>>,
    runner: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    effort: Option<String>,
    fallback: Option<OneOrMore>,
    account: Option<String>,
    tier: Option<Spanned<String>>,
    writes: Option<bool>,
    capabilities: Option<OneOrMore>,
    lanes: Option<Spanned<u32>>,
    poll: Option<Spanned<String>>,
    idle_timeout: Option<Spanned<String>>,
    tools: Option<OneOrMore>,
    command: Option<Spanned<OneOrMore>>,
    stdin: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    worktree: Option<bool>,
    may_run: Option<bool>,
    base_url: Option<String>,
    tool_mode: Option<String>,
    context: Option<Spanned<u32>>,
    max_output: Option<Spanned<u32>>,
    max_calls: Option<Spanned<u32>>,
    script: Option<String>,
    permission_mode: Option<String>,
}

fn from_crew(front: &str, file: &Path, stem: &str) -> Result<Profile, ProfileError> {
    let front: CrewFront = yaml(front).map_err(|error| refused(file, &error))?;
    if let Some(inside) = &front.name
        && inside.value != stem
    {
        return Err(ProfileError::OtherName { file: file.to_owned(), line: inside.defined.line(), inside: inside.value.escape_debug().to_string() });
    }
    let defaults = Profile::named(stem).map_err(|source| ProfileError::Name { file: file.to_owned(), source })?;
    let runs_commands = front.runner.as_ref().is_none_or(|runner| runner.value == "command");
    let model = |name: &str| if runs_commands { Err("a model needs a runner: add `runner: anthropic` or `runner: openai`") } else { Ok(name.to_owned()) };
    Ok(Profile {
        description: front.description,
        model: ruled(file, "model", front.model, model)?,
        role: ruled(file, "role", front.role, role)?.unwrap_or(defaults.role),
        runner: ruled(file, "runner", front.runner, runner)?.unwrap_or(defaults.runner),
        effort: front.effort,
        fallback: front.fallback.map_or(defaults.fallback, OneOrMore::separated),
        account: front.account,
        tier: ruled(file, "tier", front.tier, tier)?,
        writes: front.writes.unwrap_or(defaults.writes),
        capabilities: front.capabilities.map_or(defaults.capabilities, OneOrMore::separated),
        lanes: ruled(file, "lanes", front.lanes, lanes)?.unwrap_or(defaults.lanes),
        poll: ruled(file, "poll", front.poll, positive)?.unwrap_or(defaults.poll),
        idle_timeout: ruled(file, "idleTimeout", front.idle_timeout, duration)?.unwrap_or(defaults.idle_timeout),
        tools: front.tools.map(OneOrMore::separated),
        command: ruled(file, "command", front.command, command)?,
        stdin: ruled(file, "stdin", front.stdin, stdin)?.unwrap_or(defaults.stdin),
        timeout: ruled(file, "timeout", front.timeout, positive)?,
        worktree: front.worktree.unwrap_or(defaults.worktree),
        may_run: front.may_run.unwrap_or(defaults.may_run),
        base_url: front.base_url,
        tool_mode: front.tool_mode,
        context: ruled(file, "context", front.context, some)?.map(u64::from),
        max_output: ruled(file, "maxOutput", front.max_output, some)?,
        max_calls: ruled(file, "maxCalls", front.max_calls, some)?.unwrap_or(defaults.max_calls),
        script: front.script.map(PathBuf::from),
        permission_mode: front.permission_mode,
        name: defaults.name,
        instructions: defaults.instructions,
        ignored: defaults.ignored,
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaudeFront {
    name: Option<String>,
    description: Option<String>,
    tools: Option<OneOrMore>,
    model: Option<String>,
    permission_mode: Option<String>,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, IgnoredAny>,
}

fn from_claude_agent(front: &str, file: &Path, stem: &str) -> Result<Profile, ProfileError> {
    let front = match yaml::<ClaudeFront>(front) {
        Ok(front) => front,
        Err(error) => plain_lines(front).ok_or_else(|| refused(file, &error))?,
    };
    let name = front.name.as_deref().unwrap_or(stem);
    let defaults = Profile::named(name).map_err(|source| ProfileError::Name { file: file.to_owned(), source })?;
    Ok(Profile {
        description: front.description,
        runner: Runner::ClaudeCode,
        model: front.model,
        tools: front.tools.map(OneOrMore::separated),
        permission_mode: front.permission_mode,
        ignored: front.rest.into_keys().collect(),
        ..defaults
    })
}

/// Front matter of which every line is `key: value`, the value taken as it stands. `None`: it has
/// other lines, so this is no way to read it.
fn plain_lines(front: &str) -> Option<ClaudeFront> {
    let mut read = ClaudeFront::default();
    for line in front.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let (key, value) = line.split_once(':')?;
        if key.is_empty() || !key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-')) {
            return None;
        }
        let value = value.trim().to_owned();
        match key {
            "name" => read.name = Some(value),
            "description" => read.description = Some(value),
            "tools" => read.tools = Some(OneOrMore::One(value)),
            "model" => read.model = Some(value),
            "permissionMode" => read.permission_mode = Some(value),
            other => {
                read.rest.insert(other.to_owned(), IgnoredAny);
            }
        }
    }
    Some(read)
}

fn refused(file: &Path, error: &serde_saphyr::Error) -> ProfileError {
    let file = file.to_owned();
    match front_matter::fault(error) {
        Fault::UnknownKey { line, key, nearest } => ProfileError::UnknownKey { file, line, key, nearest },
        Fault::Yaml { line, message } => ProfileError::Yaml { file, line, message },
    }
}

/// What `rule` makes of the value of `key`, if the file has that key.
fn ruled<T: fmt::Display + Borrow<B>, B: ?Sized, U>(
    file: &Path,
    key: &'static str,
    written: Option<Spanned<T>>,
    rule: impl FnOnce(&B) -> Result<U, &'static str>,
) -> Result<Option<U>, ProfileError> {
    let Some(written) = written else { return Ok(None) };
    rule(written.value.borrow()).map(Some).map_err(|rule| ProfileError::Value {
        file: file.to_owned(),
        line: written.defined.line(),
        key,
        value: written.value.to_string().escape_debug().to_string(),
        rule,
    })
}

fn role(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("a role is one line that is not blank");
    }
    Ok(text.to_owned())
}

/// Reads a runner's name as it stands in a file; the error is the rule that it breaks.
pub fn runner(text: &str) -> Result<Runner, &'static str> {
    Ok(match text {
        "command" => Runner::Command,
        "anthropic" => Runner::Anthropic,
        "openai" => Runner::Openai,
        "claude-code" => Runner::ClaudeCode,
        "codex" => Runner::Codex,
        "acp" => Runner::Acp,
        "script" => Runner::Script,
        other if other.trim().is_empty() => return Err("a runner has a name"),
        other => Runner::Other(other.to_owned()),
    })
}

fn tier(text: &str) -> Result<Tier, &'static str> {
    match text {
        "cheap" => Ok(Tier::Cheap),
        "mid" => Ok(Tier::Mid),
        "top" => Ok(Tier::Top),
        _ => Err("a tier is cheap, mid or top"),
    }
}

fn lanes(count: &u32) -> Result<u32, &'static str> {
    if *count == 0 { Err("a teammate has at least one lane") } else { Ok(*count) }
}

fn some(count: &u32) -> Result<u32, &'static str> {
    if *count == 0 { Err("it is a whole number from 1") } else { Ok(*count) }
}

fn stdin(text: &str) -> Result<Stdin, &'static str> {
    match text {
        "none" => Ok(Stdin::None),
        "task" => Ok(Stdin::Task),
        _ => Err("stdin is none or task"),
    }
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    let signed: jiff::SignedDuration = text.parse().map_err(|_| "a duration is a number with a unit, such as 5s, 15m or 1h30m")?;
    Duration::try_from(signed).map_err(|_| "a duration is not negative")
}

fn positive(text: &str) -> Result<Duration, &'static str> {
    match duration(text)? {
        Duration::ZERO => Err("this duration is more than zero"),
        positive => Ok(positive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crew(text: &str) -> Result<Profile, ProfileError> {
        parse(text, Path::new("team/alice.md"), Origin::Crew)
    }

    fn claude(text: &str) -> Result<Profile, ProfileError> {
        parse(text, Path::new("agents/code-reviewer.md"), Origin::ClaudeAgent)
    }

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn every_key() {
        let text = "---
name: alice
role: coder
runner: anthropic        # a comment
model: some-model
effort: high
fallback: [openai/other-model, local/third]
account: work1
tier: mid
writes: false
capabilities: [write, browser]
lanes: 3
poll: 1s
idleTimeout: 1h30m
description: Writes code
tools: Read, Bash(git add:*, git commit:*), Edit
command: [make, -j, 4]
stdin: task
timeout: 15m
worktree: true
mayRun: true
baseUrl: http://localhost:8080/v1
toolMode: native
context: 32000
maxOutput: 4000
maxCalls: 50
script: recordings/alice.jsonl
permissionMode: acceptEdits
---

You are careful.

---
A line of dashes belongs to the text.
";
        let expected = Profile {
            name: Name::new("alice").unwrap(),
            description: Some("Writes code".into()),
            role: "coder".into(),
            runner: Runner::Anthropic,
            model: Some("some-model".into()),
            effort: Some("high".into()),
            fallback: strings(&["openai/other-model", "local/third"]),
            account: Some("work1".into()),
            tier: Some(Tier::Mid),
            writes: false,
            capabilities: strings(&["write", "browser"]),
            lanes: 3,
            poll: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(90 * 60),
            tools: Some(strings(&["Read", "Bash(git add:*, git commit:*)", "Edit"])),
            command: Some(Command::Exec(strings(&["make", "-j", "4"]))),
            stdin: Stdin::Task,
            timeout: Some(Duration::from_secs(15 * 60)),
            worktree: true,
            may_run: true,
            base_url: Some("http://localhost:8080/v1".into()),
            tool_mode: Some("native".into()),
            context: Some(32_000),
            max_output: Some(4000),
            max_calls: 50,
            script: Some("recordings/alice.jsonl".into()),
            permission_mode: Some("acceptEdits".into()),
            instructions: "You are careful.\n\n---\nA line of dashes belongs to the text.".into(),
            ignored: Vec::new(),
        };
        assert_eq!(crew(text).unwrap(), expected);
        let crlf = text.replace('\n', "\r\n");
        let read = crew(&format!("\u{feff}{crlf}")).unwrap();
        assert_eq!(Profile { instructions: expected.instructions.clone(), ..read }, expected);
    }

    #[test]
    fn without_keys_the_defaults() {
        let defaults = Profile::named("alice").unwrap();
        for text in ["", "---\n---\n", "---\n# nothing yet\n\n---", "---\nmodel:\n---\n"] {
            assert_eq!(crew(text).unwrap(), defaults, "{text:?}");
        }
        assert_eq!(defaults.role, "teammate");
        assert_eq!(defaults.runner, Runner::Command);
        assert_eq!(defaults.tier, None);
        assert!(defaults.writes && !defaults.worktree && !defaults.may_run);
        assert_eq!((defaults.poll, defaults.idle_timeout), (Duration::from_secs(5), Duration::from_secs(60)));

        let only_text = crew("You are alice.\n---\nnot: front matter\n---\n").unwrap();
        assert_eq!(only_text.instructions, "You are alice.\n---\nnot: front matter\n---");
    }

    #[test]
    fn what_is_refused_says_where_and_why() {
        let cases = [
            ("idle_timeout: 60s", "team/alice.md:2: unknown key `idle_timeout`: did you mean `idleTimeout`?"),
            ("role: coder\nrunnr: codex", "team/alice.md:3: unknown key `runnr`: did you mean `runner`?"),
            ("color: red", "team/alice.md:2: unknown key `color`: did you mean `role`?"),
            ("name: bob", "team/alice.md:2: `name: bob` is not the file's name: rename the file to `bob.md`, or take the line out"),
            ("poll: 0s", "team/alice.md:2: `poll: 0s`: this duration is more than zero"),
            ("poll: 5", "team/alice.md:2: `poll: 5`: a duration is a number with a unit, such as 5s, 15m or 1h30m"),
            ("\n\ntimeout: -5s", "team/alice.md:4: `timeout: -5s`: a duration is not negative"),
            ("timeout: 0s", "team/alice.md:2: `timeout: 0s`: this duration is more than zero"),
            ("idleTimeout: soon", "team/alice.md:2: `idleTimeout: soon`: a duration is a number with a unit, such as 5s, 15m or 1h30m"),
            ("tier: high", "team/alice.md:2: `tier: high`: a tier is cheap, mid or top"),
            ("lanes: 0", "team/alice.md:2: `lanes: 0`: a teammate has at least one lane"),
            ("stdin: json", "team/alice.md:2: `stdin: json`: stdin is none or task"),
            ("command: ' '", "team/alice.md:2: `command:  `: a command is not blank"),
            ("command: []", "team/alice.md:2: `command: []`: a command as a list begins with a program"),
            ("role: \"a\\e[31m\"", "team/alice.md:2: `role: a\\u{1b}[31m`: a role is one line that is not blank"),
            ("runner: ''", "team/alice.md:2: `runner: `: a runner has a name"),
        ];
        for (front, message) in cases {
            let error = crew(&format!("---\n{front}\n---\ntext\n")).unwrap_err();
            assert_eq!(error.to_string(), message, "{front}");
        }
        // The parser's own words, but our file and line.
        for (front, line) in [
            ("role: coder\nwrites: maybe", 3),
            ("lanes: -1", 2),
            ("command: true", 2),
            ("role: a\nrole: b", 3),
            ("role: coder\nmodel: [", 3),
            ("fallback: {a: b}", 2),
        ] {
            let error = crew(&format!("---\n{front}\n---\n")).unwrap_err();
            let message = error.to_string();
            assert!(matches!(error, ProfileError::Yaml { .. }), "{front}: {message}");
            assert!(message.starts_with(&format!("team/alice.md:{line}: ")), "{front}: {message}");
            assert_eq!(message.lines().count(), 1, "{front}: {message}");
        }
        assert_eq!(crew("---\nrole: coder\n").unwrap_err().to_string(), "team/alice.md:1: the front matter has no end: put a line of `---` after its last key");
    }

    #[test]
    fn known_keys_are_all_offered() {
        // `did you mean` must be able to say each of them.
        for key in ["permissionMode", "toolMode", "baseUrl", "mayRun", "capabilities", "description"] {
            let error = crew(&format!("---\n{}: x\n---\n", key.to_uppercase())).unwrap_err();
            assert!(matches!(error, ProfileError::UnknownKey { nearest, .. } if nearest == key), "{error}");
        }
    }

    #[test]
    fn runners_and_commands() {
        let read = |front: &str| crew(&format!("---\n{front}\n---\n")).unwrap();
        assert_eq!(read("runner: claude-code").runner, Runner::ClaudeCode);
        assert_eq!(read("runner: gemini").runner, Runner::Other("gemini".into()));
        assert_eq!(read("command: make test | tee log").command, Some(Command::Shell("make test | tee log".into())));
        assert_eq!(read("command: 'true'").command, Some(Command::Shell("true".into())));
        assert_eq!(read("fallback: openai/m, local/n").fallback, strings(&["openai/m", "local/n"]));
        assert!(Tier::Cheap < Tier::Mid && Tier::Mid < Tier::Top);
    }

    #[test]
    fn an_agent_file_of_the_other_program() {
        let read = claude("---\nname: reviewer\ndescription: Reviews code\ntools: Read, Grep,Glob\nmodel: sonnet\ncolor: red\n---\n\nYou review.\n").unwrap();
        let expected = Profile {
            description: Some("Reviews code".into()),
            runner: Runner::ClaudeCode,
            model: Some("sonnet".into()),
            tools: Some(strings(&["Read", "Grep", "Glob"])),
            instructions: "You review.".into(),
            ignored: strings(&["color"]),
            ..Profile::named("reviewer").unwrap()
        };
        assert_eq!(read, expected);

        let list = claude("---\ntools:\n  - Read\n  - Bash(git:*)\n---\n").unwrap();
        assert_eq!(list.name.as_str(), "code-reviewer");
        assert_eq!(list.tools, Some(strings(&["Read", "Bash(git:*)"])));
    }

    #[test]
    fn a_description_that_is_no_yaml() {
        let text = "---\nname: reviewer\ndescription: Use it when: code changed. Examples: <example>user: \"x\"\\n</example>\ntools: Read, Edit\n---\nText\n";
        let read = claude(text).unwrap();
        assert_eq!(read.description.as_deref(), Some("Use it when: code changed. Examples: <example>user: \"x\"\\n</example>"));
        assert_eq!(read.tools, Some(strings(&["Read", "Edit"])));
        assert_eq!(read.name.as_str(), "reviewer");

        // Neither YAML nor plain lines: the parser's error.
        assert!(matches!(claude("---\nname: [\n  - x\n---\n"), Err(ProfileError::Yaml { .. })));
    }

    #[test]
    fn names() {
        let reserved = parse("", Path::new("team/lead.md"), Origin::Crew).unwrap_err();
        assert_eq!(reserved.to_string(), "team/lead.md: name \"lead\" is refused: it is reserved (user, system, audit, lead)");
        assert!(matches!(claude("---\nname: ../x\n---\n"), Err(ProfileError::Name { .. })));
    }
}
