//! Accounts: who pays for a model. `[accounts.NAME]` of `config.toml` names where a key is; the key itself stands in no
//! file of the project, and is shown to its provider only.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};
use toml::{Table, Value};

use crate::nearest::nearest;
use crate::provider::{Auth, Endpoint, anthropic, openai_chat};

/// An account.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// How the project calls it.
    pub name: String,
    /// Of which provider.
    pub kind: AccountKind,
    /// Where its key is.
    pub key: KeySource,
    /// How the key is shown.
    pub auth: Auth,
    /// Where the provider is, when not where it is for everybody.
    pub base_url: Option<String>,
    /// How many lanes may share it, where that is declared.
    pub lanes: Option<u32>,
    /// Its declared limits, as they stand there, for those who use them to check.
    pub windows: Option<Value>,
}

/// Whose account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// Anthropic's, or that of a compatible server.
    Anthropic,
    /// OpenAI's, or that of a compatible server.
    Openai,
    /// A login of the Claude Code CLI, which keeps its key itself.
    ClaudeCode,
    /// A login of the Codex CLI, which keeps its key itself.
    Codex,
}

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In an environment variable of this name.
    Env(String),
    /// In a file, alone.
    File(PathBuf),
    /// There is none, or it is not for us to know.
    None,
}

/// A key. Nothing prints it.
#[derive(Clone)]
pub struct Key(Arc<SecretString>);

/// Why an account cannot be used. No message has what stands where the name of a variable or of a file should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("account {account:?}: {problem}")]
pub struct AccountError {
    account: String,
    problem: String,
}

const KEYS: [&str; 7] = ["kind", "keyEnv", "keyFile", "auth", "baseUrl", "lanes", "windows"];
const KINDS: [&str; 4] = ["anthropic", "openai", "claude-code", "codex"];

impl Account {
    /// The account that `[accounts.NAME]` describes. Without `keyEnv` and `keyFile` the key is in the variable that the
    /// provider's own programs read, unless `baseUrl` names another server: that gets no key that is not named for it.
    pub fn of(name: &str, table: &Table) -> Result<Account, AccountError> {
        let wrong = |problem: String| AccountError { account: name.to_owned(), problem };
        for key in table.keys() {
            if ["key", "apiKey", "token", "api_key"].contains(&key.as_str()) {
                return Err(wrong(format!("a key stands in no file of the project: put `keyEnv` (a variable's name) or `keyFile` in the place of {key:?}")));
            }
            if !KEYS.contains(&key.as_str()) {
                return Err(wrong(format!("unknown key {key:?}: did you mean {:?}?", nearest(key, &KEYS).unwrap_or_default())));
            }
        }
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim())),
            Some(_) => Err(wrong(format!("`{key}` is no text"))),
        };
        let kind = match text("kind")? {
            Some("anthropic") => AccountKind::Anthropic,
            Some("openai") => AccountKind::Openai,
            Some("claude-code") => AccountKind::ClaudeCode,
            Some("codex") => AccountKind::Codex,
            Some(other) => return Err(wrong(format!("unknown `kind` {other:?}: did you mean {:?}?", nearest(other, &KINDS).unwrap_or_default()))),
            None => return Err(wrong(format!("`kind` is missing: one of {}", KINDS.join(", ")))),
        };
        let base_url = text("baseUrl")?.map(|url| checked_url(url).map_err(wrong)).transpose()?;
        let key = match (text("keyEnv")?, text("keyFile")?) {
            (Some(_), Some(_)) => return Err(wrong("`keyEnv` and `keyFile` are both there: leave one".to_owned())),
            (Some(name), None) if is_variable(name) => KeySource::Env(name.to_owned()),
            (Some(_), None) => return Err(wrong("`keyEnv` is the name of an environment variable, not the key".to_owned())),
            (None, Some(file)) => KeySource::File(PathBuf::from(file)),
            (None, None) if base_url.is_some() => KeySource::None,
            (None, None) => kind.usual_variable().map_or(KeySource::None, |name| KeySource::Env(name.to_owned())),
        };
        let auth = match (text("auth")?, kind) {
            (Some("x-api-key"), _) | (None, AccountKind::Anthropic | AccountKind::ClaudeCode) => Auth::ApiKey,
            (Some("bearer"), _) | (None, _) => Auth::Bearer,
            (Some(_), _) => return Err(wrong("`auth` is \"x-api-key\" or \"bearer\"".to_owned())),
        };
        let lanes = match table.get("lanes") {
            None => None,
            Some(lanes) => match lanes.as_integer().and_then(|lanes| u32::try_from(lanes).ok()) {
                Some(lanes @ 1..) => Some(lanes),
                _ => return Err(wrong("`lanes` is a whole number from 1".to_owned())),
            },
        };
        Ok(Account { name: name.to_owned(), kind, key, auth, base_url, lanes, windows: table.get("windows").cloned() })
    }

    /// The account of those who declare none: the key is where the provider's own programs look for it.
    pub fn usual(kind: AccountKind) -> Account {
        let auth = if kind == AccountKind::Anthropic { Auth::ApiKey } else { Auth::Bearer };
        let key = kind.usual_variable().map_or(KeySource::None, |name| KeySource::Env(name.to_owned()));
        Account { name: kind.to_string(), kind, key, auth, base_url: None, lanes: None, windows: None }
    }

    /// Where its provider is, with the key. `base_url`: what the teammate's own file says. `variable` reads the environment;
    /// `project`: no key is read from within it; `home`: what `~` in the name of a file stands for.
    pub fn endpoint(
        &self,
        base_url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
        project: &Path,
        home: Option<&Path>,
    ) -> Result<Endpoint, AccountError> {
        let base = match (base_url, &self.base_url, self.kind) {
            (Some(url), _, _) => checked_url(url).map_err(|problem| self.wrong(problem))?,
            (None, Some(url), _) => url.clone(),
            (None, None, AccountKind::Anthropic) => anthropic::BASE.to_owned(),
            (None, None, AccountKind::Openai) => openai_chat::BASE.to_owned(),
            (None, None, AccountKind::ClaudeCode | AccountKind::Codex) => {
                return Err(self.wrong(format!("an account of kind {} is for that program only", self.kind)));
            }
        };
        // What was not named for this server is not sent to it.
        let key = if base_url.is_some() && self.has_usual_key() { None } else { self.key(variable, project, home)? };
        Ok(Endpoint { base, key, auth: self.auth })
    }

    /// Whether its key is where the provider's own programs look for it: it was named for that provider alone.
    pub(crate) fn has_usual_key(&self) -> bool {
        matches!(&self.key, KeySource::Env(name) if self.kind.usual_variable() == Some(name))
    }

    /// Its key; `None`: it has none, or it is not for us to know. The arguments are those of [`Account::endpoint`].
    pub fn key(&self, variable: impl Fn(&str) -> Option<String>, project: &Path, home: Option<&Path>) -> Result<Option<Key>, AccountError> {
        match &self.key {
            KeySource::None => Ok(None),
            KeySource::Env(name) => {
                let text = variable(name).ok_or_else(|| self.wrong(format!("the environment variable {name} with its key is not set")))?;
                Key::of(&text).map(Some).ok_or_else(|| self.wrong(format!("what the environment variable {name} holds is no key")))
            }
            KeySource::File(file) => self.key_of_file(file, project, home).map(Some),
        }
    }

    /// The file that its key is in, if it is in one and that is there.
    pub fn key_file(&self, home: Option<&Path>) -> Option<PathBuf> {
        let KeySource::File(file) = &self.key else { return None };
        below_home(file, home).canonicalize().ok()
    }

    fn key_of_file(&self, file: &Path, project: &Path, home: Option<&Path>) -> Result<Key, AccountError> {
        let file = below_home(file, home);
        if !file.is_absolute() {
            return Err(self.wrong("`keyFile` is a path from the root, or from `~`: a key lies outside the project".to_owned()));
        }
        let unread = |e: std::io::Error| self.wrong(format!("cannot read the key file {}: {e}", file.display()));
        let real = file.canonicalize().map_err(unread)?;
        if real.starts_with(project.canonicalize().unwrap_or_else(|_| project.to_owned())) {
            return Err(self.wrong(format!("the key file {} lies in the project: move it out, where nobody commits or reads it", file.display())));
        }
        let text = std::fs::read_to_string(&real).map_err(unread)?;
        Key::of(&text).ok_or_else(|| self.wrong(format!("what the file {} holds is no key", file.display())))
    }

    fn wrong(&self, problem: String) -> AccountError {
        AccountError { account: self.name.clone(), problem }
    }
}

