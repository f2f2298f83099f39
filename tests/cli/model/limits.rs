//! Limits: the run sleeps, says so, and goes on alone.

use serde_json::{Value, json};

use super::server::{ACCOUNT, Model, Step, post};
use crate::run::stage::Stage;
use crate::scene::until;

fn limited(after: &'static str) -> Step {
    Step::Refuses(429, after, "rate_limit_error")
}

/// Lets the time of the limit come.
fn over(stage: &Stage) {
    let mut limits = stage.document("limits.json");
    for limit in limits["limits"].as_object_mut().unwrap().values_mut() {
        limit["until"] = json!("2026-01-01T00:00:00Z");
    }
    stage.put("limits.json", limits.to_string().as_bytes());
}

#[test]
fn both_are_limited_and_go_on_alone() {
    let model = Model::new();
    let stage = model.stage(&["alice", "bob"], "", ACCOUNT);
    model.plays("alice", [limited("retry-after: 7200")]);
    stage.start();
    until("the run sleeps", || stage.word() == "rate_limited");
    // Bob was not even asked: it is the same account.
    assert_eq!((model.asked_of("alice").len(), model.asked_of("bob").len()), (1, 0));
    let status: Value = serde_json::from_str(&stage.crew(&["status", "--json"]).out).unwrap();
    assert!(status["run"]["reason"]["text"].as_str().unwrap().contains("rate limit is reached until"), "{status}");
    assert!(status["run"]["reason"]["until"].is_string());
    let text = stage.crew(&["status"]).out;
    assert!(text.contains("next look in 1h"), "{text}");
    assert_eq!(stage.events("turn.limited").len(), 1);
    assert!(stage.events("turn.silent").is_empty(), "a limit is no silence");
    model.calls("alice", [("post", json!({ "kind": "say", "text": "back again", "handoff": "user" }))]);
    over(&stage);
    stage.ends_as("awaiting_user");
    assert_eq!(stage.thread().last().unwrap()["text"], "back again");
    assert!(stage.document("limits.json")["limits"].as_object().unwrap().is_empty(), "one call was enough to know");
}

#[test]
fn killed_meanwhile_it_probes_again() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    model.plays("alice", [limited("retry-after: 7200"), limited("retry-after: 3600")]);
    stage.start();
    until("the run sleeps", || stage.word() == "rate_limited");
    // First the supervisor, so that it begins no other daemon.
    stage.kill(&[stage.supervisor(), stage.daemon()]);
    stage.kill(&stage.teammates());
    until("nothing of it is left", || stage.scene.processes().is_empty());
    // With no command it begins what was limited again, which then sleeps.
    stage.crew(&[]).succeeded();
    until("it was asked again", || model.asked_of("alice").len() == 2);
    until("and sleeps", || stage.word() == "rate_limited");
    model.calls("alice", [("post", json!({ "kind": "say", "text": "here", "handoff": "user" }))]);
    over(&stage);
    stage.ends_as("awaiting_user");
}

#[test]
fn a_key_that_is_not_taken_pauses_the_run() {
    let model = Model::new();
    let stage = model.stage(&["alice", "bob"], "", ACCOUNT);
    model.plays("alice", [Step::Refuses(401, "", "authentication_error")]);
    stage.start();
    stage.ends_as("paused");
    assert_eq!(stage.reason(), "provider");
    let reason = stage.document("state.json")["reason"]["text"].as_str().unwrap().to_owned();
    assert!(reason.contains("does not accept the key (HTTP 401)") && reason.contains("`crew start`") && !reason.contains("sk-ant"), "{reason}");
    model.calls("alice", [("post", json!({ "kind": "say", "text": "here", "handoff": "user" }))]);
    stage.start();
    stage.ends_as("awaiting_user");
}

#[test]
fn a_task_is_given_back_and_no_attempt_is_spent() {
    let model = Model::new();
    let stage = model.stage(&[], "", ACCOUNT);
    stage.scene.put(".crew/teammates/alice.md", &model.profile("idleTimeout: 1s\n").replacen("idleTimeout: 20s\n", "", 1));
    stage.scene.task("1", json!({ "subject": "Say hello", "retries": 0 }));
    model.plays("alice", [limited("retry-after: 7200")]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it is given back", || stage.scene.outcomes("1") == ["released"]);
    assert_eq!(stage.scene.status("1"), "pending");
    // It stays as long as there is something to come back to, whatever its idle time is.
    let since = std::time::Instant::now();
    until("more than its idle time", || since.elapsed().as_secs_f64() > 1.5);
    assert_eq!(stage.scene.member("alice")["status"], "idle");
    let doing = stage.scene.member("alice")["doing"].as_str().unwrap().to_owned();
    assert!(doing.starts_with("waits until ") && doing.contains("work/large"), "{doing}");
    model.calls("alice", [("bash", json!({ "command": "echo hello > hello" })), post("work_done", "said")]);
    over(&stage);
    until("it is done", || stage.scene.status("1") == "completed");
}

#[test]
fn a_turn_that_has_spent_the_budget_ends_there() {
    let model = Model::new();
    let config = format!("maxSpendUsd = 0.002\n{ACCOUNT}[prices.large]\ninput = 10.0\noutput = 10.0\n");
    let stage = model.stage(&["alice"], "", &config);
    for _ in 0..20 {
        model.calls("alice", [("read_file", json!({ "path": "file" }))]);
    }
    stage.start();
    stage.ends_as("paused");
    assert_eq!(stage.reason(), "spend_budget");
    assert_eq!(model.asked_of("alice").len(), 2, "each takes a little more than half");
}

#[test]
fn a_run_that_has_spent_its_budget_pauses() {
    let model = Model::new();
    let config = format!("maxSpendUsd = 0.001\n{ACCOUNT}[prices.large]\ninput = 10.0\noutput = 10.0\n");
    let stage = model.stage(&["alice", "bob"], "", &config);
    model.calls("alice", [post("say", "cheap talk")]);
    stage.start();
    stage.ends_as("paused");
    assert_eq!(stage.reason(), "spend_budget");
    assert!(stage.document("state.json")["spentUsd"].as_f64().unwrap() > 0.001);
    assert_eq!(model.asked_of("bob").len(), 0);
    // It is kept: a new start does not give it anew.
    stage.start();
    stage.ends_as("paused");
    assert_eq!((stage.reason(), model.asked().len()), ("spend_budget".to_owned(), 1));
}
