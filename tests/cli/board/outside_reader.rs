//! Another program's reader agrees: three filters (pending, no owner, no blockedBy) take what `crew ls --ready` shows.

use serde_json::{Value, json};

use super::ready;
use crate::scene::Scene;

/// What a program takes that knows nothing of crew.
fn taken_elsewhere(scene: &Scene) -> Vec<String> {
    let empty = |value: &Value| matches!(value, Value::Null) || value == "" || value.as_array().is_some_and(Vec::is_empty);
    let mut taken = Vec::new();
    for entry in std::fs::read_dir(scene.tasks()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Some(id) = name.strip_prefix("task_").and_then(|name| name.strip_suffix(".json")) else { continue };
        let task: Value = serde_json::from_slice(&std::fs::read(entry.path()).unwrap()).unwrap();
        if task["status"] == "pending" && empty(&task["owner"]) && empty(&task["blockedBy"]) {
            taken.push(id.to_owned());
        }
    }
    taken.sort();
    taken
}

#[track_caller]
fn agree(scene: &Scene, after: &str) {
    let mut ready = ready(scene);
    ready.sort();
    assert_eq!(taken_elsewhere(scene), ready, "after {after}");
}

#[test]
fn both_take_the_same_after_every_transition() {
    let scene = Scene::new();
    for id in ["1", "2", "3"] {
        scene.task(id, json!({ "status": "pending" }));
    }
    scene.task("4", json!({ "status": "pending", "blockedBy": [1, "2"] }));
    scene.task("5", json!({ "status": "pending", "blockedBy": ["4"], "owner": "" }));
    scene.task("6", json!({ "status": "pending", "retries": 1, "blockedBy": null }));
    agree(&scene, "dropping them");
    let steps: [&[&str]; 28] = [
        &["claim", "1", "--as", "bob"],
        &["finish", "1", "--as", "bob"],
        &["claim", "2", "--as", "bob"],
        &["release", "2", "--as", "bob"],
        &["claim", "2", "--as", "eve"],
        &["release", "2", "--force"],
        &["claim", "2", "--as", "bob"],
        &["finish", "2", "--as", "bob"],
        &["claim", "6", "--as", "bob"],
        &["fail", "6", "--as", "bob"],
        &["claim", "6", "--as", "bob"],
        &["fail", "6", "--as", "bob"],
        &["retry", "6"],
        &["block", "6", "--by", "3"],
        &["unblock", "6"],
        &["cancel", "3"],
        &["reopen", "3"],
        &["claim", "4", "--as", "bob"],
        &["cancel", "4"],
        &["unblock", "5", "--from", "4"],
        &["reopen", "4"],
        &["reopen", "1", "--because", "it was not done"],
        &["edit", "4", "--priority", "3"],
        &["add", "one more", "--blocked-by", "4,5"],
        &["claim", "1", "--as", "bob"],
        &["finish", "1", "--as", "bob"],
        &["claim", "4", "--as", "bob"],
        &["finish", "4", "--as", "bob"],
    ];
    for step in steps {
        scene.run(step).succeeded();
        agree(&scene, &step.join(" "));
    }
    scene.run(&["archive", "--all-finished"]).succeeded();
    agree(&scene, "archiving");
}
