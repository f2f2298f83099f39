//! What the values of a teammate's file may be.

use std::borrow::Borrow;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use board::task::Tier;
use serde_saphyr::Spanned;

use super::{ProfileError, Runner, Stdin};

/// What `rule` makes of the value of `key`, if the file has that key.
pub(super) fn ruled<T: fmt::Display + Borrow<B>, B: ?Sized, U>(
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

pub(super) fn role(text: &str) -> Result<String, &'static str> {
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

pub(super) fn tier(text: &str) -> Result<Tier, &'static str> {
    match text {
        "cheap" => Ok(Tier::Cheap),
        "mid" => Ok(Tier::Mid),
        "top" => Ok(Tier::Top),
        _ => Err("a tier is cheap, mid or top"),
    }
}

pub(super) fn lanes(count: &u32) -> Result<u32, &'static str> {
    if *count == 0 { Err("a teammate has at least one lane") } else { Ok(*count) }
}

pub(super) fn some(count: &u32) -> Result<u32, &'static str> {
    if *count == 0 { Err("it is a whole number from 1") } else { Ok(*count) }
}

pub(super) fn stdin(text: &str) -> Result<Stdin, &'static str> {
    match text {
        "none" => Ok(Stdin::None),
        "task" => Ok(Stdin::Task),
        _ => Err("stdin is none or task"),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let signed: jiff::SignedDuration = text.parse().map_err(|_| "a duration is a number with a unit, such as 5s, 15m or 1h30m")?;
    Duration::try_from(signed).map_err(|_| "a duration is not negative")
}

pub(super) fn positive(text: &str) -> Result<Duration, &'static str> {
    match duration(text)? {
        Duration::ZERO => Err("this duration is more than zero"),
        positive => Ok(positive),
    }
}
