//! Records what a model is asked and what it answers, while it does: see [`super::recording`].

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use board::disk::{self, Dir};
use serde::Serialize;

use super::recording::names::{Names, Seen};
use super::recording::{Answered, Asked, Call, FORMAT, Head, RecordingError, begins, conversation, parse};
use super::{Cancel, Delta, Provider, Request, Response, Turn};

/// A provider whose answers are recorded. An error of it is not: the call that is made again is.
///
/// What cannot be written ends the recording, not the work.
pub struct Recorder {
    provider: Box<dyn Provider>,
    recording: Arc<Recording>,
    names: Names,
}

/// The file that is recorded into: of one model.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None`: something could not be written, and what would come behind that is worth nothing.
    file: Option<File>,
    /// How many conversations there are.
    last: u64,
    /// Those of this process.
    conversations: HashMap<u64, (u64, Seen)>,
}

impl Recording {
    /// Begins one, in a directory, or goes on with the one that is there: of another process of the same teammate. The
    /// format of `head` is [`FORMAT`], whatever it says. Owner-only.
    pub fn open(dir: &Dir, name: &str, head: &Head) -> Result<Recording, RecordingError> {
        let path = dir.join(name);
        let bytes = dir.read(name)?.unwrap_or_default();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let last = match &bytes[..whole] {
            [] => 0,
            whole => parse(whole, &path)?.1.iter().map(|(_, call)| call.conversation).max().unwrap_or(0),
        };
        if whole < bytes.len() {
            // A writer died in the middle of a line.
            disk::truncate(&dir.open_record(name, 0o600)?, &path, whole as u64)?;
        }
        let mut file = dir.open_append(name, 0o600)?;
        if whole == 0 {
            write(&mut file, &Head { format: FORMAT, ..head.clone() }).map_err(|source| RecordingError::Io { file: path.clone(), source })?;
        }
        Ok(Recording { path, state: Mutex::new(State { file: Some(file), last, conversations: HashMap::new() }) })
    }

    /// What a request asks; and its conversation, with what was seen in that.
    fn asked(&self, request: &Request<'_>, names: &Names) -> (Asked, u64, Seen) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = conversation(request);
        if begins(request) || !state.conversations.contains_key(&key) {
            state.last += 1;
            let last = state.last;
            state.conversations.insert(key, (last, Seen::default()));
        }
        let (number, mut seen) = state.conversations.get(&key).cloned().unwrap_or_default();
        let asked = Asked::of(request, names, &mut seen);
        state.conversations.insert(key, (number, seen.clone()));
        (asked, number, seen)
    }

    fn append(&self, call: &Call) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut state.file else { return };
        if let Err(e) = write(file, call) {
            tracing::error!("nothing more is recorded in {}: {e}", self.path.display());
            state.file = None;
        }
    }
}

/// A line, whole.
fn write(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

impl Recorder {
    /// Records what a provider answers. `names`: what has placeholders.
    pub fn new(provider: Box<dyn Provider>, recording: Arc<Recording>, names: Names) -> Recorder {
        Recorder { provider, recording, names }
    }

    fn record(&self, asked: Asked, number: u64, seen: &Seen, response: &Response) {
        self.recording.append(&Call { conversation: number, asked, answered: Answered::recorded(response, &self.names, seen) });
    }
}

impl Provider for Recorder {
    fn api(&self) -> &'static str {
        self.provider.api()
    }

    fn turn<'a>(&'a self, request: &'a Request<'a>, sink: &'a mut dyn FnMut(Delta<'_>), cancel: &'a Cancel) -> Turn<'a> {
        Box::pin(async move {
            let response = self.provider.turn(request, sink, cancel).await?;
            let (asked, number, seen) = self.recording.asked(request, &self.names);
            self.record(asked, number, &seen, &response);
            Ok(response)
        })
    }
}
