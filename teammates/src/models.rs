//! The models and coding CLIs that a teammate can turn to, in their order: its own, then its fallbacks.
//!
//! A fallback is a model of *another* provider. To go round a limit with a second account of the same one is what no
//! provider allows, so a chain that would do that is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use board::run::Limit;
use jiff::Timestamp;

use crate::account::{Account, AccountError, AccountKind};
use crate::clis::CliError;
use crate::config::Config;
use crate::profile::{Profile, Runner};
use crate::provider::anthropic::Anthropic;
use crate::provider::openai_chat::{OpenAiChat, ToolMode};
use crate::provider::openai_responses::OpenAiResponses;
use crate::provider::{Endpoint, Http, Provider, openai_chat};

pub mod agents;
mod spending;

pub use agents::Agent;
pub use spending::{Paid, Spending, chance};

/// The longest answer where nobody says how long it may be, in tokens.
const MAX_OUTPUT: u32 = 16_000;
/// What a model of the kind takes at once where nobody says it, in tokens: what the smallest of the current ones do.
const CONTEXT_ANTHROPIC: u64 = 200_000;
const CONTEXT_OPENAI: u64 = 128_000;

/// The account of what is played, and its provider.
const SCRIPT: &str = "script";

/// A model, and the way to call it.
pub struct Model {
    /// The account that pays.
    pub account: String,
    /// Its provider, as the ledger calls it.
    pub provider: String,
    /// The model, as its provider calls it.
    pub name: String,
    /// How hard it is to think.
    pub effort: Option<String>,
    /// The longest answer, in tokens.
    pub max_output: u32,
    /// How much it takes at once, in tokens.
    pub context: u64,
    /// Its API.
    pub api: Box<dyn Provider>,
    /// Whose servers these are: two of the same are one provider.
    site: String,
}

/// What takes a teammate's turns.
pub enum Way {
    /// A model that is called from here.
    Model(Box<Model>),
    /// A coding CLI, which calls its model itself.
    Agent(Box<Agent>),
}

/// What models are made of.
pub struct Sources<'a> {
    /// The project's configuration.
    pub config: &'a Config,
    /// The project: no key lies in it.
    pub project: &'a Path,
    /// What `~` stands for.
    pub home: Option<&'a Path>,
    /// Reads the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The connections.
    pub http: Http,
}

/// What is said of a model besides its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish<'a> {
    /// The account that is to pay.
    pub account: Option<&'a str>,
    /// Where it is served.
    pub base_url: Option<&'a str>,
    /// How hard it is to think.
    pub effort: Option<&'a str>,
    /// How tools are offered.
    pub tool_mode: Option<&'a str>,
    /// How much it takes at once, in tokens.
    pub context: Option<u64>,
    /// Its longest answer, in tokens.
    pub max_output: Option<u32>,
}

