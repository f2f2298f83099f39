//! A conversation on disk: one message a line, behind a line that says what file it is. Written once, never changed.

use std::io;
use std::path::{Path, PathBuf};

use board::disk::{self, Dir};
use serde::{Deserialize, Serialize};

use super::{Flaw, Message, check};

const FORMAT: u64 = 1;

/// So many names are tried beside the one that was wished.
const MOST_NAMES: u32 = 10_000;

#[derive(Serialize, Deserialize)]
struct Head {
    format: u64,
}

/// Why a transcript cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The disk would not.
    #[error(transparent)]
    Disk(#[from] board::Error),
    /// There is no such file.
    #[error("there is no transcript {}", .0.display())]
    Missing(PathBuf),
    /// A newer program wrote it.
    #[error("{} has format {found}, and this crewboard knows {FORMAT}: update crewboard to read it", file.display())]
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// What it says.
        found: u64,
    },
    /// A line is not what it has to be.
    #[error("{}:{line}: no line of a transcript: {problem}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// Its messages are no conversation.
    #[error("{} is no conversation: {flaw}", file.display())]
    Flaw {
        /// The file.
        file: PathBuf,
        /// Why.
        flaw: Flaw,
    },
}

/// Saves messages as `<stem>.jsonl`, or with a number behind the stem where that name is taken: never over another file,
/// also when two do it at once. Owner-only, and on disk when this returns. Returns where it is.
pub fn save(dir: &Dir, stem: &str, messages: &[Message]) -> Result<PathBuf, TranscriptError> {
    let mut bytes = Vec::new();
    let lines = std::iter::once(serde_json::to_vec(&Head { format: FORMAT })).chain(messages.iter().map(serde_json::to_vec));
    for line in lines {
        bytes.extend(line.map_err(|e| unwritable(dir, stem, e.into()))?);
        bytes.push(b'\n');
    }
    let names = std::iter::once(format!("{stem}.jsonl")).chain((2..=MOST_NAMES).map(|number| format!("{stem}-{number}.jsonl")));
    for name in names {
        match dir.write_new(&name, &bytes, 0o600) {
            Ok(file) => {
                let path = dir.join(&name);
                disk::sync_file(&file, &path)?;
                dir.sync()?;
                return Ok(path);
            }
            Err(e) if e.io_kind() == Some(io::ErrorKind::AlreadyExists) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(unwritable(dir, stem, io::ErrorKind::AlreadyExists.into()).into())
}

fn unwritable(dir: &Dir, stem: &str, source: io::Error) -> board::Error {
    board::Error::Io { action: "create", path: dir.join(stem), source }
}

/// Reads what [`save`] wrote.
pub fn load(dir: &Dir, name: &str) -> Result<Vec<Message>, TranscriptError> {
    let file = dir.join(name);
    let bytes = dir.read(name)?.ok_or_else(|| TranscriptError::Missing(file.clone()))?;
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).zip(1..);
    let head = lines.next().map_or(Ok(Head { format: 0 }), |(line, number)| parse::<Head>(line, number, &file))?;
    if head.format > FORMAT {
        return Err(TranscriptError::NewerFormat { file, found: head.format });
    }
    let messages = lines.map(|(line, number)| parse(line, number, &file)).collect::<Result<Vec<Message>, _>>()?;
    check(&messages).map_err(|flaw| TranscriptError::Flaw { file, flaw })?;
    Ok(messages)
}

fn parse<T: for<'a> Deserialize<'a>>(line: &[u8], number: usize, file: &Path) -> Result<T, TranscriptError> {
    serde_json::from_slice(line).map_err(|e| {
        // The place within the line says `line 1`, which it is not.
        let problem = e.to_string();
        let problem = problem.split(" at line ").next().unwrap_or(&problem).to_owned();
        TranscriptError::Line { file: file.to_owned(), line: number, problem }
    })
}
