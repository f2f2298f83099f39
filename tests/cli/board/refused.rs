//! What is refused names what and why, exits with its code, and leaves the directory byte for byte as it was.

use serde_json::{Value, json};

use super::{fed, snapshot};
use crate::scene::Scene;

/// A task in every state.
fn board(made: bool) -> Scene {
    let scene = if made { Scene::new() } else { Scene::bare() };
    let at = "2026-01-02T03:04:05Z";
    scene.task("1", json!({ "blockedBy": [2] }));
    scene.task("2", json!({}));
    let held = json!({ "turn": "t-1", "by": "bob", "at": at });
    scene.task("3", json!({ "status": "in_progress", "owner": "bob", "claim": held }));
    scene.task("4", json!({ "status": "completed" }));
    scene.task("5", json!({ "status": "failed" }));
    scene.task("6", json!({ "status": "cancelled" }));
    scene.task("7", json!({ "blockedBy": [6] }));
    scene.task("8", json!({ "owner": "alice" }));
    // An edge that the next writer would put right.
    scene.task("9", json!({ "blockedBy": [4] }));
    scene.put(".tasks/task_10.json", "[]");
    scene
}

/// Command, exit code, the rule's name, and words that must be there.
const REFUSED: [(&[&str], i32, &str, &str); 62] = [
    (&["add", "x", "--blocked-by", "404"], 4, "unknown-id", "there is no task 404"),
    (&["add", "x", "--blocked-by", "2,404"], 4, "unknown-id", "there is no task 404"),
    (&["add", "x", "--id", "2"], 4, "id-taken", "task 2"),
    (&["add", "x", "--id", "10"], 4, "id-taken", "task 10"),
    (&["add", "x", "--id", "new", "--blocked-by", "new"], 4, "self-edge", "wait for itself"),
    (&["add", "x", "--id", "../y"], 2, "usage", "path separator"),
    (&["add", "x", "--owner", "../y"], 2, "usage", "path separator"),
    (&["add", "x", "--owner", "user"], 2, "usage", "reserved"),
    (&["add", "x", "--blocked-by", "/etc"], 2, "usage", "path separator"),
    (&["add", "x", "--timeout", "soon"], 2, "usage", "no duration"),
    (&["add", "x", "--tier", "huge"], 2, "usage", "cheap, mid or top"),
    (&["add", "x", "--retries=-1"], 2, "usage", "retries"),
    (&["add", ""], 4, "not-valid", "subject"),
    (&["add", "x", "--run", " "], 4, "not-valid", "command is empty"),
    (&["add"], 2, "usage", "required"),
    (&["add", "--jsonl", "absent.jsonl"], 2, "usage", "absent.jsonl"),
    (&["add", "--jsonl", "x", "--priority", "1"], 2, "usage", "--jsonl"),
    (&["claim", "--as", "bob"], 4, "one-claim", "task 3"),
    (&["claim", "1", "--as", "eve"], 4, "blocked", "task 1: blocked by 2"),
    (&["claim", "3", "--as", "eve"], 4, "one-holder", "bob holds it"),
    (&["claim", "4", "--as", "eve"], 4, "illegal-transition", "completed"),
    (&["claim", "5", "--as", "eve"], 4, "illegal-transition", "crew retry"),
    (&["claim", "6", "--as", "eve"], 4, "illegal-transition", "crew reopen"),
    (&["claim", "7", "--as", "eve"], 4, "blocked", "6 (cancelled)"),
    (&["claim", "8", "--as", "eve"], 4, "dispatched", "alice"),
    (&["claim", "10", "--as", "eve"], 4, "not-valid", "task_10.json"),
    (&["claim", "404", "--as", "eve"], 4, "unknown-id", "no task 404"),
    (&["claim", "../y", "--as", "eve"], 2, "usage", "path separator"),
    (&["claim", "2", "--as", "."], 2, "usage", "dot"),
    (&["claim", "2"], 2, "usage", "--as"),
    (&["claim", "2", "--as", "eve", "--lease", "x"], 2, "usage", "no duration"),
    (&["claim", "2", "--as", "eve", "--holder", "4194304"], 2, "usage", "no process"),
    (&["finish", "3", "--as", "eve"], 4, "one-holder", "bob holds it, not eve"),
    (&["finish", "3", "--as", "bob", "--turn", "t-0"], 4, "turn-over", "t-0 is over"),
    (&["finish", "2", "--as", "bob"], 4, "one-holder", "bob does not hold it"),
    (&["finish", "4", "--as", "bob"], 4, "one-holder", "completed"),
    (&["finish", "10", "--as", "bob"], 4, "not-valid", "task_10.json"),
    (&["finish", "404", "--as", "bob"], 4, "unknown-id", "no task 404"),
    (&["fail", "3", "--as", "eve"], 4, "one-holder", "bob holds it"),
    (&["release", "3", "--as", "eve"], 4, "one-holder", "--force"),
    (&["release", "2", "--force"], 4, "illegal-transition", "nobody holds it"),
    (&["release", "3"], 2, "usage", "--as"),
    (&["retry", "2"], 4, "illegal-transition", "task 2: it is pending"),
    (&["retry", "5", "2"], 4, "illegal-transition", "task 2"),
    (&["cancel", "4"], 4, "illegal-transition", "completed"),
    (&["cancel", "2", "6"], 4, "illegal-transition", "task 6"),
    (&["reopen", "4"], 4, "reason-needed", "--because"),
    (&["reopen", "2", "--because", "x"], 4, "illegal-transition", "pending"),
    (&["block", "2", "--by", "2"], 4, "self-edge", "itself"),
    (&["block", "2", "--by", "1"], 4, "cycle", "2 → 1 → 2"),
    (&["block", "2", "--by", "404"], 4, "unknown-id", "404"),
    (&["block", "4", "--by", "2"], 4, "illegal-transition", "completed"),
    (&["block", "10", "--by", "2"], 4, "not-valid", "task_10.json"),
    (&["unblock", "1", "--from", "5"], 4, "unknown-id", "does not wait for 5"),
    (&["edit", "2", "--set", "status=\"completed\""], 4, "bad-value", "not edited"),
    (&["edit", "2", "--set", "blockedBy=[1]"], 4, "bad-value", "crew block"),
    (&["edit", "2", "--unset", "subject"], 4, "bad-value", "subject"),
    (&["edit", "2", "--set", "needs=7"], 4, "bad-value", "needs"),
    (&["edit", "2"], 2, "usage", "task_2.json"),
    (&["archive", "2"], 4, "illegal-transition", "pending"),
    (&["archive", "6"], 4, "blocked", "7"),
    (&["archive"], 2, "usage", "required"),
];

