//! Each API against a server that says what it should, and what it should not.

use std::time::Duration;

use serde_json::{Value, json};

use super::fake::{Answer, Server, sse};
use super::*;
use crate::account::Key;
use crate::conversation::{Thinking, ToolCall, ToolResult};
use crate::fixture::run;

mod anthropic;
mod failures;
mod openai_chat;
mod openai_responses;
mod retrying;

const KEY: &str = "s3cr3t-key";

fn http() -> Http {
    Http::new(Timeouts { connect: Duration::from_secs(20), silence: Duration::from_secs(60) }, Proxies::None).unwrap()
}

fn endpoint(url: &str, auth: Auth) -> Endpoint {
    Endpoint { base: url.to_owned(), key: Key::of(KEY), auth }
}

/// All APIs, served from there.
fn all(url: &str) -> [Box<dyn Provider>; 3] {
    all_with(&http(), url)
}

fn all_with(http: &Http, url: &str) -> [Box<dyn Provider>; 3] {
    let endpoint = endpoint(url, Auth::Bearer);
    [
        Box::new(super::anthropic::Anthropic::new(http.clone(), endpoint.clone())),
        Box::new(super::openai_chat::OpenAiChat::new(http.clone(), endpoint.clone(), super::openai_chat::ToolMode::Native)),
        Box::new(super::openai_responses::OpenAiResponses::new(http.clone(), endpoint)),
    ]
}

fn tools() -> Vec<Tool> {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let tool = |name: &str| Tool { name: name.into(), description: format!("Does {name}."), schema: schema.clone() };
    vec![tool("read_file"), tool("post")]
}

fn thinking(api: &str, raw: Value) -> Block {
    Block::Thinking(Thinking { api: api.into(), raw })
}

fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), input, malformed: None })
}

fn result(id: &str, content: &str, is_error: bool) -> Block {
    Block::ToolResult(ToolResult { id: id.into(), content: content.into(), is_error, shrunk: false })
}

/// A conversation with everything in it.
fn messages() -> Vec<Message> {
    let signed = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let encrypted = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" });
    vec![
        Message::user(vec![Block::text("You are alice."), Block::text("Mend it.")]),
        Message::assistant(vec![
            thinking("anthropic", signed),
            thinking("openai-responses", encrypted),
            Block::text("I look."),
            call("c.1", "read_file", json!({ "path": "a" })),
            Block::ToolCall(ToolCall { id: "c2".into(), name: "post".into(), input: json!("{bad"), malformed: Some("no JSON".into()) }),
        ]),
        Message::user(vec![result("c.1", "content of a", false), result("c2", "wrong", true), Block::text("bob says hello")]),
    ]
}

/// What a provider asks a server for these messages.
fn asked(provider: impl Fn(&str) -> Box<dyn Provider>, request: &Request<'_>) -> (String, Value) {
    run(async {
        let server = Server::of(vec![Answer::events(&[])]).await;
        let (_keep, cancel) = cancel();
        let answer = provider(&server.url).turn(request, &mut |_| {}, &cancel).await;
        assert_eq!(answer.unwrap_err().kind, Kind::Truncated);
        server.requests().remove(0)
    })
}

fn request<'a>(messages: &'a [Message], tools: &'a [Tool]) -> Request<'a> {
    Request { model: "large", system: "Be brief.", messages, tools, effort: None, max_output: 1000 }
}

/// What was told meanwhile, as lines; and what came of it.
async fn turn(provider: &dyn Provider) -> (Vec<String>, Result<Response, ProviderError>) {
    let (messages, tools) = (vec![Message::user(vec![Block::text("Begin.")])], tools());
    let (_keep, cancel) = cancel();
    let mut told = Vec::new();
    let answer = provider.turn(&request(&messages, &tools), &mut |delta| told.push(format!("{delta:?}")), &cancel).await;
    (told, answer)
}

/// The same stream whole, in single bytes, and cut at every place once: it must come to the same.
fn however_it_is_cut(stream: &str, provider: impl Fn(&str) -> Box<dyn Provider>) -> (Vec<String>, Response) {
    let bytes = stream.as_bytes();
    let single = bytes.iter().map(|byte| vec![*byte]).collect();
    let halves = (1..bytes.len()).step_by(7).map(|at| vec![bytes[..at].to_vec(), bytes[at..].to_vec()]);
    let cuts: Vec<Vec<Vec<u8>>> = [vec![bytes.to_vec()], single].into_iter().chain(halves).collect();
    run(async {
        let count = cuts.len();
        let server = Server::of(cuts.into_iter().map(|chunks| Answer::stream(chunks, super::fake::End::Whole)).collect()).await;
        let provider = provider(&server.url);
        let (told, answer) = turn(provider.as_ref()).await;
        let answer = answer.unwrap();
        for _ in 1..count {
            let (again, answer_again) = turn(provider.as_ref()).await;
            assert_eq!((&again, &answer_again.unwrap()), (&told, &answer));
        }
        (told, answer)
    })
}