/// Why a model cannot be called at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// It is not said which.
    #[error("no model is named: put `model: NAME` into the teammate's file")]
    NoModel,
    /// The word names no provider and model.
    #[error("{0:?} names no model: it is PROVIDER/MODEL, where PROVIDER is anthropic, openai or the name of an account in config.toml")]
    Word(String),
    /// There is no such account.
    #[error("there is no account {0:?} in config.toml: add [accounts.{0}]")]
    NoAccount(String),
    /// Several accounts would do.
    #[error("several accounts in config.toml are of kind {kind} ({names}): name one with `account`")]
    WhichAccount {
        /// The kind.
        kind: String,
        /// The accounts.
        names: String,
    },
    /// The account is another provider's.
    #[error("account {account:?} is of kind {found}, and the model is one of {wanted}")]
    OtherKind {
        /// The account.
        account: String,
        /// Whose it is.
        found: String,
        /// Whose it was to be.
        wanted: String,
    },
    /// A fallback is a model of a provider that the chain has already.
    #[error("`fallback: {0}` is a model of a provider that comes before it: a limit is not gone round with the same provider")]
    SameProvider(String),
    /// How tools are to be offered means nothing.
    #[error("`toolMode: {0}`: it is native, or json for a model behind Chat Completions that cannot call tools")]
    ToolMode(String),
    /// There is no such CLI.
    #[error("there is no coding CLI {runner:?}: known are {known}; `[clis.{runner}]` in config.toml describes another")]
    NoCli {
        /// What was named.
        runner: String,
        /// Those that there are.
        known: String,
    },
    /// It cannot be held to the tools that are named.
    #[error("`tools`: {0} cannot be held to some of its tools; `writes: false` takes its writing ones away")]
    Tools(String),
    /// A mode would give back what `writes: false` takes away.
    #[error("`permissionMode` says how much a CLI may do, and `writes: false` too: leave one")]
    WritesAfterAll,
    /// The key is for models that are called from here.
    #[error("`{0}` is for models that are called from here: a coding CLI decides that itself")]
    NotOfCli(&'static str),
    /// A CLI would take the value for an option.
    #[error("{0:?} begins with a dash: a coding CLI would take it for an option")]
    Dash(String),
    /// Its description cannot be used.
    #[error(transparent)]
    Cli(#[from] CliError),
    /// The account cannot be used.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// What takes the turns of a teammate that thinks, in the order in which it turns to them.
pub fn of_profile(profile: &Profile, sources: &Sources<'_>) -> Result<Vec<Way>, ModelError> {
    let mut chain = vec![match agents::runner(profile) {
        Some(runner) => Way::Agent(Box::new(agents::of_profile(profile, &runner, sources)?)),
        None => Way::Model(Box::new(own_model(profile, sources)?)),
    }];
    for word in &profile.fallback {
        let way = match agents::named(word, sources)? {
            Some(agent) => Way::Agent(Box::new(agent)),
            None => Way::Model(Box::new(named(word, &Wish::default(), sources)?)),
        };
        if chain.iter().any(|before| before.site() == way.site()) {
            return Err(ModelError::SameProvider(word.clone()));
        }
        chain.push(way);
    }
    Ok(chain)
}

fn own_model(profile: &Profile, sources: &Sources<'_>) -> Result<Model, ModelError> {
    let wish = Wish {
        account: profile.account.as_deref(),
        base_url: profile.base_url.as_deref(),
        effort: profile.effort.as_deref(),
        tool_mode: profile.tool_mode.as_deref(),
        context: profile.context,
        max_output: profile.max_output,
    };
    let kind = if profile.runner == Runner::Anthropic { AccountKind::Anthropic } else { AccountKind::Openai };
    let name = profile.model.as_deref().map(str::trim).filter(|model| !model.is_empty()).ok_or(ModelError::NoModel)?;
    of_kind(kind, name, &wish, sources)
}

/// Whether a word names a model, and not something else: `PROVIDER/MODEL`.
pub fn is_named(word: &str, config: &Config) -> bool {
    word.split_once('/').is_some_and(|(of, name)| !name.is_empty() && (kind_of(of).is_some() || config.accounts.contains_key(of)))
}

/// The model that `PROVIDER/MODEL` names.
pub fn named(word: &str, wish: &Wish<'_>, sources: &Sources<'_>) -> Result<Model, ModelError> {
    let (of, name) = word.split_once('/').filter(|(of, name)| !of.is_empty() && !name.is_empty()).ok_or_else(|| ModelError::Word(word.to_owned()))?;
    match (kind_of(of), sources.config.accounts.get(of)) {
        (_, Some(table)) => of_account(&Account::of(of, table)?, name, wish, sources),
        (Some(kind), None) => of_kind(kind, name, wish, sources),
        (None, None) => Err(ModelError::Word(word.to_owned())),
    }
}

fn kind_of(word: &str) -> Option<AccountKind> {
    match word {
        "anthropic" => Some(AccountKind::Anthropic),
        "openai" => Some(AccountKind::Openai),
        _ => None,
    }
}

/// A model of a provider: by the account that is wished, by the only one that is declared of its kind, or by the usual one.
fn of_kind(kind: AccountKind, name: &str, wish: &Wish<'_>, sources: &Sources<'_>) -> Result<Model, ModelError> {
    of_account(&account_of_kind(kind, wish.account, sources.config)?, name, wish, sources)
}

fn account_of_kind(kind: AccountKind, wished: Option<&str>, config: &Config) -> Result<Account, ModelError> {
    let declared = |name: &str| config.accounts.get(name).map(|table| Account::of(name, table));
    let account = match wished {
        Some(wished) => declared(wished).ok_or_else(|| ModelError::NoAccount(wished.to_owned()))??,
        None => {
            let all = config.accounts.iter().map(|(name, table)| Account::of(name, table)).collect::<Result<Vec<_>, _>>()?;
            let mut fit: Vec<Account> = all.into_iter().filter(|account| account.kind == kind).collect();
            match (fit.pop(), fit.len()) {
                (None, _) => Account::usual(kind),
                (Some(only), 0) => only,
                (Some(last), _) => {
                    let names: Vec<&str> = fit.iter().map(|account| account.name.as_str()).chain([last.name.as_str()]).collect();
                    return Err(ModelError::WhichAccount { kind: kind.to_string(), names: names.join(", ") });
                }
            }
        }
    };
    if account.kind != kind {
        return Err(ModelError::OtherKind { account: account.name, found: account.kind.to_string(), wanted: kind.to_string() });
    }
    Ok(account)
}

fn of_account(account: &Account, name: &str, wish: &Wish<'_>, sources: &Sources<'_>) -> Result<Model, ModelError> {
    let endpoint = account.endpoint(wish.base_url, sources.variable, sources.project, sources.home)?;
    let mode =
        wish.tool_mode.map_or(Some(ToolMode::Native), ToolMode::parse).ok_or_else(|| ModelError::ToolMode(wish.tool_mode.unwrap_or_default().to_owned()))?;
    let site = format!("{} {}", account.kind, endpoint.base.trim_end_matches('/'));
    let (api, context) = match account.kind {
        AccountKind::Anthropic if mode == ToolMode::Json => return Err(ModelError::ToolMode("json".to_owned())),
        AccountKind::Anthropic => (Box::new(Anthropic::new(sources.http.clone(), endpoint)) as Box<dyn Provider>, CONTEXT_ANTHROPIC),
        _ => (openai(sources.http.clone(), endpoint, mode), CONTEXT_OPENAI),
    };
    Ok(Model {
        account: account.name.clone(),
        provider: account.kind.to_string(),
        name: name.to_owned(),
        effort: wish.effort.map(str::to_owned),
        max_output: wish.max_output.unwrap_or(MAX_OUTPUT),
        context: wish.context.unwrap_or(context),
        api,
        site,
    })
}

/// The provider itself serves its newest models behind Responses; servers that are compatible with it all have Chat
/// Completions.
fn openai(http: Http, endpoint: Endpoint, mode: ToolMode) -> Box<dyn Provider> {
    match endpoint.base.trim_end_matches('/') == openai_chat::BASE && mode == ToolMode::Native {
        true => Box::new(OpenAiResponses::new(http, endpoint)),
        false => Box::new(OpenAiChat::new(http, endpoint, mode)),
    }
}

impl Way {
    /// What of the record of limits is about it.
    pub fn keys(&self) -> [String; 2] {
        match self {
            Way::Model(model) => model.keys(),
            Way::Agent(agent) => agent.keys(),
        }
    }

    fn site(&self) -> &str {
        match self {
            Way::Model(model) => &model.site,
            Way::Agent(agent) => &agent.site,
        }
    }
}

impl From<Model> for Way {
    fn from(model: Model) -> Way {
        Way::Model(Box::new(model))
    }
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Way::Model(model) => model.fmt(f),
            Way::Agent(agent) => agent.fmt(f),
        }
    }
}

