//! What thinking costs over the model's own time: `cargo bench -p teammates --bench thinking`.
//!
//! The model is a server on loopback, in a process of its own, so that the processor time of this one is the teammates'
//! alone.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, missing_docs)] // A bench is the other program: it starts, waits and gives up.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::inbox::Inbox;
use board::place::Surroundings;
use board::run::Run;
use board::{Board, Durability};
use serde_json::{Value, json};
use teammates::conversation::{Block, Conversation, Identity, ToolCall, transcript};
use teammates::models::{self, Sources};
use teammates::profile::{Origin, parse};
use teammates::provider::prices::Prices;
use teammates::provider::retry::Patience;
use teammates::provider::{Http, Proxies, Timeouts};
use teammates::thinking::{Outcome, Thinker, Thinking, Turn};
use teammates::tools::crew::{Ask, At, ClaimTask, Crew, Crews, Doing, Notify, Post, TaskCreate, TaskUpdate, TellUser};
use teammates::tools::gate_list::{Gatekeeper, Verdict};
use teammates::workplace::Workplace;

const TURNS: usize = 200;
const CALLS: usize = 50;
const WAITING: usize = 100;

fn main() {
    if std::env::args().any(|argument| argument == "--serve") {
        return serve();
    }
    let mut server = Command::new(std::env::current_exe().unwrap()).arg("--serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}", port.trim());
    println!("{:<64} {:>12} {:>8}", "what", "ours", "bound");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let turn = turns(&format!("{url}/post"), "a turn of one call, over the model's time: processor", 5.0, TURNS).await;
        let with_calls = turns(&format!("{url}/calls"), &format!("a turn with {CALLS} calls of a tool in one answer"), f64::INFINITY, TURNS / 4).await;
        show("a call of a tool: processor", (with_calls - turn) / CALLS as f64, "ms", 1.0);
        waiting(&format!("{url}/slow")).await;
    });
    compacting();
    end(&mut server);
}

fn end(server: &mut Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}

fn show(what: &str, ours: f64, unit: &str, bound: f64) {
    let verdict = if ours <= bound { "ok" } else { "NOT" };
    match bound.is_finite() {
        true => println!("{what:<64} {ours:>9.2} {unit} {:>8} {verdict}", format!("<={bound}")),
        false => println!("{what:<64} {ours:>9.2} {unit}"),
    }
}

/// The processor time of a turn in milliseconds.
async fn turns(url: &str, what: &str, bound: f64, count: usize) -> f64 {
    let stage = Stage::new("alice", url);
    for turn in 0..5 {
        assert_eq!(stage.perform(&format!("warm{turn}")).await, Outcome::Posted);
    }
    let (cpu, wall) = (processor(), Instant::now());
    for turn in 0..count {
        assert_eq!(stage.perform(&format!("t{turn}")).await, Outcome::Posted);
    }
    let cpu = (processor() - cpu).as_secs_f64() * 1e3 / count as f64;
    let wall = wall.elapsed().as_secs_f64() * 1e3 / count as f64;
    show(&format!("{what} ({wall:.1} ms wall)"), cpu, "ms", bound);
    cpu
}

