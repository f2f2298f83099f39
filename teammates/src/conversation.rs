//! What a model was given and what it said, in a form that every API takes.
//!
//! A [`Conversation`] is valid at any time and whatever is done to it: the user's messages and the model's alternate, the
//! first is the user's and begins with who the model is, every tool call has its result directly behind it. That a call
//! has no result *yet* is kept apart: until all are there the results wait outside the messages, and no request can be made
//! ([`Conversation::ready`]). A cancel at any point is mended by [`Conversation::repair`].
//!
//! What a model has said counts only whole: of an answer that was cut short nothing gets here.
//!
//! How long it is says the provider ([`Conversation::measured`]); it is never guessed. Pure but for [`transcript`].

mod compaction;
mod identity;
mod message;
#[cfg(test)]
mod tests;
pub mod transcript;
mod valid;

pub use compaction::{Due, KEPT_RESULTS};
pub use identity::Identity;
pub use message::{Block, Message, Role, Text, Thinking, ToolCall, ToolResult};
pub use valid::{Flaw, check};

/// What a call gets that was not run, or not to its end.
pub const CANCELLED: &str = "cancelled: the turn was cut short; whether anything of this was done is not known";

/// A conversation with a model. Always valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    identity: Identity,
    request: String,
    index: Option<String>,
    messages: Vec<Message>,
    /// So many parts of the first message are what the conversation began with.
    opening: usize,
    open: Vec<OpenCall>,
    /// What was said while calls were open.
    waiting: Vec<Block>,
    measured: Option<u64>,
    /// Whether results were shrunk since there was room.
    shrunk: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct OpenCall {
    id: String,
    result: Option<ToolResult>,
}

/// Why no request can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// So many calls of the model have no result.
    #[error("{0} tool calls have no result yet")]
    OpenCalls(usize),
    /// The model spoke last and called nothing.
    #[error("nothing was said to the model since it spoke")]
    NothingNew,
}

/// Why something cannot be added; the conversation is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// It is not the model's turn to speak.
    #[error("the model cannot answer: {0}")]
    NotItsTurn(#[from] NotReady),
    /// No open call has that id.
    #[error("no open tool call has the id {0:?}")]
    NoSuchCall(String),
}

impl Conversation {
    /// Begins one: who the model is, what it is asked (the task, or the opening of its turn) and, where the request does
    /// not have it itself, the index of what was posted last.
    pub fn begin(identity: Identity, request: impl Into<String>, index: Option<String>) -> Conversation {
        let request = request.into();
        let first = first(&identity, None, &request, index.as_deref());
        let opening = first.blocks.len();
        Conversation { identity, request, index, messages: vec![first], opening, open: Vec::new(), waiting: Vec::new(), measured: None, shrunk: false }
    }

    /// What the model is working on, word for word.
    pub fn request(&self) -> &str {
        &self.request
    }

    /// What was said so far. The last message may have calls without a result.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// What a request consists of: its last message is the user's.
    pub fn ready(&self) -> Result<&[Message], NotReady> {
        match self.messages.last() {
            _ if !self.open.is_empty() => Err(NotReady::OpenCalls(self.open.len())),
            Some(last) if last.role == Role::User => Ok(&self.messages),
            _ => Err(NotReady::NothingNew),
        }
    }

