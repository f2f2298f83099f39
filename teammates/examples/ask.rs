//! Calls a model by one of the three APIs, for the checks against other people's servers (`tests/models`).
//!
//! `ask API URL MODEL WORDS…`, where API is `anthropic`, `openai-chat`, `openai-responses`, or `openai-json` (Chat
//! Completions in `toolMode: json`). The model is offered one tool, `add`, which adds two numbers, and is called until it
//! calls no tool any more. Prints an object a call: `{"told":…,"blocks":…,"stop":…,"usage":…}` or `{"error":…,"kind":…,
//! "outcome":…}`.
//!
//! `ASK_KEY` is sent as the key, `ASK_AGAIN` says how often a call is made again, `ASK_SILENCE` how many seconds are waited
//! for the next byte, `ASK_EFFORT` how hard the model is to think.

use std::error::Error;
use std::time::Duration;

use serde_json::{Value, json};
use teammates::account::Key;
use teammates::conversation::{Conversation, Identity};
use teammates::provider::anthropic::Anthropic;
use teammates::provider::openai_chat::{OpenAiChat, ToolMode};
use teammates::provider::openai_responses::OpenAiResponses;
use teammates::provider::retry::{self, Patience};
use teammates::provider::{self, Auth, Endpoint, Http, Provider, Proxies, Request, Timeouts, Tool};

/// The most calls of one run.
const MOST: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [api, url, model, words @ ..] = arguments.as_slice() else { return Err("ask API URL MODEL WORDS…".into()) };
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual);
    let timeouts = Timeouts { connect: Duration::from_secs(20), silence: Duration::from_secs(number("ASK_SILENCE", 60)) };
    let http = Http::new(timeouts, Proxies::None)?;
    let auth = if api == "anthropic" { Auth::ApiKey } else { Auth::Bearer };
    let endpoint = Endpoint { base: url.clone(), key: std::env::var("ASK_KEY").ok().as_deref().and_then(Key::of), auth };
    let provider: Box<dyn Provider> = match api.as_str() {
        "anthropic" => Box::new(Anthropic::new(http, endpoint)),
        "openai-chat" => Box::new(OpenAiChat::new(http, endpoint, ToolMode::Native)),
        "openai-json" => Box::new(OpenAiChat::new(http, endpoint, ToolMode::Json)),
        "openai-responses" => Box::new(OpenAiResponses::new(http, endpoint)),
        other => return Err(format!("no API {other:?}").into()),
    };
    let patience = Patience { again: usize::try_from(number("ASK_AGAIN", 0))?, first: Duration::from_millis(1), ..Patience::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(ask(&*provider, model, &words.join(" "), &patience))
}

async fn ask(provider: &dyn Provider, model: &str, words: &str, patience: &Patience) -> Result<(), Box<dyn Error>> {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } }, "required": ["a", "b"] });
    let tools = [Tool { name: "add".into(), description: "Adds two whole numbers.".into(), schema }];
    let identity = Identity { name: "alice".into(), role: "coder".into(), team: "demo".into(), memory: "memory.md".into() };
    let mut conversation = Conversation::begin(identity, words, None);
    let effort = std::env::var("ASK_EFFORT").ok().filter(|effort| !effort.is_empty());
    for _ in 0..MOST {
        let Ok(messages) = conversation.ready() else { return Ok(()) };
        let request = Request { model, system: "Answer briefly.", messages, tools: &tools, effort: effort.as_deref(), max_output: 1000 };
        let (_canceller, cancel) = provider::cancel();
        let mut told = Vec::new();
        let mut failed = 0;
        let answer = retry::turn(provider, &request, &mut |delta| told.push(format!("{delta:?}")), &cancel, patience, 1, &mut |_| failed += 1).await;
        let response = match answer {
            Ok(response) => response,
            Err(error) => {
                println!(
                    "{}",
                    json!({ "error": error.to_string(), "kind": format!("{:?}", error.kind), "outcome": format!("{:?}", error.outcome()), "failed": failed })
                );
                return Ok(());
            }
        };
        println!("{}", json!({ "told": told, "blocks": response.blocks, "stop": response.stop, "usage": response.usage, "failed": failed }));
        conversation.answered(response.blocks, response.usage.context())?;
        let calls: Vec<_> = conversation.open_calls().cloned().collect();
        for call in calls {
            let number = |name: &str| call.input.get(name).and_then(Value::as_i64);
            let (text, is_error) = match (number("a"), number("b")) {
                (Some(a), Some(b)) if call.name == "add" => ((a + b).to_string(), false),
                _ => ("That is not how `add` is called.".to_owned(), true),
            };
            conversation.result(&call.id, text, is_error)?;
        }
    }
    Ok(())
}
