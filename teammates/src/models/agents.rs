//! Coding CLIs as what a teammate turns to: which one, with which model, and who pays.

use crate::account::{Account, AccountKind, Key};
use crate::clis::{self, Cli};
use crate::config::Config;
use crate::profile::{Profile, Runner};
use crate::provider::{anthropic, openai_chat};

use super::{ModelError, Sources};

/// A coding CLI of a teammate.
pub struct Agent {
    /// What it is called as a runner.
    pub runner: String,
    /// How it is used.
    pub cli: Cli,
    /// The account that pays.
    pub account: String,
    /// The model; `None`: the one that the CLI chooses.
    pub model: Option<String>,
    /// How hard it is to think.
    pub effort: Option<String>,
    /// How much it may do unasked.
    pub permission_mode: Option<String>,
    /// The tools that it has, separated by commas; `None`: all of its own.
    pub tools: Option<String>,
    /// Where its model is served, when not where that is for everybody.
    pub base_url: Option<String>,
    /// The key that its account names.
    pub(crate) key: Option<Key>,
    /// Secrets of the environment that are its own.
    pub(crate) kept: Vec<(String, String)>,
    /// Whose servers these are.
    pub(super) site: String,
}

impl Agent {
    /// What of the record of limits is about it: its account, and its model alone.
    pub fn keys(&self) -> [String; 2] {
        super::keys_of(&self.account, self.name())
    }

    /// Refused where a value would be read as an option of the CLI.
    fn check(&self) -> Result<(), ModelError> {
        let Agent { model, effort, permission_mode, tools, base_url, .. } = self;
        match [model, effort, permission_mode, tools, base_url].into_iter().flatten().find(|value| value.starts_with('-')) {
            Some(value) => Err(ModelError::Dash(value.clone())),
            None => Ok(()),
        }
    }

    /// Whether what pays is known here, and not by the CLI alone.
    pub fn has_key(&self) -> bool {
        self.key.is_some() || !self.kept.is_empty()
    }

    /// Its model, or the CLI's own name where none is named.
    pub fn name(&self) -> &str {
        self.model.as_deref().unwrap_or(&self.runner)
    }
}

/// The CLI that a runner names; `None`: it is another kind of runner.
pub fn runner(profile: &Profile) -> Option<String> {
    matches!(profile.runner, Runner::ClaudeCode | Runner::Codex | Runner::Other(_)).then(|| profile.runner.to_string())
}

/// That of a teammate whose runner is this CLI.
pub(super) fn of_profile(profile: &Profile, runner: &str, sources: &Sources<'_>) -> Result<Agent, ModelError> {
    let agent = of(runner, profile.model.as_deref(), profile.account.as_deref(), profile.base_url.as_deref(), sources)?;
    let agent = agent.ok_or_else(|| ModelError::NoCli { runner: runner.to_owned(), known: known(sources.config) })?;
    if profile.tools.is_some() && agent.cli.only.is_empty() {
        return Err(ModelError::Tools(runner.to_owned()));
    }
    if profile.permission_mode.is_some() && !profile.writes {
        return Err(ModelError::WritesAfterAll);
    }
    let of_models = [("toolMode", profile.tool_mode.is_some()), ("context", profile.context.is_some()), ("maxOutput", profile.max_output.is_some())];
    if let Some((key, _)) = of_models.into_iter().find(|(_, is_said)| *is_said) {
        return Err(ModelError::NotOfCli(key));
    }
    let tools = profile.tools.as_ref().map(|tools| tools.join(","));
    let agent = Agent { effort: profile.effort.clone(), permission_mode: profile.permission_mode.clone(), tools, ..agent };
    agent.check()?;
    Ok(agent)
}

