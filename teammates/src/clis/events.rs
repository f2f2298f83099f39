//! What the lines mean that a coding CLI prints: JSON objects, and what it says on standard error as `{"stderr": LINE}`.
//!
//! A rule looks at one line and takes values out of it, both by JSON pointers (RFC 6901). It looks at what the vendor
//! itself writes and where: what a model says or a file holds is in no place that a rule for limits looks at.

use std::collections::BTreeMap;

use board::run::Counted;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// A rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// What a line means of which all of `when` holds.
    pub is: Kind,
    /// What holds of the line, by pointer.
    #[serde(default)]
    pub when: BTreeMap<String, Holds>,
    /// The list in the line that is gone through: `item` and the values are those of its elements.
    #[serde(default)]
    pub each: Option<String>,
    /// What holds of the element, by pointer.
    #[serde(default)]
    pub item: BTreeMap<String, Holds>,
    /// Where a text is: what was said, the tool's name, the error.
    #[serde(default)]
    pub text: Option<String>,
    /// What is put before that text.
    #[serde(default)]
    pub before: String,
    /// Where the name or id is: of a session, of a call.
    #[serde(default)]
    pub id: Option<String>,
    /// Where a call's arguments are.
    #[serde(default)]
    pub input: Option<String>,
    /// Where it stands that a call failed.
    #[serde(default)]
    pub error: Option<String>,
    /// Where an HTTP status is.
    #[serde(default)]
    pub status: Option<String>,
    /// The HTTP status that such a line stands for.
    #[serde(default)]
    pub status_is: Option<u16>,
    /// Where the end of a limit is, in seconds since 1970.
    #[serde(default)]
    pub until: Option<String>,
    /// Where numbers of tokens are: in, out, read from a cache, written to one; and what was paid, in US dollars.
    #[serde(default)]
    pub tokens: Tokens,
}

/// Where the numbers of a use are.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tokens {
    /// Tokens in.
    pub input: Option<String>,
    /// Tokens out.
    pub output: Option<String>,
    /// Of those in, or besides them: read from a cache.
    pub cache_read: Option<String>,
    /// Written to one.
    pub cache_write: Option<String>,
    /// US dollars.
    pub usd: Option<String>,
    /// Whether tokens in are with those of the cache.
    pub with_cache: bool,
    /// Whether the numbers of tokens are those of the whole conversation so far.
    pub cumulative: bool,
    /// Whether what was paid is that for the whole conversation so far.
    pub usd_cumulative: bool,
}

/// What holds of a value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Holds {
    /// It is one of these.
    OneOf(Vec<Value>),
    /// It is a text that begins so.
    Starts {
        /// The beginning.
        starts: String,
    },
    /// It is a text with this in it.
    Has {
        /// The part.
        has: String,
    },
    /// It is there, and not null; or it is not.
    There {
        /// Whether it is.
        there: bool,
    },
    /// It is none of these; what is not there is none.
    Not {
        /// What it is not.
        not: Vec<Value>,
    },
    /// It is this.
    Is(Value),
}

/// What a line can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A conversation begins or goes on: `id`.
    Session,
    /// The conversation that was to go on is not there any more.
    NoSession,
    /// The model says something: `text`.
    Said,
    /// It calls a tool: `id`, `text` (its name), `input`.
    Calls,
    /// What came of a call: `id`, `text`, `error`.
    Result,
    /// What was used: `tokens`.
    Used,
    /// A limit is reached: `until`, `text`.
    Limit,
    /// It could not go on: `status`, `text`.
    Failed,
    /// It may not use a tool: `text`.
    Denied,
    /// The team's tools are not there: `text`.
    NoTools,
    /// The conversation was made shorter.
    Compacted,
    /// It is in trouble, and tries again: `text`.
    Trouble,
}

/// What a line said.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A conversation begins or goes on.
    Session(String),
    /// The one that was to go on is not there.
    NoSession,
    /// The model says something.
    Said(String),
    /// It calls a tool.
    Calls {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// What came of a call.
    Result {
        /// The call.
        id: String,
        /// What.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// What was used.
    Used(Used),
    /// A limit is reached.
    Limit {
        /// Until then; `None`: that is not said.
        until: Option<Timestamp>,
        /// The words.
        text: String,
    },
    /// It could not go on.
    Failed {
        /// The HTTP status, where there is one.
        status: Option<u16>,
        /// The words.
        text: String,
    },
    /// It may not use a tool.
    Denied(String),
    /// The team's tools are not there.
    NoTools(String),
    /// The conversation was made shorter.
    Compacted,
    /// It is in trouble, and tries again.
    Trouble(String),
}

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Tokens in (besides those of the cache), out, read from a cache, written to one.
    pub tokens: [u64; 4],
    /// Millionths of a US dollar, where the CLI says so.
    pub micro_usd: Option<u64>,
    /// Whether the tokens are those of the whole conversation so far.
    pub cumulative: bool,
    /// Whether the dollars are.
    pub usd_cumulative: bool,
}

