use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use board::disk::Dir;
use serde_json::json;

use super::names::Named;
use super::*;
use crate::conversation::{Conversation, Identity, Thinking, ToolCall};
use crate::fixture::run;
use crate::provider::recorder::{Recorder, Recording};
use crate::provider::script::Script;
use crate::provider::{Cancel, Delta, Kind, Outcome, Provider, ProviderError, Request, Tool, Turn, cancel};

mod told;
mod which;

/// A model that says what it is to say.
struct Model(RefCell<VecDeque<Result<Response, ProviderError>>>);

impl Provider for Model {
    fn api(&self) -> &'static str {
        "anthropic"
    }

    fn turn<'a>(&'a self, _: &'a Request<'a>, _: &'a mut dyn FnMut(Delta<'_>), _: &'a Cancel) -> Turn<'a> {
        Box::pin(async { self.0.borrow_mut().pop_front().unwrap() })
    }
}

/// A machine: where the project is, and what its runs make up.
struct Machine {
    temp: tempfile::TempDir,
    project: String,
    turn: &'static str,
    object: &'static str,
    pid: u32,
}

impl Machine {
    fn one() -> Machine {
        Machine { temp: tempfile::tempdir().unwrap(), project: "/home/ann/demo".into(), turn: "0123456789ab-1", object: "1a2b3c4d", pid: 77 }
    }

    fn other() -> Machine {
        Machine { temp: tempfile::tempdir().unwrap(), project: "/srv/code/very/deep/crew".into(), turn: "zyxwvtsrqpnm-32", object: "99ff001", pid: 123_456 }
    }

    fn names(&self) -> Names {
        Names::of(&[(Named::Project, Path::new(&self.project)), (Named::State, Path::new(&format!("{}/.state", self.project)))])
    }

    /// A text as it is on this machine.
    fn say(&self, text: &str) -> String {
        let team = self.project.rsplit('/').next().unwrap();
        let pairs = [("P!", self.project.as_str()), ("T!", self.turn), ("O!", self.object), ("TEAM!", team)];
        pairs.iter().fold(text.replace("N!", &self.pid.to_string()), |text, (from, to)| text.replace(from, to))
    }

    fn begin(&self, request: &str) -> Conversation {
        let identity = Identity { name: "alice".into(), role: "coder".into(), team: "demo".into(), memory: format!("{}/.crew/memory.md", self.project).into() };
        Conversation::begin(identity, self.say(request), None)
    }

    /// What a model says here: words, or a call of `bash` where they begin with `$`.
    fn answer(&self, text: &str) -> Response {
        let text = self.say(text);
        let block = match text.strip_prefix('$') {
            Some(command) => Block::ToolCall(ToolCall { id: "c1".into(), name: "bash".into(), input: json!({ "command": command }), malformed: None }),
            None => Block::text(text),
        };
        let raw = json!({ "type": "thinking", "thinking": self.say("it is in P!"), "signature": "c2ln" });
        let usage = Usage { input: 10, output: 2, cache_read: 3, cache_write: 0 };
        let blocks = vec![Block::Thinking(Thinking { api: "anthropic".into(), raw }), block];
        Response { blocks, stop: Stop::Done, usage, id: Some("msg_1".into()), model: Some("large".into()), limits: Vec::new() }
    }

    fn recorder(&self, answers: &[&str]) -> Recorder {
        let answers = answers.iter().map(|text| Ok(self.answer(text))).collect();
        self.recorder_of(answers)
    }

    fn recorder_of(&self, answers: VecDeque<Result<Response, ProviderError>>) -> Recorder {
        let head = Head { format: 0, api: "anthropic".into(), model: "large".into(), context: Some(1000) };
        let recording = Recording::open(&Dir::open(self.temp.path()).unwrap(), "demo.jsonl", &head).unwrap();
        Recorder::new(Box::new(Model(RefCell::new(answers))), Arc::new(recording), self.names())
    }

    fn recorded(&self) -> String {
        std::fs::read_to_string(self.temp.path().join("demo.jsonl")).unwrap()
    }

    /// A player here of what was recorded on another machine.
    fn player(&self, recorded: &str) -> Script {
        let file = self.temp.path().join("demo.jsonl");
        std::fs::write(&file, recorded).unwrap();
        Script::open(&file, self.names()).unwrap()
    }
}

fn tools(names: &[&str]) -> Vec<Tool> {
    names.iter().map(|name| Tool { name: (*name).into(), description: String::new(), schema: json!({ "type": "object" }) }).collect()
}

/// A call, with the answer in the conversation.
fn call(machine: &Machine, provider: &dyn Provider, conversation: &mut Conversation) -> Result<Response, ProviderError> {
    call_with(machine, provider, conversation, &tools(&["bash", "post"])).map(|(response, _)| response)
}

type Told = Vec<String>;

fn call_with(machine: &Machine, provider: &dyn Provider, conversation: &mut Conversation, tools: &[Tool]) -> Result<(Response, Told), ProviderError> {
    call_in(machine, "You work in P!.", provider, conversation, tools)
}

