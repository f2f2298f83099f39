//! What was allowed once on this machine runs without a question, until it changes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::scene::Scene;

fn track(scene: &Scene, file: &str) {
    let repository = git2::Repository::init(scene.project()).unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(Path::new(file)).unwrap();
    index.write().unwrap();
}

/// A repository that brings a task, a teammate with a program of its own, and a configuration.
fn brought() -> Scene {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch ran", "check": "true" }));
    scene.put(".crew/teammates/alice.md", "---\ncommand: sh tools/work --fast\n---\n");
    scene.put(".crew/config.toml", "maxLost = 3\n");
    scene.put("tools/work", "echo working\n");
    track(&scene, ".tasks/task_1.json");
    scene
}

#[track_caller]
fn is_armed(scene: &Scene) -> bool {
    // It asks before it looks for something to do: a task that is none says whether it would have gone on.
    let ran = scene.run(&["exec", "absent", "--as", "me", "--", "true"]).ended_with(4);
    !ran.err.contains("[not-armed]")
}

#[test]
fn it_holds_until_something_changes() {
    let scene = brought();
    assert!(!is_armed(&scene));
    let refused = scene.run(&["arm"]).ended_with(4);
    for part in ["alice.md: sh tools/work --fast", "task_1.json: touch ran", "task_1.json: true", "crew arm --yes"] {
        assert!(refused.err.contains(part) || refused.err.contains("3 commands"), "{part}: {refused:#?}");
    }
    assert!(!is_armed(&scene), "a question without an answer allows nothing");

    let allowed: Value = serde_json::from_str(&scene.run(&["arm", "--yes", "--json"]).succeeded().out).unwrap();
    assert_eq!(allowed["allowed"].as_array().map(Vec::len), Some(3));
    assert!(is_armed(&scene));
    let changes = [
        (".tasks/task_1.json", json!({ "subject": "x", "run": "touch harm", "check": "true" }).to_string()),
        (".tasks/task_1.json", json!({ "subject": "x", "run": "touch ran", "check": "touch harm" }).to_string()),
        (".crew/teammates/alice.md", "---\ncommand: sh tools/other\n---\n".to_owned()),
        (".crew/teammates/bob.md", "---\n---\n".to_owned()),
        (".crew/config.toml", "maxLost = 4\n".to_owned()),
        ("tools/work", "echo harm\n".to_owned()),
    ];
    for (file, text) in changes {
        let before = scene.has(file).then(|| scene.file(file));
        scene.put(file, &text);
        assert!(!is_armed(&scene), "{file}: {text}");
        match before {
            Some(before) => scene.put(file, &before),
            None => std::fs::remove_file(scene.project().join(file)).unwrap(),
        }
        assert!(is_armed(&scene), "{file} is as it was");
    }
    // Another subject runs nothing else; a new task would.
    scene.put(".tasks/task_1.json", &json!({ "subject": "other words", "run": "touch ran", "check": "true" }).to_string());
    assert!(is_armed(&scene));
    scene.task("2", json!({ "run": "touch harm" }));
    assert!(is_armed(&scene), "it is the person's own");
    track(&scene, ".tasks/task_2.json");
    assert!(!is_armed(&scene));
    assert!(!scene.has("harm"));
}

#[test]
fn what_was_allowed_is_run_and_recorded_where_no_repository_writes() {
    let scene = brought();
    scene.run(&["arm", "--yes"]).succeeded();
    scene.run(&["work"]).succeeded();
    assert!(scene.has("ran"));
    let records: Vec<_> =
        std::fs::read_dir(scene.home()).unwrap().flatten().map(|entry| entry.path().join("armed.json")).filter(|file| file.exists()).collect();
    assert_eq!(records.len(), 1);
    assert_eq!(std::fs::metadata(&records[0]).unwrap().permissions().mode() & 0o777, 0o600);
    // A record that is torn allows nothing.
    std::fs::write(&records[0], "{\"files\":").unwrap();
    scene.task("3", json!({ "run": "touch harm" }));
    track(&scene, ".tasks/task_3.json");
    assert!(scene.run(&["work"]).ended_with(4).err.contains("[not-armed]"));
    assert!(!scene.has("harm"));
}

#[test]
fn where_there_is_nothing_to_allow() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "true" }));
    let ran = scene.run(&["arm"]).succeeded();
    assert!(ran.err.contains("nothing to allow"), "{ran:#?}");
}