/// That of a fallback: `CLI` or `CLI/MODEL`. `None`: it names no CLI.
pub(super) fn named(word: &str, sources: &Sources<'_>) -> Result<Option<Agent>, ModelError> {
    let (runner, model) = parts(word);
    match sources.config.accounts.contains_key(runner) && !is_cli(runner, sources.config) {
        true => Ok(None),
        false => of(runner, model, None, None, sources)?.map(|agent| agent.check().map(|()| agent)).transpose(),
    }
}

/// The CLI that a fallback names, and its model.
pub(super) fn parts(word: &str) -> (&str, Option<&str>) {
    word.split_once('/').map_or((word, None), |(runner, model)| (runner, Some(model).filter(|model| !model.is_empty())))
}

/// Whether there is a CLI of that name.
pub(super) fn is_cli(name: &str, config: &Config) -> bool {
    config.clis.contains_key(name) || clis::built_in().contains_key(name)
}

/// The account that pays for a CLI: the one that is named, the only one of its kind, or that of its own login.
pub(super) fn account_of(runner: &str, wished: Option<&str>, config: &Config) -> String {
    let of_kind = || {
        let kind = kind(runner)?;
        let mut all = config.accounts.iter().filter_map(|(name, table)| Account::of(name, table).ok()).filter(|account| account.kind == kind);
        all.next().filter(|_| all.next().is_none()).map(|account| account.name)
    };
    wished.map(str::to_owned).or_else(of_kind).unwrap_or_else(|| runner.to_owned())
}

fn kind(runner: &str) -> Option<AccountKind> {
    match runner {
        "claude-code" => Some(AccountKind::ClaudeCode),
        "codex" => Some(AccountKind::Codex),
        _ => None,
    }
}

fn known(config: &Config) -> String {
    let mut all: Vec<&str> = clis::built_in().keys().copied().chain(config.clis.keys().map(String::as_str)).collect();
    all.sort_unstable();
    all.dedup();
    all.join(", ")
}

fn of(runner: &str, model: Option<&str>, wished: Option<&str>, base_url: Option<&str>, sources: &Sources<'_>) -> Result<Option<Agent>, ModelError> {
    let Some(cli) = clis::named(runner, &sources.config.clis)? else { return Ok(None) };
    let name = account_of(runner, wished, sources.config);
    let account = sources.config.accounts.get(&name).map(|table| Account::of(&name, table)).transpose()?;
    if account.is_none() && wished.is_some() {
        return Err(ModelError::NoAccount(name));
    }
    if let Some(account) = &account
        && let Some(wanted) = kind(runner)
        && account.kind != wanted
        && account.kind.to_string() != cli.provider
    {
        return Err(ModelError::OtherKind { account: name, found: account.kind.to_string(), wanted: format!("{wanted} or {}", cli.provider) });
    }
    // What was not named for another server is not sent to it.
    let key = match &account {
        Some(account) if !(base_url.is_some() && account.has_usual_key()) => account.key(sources.variable, sources.project, sources.home)?,
        _ => None,
    };
    let base_url = base_url.map(str::to_owned).or_else(|| account.and_then(|account| account.base_url));
    // What pays is the account's key, or the CLI's own login: not both.
    let kept = match (&key, &base_url) {
        (Some(_), _) | (_, Some(_)) => Vec::new(),
        (None, None) => cli.keeps.iter().filter_map(|name| Some((name.clone(), (sources.variable)(name)?))).collect(),
    };
    let usual = match cli.provider.as_str() {
        "anthropic" => anthropic::BASE,
        "openai" => openai_chat::BASE,
        other => other,
    };
    let site = format!("{} {}", cli.provider, base_url.as_deref().unwrap_or(usual).trim_end_matches('/'));
    let model = model.map(str::trim).filter(|model| !model.is_empty()).map(str::to_owned);
    Ok(Some(Agent {
        runner: runner.to_owned(),
        cli,
        account: name,
        model,
        effort: None,
        permission_mode: None,
        tools: None,
        base_url,
        key,
        kept,
        site,
    }))
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}/{model}", self.runner),
            None => f.write_str(&self.runner),
        }
    }
}
