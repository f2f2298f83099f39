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

/// A task that shows its messages and ends with this exit code.
fn listens(code: i32) -> serde_json::Value {
    json!({ "run": format!("cat \"$CREW_MESSAGES\" > heard-$CREW_TASK_ID; exit {code}") })
}

fn heard(scene: &Scene, id: &str) -> serde_json::Value {
    serde_json::from_str(&scene.file(&format!("heard-{id}"))).unwrap_or_default()
}

#[test]
fn one_that_only_executes_tasks_reads_them_with_the_next() {
    for (code, status) in [(0, "completed"), (3, "failed"), (75, "in_progress")] {
        let scene = with("alice", STAYS);
        scene.run(&["send-message", "alice", "mind the gap"]).succeeded();
        scene.task("1", listens(code));
        until("the attempt has ended", || scene.outcomes("1").len() == 1 && scene.member("alice")["status"] == "idle");
        assert_eq!(scene.status("1"), status);
        assert_eq!((heard(&scene, "1")[0]["text"].clone(), heard(&scene, "1")[0]["again"].clone()), (json!("mind the gap"), json!(false)));
        assert_eq!(inbox(&scene, "alice"), "", "consumed, exit code {code}");
        scene.task("2", json!({ "run": "test -z \"$CREW_MESSAGES\"" }));
        until("the second has ended", || scene.status("2") == "completed");
    }
}

#[test]
fn an_attempt_that_was_cut_short_or_taken_away_consumes_nothing() {
    let stays = json!({ "run": "cp \"$CREW_MESSAGES\" heard-1; touch began; sleep 1000" });
    for how in ["shutdown", "cancel", "kill"] {
        let scene = with("alice", STAYS);
        scene.run(&["send-message", "alice", "mind the gap"]).succeeded();
        scene.task("1", stays.clone());
        until("it is at work", || scene.has("began"));
        match how {
            "shutdown" => drop(scene.run(&["shutdown", "alice", "--grace", "0s"]).succeeded()),
            "kill" => crate::scene::signal(scene.pid_of("alice"), rustix::process::Signal::KILL),
            _ => {
                scene.run(&["cancel", "1"]).succeeded();
                until("it is idle", || scene.member("alice")["status"] == "idle");
                let log = scene.run(&["logs", "alice"]).succeeded().out;
                assert!(log.contains("task 1: released (it was taken away: the task was cancelled)"), "{log}");
            }
        }
        assert!(inbox(&scene, "alice").contains("mind the gap"), "{how}");
        scene.task("1", listens(0));
        if how != "cancel" {
            until("it has ended", || !scene.member("alice")["pid"].is_i64());
            scene.run(&["spawn", "alice", "--yes"]).succeeded();
        }
        until("it was heard again", || heard(&scene, "1")[0]["again"] == true);
        until("it was consumed", || inbox(&scene, "alice").is_empty());
    }
}

#[test]
fn a_command_that_cannot_start_leaves_them() {
    let scene = Scene::new();
    scene.put(&super::profile("alice"), "---\npoll: 50ms\nidleTimeout: 300ms\ncommand: [./listen.sh]\n---\n");
    scene.run(&["send-message", "alice", "hello"]).succeeded();
    let ran = scene.run(&["spawn", "alice", "--foreground", "--yes"]).succeeded();
    assert_eq!(ran.err.matches("the command over messages cannot start").count(), 1, "{ran:#?}");
    assert!(ran.err.contains("alice has shut down"), "it does not stay for that: {ran:#?}");
    assert!(inbox(&scene, "alice").contains("hello"));

    scene.put("listen.sh", "#!/bin/sh\ncat > heard\n");
    std::fs::set_permissions(scene.project().join("listen.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scene.run(&["spawn", "alice", "--foreground", "--yes"]).succeeded();
    assert!(scene.file("heard").contains("hello"));
    assert_eq!(inbox(&scene, "alice"), "");
}
