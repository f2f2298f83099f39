//! Turns of a model that a server plays, word for word as the providers send it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use board::Board;
use board::Durability;
use board::place::Surroundings;
use serde_json::{Value, json};

use super::*;
use crate::account::Key;
use crate::conversation::{Role, check};
use crate::fixture::run;
use crate::models::Model;
use crate::profile::{Origin, parse};
use crate::provider::anthropic::Anthropic;
use crate::provider::fake::{Answer, End, Server, sse};
use crate::provider::openai_chat::{OpenAiChat, ToolMode};
use crate::provider::{Auth, Endpoint, Http, Provider, Proxies, Timeouts};
use crate::tools::crew::{Ask, ClaimTask, Crew, Doing, Notify, Post, TaskCreate, TaskUpdate, TellUser};
use crate::tools::gate_list::Verdict;

mod failing;
mod going;
mod limits;
mod played;

/// The run, as far as a turn sees it: it takes posts, and counts what acts on others.
#[derive(Default)]
struct Others {
    posts: RefCell<Vec<Post>>,
    notified: RefCell<Vec<String>>,
    /// So many posts are refused first.
    refused: Cell<usize>,
}

struct OfTurn(Rc<Others>);

impl Crews for OfTurn {
    fn of_turn(&self, _: &At) -> Rc<dyn Crew> {
        Rc::new(OfTurn(Rc::clone(&self.0)))
    }
}

fn no(_: impl std::fmt::Debug) -> Doing<'static> {
    Box::pin(async { Err("not here".to_owned()) })
}

impl Crew for OfTurn {
    fn post(&self, post: Post) -> Doing<'_> {
        Box::pin(async move {
            if self.0.refused.get() > 0 {
                self.0.refused.set(self.0.refused.get() - 1);
                return Err("only work_done is accepted now".into());
            }
            self.0.posts.borrow_mut().push(post);
            Ok("It is post 7.".into())
        })
    }

    fn tell_user(&self, notice: TellUser) -> Doing<'_> {
        no(notice)
    }

    fn task_create(&self, task: TaskCreate) -> Doing<'_> {
        no(task)
    }

    fn task_update(&self, change: TaskUpdate) -> Doing<'_> {
        no(change)
    }

    fn claim_task(&self, claim: ClaimTask) -> Doing<'_> {
        no(claim)
    }

    fn ask(&self, question: Ask) -> Doing<'_> {
        no(question)
    }

    fn notify(&self, news: Notify) -> Doing<'_> {
        Box::pin(async move {
            self.0.notified.borrow_mut().push(news.text);
            Ok("It was told.".into())
        })
    }
}

impl Gatekeeper for OfTurn {
    fn may_run(&self, _: &str) -> Verdict {
        Verdict::Run
    }
}

/// A project, and a teammate in it that thinks.
struct Stage {
    temp: tempfile::TempDir,
    thinker: Rc<Thinker>,
    others: Rc<Others>,
    inbox: Arc<Inbox>,
}

const KEY: &str = "sk-s3cr3t-key-of-a-test";

impl Stage {
    /// With models at these addresses: the first by Anthropic's API, the others by Chat Completions.
    fn new(front: &str, urls: &[&str]) -> Stage {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("a.txt"), "content of a\n").unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("home").into()), ..Surroundings::default() };
        let board = Board::init(&project, Durability::Relaxed, &surroundings).unwrap();
        let workplace = Workplace::open(board).unwrap();
        let profile = parse(&format!("---\nrole: coder\n{front}\n---\nBe brief."), Path::new("alice.md"), Origin::Crew).unwrap();
        let seat = Arc::new(workplace.enter(&profile.name, "anthropic").unwrap());
        let run = Arc::new(Run::of(workplace.place()).unwrap());
        let inbox = Arc::new(Inbox::open(Arc::new(workplace.place().inboxes().unwrap()), &profile.name).unwrap());
        let others = Rc::new(Others::default());
        let millis = Duration::from_millis;
        let ways = urls.iter().enumerate().map(|(place, url)| model(place, url).into()).collect();
        let thinking = Thinking {
            ways,
            program: "crew".into(),
            crews: Rc::new(OfTurn(Rc::clone(&others))),
            gatekeeper: Rc::new(OfTurn(Rc::clone(&others))),
            hidden: Vec::new(),
            servers: None,
            prices: Prices::default(),
            compact_at: 75,
            most_usd: None,
            patience: Patience { again: 2, first: millis(1), longest: millis(2), limit: millis(100) },
        };
        let thinker = Rc::new(Thinker::new(workplace, seat, profile, run, Arc::clone(&inbox), thinking));
        Stage { temp, thinker, others, inbox }
    }

    fn turn(&self, turn: &str) -> Turn<'_> {
        let place = self.thinker.workplace.place();
        Turn {
            at: At { name: self.thinker.profile.name.clone(), turn: turn.into(), task: None, of_thread: true },
            request: format!("Mend it. (turn {turn})"),
            index: None,
            workspace: place.project(),
            logs: Arc::new(place.turn_logs().unwrap()),
        }
    }

    async fn perform(&self, turn: &str) -> Outcome {
        let outcome = self.thinker.perform(&self.turn(turn), std::future::pending()).await;
        for mind in self.thinker.minds.borrow().iter() {
            if let Some(conversation) = &mind.conversation {
                check(conversation.messages()).unwrap();
                assert_eq!(conversation.messages().last().unwrap().role == Role::Assistant, conversation.ready().is_err());
            }
        }
        outcome
    }

    fn posts(&self) -> Vec<String> {
        self.others.posts.borrow().iter().map(|post| post.text.clone()).collect()
    }

    fn log(&self, turn: &str) -> String {
        std::fs::read_to_string(self.thinker.workplace.place().turn_log(turn)).unwrap()
    }

    fn calls(&self) -> Vec<board::ledger::Call> {
        self.thinker.ledger.since(0).unwrap().0
    }

    /// Everything that was written, under the project and on the machine's side.
    fn written(&self) -> String {
        let mut all = String::new();
        let mut dirs = vec![self.temp.path().to_path_buf()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => dirs.push(path),
                    false => all.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap())),
                }
            }
        }
        all
    }
}

