//! `crew doctor`: what it finds on a board that was worked on, and what `--fix` puts right.

use serde_json::{Value, json};

use super::snapshot;
use crate::scene::Scene;

fn report(scene: &Scene, arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&scene.run(&[&["doctor", "--json"], arguments].concat()).ended_with(code).out).unwrap()
}

fn levels(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = report["findings"].as_array().unwrap().iter().map(|finding| (text(&finding["check"]), text(&finding["level"])));
    found.filter(|(_, level)| level != "ok").collect()
}

#[test]
fn a_sound_board_is_healthy() {
    let scene = Scene::new();
    scene.run(&["add", "x"]).succeeded();
    let report = report(&scene, &[], 0);
    assert_eq!((report["healthy"].as_bool(), levels(&report)), (Some(true), vec![]), "{report:#}");
    let text = scene.run(&["doctor"]).succeeded().out;
    assert!(text.contains("two processes exclude each other") && text.ends_with("no problems\n"), "{text}");
    let mut without = scene.crew(&["doctor"]);
    without.env("CREW_NO_NOTIFY", "1");
    assert!(scene.start(without).ended().succeeded().out.contains("CREW_NO_NOTIFY"));
}

#[test]
fn what_is_safe_is_put_right_and_nothing_else() {
    let scene = Scene::new();
    let at = "2026-01-02T03:04:05Z";
    scene.task("1", json!({ "id": 99 }));
    scene.task("2", json!({ "status": "completed" }));
    scene.task("3", json!({ "blockedBy": [2] }));
    scene.task("4", json!({ "status": "in_progress", "owner": "bob", "claim": { "turn": "t", "by": "bob", "at": at, "lease": at } }));
    scene.task("5", json!({ "blockedBy": [404] }));
    scene.put(".tasks/task_6.json", "[]");
    let before = snapshot(&scene.tasks());
    let found = [("id", "problem"), ("invalid", "problem"), ("absent-blocker", "problem"), ("edges", "note"), ("stale-claim", "problem")];
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(check, level)| ((*check).to_owned(), (*level).to_owned())).collect::<Vec<_>>();
    assert_eq!(levels(&report(&scene, &[], 1)), owned(&found));
    assert_eq!(snapshot(&scene.tasks()), before, "it only looked");

    let fixed = [("id", "fixed"), ("invalid", "problem"), ("absent-blocker", "problem"), ("edges", "fixed"), ("stale-claim", "fixed")];
    assert_eq!(levels(&report(&scene, &["--fix"], 1)), owned(&fixed));
    assert_eq!(scene.read("1")["id"], 1);
    assert_eq!(scene.read("3")["blockedBy"], json!([]));
    assert_eq!((scene.status("4"), scene.outcomes("4")), ("pending".into(), vec!["lost".to_owned()]));
    assert_eq!(scene.file(".tasks/task_6.json"), "[]");
    assert_eq!(levels(&report(&scene, &["--fix"], 1)), owned(&[("invalid", "problem"), ("absent-blocker", "problem")]));
}

#[test]
fn a_task_that_waits_for_what_failed_is_told_of() {
    let scene = Scene::new();
    scene.task("1", json!({ "status": "failed" }));
    scene.task("2", json!({ "blockedBy": [1] }));
    let report = report(&scene, &[], 0);
    assert_eq!(levels(&report), [("dead-end".to_owned(), "note".to_owned())]);
}

#[test]
fn what_was_probably_meant_is_told_of() {
    let scene = Scene::new();
    scene.task("1", json!({ "blocked_by": ["2"], "stauts": "completed", "due": "tomorrow", "priority": 1 }));
    scene.put(".tasks/hello.json", "{\"subject\":\"hello\"}");
    scene.put(".tasks/notes.txt", "not meant for one");
    let before = snapshot(&scene.tasks());
    let report = report(&scene, &[], 0);
    assert_eq!(levels(&report), [("key", "note"), ("key", "note"), ("name", "note")].map(|(check, level)| (check.to_owned(), level.to_owned())));
    let told: Vec<&str> = report["findings"].as_array().unwrap().iter().filter_map(|finding| finding["message"].as_str()).collect();
    let told = told.join("\n");
    assert!(told.contains("\"blocked_by\"; if \"blockedBy\" is meant") && told.contains("\"stauts\"; if \"status\" is meant"), "{told}");
    assert_eq!(snapshot(&scene.tasks()), before);
}
