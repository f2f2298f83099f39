//! A cloned repository that brings a team, checks, an auditor and tasks: nothing of it runs before it was allowed.

use serde_json::json;

use super::stage::Stage;
use crate::scene::{Scene, until};

/// What would have run says so.
fn harm(scene: &Scene) -> Vec<String> {
    scene.lines("harm")
}

/// A repository in which everything that can run something does.
fn cloned() -> Stage {
    let stage = Stage::new(&["alice", "bob"]);
    stage.scene.put("tools/speak", "echo team >> harm; \"$CREW\" post --kind done done\n");
    stage.scene.put(".crew/goal.md", "---\nchecks: echo check >> harm\n---\nAll is well.\n");
    stage.scene.put(".crew/config.toml", "auditor = \"echo auditor >> harm; echo '{\\\"accept\\\": true}'\"\n");
    stage.scene.put(".tasks/task_1.json", &json!({ "subject": "x", "run": "echo task >> harm", "check": "echo task-check >> harm" }).to_string());
    stage.git(&["add", "--force", "."]);
    stage.git(&["commit", "--quiet", "-m", "a team"]);
    stage
}

#[test]
fn nothing_runs_before_it_was_allowed() {
    let stage = cloned();
    let refused = stage.crew(&["start"]).ended_with(4);
    assert!(refused.err.contains("[not-armed]") && refused.err.contains("crew start --yes"), "{refused:#?}");
    stage.crew(&[]).succeeded();
    let sent = stage.crew(&["send", "hello"]).succeeded();
    assert!(sent.err.contains("crew arm"), "{sent:#?}");
    // What claims to be the state of a run that was at work, or waits at a gate.
    for word in ["running", "planning", "waiting", "rate_limited"] {
        stage.put("state.json", json!({ "format": 1, "state": word, "starts": 1, "applied": 0 }).to_string().as_bytes());
        let ran = stage.crew(&[]).ended_with(4);
        assert!(ran.err.contains("[not-armed]"), "{ran:#?}");
    }
    let gate = json!({ "seq": 1, "from": "alice", "kind": "gate", "text": "push" });
    stage.put("thread.jsonl", format!("{gate}\n").as_bytes());
    let ask = json!({ "id": 1, "kind": "gate", "from": "alice", "seq": 1, "text": "push", "at": "2026-01-02T03:04:05Z" });
    stage.put("asks.json", json!({ "format": 1, "asks": [ask] }).to_string().as_bytes());
    stage.put("state.json", json!({ "format": 1, "state": "gated", "starts": 1, "applied": 1 }).to_string().as_bytes());
    let approved = stage.crew(&["approve"]).succeeded();
    assert!(approved.err.contains("crew arm"), "{approved:#?}");
    stage.crew(&["status"]).succeeded();
    assert!(stage.processes_of("--supervisor").is_empty() && stage.processes_of("--daemon").is_empty());
    assert_eq!(harm(&stage.scene), Vec::<String>::new());
    stage.scene.nothing_runs();
    // After an answer all of it does.
    stage.start();
    until("the goal is reached", || stage.word() == "completed");
    let mut ran = harm(&stage.scene);
    ran.sort();
    ran.dedup();
    assert_eq!(ran, ["auditor", "check", "task", "task-check", "team"]);
    stage.stops();
}

#[test]
fn a_change_disarms_and_pauses_the_run() {
    let profile = "---\ncommand: touch harm\n---\n";
    for (file, text) in [("tools/speak", "touch harm\n"), (".crew/teammates/bob.md", profile), (".crew/teammates/carol.md", profile)] {
        let stage = Stage::new(&["alice", "bob"]);
        stage.start();
        let cue = stage.turn_of("alice");
        // Whoever has the turn changes it, and then bob is to be started.
        stage.scene.put(file, text);
        cue.does("\"$CREW\" post --kind handoff --handoff bob go; exit");
        stage.ends_as("paused");
        assert_eq!(stage.reason(), "not_armed", "{file}");
        let shown = stage.crew(&["status"]).succeeded();
        assert!(shown.out.contains("crew arm") && shown.out.contains("crew start"), "{shown:#?}");
        let ran = stage.crew(&["start"]).ended_with(4);
        assert!(ran.err.contains("[not-armed]"), "{ran:#?}");
        stage.crew(&["send", "go on"]).succeeded();
        assert!(!stage.scene.has("harm"), "{file}");
        assert!(stage.processes_of("--daemon").is_empty());
        stage.stops();
    }
}

#[test]
fn tracked_tasks_that_are_new_are_not_worked_on_by_a_run() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let cue = stage.turn_of("alice");
    // As `git pull` would bring it.
    stage.git(&["config", "core.fsync", "none"]);
    stage.scene.put(".crew/pulled.json", &json!({ "subject": "x", "run": "touch harm" }).to_string());
    let blob = stage.git(&["hash-object", "-w", ".crew/pulled.json"]);
    stage.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},.tasks/task_1.json")]);
    stage.git(&["checkout-index", "--force", ".tasks/task_1.json"]);
    cue.does("\"$CREW\" post --kind say go; exit");
    stage.ends_as("paused");
    assert_eq!((stage.reason().as_str(), stage.scene.has("harm")), ("not_armed", false));
    stage.stops();
}
