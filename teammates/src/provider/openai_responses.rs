//! OpenAI's Responses API. The conversation is ours: the provider is told to keep nothing of it, and gives the model's
//! thoughts out encrypted, to be sent back.

use serde_json::{Value, json};

use super::driving::{Call, drive};
use super::openai_chat::result_text;
use super::{Cancel, Delta, Endpoint, Http, Provider, Request, Turn};
use crate::conversation::{Block, Message, Role};

mod reading;

/// Where the provider itself serves it.
pub const BASE: &str = super::openai_chat::BASE;

pub(super) const API: &str = "openai-responses";

/// OpenAI's Responses API.
#[derive(Debug, Clone)]
pub struct OpenAiResponses {
    http: Http,
    endpoint: Endpoint,
}

impl OpenAiResponses {
    /// With connections and an address (with the `/v1`).
    pub fn new(http: Http, endpoint: Endpoint) -> OpenAiResponses {
        OpenAiResponses { http, endpoint }
    }
}

impl Provider for OpenAiResponses {
    fn api(&self) -> &'static str {
        API
    }

    fn turn<'a>(&'a self, request: &'a Request<'a>, sink: &'a mut dyn FnMut(Delta<'_>), cancel: &'a Cancel) -> Turn<'a> {
        let call = Call { path: "/responses", headers: &[], body: body(request).to_string() };
        Box::pin(drive(&self.http, &self.endpoint, call, reading::Answer::default(), sink, cancel))
    }
}

/// The request as this API wants it.
fn body(request: &Request<'_>) -> Value {
    let input: Vec<Value> = request.messages.iter().flat_map(|message| message.blocks.iter().filter_map(|block| item(message, block))).collect();
    let mut body = json!({ "model": request.model, "input": input, "stream": true, "store": false, "max_output_tokens": request.max_output });
    if !request.system.trim().is_empty() {
        body["instructions"] = json!(request.system);
    }
    if !request.tools.is_empty() {
        // Strict schemas allow less than those that Rust types give.
        let tool =
            |tool: &super::Tool| json!({ "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": false });
        body["tools"] = json!(request.tools.iter().map(tool).collect::<Vec<_>>());
    }
    if let Some(effort) = request.effort {
        body["reasoning"] = json!({ "effort": effort, "summary": "auto" });
        // Models that do not think refuse to be asked for this.
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    body
}

fn item(message: &Message, block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text(text) => match message.role {
            Role::User => json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text.text }] }),
            // The long form wants the id that the provider gave it.
            Role::Assistant => json!({ "type": "message", "role": "assistant", "content": text.text }),
        },
        Block::Thinking(thinking) => (thinking.api == API).then(|| thinking.raw.clone())?,
        Block::ToolCall(call) => json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.object().to_string() }),
        Block::ToolResult(result) => json!({ "type": "function_call_output", "call_id": result.id, "output": result_text(result) }),
    })
}
