//! Plays a recording in the place of a model: see [`super::recording`], also for what is played when.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::recording::names::{Names, Seen};
use super::recording::{Asked, Call, Head, RecordingError, begins, conversation, parse};
use super::{Cancel, Delta, Kind, Provider, ProviderError, Request, Response, Turn, anthropic, openai_chat, openai_responses};
use crate::conversation::Block;

/// A recording that is played.
#[derive(Debug)]
pub struct Script {
    file: PathBuf,
    head: Head,
    /// With the numbers of their lines.
    calls: Vec<(usize, Call)>,
    names: Names,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    played: Vec<bool>,
    /// So many calls were made.
    made: usize,
    conversations: HashMap<u64, Place>,
}

/// How far a conversation is.
#[derive(Debug, Clone, Default)]
struct Place {
    /// Which call was played last.
    last: Option<usize>,
    seen: Seen,
}

impl Script {
    /// Opens a recording to play it on this machine, where `names` are its paths.
    pub fn open(file: &Path, names: Names) -> Result<Script, RecordingError> {
        let bytes = std::fs::read(file).map_err(|source| RecordingError::Io { file: file.to_owned(), source })?;
        let (head, calls) = parse(&bytes, file)?;
        let state = State { played: vec![false; calls.len()], ..State::default() };
        Ok(Script { file: file.to_owned(), head, calls, names, state: Mutex::new(state) })
    }

    /// What was recorded.
    pub fn head(&self) -> &Head {
        &self.head
    }

    fn answer(&self, request: &Request<'_>) -> Result<Response, ProviderError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.made += 1;
        let key = conversation(request);
        let mut place = if begins(request) { Place::default() } else { state.conversations.get(&key).cloned().unwrap_or_default() };
        let asked = Asked::of(request, &self.names, &mut place.seen);
        let next = place.last.and_then(|last| self.behind(last));
        let is_next = |at: &usize| self.calls.get(*at).is_some_and(|(_, call)| call.asked.is(&asked));
        let at = next.filter(is_next).or_else(|| self.said(&asked, &state.played)).ok_or_else(|| self.off(&state, &place, next, &asked))?;
        let (_, call) = self.calls.get(at).ok_or_else(|| self.off(&state, &place, None, &asked))?;
        place.last = Some(at);
        let response = call.answered.played(&self.names, &place.seen);
        if let Some(played) = state.played.get_mut(at) {
            *played = true;
        }
        state.conversations.insert(key, place);
        Ok(response)
    }

    /// The call that comes behind another in its conversation.
    fn behind(&self, at: usize) -> Option<usize> {
        let (_, last) = self.calls.get(at)?;
        let behind = self.calls.iter().enumerate().skip(at + 1).find(|(_, (_, call))| call.conversation == last.conversation);
        behind.map(|(at, _)| at)
    }

    /// The first call that was told the same, best one that was not played.
    fn said(&self, asked: &Asked, played: &[bool]) -> Option<usize> {
        let mut same = self.calls.iter().enumerate().filter(|(_, (_, call))| call.asked.says(asked)).map(|(at, _)| at);
        same.clone().find(|at| played.get(*at) == Some(&false)).or_else(|| same.next())
    }

    /// Why there is no answer. `next`: the call that was to come.
    fn off(&self, state: &State, place: &Place, next: Option<usize>, asked: &Asked) -> ProviderError {
        let file = self.file.display();
        let line = |at: usize| self.calls.get(at).map_or(0, |(line, _)| *line);
        // Of what could have begun, that which comes next tells most.
        let begun = || self.calls.iter().enumerate().position(|(at, (_, call))| state.played.get(at) == Some(&false) && self.is_first(at, call));
        let why = match (next.or_else(|| if place.last.is_none() { begun() } else { None }), place.last) {
            (Some(at), _) => {
                let difference = self.calls.get(at).and_then(|(_, call)| call.asked.difference(asked)).unwrap_or_default();
                format!("it is not what was asked in line {}: {difference}", line(at))
            }
            (None, Some(last)) => format!("the recorded conversation ends with line {}", line(last)),
            (None, None) => "everything that was recorded has been played, and nothing in it begins like this".to_owned(),
        };
        let message = format!("call {} of {file}: {why}. If it is to be so, record it again: crew spawn --record {file}", state.made);
        ProviderError::new(Kind::OffScript, message)
    }

    fn is_first(&self, at: usize, call: &Call) -> bool {
        !self.calls.iter().take(at).any(|(_, before)| before.conversation == call.conversation)
    }
}

impl Provider for Script {
    fn api(&self) -> &'static str {
        [anthropic::API, openai_chat::API, openai_responses::API].into_iter().find(|api| *api == self.head.api).unwrap_or("script")
    }

    fn turn<'a>(&'a self, request: &'a Request<'a>, sink: &'a mut dyn FnMut(Delta<'_>), cancel: &'a Cancel) -> Turn<'a> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ProviderError::new(Kind::Cancelled, ""));
            }
            let response = self.answer(request)?;
            response.blocks.iter().for_each(|block| tell(block, sink));
            Ok(response)
        })
    }
}

/// Tells a block as if it came line by line.
fn tell(block: &Block, sink: &mut dyn FnMut(Delta<'_>)) {
    match block {
        Block::Text(text) => text.text.split_inclusive('\n').for_each(|line| sink(Delta::Text(line))),
        Block::Thinking(thinking) => {
            if let Some(thought) = thinking.raw["thinking"].as_str().filter(|thought| !thought.is_empty()) {
                sink(Delta::Thinking(thought));
            }
        }
        Block::ToolCall(call) => sink(Delta::ToolCall(&call.name)),
        Block::ToolResult(_) => {}
    }
}