fn call_in(
    machine: &Machine,
    system: &str,
    provider: &dyn Provider,
    conversation: &mut Conversation,
    tools: &[Tool],
) -> Result<(Response, Told), ProviderError> {
    let system = machine.say(system);
    let messages = conversation.ready().unwrap().to_vec();
    let request = Request { model: "large", system: &system, messages: &messages, tools, effort: None, max_output: 100 };
    let (_keep, cancel) = cancel();
    let mut told = Vec::new();
    let response = run(provider.turn(&request, &mut |delta| told.push(format!("{delta:?}")), &cancel))?;
    conversation.answered(response.blocks.clone(), response.usage.context()).unwrap();
    Ok((response, told))
}

fn results(machine: &Machine, conversation: &mut Conversation, text: &str) {
    let ids: Vec<String> = conversation.open_calls().map(|call| call.id.clone()).collect();
    ids.iter().for_each(|id| conversation.result(id, machine.say(text), false).unwrap());
}

const OPENING: &str = "You are 'alice', role: coder, team: TEAM!. This is your turn T!.\nMemory: P!/.crew/memory.md. Mend it.";
const ANSWERS: [&str; 4] =
    ["$cat P!/a.txt && crew post --turn T!", "$git show O! -- P!/a.txt; kill -- -N!", "$echo N! {project} {turn:2}", "Done with O! in P!.\n{literal:x}"];
const RESULTS: [&str; 3] =
    ["exit code 0\n[main O!] mended P!/a.txt in 0.03s\nbackground 1 (process group N!)", "exit code 0\n2026-01-02T03:04:05Z O! P!/.state/logs", "N!"];

/// Goes through one conversation; what the model answered.
fn go_through(machine: &Machine, provider: &dyn Provider, results_of: &[&str]) -> Result<Vec<Response>, ProviderError> {
    let mut conversation = machine.begin(OPENING);
    let mut answers = vec![call(machine, provider, &mut conversation)?];
    for text in results_of {
        results(machine, &mut conversation, text);
        answers.push(call(machine, provider, &mut conversation)?);
    }
    Ok(answers)
}

