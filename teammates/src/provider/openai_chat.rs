//! The Chat Completions API, which most servers of models speak, also those on one's own machine.

use serde_json::{Value, json};

use super::driving::{Call, drive};
use super::{Cancel, Delta, Endpoint, Http, Provider, Request, Turn};
use crate::conversation::{Block, Message, Role, ToolResult};

mod json_mode;
mod reading;

/// Where the provider itself serves it.
pub const BASE: &str = "https://api.openai.com/v1";

pub(super) const API: &str = "openai-chat";

/// How tools are offered to the model: the values of `toolMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMode {
    /// As the API does it.
    Native,
    /// In words, and the answer must be one JSON object that names a tool and its arguments: for small models that were
    /// not made to call tools.
    Json,
}

impl ToolMode {
    /// Reads what a teammate's file says; `None`: it is neither `native` nor `json`.
    pub fn parse(word: &str) -> Option<ToolMode> {
        match word {
            "native" => Some(ToolMode::Native),
            "json" => Some(ToolMode::Json),
            _ => None,
        }
    }
}

/// The Chat Completions API.
#[derive(Debug, Clone)]
pub struct OpenAiChat {
    http: Http,
    endpoint: Endpoint,
    tools: ToolMode,
}

impl OpenAiChat {
    /// With connections, an address (with the `/v1`, where the server has it) and a way to offer tools.
    pub fn new(http: Http, endpoint: Endpoint, tools: ToolMode) -> OpenAiChat {
        OpenAiChat { http, endpoint, tools }
    }

    fn body(&self, request: &Request<'_>) -> String {
        let json_mode = self.tools == ToolMode::Json && !request.tools.is_empty();
        let system = if json_mode { json_mode::system(request.system, request.tools) } else { request.system.to_owned() };
        let mut messages = Vec::new();
        if !system.trim().is_empty() {
            messages.push(json!({ "role": "system", "content": system }));
        }
        for message in request.messages {
            match (json_mode, message.role) {
                (true, _) => messages.push(json_mode::message(message)),
                (false, Role::User) => messages.extend(of_user(message)),
                (false, Role::Assistant) => messages.push(of_assistant(message)),
            }
        }
        let mut body = json!({ "model": request.model, "messages": messages, "stream": true, "stream_options": { "include_usage": true } });
        // The provider's own models refuse the older name of this, and other servers may not know the newer one.
        let longest = if self.endpoint.base.trim_end_matches('/') == BASE { "max_completion_tokens" } else { "max_tokens" };
        body[longest] = json!(request.max_output);
        if !json_mode && !request.tools.is_empty() {
            let function = |tool: &super::Tool| json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
            let tools: Vec<Value> = request.tools.iter().map(|tool| json!({ "type": "function", "function": function(tool) })).collect();
            body["tools"] = json!(tools);
        }
        if let Some(effort) = request.effort {
            body["reasoning_effort"] = json!(effort);
        }
        if json_mode { json_mode::with_format(&body, request.tools) } else { body.to_string() }
    }
}

impl Provider for OpenAiChat {
    fn api(&self) -> &'static str {
        API
    }

    fn turn<'a>(&'a self, request: &'a Request<'a>, sink: &'a mut dyn FnMut(Delta<'_>), cancel: &'a Cancel) -> Turn<'a> {
        let json_mode = self.tools == ToolMode::Json && !request.tools.is_empty();
        let call = Call { path: "/chat/completions", headers: &[], body: self.body(request) };
        Box::pin(drive(&self.http, &self.endpoint, call, reading::Answer::new(json_mode), sink, cancel))
    }
}

/// The results are messages of their own, before what else the user says.
fn of_user(message: &Message) -> Vec<Value> {
    let results = message.results().map(|result| json!({ "role": "tool", "tool_call_id": result.id, "content": result_text(result) }));
    let text = texts(message);
    results.chain((!text.is_empty()).then(|| json!({ "role": "user", "content": text }))).collect()
}

fn of_assistant(message: &Message) -> Value {
    let text = texts(message);
    let calls: Vec<Value> = message
        .calls()
        .map(|call| json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": call.object().to_string() } }))
        .collect();
    let mut said = json!({ "role": "assistant", "content": if text.is_empty() { Value::Null } else { json!(text) } });
    if !calls.is_empty() {
        said["tool_calls"] = json!(calls);
    }
    said
}

/// All words of a message.
fn texts(message: &Message) -> String {
    let texts: Vec<&str> = message.blocks.iter().filter_map(|block| if let Block::Text(text) = block { Some(text.text.as_str()) } else { None }).collect();
    texts.join("\n\n")
}

/// These APIs have no mark for a call that failed.
pub(super) fn result_text(result: &ToolResult) -> String {
    if result.is_error { format!("Error: {}", result.content) } else { result.content.clone() }
}
