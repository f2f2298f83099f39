//! The server, and the stage with it.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::run::stage::Stage;

/// What no file may have.
pub(crate) const KEY: &str = "sk-ant-s3cr3t-0123456789";

/// The account that every profile names.
pub(crate) const ACCOUNT: &str = "[accounts.work]\nkind = \"anthropic\"\nkeyFile = \"~/key\"\n";

/// What a model does when it is called.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// It calls these tools.
    Calls(Vec<(&'static str, Value)>),
    /// The provider refuses, with a status, a header and what it calls that.
    Refuses(u16, &'static str, &'static str),
    /// Nothing comes any more.
    Hangs,
}

/// The server of a test.
pub(crate) struct Model {
    pub(crate) url: String,
    book: Arc<(Mutex<Book>, Condvar)>,
}

#[derive(Default)]
struct Book {
    steps: HashMap<String, VecDeque<Step>>,
    asked: Vec<Asked>,
}

/// What a teammate's model was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) who: String,
    pub(crate) body: Value,
    pub(crate) head: String,
    /// What was answered, by the server's own count.
    pub(crate) tokens: Option<(u64, u64)>,
}

impl Asked {
    /// What it was told last: also where its conversation has gone on for long.
    pub(crate) fn told_last(&self) -> String {
        self.body["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
    }

    /// All that the model was told.
    pub(crate) fn told(&self) -> String {
        self.body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user").map(|message| message["content"].to_string()).collect()
    }
}

/// A call of `post`.
pub(crate) fn post(kind: &str, text: &str) -> (&'static str, Value) {
    ("post", json!({ "kind": kind, "text": text }))
}

impl Model {
    pub(crate) fn new() -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let book = Arc::<(Mutex<Book>, Condvar)>::default();
        let kept = Arc::clone(&book);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let book = Arc::clone(&kept);
                std::thread::spawn(move || while serve(&stream, &book).is_some() {});
            }
        });
        Model { url, book }
    }

    /// What the model of a teammate does next, call after call. When it has done all of it, it waits for more.
    pub(crate) fn plays(&self, who: &str, steps: impl IntoIterator<Item = Step>) {
        self.book.0.lock().unwrap().steps.entry(who.to_owned()).or_default().extend(steps);
        self.book.1.notify_all();
    }

    /// The same of one answer.
    pub(crate) fn calls(&self, who: &str, calls: impl IntoIterator<Item = (&'static str, Value)>) {
        self.plays(who, [Step::Calls(calls.into_iter().collect())]);
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.book.0.lock().unwrap().asked.clone()
    }

    /// The same of one teammate.
    pub(crate) fn asked_of(&self, who: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.who == who).collect()
    }

    /// A team of these, with a goal; `front`: more of each one's front matter.
    pub(crate) fn stage(&self, team: &[&str], front: &str, config: &str) -> Stage {
        let stage = Stage::with(&[], config);
        for name in team {
            stage.scene.put(&format!(".crew/teammates/{name}.md"), &self.profile(front));
        }
        // The home of the test's own user.
        std::fs::write(stage.scene.project().with_file_name("key"), format!("{KEY}\n")).unwrap();
        stage
    }

    pub(crate) fn profile(&self, front: &str) -> String {
        format!("---\nrunner: anthropic\nmodel: large\naccount: work\nbaseUrl: {}\npoll: 100ms\nidleTimeout: 20s\n{front}---\nBe brief.\n", self.url)
    }
}

/// Answers one request; `None`: the connection is over.
fn serve(stream: &TcpStream, book: &(Mutex<Book>, Condvar)) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (reader.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let first = body["messages"][0].to_string();
    let who = first.split("You are '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap_or("nobody").to_owned();
    let place = {
        let mut book = book.0.lock().unwrap();
        book.asked.push(Asked { who: who.clone(), body, head, tokens: None });
        book.asked.len() - 1
    };
    match next(&who, book) {
        Step::Hangs => loop {
            std::thread::sleep(Duration::from_secs(600));
        },
        Step::Refuses(status, header, kind) => refuse(stream, status, header, kind),
        Step::Calls(calls) => {
            let tokens = (100 + place as u64, 7 + calls.len() as u64);
            book.0.lock().unwrap().asked[place].tokens = Some(tokens);
            answer(stream, place, &calls, tokens)
        }
    }
}

fn next(who: &str, book: &(Mutex<Book>, Condvar)) -> Step {
    let mut held = book.0.lock().unwrap();
    loop {
        if let Some(step) = held.steps.get_mut(who).and_then(VecDeque::pop_front) {
            return step;
        }
        held = book.1.wait(held).unwrap();
    }
}

fn refuse(mut stream: &TcpStream, status: u16, header: &str, kind: &str) -> Option<()> {
    // Servers say which key they do not like.
    let body = json!({ "type": "error", "error": { "type": kind, "message": format!("not now, {KEY}") } }).to_string();
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    write!(stream, "HTTP/1.1 {status} No\r\n{header}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok()
}

fn answer(mut stream: &TcpStream, place: usize, calls: &[(&'static str, Value)], (input, output): (u64, u64)) -> Option<()> {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": format!("msg_{place}"), "model": "large", "usage": { "input_tokens": input, "output_tokens": 1 } } }),
    ];
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let block = json!({ "type": "tool_use", "id": format!("toolu_{place}_{index}"), "name": name, "input": {} });
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": arguments.to_string() } }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": output } }));
    events.push(json!({ "type": "message_stop" }));
    let text: String = events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{text}", text.len()).ok()
}