impl AccountKind {
    /// The variable that the provider's own programs read.
    fn usual_variable(self) -> Option<&'static str> {
        match self {
            AccountKind::Anthropic => Some("ANTHROPIC_API_KEY"),
            AccountKind::Openai => Some("OPENAI_API_KEY"),
            AccountKind::ClaudeCode | AccountKind::Codex => None,
        }
    }
}

/// As it is written in `config.toml`.
impl fmt::Display for AccountKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccountKind::Anthropic => "anthropic",
            AccountKind::Openai => "openai",
            AccountKind::ClaudeCode => "claude-code",
            AccountKind::Codex => "codex",
        })
    }
}

fn is_variable(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

/// A path whose `~` is the person's home.
fn below_home(file: &Path, home: Option<&Path>) -> PathBuf {
    match (file.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => file.to_owned(),
    }
}

/// An address that a request can be sent to, and that is no secret itself.
fn checked_url(url: &str) -> Result<String, String> {
    let parsed = reqwest::Url::parse(url).map_err(|e| format!("`baseUrl` is no address: {e}"))?;
    if !["http", "https"].contains(&parsed.scheme()) || !parsed.has_host() {
        return Err("`baseUrl` begins with http:// or https:// and names a server".to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
        return Err("`baseUrl` has neither a name and password nor a `?` in it: the key has a place of its own".to_owned());
    }
    Ok(url.to_owned())
}

impl Key {
    /// The key that a text is, blanks around it left out. `None`: no key looks like that.
    pub fn of(text: &str) -> Option<Key> {
        let text = text.trim();
        (!text.is_empty() && text.chars().all(|letter| letter.is_ascii_graphic())).then(|| Key(Arc::new(SecretString::from(text.to_owned()))))
    }

    /// The key itself, for the header of a request.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The text without the key, and without anything else that looks like one: servers say which key they refuse.
    pub fn redact(&self, text: &str) -> String {
        let text = text.replace(self.expose(), "[key]");
        let mut redacted = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find("sk-") {
            let (before, from) = rest.split_at(at);
            let end = from.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_*.".contains(letter)).unwrap_or(from.len());
            let in_word = before.ends_with(|letter: char| letter.is_ascii_alphanumeric());
            redacted.push_str(before);
            redacted.push_str(if in_word || end < "sk-".len() + 5 { &from[..end] } else { "[key]" });
            rest = &from[end..];
        }
        redacted + rest
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests;
