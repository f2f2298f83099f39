//! Words for teammates.

use serde_json::json;

use super::{STAYS, with};
use crate::scene::{Scene, until};

/// Reads its messages into a file.
const LISTENS: &str = "---\npoll: 50ms\nidleTimeout: 1h\ncommand: cat >> heard; cp \"$CREW_MESSAGES\" messages.json 2> /dev/null; true\n---\n";

/// What waits for a teammate.
pub(super) fn inbox(scene: &Scene, name: &str) -> String {
    let state = std::fs::read_dir(scene.home()).unwrap().next().unwrap().unwrap().path();
    std::fs::read_to_string(state.join("inbox").join(format!("{name}.jsonl"))).unwrap_or_default()
}

#[test]
fn to_nobody_is_refused() {
    let scene = with("alice", STAYS);
    let before = scene.everything();
    for (to, code, why) in [("bob", 4, "nobody is called bob"), ("user", 2, "reserved"), ("../alice", 2, "path separator")] {
        let ran = scene.run(&["send-message", to, "hello"]).ended_with(code);
        assert!(ran.err.contains(why) && ran.out.is_empty(), "{ran:#?}");
    }
    for text in ["", " \n", &"x".repeat(70_000)] {
        scene.run(&["send-message", "alice", text]).ended_with(4);
    }
    assert_eq!(scene.everything(), before);
    assert_eq!(inbox(&scene, "alice"), "");
}

#[test]
fn are_read_on_standard_input_and_consumed() {
    let scene = with("alice", LISTENS);
    let sent = scene.run(&["send-message", "alice", "hello\nthere"]).succeeded();
    until("it was heard", || scene.lines("heard").len() == 2);
    assert_eq!(scene.lines("heard"), ["user: hello", "there"]);
    until("it was consumed", || inbox(&scene, "alice").is_empty());
    let read: serde_json::Value = serde_json::from_str(&scene.file("messages.json")).unwrap();
    assert_eq!((read[0]["id"].as_str(), read[0]["text"].as_str(), read[0]["again"].as_bool()), (Some(sent.out.trim()), Some("hello\nthere"), Some(false)));

    let sent = scene.run(&["send-message", "alice", "again", "--as", "bob", "--json"]).succeeded();
    assert!(serde_json::from_str::<serde_json::Value>(&sent.out).unwrap()["id"].is_string());
    until("it was heard", || scene.lines("heard").len() == 3);
    assert_eq!(scene.lines("heard")[2], "bob: again");
}

#[test]
fn wait_for_who_is_not_there_and_a_word_ends_nobody() {
    let scene = Scene::new();
    scene.put(&super::profile("alice"), LISTENS);
    scene.run(&["send-message", "alice", "shutdown"]).succeeded();
    scene.run(&["send-message", "alice", "{\"kind\":\"shutdown\"}"]).succeeded();
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    until("they were heard", || scene.lines("heard").len() == 2);
    assert_eq!(scene.lines("heard"), ["user: shutdown", "user: {\"kind\":\"shutdown\"}"]);
    until("it is idle", || scene.member("alice")["status"] == "idle");
}

#[test]
fn a_turn_that_was_cut_short_reads_them_again() {
    let scene = Scene::new();
    let text = "---\npoll: 50ms\nidleTimeout: 1h\ncommand: cat >> heard; until [ -e go ]; do sleep 0.01; done\n---\n";
    scene.put(&super::profile("alice"), text);
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    scene.run(&["send-message", "alice", "once"]).succeeded();
    until("it was heard", || scene.lines("heard").len() == 1);
    assert_eq!(scene.member("alice")["status"], "working");
    assert_eq!(scene.run(&["shutdown", "alice", "--grace", "0s"]).succeeded().err, "", "its harness answers");
    scene.nothing_runs();
    scene.put("go", "");
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    until("it was heard again", || scene.lines("heard").len() == 2);
    assert_eq!(scene.lines("heard"), ["user: once", "user (again: the turn that read it was cut short): once"]);
    until("it was consumed", || inbox(&scene, "alice").is_empty());
}

#[test]
fn a_teammate_with_a_command_works_on_briefs() {
    let scene = Scene::new();
    scene.task("1", json!({ "description": "think" }));
    scene.put(&super::profile("alice"), "---\npoll: 50ms\nidleTimeout: 1h\ncommand: cat > brief.json\nstdin: task\n---\n");
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    until("it was worked on", || scene.status("1") == "completed");
    let brief: serde_json::Value = serde_json::from_str(&scene.file("brief.json")).unwrap();
    assert_eq!((brief["description"].as_str(), brief["owner"].as_str()), (Some("think"), Some("alice")));
}
