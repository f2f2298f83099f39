//! Commands that a repository brings run only when somebody here has said so.

use std::path::Path;

use serde_json::json;

use crate::scene::Scene;

/// Makes the project a repository that tracks these files.
fn track(scene: &Scene, files: &[&str]) {
    let repository = git2::Repository::init(scene.project()).unwrap();
    let mut index = repository.index().unwrap();
    files.iter().for_each(|file| index.add_path(Path::new(file)).unwrap());
    index.write().unwrap();
}

#[test]
fn tracked_tasks_are_refused_where_nobody_can_be_asked() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch ran-1" }));
    scene.task("2", json!({ "run": "touch ran-2", "check": "touch checked\u{1b}[2J" }));
    track(&scene, &[".tasks/task_2.json"]);
    let before = scene.everything();
    for verb in [&["work"][..], &["exec", "--as", "me", "--", "true"], &["spawn", "alice"]] {
        let ran = scene.run(verb).ended_with(4);
        assert_eq!(scene.everything(), before, "{verb:?}");
        assert!(ran.err.contains("[not-armed]") && ran.err.contains("--yes"), "{ran:#?}");
        assert!(ran.err.contains("task_2.json: touch checked\\u{1b}[2J"), "what would run is shown, harmless: {ran:#?}");
        assert!(!ran.err.contains("ran-1"), "nobody else brought it: {ran:#?}");
        scene.nothing_runs();
    }
    let told: serde_json::Value = serde_json::from_str(&scene.run(&["work", "--json"]).ended_with(4).err).unwrap();
    assert_eq!(told["rule"], "not-armed");

    scene.run(&["work", "--yes"]).succeeded();
    assert!(scene.has("ran-1") && scene.has("ran-2"));
    // What is over runs nothing any more.
    scene.run(&["work"]).succeeded();
}

#[test]
fn what_git_does_not_track_is_the_persons_own() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch ran" }));
    scene.task("2", json!({ "description": "tracked, and without a command" }));
    track(&scene, &[".tasks/task_2.json"]);
    scene.run(&["work"]).succeeded();
    assert!(scene.has("ran"));
}

#[test]
fn exec_runs_the_checks_of_tasks_and_not_their_commands() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch harm" }));
    track(&scene, &[".tasks/task_1.json"]);
    scene.run(&["exec", "--as", "me", "--", "true"]).succeeded();
    assert_eq!((scene.status("1"), scene.has("harm")), ("completed".into(), false));
}
