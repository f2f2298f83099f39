//! Models, behind the APIs that serve them.
//!
//! A [`Provider`] makes one call: a [`Request`] goes in, exactly one of [`Response`] and [`ProviderError`] comes out, and
//! what the model says meanwhile is told as it comes. One file an API maps the conversation to it and back; nothing above
//! knows which it is. What goes wrong has a defined outcome ([`ProviderError::outcome`]).
//!
//! What a call took ([`Usage`]) and which limits it left ([`limits::Window`]) is what the provider says; what it cost is
//! reckoned from a price table that a person wrote ([`prices`]), and not known without one.
//!
//! A key is in the headers of a request and nowhere else: errors carry what a server said without it.

use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::{Block, Message};

pub mod anthropic;
pub mod call;
mod cancel;
mod driving;
mod error;
#[cfg(test)]
pub(crate) mod fake;
mod http;
pub mod limits;
pub mod openai_chat;
pub mod openai_responses;
pub mod prices;
pub mod recorder;
pub mod recording;
pub mod retry;
pub mod script;
mod sse;
mod surrogates;
#[cfg(test)]
mod tests;

pub use cancel::{Cancel, Canceller, cancel};
pub use error::{Kind, Outcome, ProviderError};
pub use http::{Auth, Endpoint, Http, HttpError, Proxies, Timeouts};

/// A model's API.
pub trait Provider {
    /// Which API: what [`crate::conversation::Thinking::api`] names.
    fn api(&self) -> &'static str;

    /// Makes one call. What is told to `sink` is for those who watch; what counts is returned, whole. A cancel ends the
    /// call at once.
    fn turn<'a>(&'a self, request: &'a Request<'a>, sink: &'a mut dyn FnMut(Delta<'_>), cancel: &'a Cancel) -> Turn<'a>;
}

/// One call under way.
pub type Turn<'a> = Pin<Box<dyn Future<Output = Result<Response, ProviderError>> + 'a>>;

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model, as its provider calls it.
    pub model: &'a str,
    /// The standing instructions.
    pub system: &'a str,
    /// The conversation, ready: see [`crate::conversation::Conversation::ready`].
    pub messages: &'a [Message],
    /// What it can call.
    pub tools: &'a [Tool],
    /// How hard it is to think, as its provider calls it.
    pub effort: Option<&'a str>,
    /// The longest answer, in tokens.
    pub max_output: u32,
}

/// What a model can call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments: an object's.
    pub schema: Value,
}

/// What a model says, as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Words.
    Text(&'a str),
    /// Thoughts.
    Thinking(&'a str),
    /// It begins to call a tool of this name.
    ToolCall(&'a str),
    /// The call begins anew: what came before is void.
    Restart,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// What it said, for [`crate::conversation::Conversation::answered`].
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
    /// The provider's name for the answer.
    pub id: Option<String>,
    /// The model that answered, as the provider says.
    pub model: Option<String>,
    /// What the provider said of its limits.
    pub limits: Vec<limits::Window>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stop {
    /// It was done.
    Done,
    /// It wants tools to be run.
    ToolUse,
    /// Its answer was as long as it may be: what it was about to say is cut off, a tool call too (see
    /// [`crate::conversation::ToolCall::malformed`]).
    MaxOutput,
    /// The provider paused it: asked again, it goes on.
    Paused,
    /// What else the provider calls it.
    Other(String),
}

/// Tokens, as the provider counted them. None is in two of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read anew.
    pub input: u64,
    /// Written, thoughts with them.
    pub output: u64,
    /// Taken from the provider's cache.
    pub cache_read: u64,
    /// Put into the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// What the conversation takes with the answer in it: see [`crate::conversation::Conversation::measured`].
    pub fn context(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].iter().fold(self.input, |sum, tokens| sum.saturating_add(*tokens))
    }
}
