//! A team that thinks, and its thread.

use rustix::process::Signal;
use serde_json::json;

use super::server::{ACCOUNT, Model, Step, post};
use crate::scene::{signal, until};

#[test]
fn from_the_goal_to_its_completion() {
    let model = Model::new();
    let stage = model.stage(&["alice", "bob"], "", ACCOUNT);
    stage.scene.put(".crew/goal.md", "---\nchecks: [\"grep -q hello hello\"]\n---\nSay hello.\n");
    model.calls("alice", [("bash", json!({ "command": "echo hallo > hello" })), post("work_done", "it says hallo")]);
    model.calls("bob", [("read_thread", json!({})), ("read_file", json!({ "path": "hello" })), ("remember", json!({ "text": "hello, with an e" }))]);
    model.calls("bob", [("send_message", json!({ "to": "alice", "text": "with an e, please" }))]);
    // A message comes before its turn, in one of its own.
    model.calls("alice", [post("say", "here"), ("idle", json!({}))]);
    model.calls("alice", [("read_file", json!({ "path": "hello" })), ("edit_file", json!({ "path": "hello", "old": "hallo", "new": "hello" }))]);
    model.calls("alice", [post("done", "it says hello")]);
    stage.start();
    until("alice has read her message", || model.asked_of("alice").len() == 2 && stage.scene.member("alice")["status"] == "idle");
    model.calls("bob", [("post", json!({ "kind": "handoff", "text": "", "handoff": "alice" }))]);
    stage.ends_as("completed");
    let kinds: Vec<String> = stage.thread().iter().map(|post| format!("{} {}", post["from"].as_str().unwrap(), post["kind"].as_str().unwrap_or("-"))).collect();
    assert_eq!(kinds, ["alice work_done", "bob handoff", "alice done", "audit say"], "{:#?}", stage.thread());
    let bob = model.asked_of("bob");
    assert!(bob[0].told().contains("New in the thread:") && bob[0].told().contains("#1 alice work_done: it says hallo"), "{}", bob[0].told());
    assert!(bob[0].told().contains("read_thread {"), "what shows more is a tool: {}", bob[0].told());
    let alice = model.asked_of("alice");
    assert!(alice[1].told().contains("From bob:") && alice[1].told().contains("with an e, please"));
    assert!(alice[2].told().contains("this turn is over messages, and posts nothing"), "{}", alice[2].told());
    assert!(stage.scene.file(".crew/memory.md").contains("hello, with an e"));
}

#[test]
fn a_turn_that_is_killed_leaves_nothing_in_the_thread_and_sees_the_same_again() {
    let model = Model::new();
    let stage = model.stage(&["alice", "bob"], "", ACCOUNT);
    model.calls("alice", [post("say", "begin with the file")]);
    model.calls("bob", [("bash", json!({ "command": "echo half > hello" }))]);
    model.plays("bob", [Step::Hangs]);
    stage.start();
    until("bob waits for its model", || model.asked_of("bob").len() == 2);
    let pid = stage.scene.pid_of("bob");
    signal(pid, Signal::KILL);
    model.calls("bob", [("post", json!({ "kind": "say", "text": "I see", "handoff": "user" }))]);
    stage.ends_as("awaiting_user");
    let asked = model.asked_of("bob");
    let index = |told: String| told.split("New in the thread:").nth(1).map(|rest| rest.chars().take(60).collect::<String>());
    assert_eq!(index(asked[0].told()), index(asked[2].told()), "the same posts are new again");
    assert!(asked[2].told().contains("Your last turn was cut short"), "{}", asked[2].told());
    assert_eq!(stage.thread().len(), 2);
    assert_eq!(stage.events("turn.lost").len(), 1);
}

#[test]
fn a_gate_holds_a_command_back_until_it_is_approved_and_lets_it_run_once() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    let push = || ("bash", json!({ "command": "git push nowhere main" }));
    model.calls("alice", [push()]);
    model.calls("alice", [post("gate", "May I run `git push nowhere main`? It is ready.")]);
    stage.start();
    stage.ends_as("gated");
    assert!(model.asked_of("alice")[1].told().contains("This was not run"), "{}", model.asked_of("alice")[1].told());
    model.calls("alice", [push(), push()]);
    model.calls("alice", [("post", json!({ "kind": "say", "text": "pushed", "handoff": "user" }))]);
    stage.crew(&["approve"]).succeeded();
    stage.ends_as("awaiting_user");
    let told = model.asked_of("alice")[3].told_last();
    assert!(told.contains("does not appear to be a git repository") || told.contains("exit code 128"), "it ran: {told}");
    assert_eq!(told.matches("This was not run").count(), 1, "the second time: {told}");
}

#[test]
fn a_silent_model_pauses_the_run_and_is_named() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    for _ in 0..3 {
        model.calls("alice", []);
    }
    stage.start();
    stage.ends_as("paused");
    assert_eq!((stage.reason(), stage.document("state.json")["reason"]["who"].as_str()), ("silent_turns".to_owned(), Some("alice")));
}