#[test]
fn what_was_recorded_here_is_played_elsewhere() {
    let (here, there) = (Machine::one(), Machine::other());
    // What means nothing is the same on every machine.
    let fixed: Vec<&str> = ANSWERS.iter().copied().map(|answer| if answer.starts_with("$echo") { "$echo 77 {project} {turn:2}" } else { answer }).collect();
    go_through(&here, &here.recorder(&fixed), &RESULTS[..2].iter().copied().chain(["77"]).collect::<Vec<_>>()).unwrap();
    let recorded = here.recorded();
    assert!(!recorded.contains("/home/ann") && !recorded.contains(here.turn) && !recorded.contains(here.object), "{recorded}");
    let mode = std::fs::metadata(here.temp.path().join("demo.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let head = recorded.lines().next().unwrap();
    assert_eq!(head, r#"{"format":1,"api":"anthropic","model":"large","context":1000}"#);

    let player = there.player(&recorded);
    let played = go_through(&there, &player, &RESULTS[..2].iter().copied().chain(["77"]).collect::<Vec<_>>()).unwrap();
    let expected: Vec<Response> = fixed.iter().map(|text| there.answer(text)).collect();
    assert_eq!(played, expected);
    assert_eq!((player.api(), player.head().model.as_str()), ("anthropic", "large"));
}

#[test]
fn what_is_played_is_told_as_it_would_come() {
    let here = Machine::one();
    go_through(&here, &here.recorder(&["one\ntwo"]), &[]).unwrap();
    let player = here.player(&here.recorded());
    let (_, told) = call_with(&here, &player, &mut here.begin(OPENING), &tools(&["post", "bash"])).unwrap();
    assert_eq!(told, [r#"Thinking("it is in /home/ann/demo")"#, r#"Text("one\n")"#, r#"Text("two")"#]);
    let messages = here.begin(OPENING).messages().to_vec();
    let request = Request { model: "large", system: "", messages: &messages, tools: &[], effort: None, max_output: 100 };
    let (canceller, cancel) = cancel();
    canceller.cancel();
    assert_eq!(run(player.turn(&request, &mut |_| {}, &cancel)).unwrap_err().kind, Kind::Cancelled);
}

#[test]
fn what_does_not_match_says_where_and_what_to_do() {
    let (here, there) = (Machine::one(), Machine::other());
    go_through(&here, &here.recorder(&ANSWERS[..2]), &RESULTS[..1]).unwrap();
    let error = |results_of: &[&str]| {
        let error = go_through(&there, &there.player(&here.recorded()), results_of).unwrap_err();
        assert_eq!((&error.kind, error.outcome()), (&Kind::OffScript, Outcome::Fail));
        error.to_string()
    };
    let message = error(&["exit code 1\n[main O!] mended"]);
    let expected = r#"it is not what was asked in line 3: the result of bash (part 1) differs from its line 1 on: recorded "0\n[main {object}] mended"#;
    assert!(message.starts_with("the recording has no answer: call 2 of ") && message.contains(expected), "{message}");
    assert!(message.contains("now \"1\\n[main {object}] mended\". If it is to be so, record it again: crew spawn --record "), "{message}");
    let message = error(&[RESULTS[0], RESULTS[1]]);
    assert!(message.contains("call 3 of ") && message.contains("the recorded conversation ends with line 3. "), "{message}");

    let player = there.player(&here.recorded());
    let message = call_with(&there, &player, &mut there.begin(OPENING), &tools(&["bash"])).unwrap_err().to_string();
    assert!(message.contains("line 2: it is offered other tools than were recorded"), "{message}");
    let message = call(&there, &player, &mut there.begin(&OPENING.replace("Mend", "Break"))).unwrap_err().to_string();
    assert!(message.contains("line 2: the text (part 1) differs from its line 2 on: recorded \"Mend it.\", now \"Break it.\"."), "{message}");
    let message = call_in(&there, "You work elsewhere.", &player, &mut there.begin(OPENING), &tools(&["bash", "post"])).unwrap_err().to_string();
    assert!(message.contains("line 2: its standing instructions are others"), "{message}");
    let message = call(&there, &player, &mut there.begin("Something else.")).unwrap_err().to_string();
    assert!(message.contains("recorded \"You are 'alice'") && message.contains("now \"Something else.\""), "{message}");
    call(&there, &player, &mut there.begin(OPENING)).unwrap();
    let message = call(&there, &player, &mut there.begin("Something else.")).unwrap_err().to_string();
    assert!(message.contains("everything that was recorded has been played"), "{message}");
}

#[test]
fn words_beside_a_result_do_not_make_up_for_it() {
    let here = Machine::one();
    let goes = |provider: &dyn Provider, result: &str| {
        let mut conversation = here.begin(OPENING);
        call(&here, provider, &mut conversation)?;
        results(&here, &mut conversation, result);
        conversation.tell("From bob: look.");
        call(&here, provider, &mut conversation)
    };
    goes(&here.recorder(&["$make", "It holds."]), "exit code 0\n").unwrap();
    let recorded = here.recorded();
    assert!(goes(&here.player(&recorded), "exit code 0\n").is_ok());
    let message = goes(&here.player(&recorded), "exit code 2\n").unwrap_err().to_string();
    assert!(message.contains("line 3: the result of bash (part 1) differs from its line 1 on: recorded \"0\\n\", now \"2\\n\""), "{message}");
}

#[test]
fn an_error_is_not_recorded_and_a_torn_line_is_none() {
    let here = Machine::one();
    let broken = || Err(ProviderError::new(Kind::Truncated, ""));
    let recorder = here.recorder_of([broken(), Ok(here.answer("$ls")), broken(), Ok(here.answer("Done."))].into());
    let mut conversation = here.begin(OPENING);
    let mut again = |recorder: &Recorder| {
        call(&here, recorder, &mut conversation).unwrap_err();
        call(&here, recorder, &mut conversation).unwrap();
        results(&here, &mut conversation, "exit code 0\n");
    };
    again(&recorder);
    again(&recorder);
    assert_eq!(here.recorded().lines().count(), 3);
    let file = here.temp.path().join("demo.jsonl");
    std::fs::write(&file, here.recorded() + "{\"conversation\":2,\"as").unwrap();
    assert_eq!(go_through(&here, &Script::open(&file, here.names()).unwrap(), &["exit code 0\n"]).unwrap().len(), 2);
    call(&here, &here.recorder(&["Hm."]), &mut here.begin("More")).unwrap();
    let recorded = here.recorded();
    assert_eq!(recorded.lines().count(), 4);
    assert!(recorded.lines().last().unwrap().starts_with("{\"conversation\":2,\"asked\":{\"parts\":[{\"text\":\"<identity>"), "{recorded}");
}

#[test]
fn a_file_that_cannot_be_played_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("demo.jsonl");
    let refused = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Script::open(&file, Names::default()).unwrap_err().to_string()
    };
    let head = "{\"format\":1,\"api\":\"a\",\"model\":\"m\"}\n";
    for (text, expected) in [
        ("".to_owned(), "demo.jsonl:1: no line of a recording: there is none; record it again"),
        ("{\"format\":2,\"api\":\"a\",\"model\":\"m\"}\n".to_owned(), "demo.jsonl has format 2, and this crewboard knows 1: update"),
        (format!("{head}\n{{\"conversation\":1}}\n"), "demo.jsonl:3: no line of a recording: missing field `asked`"),
    ] {
        let message = refused(&text);
        assert!(message.contains(expected), "{message}");
    }
    std::fs::remove_file(&file).unwrap();
    let message = Script::open(&file, Names::default()).unwrap_err().to_string();
    assert!(message.starts_with("the recording ") && message.contains("demo.jsonl: No such file"), "{message}");
}
