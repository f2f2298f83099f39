//! A recording of what a model was asked and what it answered, so that it can be played again without the model: for
//! demonstrations, tests, and reports of what went wrong. All else of a teammate that is played is real: its tools, its
//! posts, its files.
//!
//! It is a file of JSON lines. The first is the [`Head`]: `{"format":1,"api":…,"model":…}`. Each other is a [`Call`]:
//!
//! - `conversation`: calls with the same number are of one conversation, in order. A conversation of several tasks at a
//!   time, or of a process that came after another, has its own.
//! - `asked`: what was said to the model since it spoke last, in order: `{"text":…}`, and `{"result":…,"of":TOOL}` of the
//!   tools that it called. So that this is the same on another machine, and at another time, what is different there has a
//!   placeholder: see [`names`]. `tools` and `instructions` are digests of what it was offered and told besides.
//! - `answered`: what it said, why it stopped, and what it took.
//!
//! # What is played when
//!
//! The [player](super::script) answers a call with the line whose `asked` is what it is asked:
//!
//! 1. A call that goes on with a conversation gets the line behind the one that was played last in it.
//! 2. Where that was asked something else, or a conversation begins, the call gets the first line not played yet that was
//!    told the same words (tool results aside, of which only one of the two may have any), and goes on behind that. Then
//!    the first such line that was played already. So it does not matter whether a teammate's process lived on from one
//!    turn to the next when it was recorded, and not when it is played, or the other way round: who the model is, with
//!    which a conversation begins, is not compared.
//! 3. Otherwise the call fails, with the first difference.
//!
//! Which lines were played is known to a process only: a conversation never goes on in another.
//!
//! # What is in it
//!
//! No key: a request to a provider is made of what is recorded here, and its key comes into the headers later, in
//! the HTTP client; a recorder never has it. What the model read is in it, files and outputs of commands. It is
//! owner-only, and whoever passes it on has to look at it first.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Response, Stop, Usage};
use crate::conversation::Block;

mod asked;
pub mod names;
#[cfg(test)]
mod tests;

pub use asked::{Asked, Part};
pub(super) use asked::{begins, conversation};
use names::{Names, Seen};

/// The newest format that is known.
pub const FORMAT: u64 = 1;

/// The first line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// [`FORMAT`], or a newer one.
    pub format: u64,
    /// Whose API it was: what [`super::Provider::api`] says.
    pub api: String,
    /// The model, as its provider calls it.
    pub model: String,
    /// How much it took at once, in tokens: at which length its conversations were compacted follows from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
}

/// A call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// Which conversation it is of, counted from 1.
    pub conversation: u64,
    /// What it was asked.
    pub asked: Asked,
    /// What it answered.
    pub answered: Answered,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// What it said.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it took.
    #[serde(default)]
    pub usage: Usage,
    /// The provider's name for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that answered, as the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Why a file cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It cannot be read or written.
    #[error("the recording {}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The disk would not.
    #[error(transparent)]
    Disk(#[from] board::Error),
    /// A newer program wrote it.
    #[error("{} has format {found}, and this crewboard knows {FORMAT}: update crewboard to play it", file.display())]
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// What it says.
        found: u64,
    },
    /// A line is not what it has to be.
    #[error("{}:{line}: no line of a recording: {problem}; record it again: crew spawn --record", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

/// Reads a recording, the content of `file`. A last line without its end is one that was being written: it is left out.
pub(super) fn parse(bytes: &[u8], file: &Path) -> Result<(Head, Vec<(usize, Call)>), RecordingError> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = bytes[..whole].split(|byte| *byte == b'\n').zip(1..).filter(|(line, _)| !line.trim_ascii().is_empty());
    let wrong = |line: usize, problem: String| RecordingError::Line { file: file.to_owned(), line, problem };
    let (first, number) = lines.next().ok_or_else(|| wrong(1, "there is none".to_owned()))?;
    let head: Head = line(first).map_err(|problem| wrong(number, problem))?;
    if head.format > FORMAT {
        return Err(RecordingError::NewerFormat { file: file.to_owned(), found: head.format });
    }
    let calls = lines.map(|(bytes, number)| line(bytes).map(|call| (number, call)).map_err(|problem| wrong(number, problem)));
    Ok((head, calls.collect::<Result<_, _>>()?))
}

fn line<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|e| {
        // The place within the line says `line 1`, which it is not.
        let problem = e.to_string();
        problem.split(" at line ").next().unwrap_or(&problem).to_owned()
    })
}

impl Answered {
    /// An answer as it is recorded.
    pub(super) fn recorded(response: &Response, names: &Names, seen: &Seen) -> Answered {
        let blocks = texts(response.blocks.clone(), &|text| names.concealed(text, seen));
        Answered { blocks, stop: response.stop.clone(), usage: response.usage, id: response.id.clone(), model: response.model.clone() }
    }

    /// A recorded answer as it is given here.
    pub(super) fn played(&self, names: &Names, seen: &Seen) -> Response {
        let blocks = texts(self.blocks.clone(), &|text| names.real(text, seen));
        Response { blocks, stop: self.stop.clone(), usage: self.usage, id: self.id.clone(), model: self.model.clone(), limits: Vec::new() }
    }
}

/// The blocks of an answer with all their texts changed: words, thoughts and what tools are called with.
fn texts(mut blocks: Vec<Block>, change: &dyn Fn(&str) -> String) -> Vec<Block> {
    for block in &mut blocks {
        match block {
            Block::Text(text) => text.text = change(&text.text),
            Block::Thinking(thinking) => of_value(&mut thinking.raw, change),
            Block::ToolCall(call) => of_value(&mut call.input, change),
            Block::ToolResult(_) => {}
        }
    }
    blocks
}

fn of_value(value: &mut serde_json::Value, change: &dyn Fn(&str) -> String) {
    match value {
        serde_json::Value::String(text) => *text = change(text),
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| of_value(value, change)),
        serde_json::Value::Object(values) => values.values_mut().for_each(|value| of_value(value, change)),
        _ => {}
    }
}
