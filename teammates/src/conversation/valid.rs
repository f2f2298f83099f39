//! What every API demands of a conversation.

use std::collections::HashSet;

use super::message::{Block, Message, Role};

/// Why messages are no conversation. The number is that of the message, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// There is nothing.
    #[error("it has no messages")]
    Empty,
    /// A message without a part, or with blank words.
    #[error("message {0} is blank")]
    Blank(usize),
    /// The first is not the user's, or two of the same role follow each other.
    #[error("message {0} has the wrong role")]
    Role(usize),
    /// The user calls a tool, or the model gives a result.
    #[error("message {0} has a part that its role cannot have")]
    Part(usize),
    /// A message that begins with other results than those of the calls before it, or has results further behind.
    #[error("message {0} has not the results of the calls before it, at its beginning and in their order")]
    Results(usize),
    /// Two calls of the same id.
    #[error("message {0} has a call whose id there was before")]
    SameId(usize),
    /// Thoughts that lead to nothing.
    #[error("message {0} ends with a thought")]
    EndsWithThought(usize),
}

/// Looks for what no API would take. The last message may be the model's, but not one with calls.
pub fn check(messages: &[Message]) -> Result<(), Flaw> {
    let mut ids = HashSet::new();
    let mut called: Vec<&str> = Vec::new();
    if messages.is_empty() {
        return Err(Flaw::Empty);
    }
    for (number, message) in messages.iter().enumerate() {
        if message.blocks.is_empty() || message.blocks.iter().any(|block| matches!(block, Block::Text(text) if text.text.trim().is_empty())) {
            return Err(Flaw::Blank(number));
        }
        if message.role != if number % 2 == 0 { Role::User } else { Role::Assistant } {
            return Err(Flaw::Role(number));
        }
        let foreign = |block: &Block| match message.role {
            Role::User => matches!(block, Block::ToolCall(_) | Block::Thinking(_)),
            Role::Assistant => matches!(block, Block::ToolResult(_)),
        };
        if message.blocks.iter().any(foreign) {
            return Err(Flaw::Part(number));
        }
        if message.role == Role::User {
            let leading = message.blocks.iter().take_while(|block| matches!(block, Block::ToolResult(_))).count();
            if !message.results().map(|result| result.id.as_str()).eq(called.drain(..)) || leading != message.results().count() {
                return Err(Flaw::Results(number));
            }
        }
        if matches!(message.blocks.last(), Some(Block::Thinking(_))) {
            return Err(Flaw::EndsWithThought(number));
        }
        for call in message.calls() {
            if !ids.insert(&call.id) {
                return Err(Flaw::SameId(number));
            }
            called.push(&call.id);
        }
    }
    if called.is_empty() { Ok(()) } else { Err(Flaw::Results(messages.len())) }
}
