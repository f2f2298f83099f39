//! What a model is asked with a call, as far as it is new.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};

use super::names::{Names, Seen};
use crate::conversation::{Block, Message, ToolCall};
use crate::provider::{Request, Tool};

/// What was said to a model since it spoke last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// A digest of the names of the tools that it is offered.
    pub tools: String,
    /// A digest of its standing instructions.
    pub instructions: String,
}

/// A part of what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Part {
    /// What came of a tool that it called.
    Result {
        /// What the tool returned.
        result: String,
        /// The tool.
        of: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// Words.
    Text {
        /// The words.
        text: String,
    },
}

/// So much is shown of what differs, from where it does, in characters.
const SHOWN: usize = 60;
/// How a conversation begins: see [`crate::conversation::Identity`].
const IDENTITY: &str = "<identity>";

impl Asked {
    /// What is new in a request. What it tells of is remembered.
    pub(in crate::provider) fn of(request: &Request<'_>, names: &Names, seen: &mut Seen) -> Asked {
        let calls = || request.messages.iter().rev().flat_map(Message::calls);
        let last = request.messages.last().map_or(&[][..], |message| &message.blocks);
        let mut part = |block: &Block| match block {
            Block::Text(text) => Some(Part::Text { text: names.plain(&text.text, seen) }),
            Block::ToolResult(result) => {
                let is_of = |call: &&ToolCall| call.id == result.id;
                let of = calls().find(is_of).map_or_else(String::new, |call| call.name.clone());
                Some(Part::Result { result: names.plain(&result.content, seen), of, is_error: result.is_error })
            }
            Block::Thinking(_) | Block::ToolCall(_) => None,
        };
        let parts = last.iter().filter_map(&mut part).collect();
        let instructions = digest(&names.plain(request.system, &mut Seen::default()));
        Asked { parts, tools: digest(&of_tools(request.tools)), instructions }
    }

    /// Whether it is the same, whoever the model was told to be.
    pub(in crate::provider) fn is(&self, other: &Asked) -> bool {
        self.difference(other).is_none()
    }

    /// Whether the words are the same. Of the results of tools one of the two may have some and the other none.
    pub(in crate::provider) fn says(&self, other: &Asked) -> bool {
        let results = |asked: &Asked| asked.parts.iter().any(|part| matches!(part, Part::Result { .. }));
        let words: Vec<&Part> = self.words().collect();
        self.same_besides(other) && !words.is_empty() && words.iter().copied().eq(other.words()) && !(results(self) && results(other))
    }

    fn same_besides(&self, other: &Asked) -> bool {
        self.tools == other.tools && self.instructions == other.instructions
    }

    /// The words in it, but not who the model is.
    fn words(&self) -> impl Iterator<Item = &Part> {
        self.compared().filter(|part| matches!(part, Part::Text { .. }))
    }

    fn compared(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| !matches!(part, Part::Text { text } if text.starts_with(IDENTITY)))
    }

    /// Where what was recorded (this) and what is asked now differ first, in words; `None`: nowhere.
    pub(in crate::provider) fn difference(&self, now: &Asked) -> Option<String> {
        let (mut recorded, mut asked) = (self.compared(), now.compared());
        for number in 1.. {
            let (one, other) = match (recorded.next(), asked.next()) {
                (None, None) => break,
                (one, other) if one == other => continue,
                (one, other) => (one, other),
            };
            let named = |part: Option<&Part>| part.map_or_else(|| "nothing".to_owned(), Part::named);
            return Some(match (one, other) {
                (Some(one), Some(other)) if one.named() == other.named() => {
                    let at = one.text().char_indices().zip(other.text().chars()).find(|((_, one), other)| one != other);
                    let at = at.map_or(one.text().len().min(other.text().len()), |((at, _), _)| at);
                    let line = one.text()[..at].lines().count().max(1);
                    format!(
                        "{} (part {number}) differs from its line {line} on: recorded {}, now {}",
                        one.named(),
                        from(one.text(), at),
                        from(other.text(), at)
                    )
                }
                (one, other) => {
                    let text = |part: Option<&Part>| part.map_or_else(String::new, |part| format!(" {}", from(part.text(), 0)));
                    format!("part {number} was {}{}, and is {}{}", named(one), text(one), named(other), text(other))
                }
            });
        }
        match self {
            _ if self.tools != now.tools => Some("it is offered other tools than were recorded".to_owned()),
            _ if self.instructions != now.instructions => Some("its standing instructions are others than were recorded".to_owned()),
            _ => None,
        }
    }
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Part::Text { text } => text,
            Part::Result { result, .. } => result,
        }
    }

    fn named(&self) -> String {
        match self {
            Part::Text { .. } => "the text".to_owned(),
            Part::Result { of, is_error: false, .. } => format!("the result of {of}"),
            Part::Result { of, is_error: true, .. } => format!("the error of {of}"),
        }
    }
}

/// A text from a place on, quoted and short.
fn from(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    let shown: String = rest.chars().take(SHOWN).collect();
    let more = if shown.len() < rest.len() { "…" } else { "" };
    format!("{shown:?}{more}")
}

fn of_tools(tools: &[Tool]) -> String {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    names.join("\n")
}

/// FNV-1a: the same with every build, which the hashes of the standard library are not.
fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// Which conversation a request is of, among those of this process: what it began with is the same as long as it lasts.
pub(in crate::provider) fn conversation(request: &Request<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for block in request.messages.first().iter().flat_map(|message| &message.blocks) {
        if let Block::Text(text) = block {
            text.text.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether a conversation begins with it, or begins anew after it was compacted.
pub(in crate::provider) fn begins(request: &Request<'_>) -> bool {
    request.messages.len() == 1
}
