//! The events of this API.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::call;
use super::super::driving::{Reader, broken_off, count, some_text, text};
use super::super::{Delta, Kind, ProviderError, Response, Stop, Usage};
use super::API;
use crate::conversation::{Block, Thinking};

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Answer {
    id: Option<String>,
    model: Option<String>,
    /// By the provider's numbers, which give the order.
    parts: BTreeMap<u64, Part>,
    stop: Option<String>,
    /// Why it would not, where the provider says so.
    refusal: Option<String>,
    usage: Usage,
    ended: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(Value),
    ToolCall {
        id: String,
        name: String,
        input: Value,
        arguments: String,
        whole: bool,
    },
    /// Of a kind that is not known here, and so not sent back.
    Unknown,
}

impl Answer {
    fn begin(&mut self, number: u64, block: &Value, sink: &mut dyn FnMut(Delta<'_>)) {
        let part = match text(block, "/type") {
            "text" => Part::Text(text(block, "/text").to_owned()),
            "thinking" | "redacted_thinking" => Part::Thinking(block.clone()),
            "tool_use" => {
                sink(Delta::ToolCall(text(block, "/name")));
                let (id, name) = (text(block, "/id").to_owned(), text(block, "/name").to_owned());
                Part::ToolCall { id, name, input: block["input"].clone(), arguments: String::new(), whole: false }
            }
            _ => Part::Unknown,
        };
        self.parts.insert(number, part);
    }

    fn go_on(&mut self, number: u64, delta: &Value, sink: &mut dyn FnMut(Delta<'_>)) {
        match self.parts.get_mut(&number) {
            Some(Part::Text(said)) => {
                said.push_str(text(delta, "/text"));
                sink(Delta::Text(text(delta, "/text")));
            }
            Some(Part::Thinking(raw)) => {
                for field in ["thinking", "signature"] {
                    if let Some(more) = delta[field].as_str() {
                        raw[field] = Value::String(format!("{}{more}", raw[field].as_str().unwrap_or_default()));
                    }
                }
                if let Some(more) = delta["thinking"].as_str() {
                    sink(Delta::Thinking(more));
                }
            }
            Some(Part::ToolCall { arguments, .. }) => arguments.push_str(text(delta, "/partial_json")),
            Some(Part::Unknown) | None => {}
        }
    }

    fn count(&mut self, usage: &Value) {
        // What is said later is the sum, not more.
        let places = [
            ("/input_tokens", &mut self.usage.input),
            ("/output_tokens", &mut self.usage.output),
            ("/cache_read_input_tokens", &mut self.usage.cache_read),
            ("/cache_creation_input_tokens", &mut self.usage.cache_write),
        ];
        for (name, place) in places {
            *place = count(usage, name).unwrap_or(*place);
        }
    }
}

impl Reader for Answer {
    fn event(&mut self, event: &Value, sink: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ProviderError> {
        let number = count(event, "/index").unwrap_or_default();
        match text(event, "/type") {
            "message_start" => {
                self.id = some_text(event, "/message/id");
                self.model = some_text(event, "/message/model");
                self.count(&event["message"]["usage"]);
            }
            "content_block_start" => self.begin(number, &event["content_block"], sink),
            "content_block_delta" => self.go_on(number, &event["delta"], sink),
            "content_block_stop" => {
                if let Some(Part::ToolCall { whole, .. }) = self.parts.get_mut(&number) {
                    *whole = true;
                }
            }
            "message_delta" => {
                self.stop = some_text(event, "/delta/stop_reason").or(self.stop.take());
                let why = some_text(event, "/delta/stop_details/explanation").or(some_text(event, "/delta/stop_details/category"));
                self.refusal = why.or(self.refusal.take());
                self.count(&event["usage"]);
            }
            "message_stop" => self.ended = true,
            // A ping, or an event of a kind to come.
            _ => {}
        }
        Ok(self.ended)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&mut self) -> Result<Response, ProviderError> {
        if !self.ended {
            return Err(broken_off("message_stop"));
        }
        let stop = match self.stop.take().as_deref() {
            None | Some("end_turn" | "stop_sequence") => Stop::Done,
            Some("tool_use") => Stop::ToolUse,
            Some("max_tokens") => Stop::MaxOutput,
            Some("pause_turn") => Stop::Paused,
            Some("refusal") => return Err(ProviderError::new(Kind::Refused, self.refusal.take().unwrap_or_else(|| said(&self.parts)))),
            Some("model_context_window_exceeded") => return Err(ProviderError::new(Kind::TooLong, "the answer did not fit")),
            Some(other) => Stop::Other(other.to_owned()),
        };
        let cut_off = stop == Stop::MaxOutput;
        let parts = std::mem::take(&mut self.parts).into_values();
        let blocks = parts.filter_map(|part| match part {
            Part::Text(text) => Some(Block::text(text)),
            // Without its signature the provider would not take it back.
            Part::Thinking(raw) if raw["type"] == "thinking" && raw["signature"].as_str().is_none_or(str::is_empty) => None,
            Part::Thinking(raw) => Some(Block::Thinking(Thinking { api: API.to_owned(), raw })),
            Part::ToolCall { id, name, input, arguments, whole } => {
                let all_at_once = arguments.is_empty() && input.as_object().is_some_and(|input| !input.is_empty());
                let arguments = if all_at_once { input.to_string() } else { arguments };
                Some(Block::ToolCall(call::parse(id, name, &arguments, cut_off || !whole)))
            }
            Part::Unknown => None,
        });
        Ok(Response { blocks: blocks.collect(), stop, usage: self.usage, id: self.id.take(), model: self.model.take(), limits: Vec::new() })
    }
}

fn said(parts: &BTreeMap<u64, Part>) -> String {
    let texts = parts.values().filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None });
    texts.collect()
}