/// Many that wait for streams which hardly move.
async fn waiting(url: &str) {
    let stages: Vec<Rc<Stage>> = (0..WAITING).map(|number| Rc::new(Stage::new(&format!("mate{number}"), url))).collect();
    for stage in &stages {
        let stage = Rc::clone(stage);
        tokio::task::spawn_local(async move { stage.perform("slow").await });
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (cpu, wall) = (processor(), Instant::now());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let share = (processor() - cpu).as_secs_f64() / wall.elapsed().as_secs_f64() * 100.0;
    show(&format!("{WAITING} teammates of one process wait on slow streams: of a core"), share, "% ", 5.0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()).unwrap_or(0.0);
    show(&format!("{WAITING} teammates of one process wait on slow streams: resident"), rss / 1024.0, "MB", 60.0);
}

/// A conversation of a megabyte.
fn compacting() {
    let temp = tempfile::tempdir().unwrap();
    let dir = board::disk::Dir::open(temp.path()).unwrap();
    let mut times: Vec<f64> = (0..21)
        .map(|number| {
            let identity = Identity { name: "alice".into(), role: "coder".into(), team: "team".into(), memory: "memory.md".into() };
            let mut conversation = Conversation::begin(identity, "Mend it.", None);
            for call in 0..100 {
                let call = ToolCall { id: format!("c{call}"), name: "read_file".into(), input: json!({ "path": "a" }), malformed: None };
                conversation.answered(vec![Block::ToolCall(call.clone())], 1).unwrap();
                conversation.result(&call.id, "x".repeat(10_500), false).unwrap();
            }
            let began = Instant::now();
            let messages = conversation.summary_request(0).unwrap();
            let body: usize = messages.iter().map(|message| serde_json::to_string(message).unwrap().len()).sum();
            transcript::save(&dir, &format!("t{number}"), conversation.messages()).unwrap();
            conversation.compact("short");
            assert!(body > 1 << 20);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    show("a conversation of 1 MB compacted and saved (median of 21)", times[times.len() / 2], "ms", 50.0);
}

/// What this process has used of processors.
fn processor() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

struct Stage {
    _temp: tempfile::TempDir,
    workplace: Workplace,
    thinker: Thinker,
}

impl Stage {
    fn new(name: &str, url: &str) -> Stage {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&project).unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("home").into()), ..Surroundings::default() };
        let workplace = Workplace::open(Board::init(&project, Durability::Relaxed, &surroundings).unwrap()).unwrap();
        let front = format!("---\nrunner: anthropic\nmodel: m\nbaseUrl: {url}\nmaxCalls: 1000000\n---\n");
        let profile = parse(&front, Path::new(&format!("{name}.md")), Origin::Crew).unwrap();
        let seat = Arc::new(workplace.enter(&profile.name, "anthropic").unwrap());
        let run = Arc::new(Run::of(workplace.place()).unwrap());
        let inbox = Arc::new(Inbox::open(Arc::new(workplace.place().inboxes().unwrap()), &profile.name).unwrap());
        let (config, variable) = (teammates::config::Config::default(), |_: &str| None);
        let http = Http::new(Timeouts::default(), Proxies::None).unwrap();
        let ways = models::of_profile(&profile, &Sources { config: &config, project: &project, home: None, variable: &variable, http }).unwrap();
        let thinking = Thinking {
            ways,
            program: "crew".into(),
            crews: Rc::new(Echo),
            gatekeeper: Rc::new(Echo),
            hidden: Vec::new(),
            servers: None,
            prices: Prices::default(),
            compact_at: 75,
            most_usd: None,
            patience: Patience::default(),
        };
        let thinker = Thinker::new(workplace.clone(), seat, profile, run, inbox, thinking);
        Stage { _temp: temp, workplace, thinker }
    }

    async fn perform(&self, turn: &str) -> Outcome {
        let place = self.workplace.place();
        let turn = Turn {
            at: At { name: self.thinker.name().clone(), turn: turn.into(), task: None, of_thread: true },
            request: "Mend it.".into(),
            index: None,
            workspace: place.project(),
            logs: Arc::new(place.turn_logs().unwrap()),
        };
        self.thinker.perform(&turn, std::future::pending()).await
    }
}

/// A run in which everything is as it was said.
struct Echo;

impl Crews for Echo {
    fn of_turn(&self, _: &At) -> Rc<dyn Crew> {
        Rc::new(Echo)
    }
}

impl Gatekeeper for Echo {
    fn may_run(&self, _: &str) -> Verdict {
        Verdict::Run
    }
}

fn echo(text: String) -> Doing<'static> {
    Box::pin(async { Ok(text) })
}

impl Crew for Echo {
    fn post(&self, post: Post) -> Doing<'_> {
        echo(post.text)
    }
    fn tell_user(&self, notice: TellUser) -> Doing<'_> {
        echo(notice.text)
    }
    fn task_create(&self, task: TaskCreate) -> Doing<'_> {
        echo(task.subject)
    }
    fn task_update(&self, change: TaskUpdate) -> Doing<'_> {
        echo(change.id.into())
    }
    fn claim_task(&self, _: ClaimTask) -> Doing<'_> {
        echo(String::new())
    }
    fn ask(&self, question: Ask) -> Doing<'_> {
        echo(question.text)
    }
    fn notify(&self, news: Notify) -> Doing<'_> {
        echo(news.text)
    }
}

/// The model: what it answers says the path.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    for stream in listener.incoming() {
        std::thread::spawn(move || answer_all(stream.unwrap()));
    }
}

fn answer_all(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut length, mut first, mut line) = (0, String::new(), String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let calls = u64::from(first.contains("/calls")) * CALLS as u64;
        if answer(&stream, calls, first.contains("/slow")).is_err() {
            return;
        }
    }
}

fn answer(mut stream: &TcpStream, calls: u64, slow: bool) -> std::io::Result<()> {
    let mut events = vec![json!({ "type": "message_start", "message": { "id": "m", "model": "m", "usage": { "input_tokens": 9, "output_tokens": 1 } } })];
    for index in 0..=calls {
        let (name, input) = match index == calls {
            true => ("post", json!({ "kind": "say", "text": "done" })),
            false => ("notify", json!({ "to": "bob", "text": "hello" })),
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": { "type": "tool_use", "id": format!("t{index}"), "name": name, "input": {} } }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": input.to_string() } }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let send = |mut stream: &TcpStream, event: &Value| {
        let text = format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        write!(stream, "{:x}\r\n{text}\r\n", text.len())
    };
    if slow {
        loop {
            send(stream, &json!({ "type": "ping" }))?;
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    for event in &events {
        send(stream, event)?;
    }
    write!(stream, "0\r\n\r\n")
}
