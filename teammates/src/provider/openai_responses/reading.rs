//! The events of this API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::call;
use super::super::driving::{Reader, broken_off, count, some_text, text};
use super::super::http::failed_within;
use super::super::{Delta, Kind, ProviderError, Response, Stop, Usage};
use super::API;
use crate::conversation::{Block, Thinking};

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Its parts by the provider's numbers, which give the order; the last that was said of each.
    items: BTreeMap<u64, Item>,
    /// How it ended.
    end: Option<Value>,
    usage: Usage,
}

#[derive(Debug)]
struct Item {
    item: Value,
    whole: bool,
    /// The arguments of a call as they came, for one that is never whole.
    arguments: String,
}

impl Reader for Answer {
    fn event(&mut self, event: &Value, sink: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ProviderError> {
        let number = count(event, "/output_index").unwrap_or_default();
        match text(event, "/type") {
            "response.output_item.added" => {
                if event["item"]["type"] == "function_call" {
                    sink(Delta::ToolCall(text(event, "/item/name")));
                }
                self.items.insert(number, Item { item: event["item"].clone(), whole: false, arguments: String::new() });
            }
            "response.output_item.done" => {
                self.items.insert(number, Item { item: event["item"].clone(), whole: true, arguments: String::new() });
            }
            "response.output_text.delta" => sink(Delta::Text(text(event, "/delta"))),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => sink(Delta::Thinking(text(event, "/delta"))),
            "response.function_call_arguments.delta" => {
                if let Some(item) = self.items.get_mut(&number) {
                    item.arguments.push_str(text(event, "/delta"));
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = &event["response"];
                let read = count(response, "/usage/input_tokens").unwrap_or_default();
                let cache_read = count(response, "/usage/input_tokens_details/cached_tokens").unwrap_or_default();
                let cache_write = count(response, "/usage/input_tokens_details/cache_write_tokens").unwrap_or_default();
                let output = count(response, "/usage/output_tokens").unwrap_or_default();
                self.usage = Usage { input: read.saturating_sub(cache_read.saturating_add(cache_write)), output, cache_read, cache_write };
                if text(event, "/type") == "response.failed" {
                    return Err(failed_within(response));
                }
                self.end = Some(response.clone());
                return Ok(true);
            }
            // Its code and message stand in the event itself.
            "error" => return Err(failed_within(event)),
            _ => {}
        }
        Ok(false)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&mut self) -> Result<Response, ProviderError> {
        let Some(end) = self.end.take() else { return Err(broken_off("response.completed")) };
        let why = text(&end, "/incomplete_details/reason");
        if why == "content_filter" {
            return Err(ProviderError::new(Kind::Refused, "a filter took the answer"));
        }
        let cut_off = why == "max_output_tokens";
        let mut blocks = Vec::new();
        for item in std::mem::take(&mut self.items).into_values() {
            blocks.extend(read(item, cut_off)?);
        }
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
        let stop = match why {
            "max_output_tokens" => Stop::MaxOutput,
            "" if calls => Stop::ToolUse,
            "" => Stop::Done,
            other => Stop::Other(other.to_owned()),
        };
        let (id, model) = (some_text(&end, "/id"), some_text(&end, "/model"));
        Ok(Response { blocks, stop, usage: self.usage, id, model, limits: Vec::new() })
    }
}

fn read(Item { item, whole, arguments }: Item, cut_off: bool) -> Result<Option<Block>, ProviderError> {
    Ok(match text(&item, "/type") {
        "message" => {
            let parts = item["content"].as_array().into_iter().flatten();
            let refusal: String = parts.clone().map(|part| text(part, "/refusal")).collect();
            if !refusal.is_empty() {
                return Err(ProviderError::new(Kind::Refused, refusal));
            }
            Some(Block::text(parts.map(|part| text(part, "/text")).collect::<String>()))
        }
        // What has no encrypted content the provider would look for in a store where there is none.
        "reasoning" if whole && !text(&item, "/encrypted_content").is_empty() => {
            let raw = json!({ "type": "reasoning", "id": item["id"], "summary": item["summary"], "encrypted_content": item["encrypted_content"] });
            Some(Block::Thinking(Thinking { api: API.to_owned(), raw }))
        }
        "function_call" => {
            let arguments = if arguments.is_empty() { text(&item, "/arguments") } else { &arguments };
            Some(Block::ToolCall(call::parse(text(&item, "/call_id").to_owned(), text(&item, "/name").to_owned(), arguments, cut_off || !whole)))
        }
        _ => None,
    })
}
