//! Within a turn: it ends with its post, and nothing is done under its name any more.

use serde_json::{Value, json};

use super::client::Client;
use super::{READERS, in_turn, scene, thread, thread_turn};
use crate::scene::{Scene, until};

/// A call of each tool that acts, which would be accepted.
fn acting() -> Vec<(&'static str, Value)> {
    vec![
        ("post", json!({ "kind": "say", "text": "more" })),
        ("idle", json!({})),
        ("remember", json!({ "text": "x" })),
        ("revise", json!({ "number": 1, "was": "the", "text": "x" })),
        ("forget", json!({ "number": 1, "was": "the" })),
        ("send_message", json!({ "to": "bob", "text": "x" })),
        ("tell_user", json!({ "text": "x" })),
        ("claim_task", json!({ "id": "1" })),
        ("ask", json!({ "to": "bob", "text": "x" })),
        ("notify", json!({ "to": "bob", "text": "x" })),
        ("task_create", json!({ "subject": "x" })),
        ("task_update", json!({ "id": "1", "subject": "x" })),
    ]
}

/// Every tool that acts is refused, changes nothing, and says so; what only reads works.
#[track_caller]
fn only_reads(scene: &Scene, client: &mut Client, because: &str) {
    let state = || (scene.everything(), thread(scene));
    let before = state();
    for (name, arguments) in acting() {
        let said = client.call(name, arguments).expect_err(name);
        assert!(said.contains(because) && said.contains("stop now"), "{name}: {said}");
    }
    assert!(state() == before, "something has changed");
    for (name, arguments) in READERS.iter().zip([json!({}), json!({}), json!({ "id": "1" })]) {
        client.done(name, arguments);
    }
    client.read("crew://thread").unwrap();
}

#[track_caller]
fn claimed(scene: &Scene, id: &str, name: &str) -> String {
    let claimed = scene.run(&["claim", id, "--as", name, "--json"]).succeeded().out;
    serde_json::from_str::<Value>(&claimed).unwrap()["turn"].as_str().unwrap().to_owned()
}

/// With an entry in the memory, and a task.
fn ready() -> Scene {
    let scene = scene();
    scene.task("1", json!({}));
    scene.run(&["memory", "remember", "the port is 80"]).succeeded();
    scene
}

#[test]
fn a_turn_of_the_thread_ends_with_its_post() {
    let scene = ready();
    let turn = thread_turn(&scene, "alice");
    let mut client = in_turn(&scene, "alice", &turn, None);
    let mut beside = in_turn(&scene, "alice", &turn, None);
    client.done("remember", json!({ "text": "the port is 80" }));
    beside.done("send_message", json!({ "to": "bob", "text": "hello" }));
    client.refused("post", json!({ "kind": "handoff", "handoff": "user" }), "kind say and handoff user");
    assert!(client.done("post", json!({ "kind": "say", "text": "hello", "handoff": "bob" })).contains("This is post 1."));
    only_reads(&scene, &mut client, "is over");
    // Another process of the same turn, and one that is started now.
    only_reads(&scene, &mut beside, "has ended with post 1");
    only_reads(&scene, &mut in_turn(&scene, "alice", &turn, None), "has ended with post 1");
    assert_eq!(thread(&scene), [("alice".into(), "say".into(), "hello".into())]);
    // The next one is a turn of its own; the old one is none.
    let next = thread_turn(&scene, "alice");
    only_reads(&scene, &mut client, "is over");
    only_reads(&scene, &mut beside, "is over");
    in_turn(&scene, "alice", &next, None).done("post", json!({ "kind": "say", "text": "again" }));
    assert_eq!(thread(&scene).len(), 2);
}

#[test]
fn idle_ends_it_too() {
    let scene = ready();
    let turn = thread_turn(&scene, "alice");
    let mut client = in_turn(&scene, "alice", &turn, None);
    assert!(client.done("idle", json!({})).contains("Your turn has ended."));
    only_reads(&scene, &mut client, "is over");
    assert!(thread(&scene).is_empty());
}

#[test]
fn what_is_no_turn_of_theirs_is_none() {
    let scene = ready();
    let of_bob = thread_turn(&scene, "bob");
    only_reads(&scene, &mut in_turn(&scene, "alice", &of_bob, None), "is bob's, not alice's");
    only_reads(&scene, &mut in_turn(&scene, "alice", "another", None), "the turn another is over");
    let turn = claimed(&scene, "1", "bob");
    only_reads(&scene, &mut in_turn(&scene, "alice", &turn, Some("1")), "bob");
    only_reads(&scene, &mut in_turn(&scene, "bob", "another", Some("1")), "another");
    only_reads(&scene, &mut in_turn(&scene, "bob", &turn, Some("9")), "9");
}

