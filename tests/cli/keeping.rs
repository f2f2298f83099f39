//! What a team works for, what it remembers and what it has spent: `crew goal`, `crew memory`, `crew quota`.

use std::io::Write as _;

use board::place::{Place, Surroundings};
use serde_json::{Value, json};

use crate::scene::{Ran, Scene};

fn document(ran: Ran) -> Value {
    serde_json::from_str(&ran.succeeded().out).unwrap()
}

fn refusal(ran: Ran, code: i32) -> Value {
    serde_json::from_str(&ran.ended_with(code).err).unwrap()
}

#[test]
fn the_goal_is_set_in_parts_and_shown() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["goal"]).succeeded().out, "");
    assert!(!scene.has(".crew"), "looking makes nothing");
    assert_eq!(document(scene.run(&["goal", "--json"]))["text"], Value::Null);
    scene.run(&["goal", "make", "it good"]).succeeded();
    assert_eq!(scene.file(".crew/goal.md"), "make it good\n");
    scene.run(&["goal", "--check", "cargo test", "--check", "sh 'a b'"]).succeeded();
    assert_eq!(scene.run(&["goal"]).succeeded().out, "make it good\n\nchecks:\n  cargo test\n  sh 'a b'\n");
    let goal = document(scene.run(&["goal", "--json"]));
    assert_eq!((&goal["text"], &goal["checks"]), (&json!("make it good"), &json!(["cargo test", "sh 'a b'"])));
    let before = scene.file(".crew/goal.md");
    scene.run(&["goal", " "]).ended_with(2);
    scene.run(&["goal", "--chek", "x"]).ended_with(2);
    scene.run(&["goal", "--check", " "]).ended_with(4);
    assert_eq!(scene.file(".crew/goal.md"), before);
    scene.put(".crew/goal.md", "---\ncheck: a\n---\n");
    let refused = refusal(scene.run(&["goal", "--json"]), 4);
    assert!(refused["error"].as_str().unwrap().contains("goal.md:2: unknown key `check`: did you mean `checks`?"), "{refused}");
}

#[test]
fn the_goal_comes_from_standard_input_and_goes_to_an_editor() {
    let scene = Scene::new();
    let mut crew = scene.crew(&["goal", "-"]);
    let mut child = crew.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\nmany\nlines\n\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(scene.file(".crew/goal.md"), "many\nlines\n");
    let edit = |editor: &str| {
        let mut crew = scene.crew(&["goal", "--edit"]);
        crew.env_remove("VISUAL").env("EDITOR", editor);
        scene.start(crew).ended()
    };
    edit("sed -i s/many/few/").succeeded();
    assert_eq!(scene.file(".crew/goal.md"), "few\nlines\n");
    edit("false").ended_with(1);
    edit("").ended_with(2);
}

#[test]
fn memory_is_changed_entry_by_entry() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["memory"]).succeeded().out, "");
    scene.put(".crew/memory.md", "# Ours\n");
    assert_eq!(scene.run(&["memory", "remember", "one\nmore"]).succeeded().out, "1\n");
    assert_eq!(document(scene.run(&["memory", "remember", "two", "--json"])), json!({ "number": 2 }));
    scene.run(&["memory", "revise", "2", "2"]).succeeded();
    assert_eq!(scene.run(&["memory"]).succeeded().out, "# Ours\n\n- one\n  more\n- 2\n");
    assert_eq!(document(scene.run(&["memory", "--json"]))["entries"], json!([{ "number": 1, "text": "one\nmore" }, { "number": 2, "text": "2" }]));
    scene.run(&["memory", "forget", "1"]).succeeded();
    assert_eq!(scene.file(".crew/memory.md"), "# Ours\n\n- 2\n");
    assert_eq!(refusal(scene.run(&["memory", "forget", "2", "--json"]), 4)["rule"], "unknown-id");
}

#[test]
fn quota_sums_what_was_asked_of_models() {
    let scene = Scene::new();
    let nothing = json!({ "calls": 0, "inputTokens": 0, "outputTokens": 0, "cacheRead": 0, "cacheWrite": 0, "unpriced": 0, "ms": 0 });
    assert_eq!(document(scene.run(&["quota", "--json"])), json!({ "total": nothing }));
    let call = |teammate: &str, ts: &str, usd: Option<f64>, task: Option<&str>| {
        let mut call = json!({ "ts": ts, "teammate": teammate, "account": "work", "provider": "p", "model": "m", "turn": "t",
            "inputTokens": 10, "outputTokens": 1, "cacheRead": 2, "cacheWrite": 3, "ms": 5, "unknown": true });
        if let Some(usd) = usd {
            call["usd"] = json!(usd);
        }
        if let Some(task) = task {
            call["task"] = json!(task);
        }
        format!("{call}\n")
    };
    let calls = [
        call("alice", "2026-01-02T23:59:59Z", Some(0.1), Some("7")),
        call("bob", "2026-01-03T00:00:00Z", Some(0.2), None),
        call("alice", "2026-01-03T00:00:00Z", None, None),
    ];
    let surroundings = Surroundings { crewboard_home: Some(scene.home().into()), ..Surroundings::default() };
    let state = Place::at(&scene.tasks(), &surroundings).unwrap().state().to_path_buf();
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("quota.jsonl"), calls.concat() + "{\"torn\":").unwrap();
    let total = document(scene.run(&["quota", "--json"]))["total"].clone();
    assert_eq!((&total["calls"], &total["usd"], &total["unpriced"], &total["inputTokens"]), (&json!(3), &json!(0.3), &json!(1), &json!(30)));
    let expected = [
        ("teammate", json!([["alice", 2, 0.1], ["bob", 1, 0.2]])),
        ("account", json!([["work", 3, 0.3]])),
        ("task", json!([[null, 2, 0.2], ["7", 1, 0.1]])),
        ("day", json!([["2026-01-02", 1, 0.1], ["2026-01-03", 2, 0.2]])),
    ];
    for (by, expected) in expected {
        let sums = document(scene.run(&["quota", "--by", by, "--json"]));
        assert_eq!(sums["by"], by);
        let sums: Value = sums["sums"].as_array().unwrap().iter().map(|sum| json!([sum["of"], sum["calls"], sum["usd"]])).collect();
        assert_eq!(sums, expected, "{by}");
    }
    let table = scene.run(&["quota", "--by", "day"]).succeeded().out;
    assert_eq!(table.lines().count(), 4, "{table}");
    std::fs::write(state.join("quota.jsonl"), format!("{}nonsense\n", calls[0])).unwrap();
    let refused = refusal(scene.run(&["quota", "--json"]), 4);
    assert!(refused["error"].as_str().unwrap().contains("quota.jsonl:2: no call of a model"), "{refused}");
}