impl Model {
    /// One that is not asked over the network: recorded answers.
    pub fn played(api: Box<dyn Provider>, name: &str, script: &Path) -> Model {
        let (account, provider) = (SCRIPT.to_owned(), SCRIPT.to_owned());
        Model { account, provider, name: name.to_owned(), effort: None, max_output: MAX_OUTPUT, context: CONTEXT_ANTHROPIC, api, site: site_of(script) }
    }

    /// What of the record of limits is about it: its account, and it alone.
    pub fn keys(&self) -> [String; 2] {
        keys_of(&self.account, &self.name)
    }
}

fn keys_of(account: &str, model: &str) -> [String; 2] {
    [account.to_owned(), format!("{account}/{model}")]
}

/// What keeps every model of a teammate from being called at a moment, the limit that is over first; `None`: nothing, as
/// far as is known. Without its models' keys: for whoever only looks.
pub fn limit(profile: &Profile, config: &Config, limits: &BTreeMap<String, Limit>, now: Timestamp) -> Option<Limit> {
    if limits.is_empty() || !profile.thinks() {
        return None;
    }
    let own = match agents::runner(profile) {
        Some(runner) => (Some(agents::account_of(&runner, profile.account.as_deref(), config)), profile.model.clone().unwrap_or(runner)),
        None => (own_account(profile, config), profile.model.clone().unwrap_or_default()),
    };
    let fallback = |word: &String| match agents::parts(word) {
        (runner, model) if agents::is_cli(runner, config) => Some((Some(agents::account_of(runner, None, config)), model.unwrap_or(runner).to_owned())),
        (of, name) => Some((account_named(of, config), name?.to_owned())),
    };
    // A chain that cannot be used is told of by the teammate itself.
    let chain = std::iter::once(own).chain(profile.fallback.iter().filter_map(fallback));
    let mut first: Option<Limit> = None;
    for (account, model) in chain {
        first = Some(sooner(first, of_keys(&keys_of(&account?, &model), limits, now)?));
    }
    first
}

/// What of these keys keeps a call from being made at a moment; `None`: nothing.
pub(crate) fn of_keys(keys: &[String], limits: &BTreeMap<String, Limit>, now: Timestamp) -> Option<Limit> {
    keys.iter().filter_map(|key| limits.get(key)).find(|limit| limit.until.is_none_or(|until| until > now)).cloned()
}

/// The one that is over first.
pub fn sooner(one: Option<Limit>, other: Limit) -> Limit {
    let end = |limit: &Limit| limit.until.unwrap_or(Timestamp::MAX);
    one.filter(|one| end(one) <= end(&other)).unwrap_or(other)
}

fn own_account(profile: &Profile, config: &Config) -> Option<String> {
    match (&profile.runner, &profile.account) {
        (Runner::Script, _) => Some(SCRIPT.to_owned()),
        (_, Some(account)) => Some(account.clone()),
        (Runner::Anthropic, None) => account_named("anthropic", config),
        (_, None) => account_named("openai", config),
    }
}

/// The account that a word stands for: its own, or the one that pays for that kind.
fn account_named(word: &str, config: &Config) -> Option<String> {
    if config.accounts.contains_key(word) {
        return Some(word.to_owned());
    }
    account_of_kind(kind_of(word)?, None, config).ok().map(|account| account.name)
}

fn site_of(script: &Path) -> String {
    PathBuf::from("script").join(script).display().to_string()
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.account, self.name)
    }
}

#[cfg(test)]
mod tests;
