//! What is printed for other programs: the schema, completions, graphs, one task; and help.

use serde_json::{Value, json};

use crate::scene::Scene;

/// Keys of a task that this crew reads or writes.
const KEYS: [&str; 26] = [
    "id",
    "subject",
    "description",
    "status",
    "owner",
    "blockedBy",
    "blocks",
    "dependsOn",
    "priority",
    "tier",
    "role",
    "needs",
    "plan",
    "run",
    "check",
    "timeout",
    "retries",
    "retriedAfter",
    "keep",
    "worktree",
    "claim",
    "parked",
    "attempts",
    "result",
    "created",
    "updated",
];

#[test]
fn the_schema_takes_tasks_and_refuses_what_is_none() {
    let scene = Scene::new();
    let schema: Value = serde_json::from_str(&scene.run(&["schema"]).succeeded().out).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for key in KEYS.iter().chain(&["reopened"]) {
        assert!(schema["properties"][key]["description"].as_str().is_some_and(|text| !text.is_empty()), "{key} is not described");
    }
    let at = "2026-01-02T03:04:05.123Z";
    let process = json!({ "host": "h", "pid": 1, "start": 2, "boot": "b", "ns": 3 });
    let sound = [
        json!({ "subject": "x" }),
        json!({ "subject": "x", "id": 7, "owner": null, "blockedBy": [1, "a b"], "status": "pending", "run": ["echo", "a"], "check": "true", "further": { "k": [1.5] } }),
        json!({ "subject": "x", "id": "8", "priority": -3, "tier": "top", "needs": ["write"], "timeout": "90s", "retries": 1, "keep": true, "worktree": false, "created": at }),
        json!({ "subject": "x", "claim": { "turn": "t", "by": "bob", "at": at, "process": process, "lease": at, "epoch": 1, "dispatched": true } }),
        json!({ "subject": "x", "parked": { "on": "ask", "ask": 3 } }),
        json!({ "subject": "x", "parked": { "on": "until", "until": at, "round": 1, "since": at } }),
        json!({ "subject": "x", "attempts": [{ "turn": "t", "by": "b", "started": at, "ended": at, "outcome": "lost", "boot": "b" }], "result": { "summary": "s", "outcome": "done" } }),
        json!({ "subject": "x", "retriedAfter": 1, "reopened": [{ "at": at, "because": "y" }] }),
    ];
    for task in &sound {
        assert!(validator.is_valid(task), "{task}: {:?}", validator.iter_errors(task).map(|e| e.to_string()).collect::<Vec<_>>());
    }
    let broken = [
        json!([]),
        json!({}),
        json!({ "subject": 7 }),
        json!({ "subject": "" }),
        json!({ "subject": "x", "blockedBy": "1" }),
        json!({ "subject": "x", "blockedBy": [1.5] }),
        json!({ "subject": "x", "tier": "huge" }),
        json!({ "subject": "x", "run": {} }),
        json!({ "subject": "x", "retries": -1 }),
        json!({ "subject": "x", "keep": "yes" }),
        json!({ "subject": "x", "claim": {} }),
        json!({ "subject": "x", "parked": { "on": "moon" } }),
        json!({ "subject": "x", "attempts": [{}] }),
    ];
    for task in &broken {
        assert!(!validator.is_valid(task), "{task}");
        // The board and the schema agree.
        let added = super::fed(&scene, &["add", "--jsonl", "-"], task.to_string());
        assert_eq!(added.code(), Some(4), "{task}: {added:?}");
    }
    scene.task("1", json!({}));
    scene.task("a b", json!({}));
    for task in &sound {
        super::fed(&scene, &["add", "--jsonl", "-"], task.to_string()).succeeded();
    }
    // What crew itself writes is what it describes.
    scene.task("c", json!({ "retries": 1 }));
    for step in [
        &["claim", "c", "--as", "me", "--lease", "1h"][..],
        &["fail", "c", "--as", "me"],
        &["claim", "c", "--as", "me"],
        &["finish", "c", "--as", "me"],
        &["reopen", "c", "--because", "x"],
    ] {
        scene.run(step).succeeded();
        assert!(validator.is_valid(&scene.read("c")), "{:?}: {}", step, scene.read("c"));
    }
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let scene = Scene::new();
    let bash = scene.run(&["completions", "bash"]).succeeded().out;
    scene.put("crew.bash", &bash);
    let mut check = scene.program("bash");
    check.args(["-c", "bash -n crew.bash && . ./crew.bash && COMP_WORDS=(crew rel) COMP_CWORD=1 && _crew crew rel crew && echo \"${COMPREPLY[*]}\""]);
    let ran = scene.start(check).ended().succeeded();
    assert_eq!(ran.out, "release\n");
    assert!(scene.run(&["completions", "zsh"]).succeeded().out.starts_with("#compdef crew"));
    assert!(scene.run(&["completions", "fish"]).succeeded().out.contains("complete -c crew"));
    scene.run(&["completions", "tcsh"]).ended_with(2);
}