fn model(place: usize, url: &str) -> Model {
    let http = Http::new(Timeouts { connect: Duration::from_secs(20), silence: Duration::from_secs(60) }, Proxies::None).unwrap();
    let endpoint = Endpoint { base: url.to_owned(), key: Key::of(KEY), auth: Auth::ApiKey };
    let api: Box<dyn Provider> = match place {
        0 => Box::new(Anthropic::new(http, endpoint)),
        _ => Box::new(OpenAiChat::new(http, endpoint, ToolMode::Native)),
    };
    let mut model = Model::played(api, &format!("model{place}"), Path::new(url));
    (model.account, model.context) = (format!("account{place}"), 10_000);
    model
}

/// A call of a tool.
fn call(name: &str, input: Value) -> Value {
    json!({ "type": "tool_use", "name": name, "input": input })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn post(text: &str) -> Value {
    call("post", json!({ "kind": "say", "text": text }))
}

/// An answer of Anthropic's API.
fn says(blocks: &[Value]) -> Answer {
    let stop = if blocks.iter().any(|block| block["type"] == "tool_use") { "tool_use" } else { "end_turn" };
    stops(blocks, stop, 100)
}

fn stops(blocks: &[Value], stop: &str, input: u64) -> Answer {
    Answer::events(&events(blocks, stop, input))
}

fn events(blocks: &[Value], stop: &str, input: u64) -> Vec<Value> {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let mut events =
        vec![json!({ "type": "message_start", "message": { "id": "msg_1", "model": "model0", "usage": { "input_tokens": input, "output_tokens": 1 } } })];
    for (index, block) in blocks.iter().enumerate() {
        let id = format!("toolu_{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let (start, delta) = match block["type"].as_str().unwrap() {
            "text" => (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": block["text"] })),
            _ => {
                let raw = block["raw"].as_str().map_or_else(|| block["input"].to_string(), str::to_owned);
                (json!({ "type": "tool_use", "id": id, "name": block["name"], "input": {} }), json!({ "type": "input_json_delta", "partial_json": raw }))
            }
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 10 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

/// An answer of the Chat Completions API.
fn chat_says(calls: &[Value]) -> Answer {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| json!({ "index": index, "id": format!("c{index}"), "type": "function", "function": { "name": call["name"], "arguments": call["input"].to_string() } }))
        .collect();
    let chunk = |delta: Value, stop: Value| json!({ "id": "c", "model": "model1", "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] });
    let usage = json!({ "id": "c", "model": "model1", "choices": [], "usage": { "prompt_tokens": 50, "completion_tokens": 5 } });
    let events = [chunk(json!({ "role": "assistant", "tool_calls": calls }), Value::Null), chunk(json!({}), json!("tool_calls")), usage];
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Answer::stream(vec![format!("{body}data: [DONE]\n\n").into_bytes()], End::Whole)
}

/// A refusal.
fn refuses(status: &str, headers: &str, kind: &str, message: &str) -> Answer {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    Answer { head: format!("{status}\r\ncontent-type: application/json{headers}"), chunks: vec![body.to_string().into_bytes()], end: End::Whole }
}

/// The texts of the user's messages of a request, and the results in them.
fn told(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] != "assistant").map(|message| message["content"].to_string()).collect::<Vec<_>>().join("\n")
}