    /// Tells the model something beside its request.
    pub fn tell(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.user(vec![Block::text(text)]);
        }
    }

    /// Gives it a new request, which from now on is the active one. The calls of the one before are over.
    pub fn ask(&mut self, request: impl Into<String>, index: Option<String>) {
        self.repair();
        self.request = request.into();
        self.index = index;
        self.user(parts(&self.request, self.index.as_deref()));
    }

    /// Adds what the model answered, whole, and what the provider says that the request and this take together, in
    /// tokens. Blank words and thoughts that lead to nothing are left out; an id that there was before gets another, so
    /// take the calls from [`Conversation::open_calls`].
    pub fn answered(&mut self, blocks: Vec<Block>, tokens: u64) -> Result<(), Misuse> {
        self.ready()?;
        self.measured = Some(tokens);
        let mut blocks = blocks;
        blocks.retain(|block| match block {
            Block::Text(text) => !text.text.trim().is_empty(),
            Block::Thinking(_) | Block::ToolCall(_) => true,
            Block::ToolResult(_) => false,
        });
        let spoken = blocks.iter().rposition(|block| !matches!(block, Block::Thinking(_))).map_or(0, |last| last + 1);
        blocks.truncate(spoken);
        if blocks.is_empty() {
            return Ok(());
        }
        let mut taken: std::collections::HashSet<String> = self.messages.iter().flat_map(Message::calls).map(|call| call.id.clone()).collect();
        for block in &mut blocks {
            if let Block::ToolCall(call) = block {
                let wanted = if call.id.is_empty() { "call".to_owned() } else { call.id.clone() };
                let mut ids = std::iter::once(wanted.clone()).chain((2_u64..).map(|number| format!("{wanted}-{number}")));
                call.id = ids.find(|id| !taken.contains(id)).unwrap_or(wanted);
                taken.insert(call.id.clone());
            }
        }
        let message = Message::assistant(blocks);
        self.open = message.calls().map(|call| OpenCall { id: call.id.clone(), result: None }).collect();
        self.messages.push(message);
        Ok(())
    }

    /// The calls that have no result yet, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let is_open = |call: &&ToolCall| self.open.iter().any(|open| open.id == call.id && open.result.is_none());
        self.messages.last().into_iter().flat_map(Message::calls).filter(is_open)
    }

    /// Adds the result of an open call. The results stand in the order of the calls, whichever comes first.
    pub fn result(&mut self, id: &str, content: impl Into<String>, is_error: bool) -> Result<(), Misuse> {
        let open = self.open.iter_mut().find(|open| open.id == id && open.result.is_none()).ok_or_else(|| Misuse::NoSuchCall(id.to_owned()))?;
        open.result = Some(ToolResult { id: id.to_owned(), content: content.into(), is_error, shrunk: false });
        if self.open.iter().all(|open| open.result.is_some()) {
            self.close();
        }
        Ok(())
    }

    /// Mends what a cancel left: calls without a result get [`CANCELLED`]. Returns how many. What is said next is taken.
    pub fn repair(&mut self) -> usize {
        let mut cancelled = 0;
        for open in self.open.iter_mut().filter(|open| open.result.is_none()) {
            open.result = Some(ToolResult { id: open.id.clone(), content: CANCELLED.to_owned(), is_error: true, shrunk: false });
            cancelled += 1;
        }
        self.close();
        cancelled
    }

    /// Puts the results, and what waited for them, behind the calls.
    fn close(&mut self) {
        let results = self.open.drain(..).filter_map(|open| open.result).map(Block::ToolResult);
        let blocks: Vec<Block> = results.chain(self.waiting.drain(..)).collect();
        self.user(blocks);
    }

    fn user(&mut self, blocks: Vec<Block>) {
        match self.messages.last_mut() {
            _ if blocks.is_empty() => {}
            _ if !self.open.is_empty() => self.waiting.extend(blocks),
            Some(last) if last.role == Role::User => last.blocks.extend(blocks),
            _ => self.messages.push(Message::user(blocks)),
        }
    }
}

/// The first message: who the model is, what was before, what it is asked.
fn first(identity: &Identity, summary: Option<&str>, request: &str, index: Option<&str>) -> Message {
    let beginning = [Block::text(identity.text())].into_iter().chain(summary.map(compaction::summary_block));
    Message::user(beginning.chain(parts(request, index)).collect())
}

/// A request and its index.
fn parts(request: &str, index: Option<&str>) -> Vec<Block> {
    [Some(request), index].into_iter().flatten().filter(|text| !text.trim().is_empty()).map(Block::text).collect()
}