#[test]
fn a_task_is_shown_whole() {
    let scene = Scene::new();
    scene.put(".tasks/task_1.json", r#"{"subject":"the first","z":1.10,"description":"line one\nline two","blockedBy":[2,404],"run":"make","retries":2,"needs":["write"],"tier":"mid","timeout":"90s"}"#);
    scene.task("2", json!({ "status": "completed" }));
    scene.task("3", json!({ "blockedBy": [1] }));
    let text = scene.run(&["show", "1"]).succeeded().out;
    for part in [
        "1 · the first",
        "pending: blocked by 404, which does not exist",
        "2 (completed), 404 (does not exist)",
        "needed by 3",
        "tier mid or higher; write",
        "run       make",
        "1m 30s",
        "retries   2",
        "\nline one\nline two",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = scene.run(&["show", "1", "--json"]).succeeded().out;
    assert!(json.contains("\"z\": 1.10"), "{json}");
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&value["id"], &value["ready"], &value["why"]), (&json!(1), &json!(false), &json!("blocked by 404, which does not exist")));
    scene.run(&["claim", "3", "--as", "me"]).ended_with(4);
    scene.run(&["unblock", "3"]).succeeded();
    scene.run(&["claim", "3", "--as", "me", "--lease", "1h"]).succeeded();
    let text = scene.run(&["show", "3"]).succeeded().out;
    assert!(text.contains("in_progress: in progress: me holds it") && text.contains("by me since") && text.contains(", until 2"), "{text}");
}

#[test]
fn the_graph_shows_every_edge_that_there_ever_was() {
    let scene = Scene::new();
    scene.task("1", json!({ "subject": "a \"first\"" }));
    scene.task("2", json!({ "blockedBy": [1] }));
    scene.task("3", json!({ "blocks": [2] }));
    scene.task("8", json!({ "blockedBy": [9] }));
    scene.task("9", json!({ "blockedBy": [8] }));
    scene.task("x y", json!({}));
    scene.run(&["claim", "1", "--as", "me"]).succeeded();
    scene.run(&["finish", "1", "--as", "me"]).succeeded();
    let text = scene.run(&["graph"]).succeeded().out;
    let rows: Vec<String> = text.lines().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows,
        ["STEP ID STATUS", "1 1 completed", "1 3 pending", "2 2 pending", "never 8 pending", "never 9 pending", "in a cycle,", "waiting for none,"],
        "{text}"
    );
    assert!(text.contains("8 → 9 → 8") && text.trim_end().ends_with(": x y"), "{text}");
    let dot = scene.run(&["graph", "--dot"]).succeeded().out;
    assert!(dot.starts_with("digraph") && dot.contains("\"1\" -> \"2\";") && dot.contains("\"3\" -> \"2\";") && dot.contains("a \\\"first\\\""), "{dot}");
    let mermaid = scene.run(&["graph", "--mermaid"]).succeeded().out;
    assert!(mermaid.starts_with("flowchart LR\n") && mermaid.contains("n1 --> n2"), "{mermaid}");
    scene.run(&["graph", "--dot", "--mermaid"]).ended_with(2);
}

#[test]
fn help_is_for_people_and_says_how_it_ends() {
    let scene = Scene::new();
    assert!(scene.run(&["--version"]).succeeded().out.starts_with("crew "));
    let help = scene.run(&["--help"]).succeeded().out;
    for part in ["Exit codes:", "130  interrupted", "CREW_BOARD", "claim", "doctor"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    for line in help.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
    for verb in [
        "init",
        "add",
        "ls",
        "show",
        "edit",
        "next",
        "claim",
        "finish",
        "fail",
        "release",
        "retry",
        "cancel",
        "reopen",
        "block",
        "unblock",
        "graph",
        "archive",
        "wait",
        "doctor",
        "completions",
        "schema",
    ] {
        let help = scene.run(&[verb, "--help"]).succeeded();
        assert!(help.out.contains("Usage: crew ") && help.err.is_empty(), "{verb}");
        assert!(help.out.lines().any(|line| line.contains("--json")), "{verb}");
    }
    let wrong = scene.run(&["finsh"]).ended_with(2);
    assert!(wrong.err.contains("finish"), "the nearest is named: {wrong:?}");
}