#[test]
fn a_turn_on_a_task_ends_with_its_post() {
    let scene = ready();
    let turn = claimed(&scene, "1", "alice");
    let mut client = in_turn(&scene, "alice", &turn, Some("1"));
    let mut beside = in_turn(&scene, "alice", &turn, Some("1"));
    client.done("task_update", json!({ "id": "1", "subject": "better" }));
    client.refused("task_update", json!({ "id": "1", "owner": "bob" }), "does not change while you work on it");
    client.done("post", json!({ "kind": "gate", "text": "`git push`?" }));
    assert_eq!(scene.outcomes("1"), ["parked"]);
    only_reads(&scene, &mut client, "is over");
    only_reads(&scene, &mut beside, "task 1");
}

#[test]
fn what_was_taken_away_is_written_to_no_more() {
    let scene = ready();
    let turn = claimed(&scene, "1", "alice");
    let mut client = in_turn(&scene, "alice", &turn, Some("1"));
    client.done("remember", json!({ "text": "x" }));
    scene.run(&["release", "1", "--force"]).succeeded();
    only_reads(&scene, &mut client, "task 1");
    // The same name holds it anew: in another turn.
    claimed(&scene, "1", "alice");
    only_reads(&scene, &mut client, &turn);
}

/// What a client says that makes these calls.
fn lines(calls: &[(&str, Value)]) -> String {
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let mut all = vec![json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })];
    all.extend(calls.iter().enumerate().map(
        |(number, (name, arguments))| json!({ "jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } }),
    ));
    all.iter().map(|line| format!("{line}\n")).collect()
}

/// What those calls were answered with, and whether that was an error.
fn answers(scene: &Scene, file: &str) -> Vec<(String, bool)> {
    let lines = scene.lines(file);
    let results = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|message| message["id"] != 0);
    results.map(|message| (message["result"]["content"][0]["text"].to_string(), message["result"]["isError"] == true)).collect()
}

#[test]
fn within_an_attempt_the_post_is_that_of_its_command() {
    let scene = scene();
    scene.task("1", json!({ "check": "test -e passes" }));
    scene.task("2", json!({}));
    let post = ("post", json!({ "kind": "work_done", "text": "did it" }));
    scene.put("lines", &lines(&[post.clone(), ("remember", json!({ "text": "x" })), post, ("task_get", json!({ "id": "1" }))]));
    let script = "\"$CREW\" mcp < lines > said";
    // Its check decides, as for what a command posts.
    scene.run(&["exec", "--as", "alice", "--yes", "1", "--", "sh", "-c", script]).ended_with(1);
    let errors: Vec<bool> = answers(&scene, "said").iter().map(|(_, is_error)| *is_error).collect();
    assert_eq!(errors, [false, true, true, false], "{:?}", answers(&scene, "said"));
    assert_eq!((scene.status("1"), thread(&scene).len()), ("failed".into(), 1));
    scene.put("passes", "");
    scene.run(&["retry", "1"]).succeeded();
    scene.run(&["exec", "--as", "alice", "--yes", "1", "--", "sh", "-c", script]).succeeded();
    assert_eq!(scene.status("1"), "completed");

    scene.put("lines", &lines(&[("claim_task", json!({ "id": "1" })), ("post", json!({ "kind": "wait", "text": "for the build" }))]));
    scene.run(&["exec", "--as", "alice", "2", "--", "sh", "-c", script]).succeeded();
    assert_eq!(scene.outcomes("2"), ["parked"]);
}

#[test]
fn over_messages_nothing_is_posted() {
    let scene = scene();
    let calls = [
        ("post", json!({ "kind": "say", "text": "x" })),
        ("tell_user", json!({ "text": "x" })),
        ("send_message", json!({ "to": "bob", "text": "heard" })),
        ("idle", json!({})),
        ("send_message", json!({ "to": "bob", "text": "and more" })),
    ];
    scene.put("lines", &lines(&calls));
    scene.put(".crew/teammates/alice.md", "---\npoll: 50ms\nidleTimeout: 1h\ncommand: '\"$CREW\" mcp < lines > said; touch over'\n---\n");
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    scene.run(&["send-message", "alice", "hello"]).succeeded();
    until("they were read", || scene.has("over"));
    let answers = answers(&scene, "said");
    assert_eq!(answers.iter().map(|(_, is_error)| *is_error).collect::<Vec<_>>(), [true, true, false, false, true], "{answers:?}");
    assert!(answers[0].0.contains("this turn is over messages") && answers[4].0.contains("is over"), "{answers:?}");
    assert!(thread(&scene).is_empty());
}