#[test]
fn nothing_is_changed_by_what_is_refused() {
    for made in [false, true] {
        let scene = board(made);
        let before = snapshot(&scene.project());
        for (command, code, _, words) in REFUSED {
            let ran = scene.run(command).ended_with(code);
            assert!(ran.out.is_empty() && ran.err.contains(words), "{command:?}: {ran:?}");
            assert_eq!(snapshot(&scene.project()), before, "{command:?} changed something");
        }
    }
}

#[test]
fn with_json_the_refusal_is_an_object() {
    let scene = board(true);
    for (command, code, rule, words) in REFUSED {
        let ran = scene.run(&[command, &["--json"]].concat()).ended_with(code);
        let error: Value = serde_json::from_str(&ran.err).unwrap_or_else(|e| panic!("{command:?}: {e}: {ran:?}"));
        assert_eq!(error["rule"], rule, "{command:?}: {error}");
        assert!(error["error"].as_str().unwrap().contains(words) && ran.out.is_empty(), "{command:?}: {error}");
    }
}

#[test]
fn of_many_documents_all_are_added_or_none() {
    let scene = board(true);
    let before = snapshot(&scene.project());
    let good = "{\"subject\":\"good\"}\n";
    for (bad, words) in [
        ("{\"subject\":\"x\",\"retries\":-1}", "batch.jsonl:3: line 1, column 26: `retries`"),
        ("{\"subject\":\"x\"", "batch.jsonl:3: line 1"),
        ("[1]", "batch.jsonl:3: line 1, column 1: a task is a JSON object"),
        ("{}", "batch.jsonl:3: there is no `subject`"),
        ("{\"subject\":\"x\",\"id\":2}", "batch.jsonl:3: there is a task 2"),
        ("{\"subject\":\"x\",\"id\":\"../y\"}", "\"../y\""),
        ("{\"subject\":\"x\",\"blockedBy\":[404]}", "batch.jsonl:3: there is no task 404"),
        ("{\"subject\":\"x\",\"id\":\"a\",\"blockedBy\":[\"b\"]}\n{\"subject\":\"y\",\"id\":\"b\",\"blockedBy\":[\"a\"]}", "a → b → a"),
        ("{\"subject\":\"x\",\"subject\":\"y\"}", "a second time"),
    ] {
        let file = tempfile::tempdir().unwrap();
        let path = file.path().join("batch.jsonl");
        std::fs::write(&path, format!("{good}\n{bad}\n{good}")).unwrap();
        let ran = scene.run(&["add", "--jsonl", path.to_str().unwrap()]).ended_with(4);
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{bad}: {ran:?}");
        assert_eq!(snapshot(&scene.project()), before, "{bad}");
    }
    let ran = fed(&scene, &["add", "--jsonl", "-"], b"{\"subject\":\"\xe9\"}\n").ended_with(4);
    assert!(ran.err.contains("stdin:1"), "{ran:?}");
    assert_eq!(snapshot(&scene.project()), before);
}

#[test]
fn where_there_is_no_board_the_way_to_one_is_told() {
    let scene = Scene::new();
    std::fs::remove_dir_all(scene.tasks()).unwrap();
    for command in [&["ls"][..], &["add", "x"], &["claim", "--as", "me"], &["wait", "--all"], &["doctor"]] {
        let ran = scene.run(command).ended_with(2);
        assert!(ran.err.contains("crew init"), "{command:?}: {ran:?}");
        assert!(!scene.tasks().exists(), "{command:?}");
    }
    let help = scene.run(&[]).succeeded();
    assert!(help.out.contains("Usage: crew"), "{help:?}");
    let error: Value = serde_json::from_str(&scene.run(&["--json"]).ended_with(2).err).unwrap();
    assert_eq!(error["rule"], "no-board");
}

#[test]
fn a_newer_board_is_only_looked_at() {
    let scene = board(true);
    scene.put(".tasks/.board/board.json", "{\"format\":99,\"durability\":\"something new\"}");
    let before = snapshot(&scene.project());
    scene.run(&["ls"]).succeeded();
    for command in [
        &["add", "x"][..],
        &["claim", "2", "--as", "eve"],
        &["finish", "3", "--as", "bob"],
        &["retry", "5"],
        &["init"],
        &["init", "--relaxed"],
        &["doctor", "--fix"],
    ] {
        let ran = scene.run(command).ended_with(4);
        assert!(ran.err.contains("format 99"), "{command:?}: {ran:?}");
        assert_eq!(snapshot(&scene.project()), before, "{command:?}");
    }
}
