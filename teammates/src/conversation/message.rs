//! What a conversation consists of, whoever the model's provider is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// What the model is given.
    User,
    /// What the model said.
    Assistant,
}

/// What one side says until it is the other's turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What, in order.
    pub blocks: Vec<Block>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    /// Words.
    Text(Text),
    /// What the model thought.
    Thinking(Thinking),
    /// A tool that the model wants to be run.
    ToolCall(ToolCall),
    /// What the tool returned.
    ToolResult(ToolResult),
}

/// Words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Never blank in a conversation.
    pub text: String,
}

/// What a model thought, as its provider wants it back: nobody else reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thinking {
    /// Which API it goes back to; the others leave it out.
    pub api: String,
    /// As it came, with its signature.
    pub raw: Value,
}

/// A tool that the model wants to be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What its result names; unique in a conversation.
    pub id: String,
    /// The tool, as the model called it.
    pub name: String,
    /// Its arguments; the text as it came where that is no JSON object.
    pub input: Value,
    /// Why the arguments are no JSON object. Such a call is not run but answered with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

impl ToolCall {
    /// The arguments as the object that every API wants back, also where the model gave none.
    pub fn object(&self) -> Value {
        match &self.input {
            Value::Object(_) => self.input.clone(),
            other => serde_json::json!({ "malformed": other }),
        }
    }
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Of which call.
    pub id: String,
    /// What it says.
    pub content: String,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Whether the content was replaced by a placeholder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shrunk: bool,
}

impl Block {
    /// Words.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text(Text { text: text.into() })
    }

    /// About how much of a request it takes, in bytes: to compare blocks with each other, not to know the tokens.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Block::Text(text) => text.text.len(),
            Block::Thinking(thinking) => thinking.raw.to_string().len(),
            Block::ToolCall(call) => call.name.len() + call.input.to_string().len(),
            Block::ToolResult(result) => result.content.len(),
        }
    }
}

impl Message {
    /// One of the user.
    pub fn user(blocks: Vec<Block>) -> Message {
        Message { role: Role::User, blocks }
    }

    /// One of the model.
    pub fn assistant(blocks: Vec<Block>) -> Message {
        Message { role: Role::Assistant, blocks }
    }

    /// The tools that it wants to be run, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The results in it, in order.
    pub fn results(&self) -> impl DoubleEndedIterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    pub(super) fn results_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut ToolResult> {
        self.blocks.iter_mut().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.blocks.iter().map(Block::bytes).sum()
    }
}
