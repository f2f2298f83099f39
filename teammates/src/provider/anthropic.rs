//! Anthropic's Messages API, and those that are compatible with it.

use serde_json::{Value, json};

use super::driving::{Call, drive};
use super::{Cancel, Delta, Endpoint, Http, Provider, Request, Turn};
use crate::conversation::{Block, Message, Role};

mod reading;

/// Where the provider itself serves it.
pub const BASE: &str = "https://api.anthropic.com";

pub(super) const API: &str = "anthropic";
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// Anthropic's Messages API.
#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Http,
    endpoint: Endpoint,
}

impl Anthropic {
    /// With connections and an address; a `/v1` at the address's end is taken as said.
    pub fn new(http: Http, endpoint: Endpoint) -> Anthropic {
        let base = endpoint.base.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        Anthropic { http, endpoint: Endpoint { base, ..endpoint } }
    }
}

impl Provider for Anthropic {
    fn api(&self) -> &'static str {
        API
    }

    fn turn<'a>(&'a self, request: &'a Request<'a>, sink: &'a mut dyn FnMut(Delta<'_>), cancel: &'a Cancel) -> Turn<'a> {
        let call = Call { path: "/v1/messages", headers: &[VERSION], body: body(request).to_string() };
        Box::pin(drive(&self.http, &self.endpoint, call, reading::Answer::default(), sink, cancel))
    }
}

/// The request as this API wants it.
fn body(request: &Request<'_>) -> Value {
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    // What does not change from call to call is read from the cache up to a mark, and of marks there may be four: the
    // standing instructions (tools stand before those), what the conversation began with, and its last two turns, since
    // the last but one is where the call before wrote its own.
    let last_two = messages.iter().enumerate().rev().filter(|(_, message)| message["role"] == "user").take(2);
    let marked: Vec<usize> = last_two.map(|(number, _)| number).chain([0]).collect();
    for number in marked {
        if let Some(block) = messages.get_mut(number).and_then(|message| message["content"].as_array_mut()?.last_mut()) {
            mark(block);
        }
    }
    let mut body = json!({ "model": request.model, "max_tokens": request.max_output, "stream": true, "messages": messages });
    let mut tools: Vec<Value> =
        request.tools.iter().map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })).collect();
    match (request.system.trim().is_empty(), tools.last_mut()) {
        (false, _) => {
            let mut system = json!({ "type": "text", "text": request.system });
            mark(&mut system);
            body["system"] = json!([system]);
        }
        (true, Some(tool)) => mark(tool),
        (true, None) => {}
    }
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    if let Some(effort) = request.effort {
        think(&mut body, effort, request.max_output);
    }
    body
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

/// A word is an effort, and the model decides how much it thinks; a number is a budget of tokens, for models that know only
/// that, and comes on top of the answer's length; `off` is off.
fn think(body: &mut Value, effort: &str, max_output: u32) {
    match effort.parse::<u32>() {
        Ok(budget) => {
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
            body["max_tokens"] = json!(max_output.saturating_add(budget));
        }
        Err(_) if effort == "off" => body["thinking"] = json!({ "type": "disabled" }),
        Err(_) => {
            body["thinking"] = json!({ "type": "adaptive" });
            body["output_config"] = json!({ "effort": effort });
        }
    }
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({ "role": role, "content": message.blocks.iter().filter_map(block).collect::<Vec<_>>() })
}

fn block(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text(text) => json!({ "type": "text", "text": text.text }),
        Block::Thinking(thinking) => (thinking.api == API).then(|| thinking.raw.clone())?,
        Block::ToolCall(call) => json!({ "type": "tool_use", "id": id(&call.id), "name": call.name, "input": call.object() }),
        Block::ToolResult(result) => {
            let mut block = json!({ "type": "tool_result", "tool_use_id": id(&result.id) });
            if !result.content.is_empty() {
                block["content"] = json!(result.content);
            }
            if result.is_error {
                block["is_error"] = json!(true);
            }
            block
        }
    })
}

/// An id with no letter that this API does not take; another provider may have made it.
fn id(id: &str) -> String {
    id.chars().map(|letter| if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') { letter } else { '_' }).collect()
}
