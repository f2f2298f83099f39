//! The events of this API.

use serde_json::Value;

use super::super::call;
use super::super::driving::{Reader, broken_off, count, some_text, text};
use super::super::{Delta, Kind, ProviderError, Response, Stop, Usage};
use super::json_mode;
use crate::conversation::Block;

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Answer {
    json_mode: bool,
    id: Option<String>,
    model: Option<String>,
    text: String,
    refusal: String,
    calls: Vec<Begun>,
    stop: Option<String>,
    usage: Usage,
}

#[derive(Debug)]
struct Begun {
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Answer {
    pub(super) fn new(json_mode: bool) -> Answer {
        Answer { json_mode, ..Answer::default() }
    }

    fn call(&mut self, delta: &Value, sink: &mut dyn FnMut(Delta<'_>)) {
        let (number, id) = (count(delta, "/index"), text(delta, "/id"));
        // Some servers give no numbers: then an id begins a call, and what has none goes on with the last.
        let at = match number {
            Some(_) => self.calls.iter().position(|call| call.number == number),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|call| call.id == id),
        };
        let at = at.unwrap_or_else(|| {
            self.calls.push(Begun { number, id: String::new(), name: String::new(), arguments: String::new() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        if call.name.is_empty() && !text(delta, "/function/name").is_empty() {
            call.name = text(delta, "/function/name").to_owned();
            sink(Delta::ToolCall(&call.name));
        }
        match &delta["function"]["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            // Some servers give the object itself.
            whole @ Value::Object(_) => call.arguments = whole.to_string(),
            _ => {}
        }
    }
}

impl Reader for Answer {
    fn event(&mut self, event: &Value, sink: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ProviderError> {
        self.id = self.id.take().or(some_text(event, "/id"));
        self.model = self.model.take().or(some_text(event, "/model"));
        if let Some(read) = count(event, "/usage/prompt_tokens") {
            let cache_read = count(event, "/usage/prompt_tokens_details/cached_tokens").unwrap_or_default();
            let output = count(event, "/usage/completion_tokens").unwrap_or_default();
            let cache_write = count(event, "/usage/prompt_tokens_details/cache_write_tokens").unwrap_or_default();
            self.usage = Usage { input: read.saturating_sub(cache_read.saturating_add(cache_write)), output, cache_read, cache_write };
        }
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        let said = text(delta, "/content");
        if !said.is_empty() {
            self.text.push_str(said);
            sink(Delta::Text(said));
        }
        // The two names that servers have for it.
        for thought in ["/reasoning_content", "/reasoning"].map(|name| text(delta, name)) {
            if !thought.is_empty() {
                sink(Delta::Thinking(thought));
            }
        }
        self.refusal.push_str(text(delta, "/refusal"));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, sink);
        }
        self.stop = some_text(choice, "/finish_reason").or(self.stop.take());
        // What it took comes behind the end.
        Ok(false)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&mut self) -> Result<Response, ProviderError> {
        let Some(stop) = self.stop.take() else { return Err(broken_off("finish_reason")) };
        if !self.refusal.is_empty() {
            return Err(ProviderError::new(Kind::Refused, std::mem::take(&mut self.refusal)));
        }
        let text = std::mem::take(&mut self.text);
        let cut_off = stop == "length";
        let mut blocks = Vec::new();
        match self.json_mode {
            true if !text.trim().is_empty() => blocks.push(Block::ToolCall(json_mode::read(&text, cut_off))),
            true => {}
            false => blocks.extend((!text.is_empty()).then(|| Block::text(text))),
        }
        let calls = self.calls.drain(..).map(|begun| call::parse(begun.id, begun.name, &begun.arguments, cut_off));
        blocks.extend(calls.map(Block::ToolCall));
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
        let stop = match stop.as_str() {
            "content_filter" => return Err(ProviderError::new(Kind::Refused, "a filter took the answer")),
            "length" => Stop::MaxOutput,
            // Some servers say `stop` all the same.
            "tool_calls" | "function_call" | "stop" if calls => Stop::ToolUse,
            "stop" | "tool_calls" | "function_call" => Stop::Done,
            other => Stop::Other(other.to_owned()),
        };
        Ok(Response { blocks, stop, usage: self.usage, id: self.id.take(), model: self.model.take(), limits: Vec::new() })
    }
}