impl Used {
    /// What of it is new after what was counted of the conversation before, and what is counted then. One that says less
    /// than before has begun to count anew.
    pub fn after(&self, before: Counted) -> (Used, Counted) {
        let since = |now: u64, before: u64| if now >= before { now - before } else { now };
        let mut new = *self;
        let mut counted = before;
        if self.cumulative {
            let [input, output, read, write] = self.tokens;
            let [was_input, was_output, was_read, was_write] = before.tokens;
            new.tokens = [since(input, was_input), since(output, was_output), since(read, was_read), since(write, was_write)];
            counted.tokens = self.tokens;
        }
        if let Some(usd) = self.micro_usd.filter(|_| self.usd_cumulative) {
            new.micro_usd = Some(since(usd, before.micro_usd));
            counted.micro_usd = usd;
        }
        (new, counted)
    }
}

/// What a line says by these rules. A line that is no JSON object says nothing.
pub fn read(rules: &[Rule], line: &[u8]) -> Vec<Event> {
    match serde_json::from_slice::<Value>(line) {
        Ok(line @ Value::Object(_)) => rules.iter().flat_map(|rule| rule.read(&line)).collect(),
        _ => Vec::new(),
    }
}

/// A line of standard error, as a line that rules look at.
pub fn of_stderr(line: &str) -> Vec<u8> {
    serde_json::json!({ "stderr": line }).to_string().into_bytes()
}

impl Rule {
    /// What is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        let tokens = [&self.tokens.input, &self.tokens.output, &self.tokens.cache_read, &self.tokens.cache_write, &self.tokens.usd];
        let own = [&self.each, &self.text, &self.id, &self.input, &self.error, &self.status, &self.until];
        let pointers = tokens.into_iter().chain(own).flatten().chain(self.when.keys()).chain(self.item.keys());
        match pointers.into_iter().find(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            Some(wrong) => Err(format!("{wrong:?} is no JSON pointer: it begins with `/`")),
            None => Ok(()),
        }
    }

    fn read(&self, line: &Value) -> Vec<Event> {
        let all_hold = |of: &Value, what: &BTreeMap<String, Holds>| what.iter().all(|(pointer, holds)| holds.of(of.pointer(pointer)));
        if !all_hold(line, &self.when) {
            return Vec::new();
        }
        let of = match &self.each {
            None => std::slice::from_ref(line),
            Some(pointer) => line.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
        };
        of.iter().filter(|of| all_hold(of, &self.item)).filter_map(|of| self.event(of)).collect()
    }

    /// `None`: what makes it one is not there.
    fn event(&self, of: &Value) -> Option<Event> {
        let at = |pointer: &Option<String>| pointer.as_ref().and_then(|pointer| of.pointer(pointer));
        let text = || at(&self.text).map(|value| self.before.clone() + &words(value)).unwrap_or_default();
        let id = || at(&self.id).and_then(Value::as_str).map(str::to_owned);
        Some(match self.is {
            Kind::Session => Event::Session(id()?),
            Kind::NoSession => Event::NoSession,
            Kind::Said => Event::Said(text()),
            Kind::Calls => Event::Calls { id: id()?, name: text(), input: at(&self.input).cloned().unwrap_or_default() },
            Kind::Result => Event::Result { id: id()?, text: text(), is_error: at(&self.error).is_some_and(is_so) },
            Kind::Used => Event::Used(self.tokens.of(of)),
            Kind::Limit => {
                let until = at(&self.until).and_then(Value::as_i64).and_then(|second| Timestamp::from_second(second).ok());
                Event::Limit { until, text: text() }
            }
            Kind::Failed => {
                let status = at(&self.status).and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
                Event::Failed { status: self.status_is.or(status), text: text() }
            }
            Kind::Denied => Event::Denied(text()),
            Kind::NoTools => Event::NoTools(text()),
            Kind::Compacted => Event::Compacted,
            Kind::Trouble => Event::Trouble(text()),
        })
    }
}

impl Tokens {
    fn of(&self, of: &Value) -> Used {
        let number = |pointer: &Option<String>| pointer.as_ref().and_then(|pointer| of.pointer(pointer)).and_then(Value::as_u64).unwrap_or(0);
        let (cache_read, cache_write) = (number(&self.cache_read), number(&self.cache_write));
        let input = if self.with_cache { number(&self.input).saturating_sub(cache_read) } else { number(&self.input) };
        let usd = self.usd.as_ref().and_then(|pointer| of.pointer(pointer)).and_then(Value::as_f64);
        Used {
            tokens: [input, number(&self.output), cache_read, cache_write],
            // Saturates: what is no amount is none.
            micro_usd: usd.map(|usd| (usd * 1e6).round() as u64),
            cumulative: self.cumulative,
            usd_cumulative: self.usd_cumulative,
        }
    }
}

impl Holds {
    fn of(&self, value: Option<&Value>) -> bool {
        let text = || value.and_then(Value::as_str);
        match self {
            Holds::OneOf(all) => value.is_some_and(|value| all.contains(value)),
            Holds::Starts { starts } => text().is_some_and(|text| text.starts_with(starts)),
            Holds::Has { has } => text().is_some_and(|text| text.contains(has)),
            Holds::There { there } => value.is_some_and(|value| !value.is_null()) == *there,
            Holds::Not { not } => value.is_none_or(|value| !not.contains(value)),
            Holds::Is(wanted) => value == Some(wanted),
        }
    }
}

/// A text as it is, a list of blocks by their texts, anything else as JSON.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) if blocks.iter().any(|block| block["text"].is_string()) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn is_so(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
