//! Commands that a repository brings run only when somebody here has said so.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, until};

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

#[test]
fn a_batch_asks_for_nothing_that_it_does_not_run() {
    let scene = Scene::new();
    scene.put(".crew/teammates/alice.md", "---\ncommand: touch harm\n---\n");
    scene.task("1", json!({ "check": "touch harm", "description": "think" }));
    scene.task("2", json!({ "run": "touch ran" }));
    track(&scene, &[".tasks/task_1.json", ".crew/teammates/alice.md"]);
    scene.run(&["work"]).succeeded();
    assert!(scene.has("ran") && !scene.has("harm"));
    let ran = scene.run(&["spawn", "alice"]).ended_with(4);
    assert!(ran.err.contains("[not-armed]"), "{ran:#?}");
}

/// A repository that tracks a file which is not there yet, as in the middle of a pull.
fn track_ahead(scene: &Scene, file: &str) {
    let repository = git2::Repository::init(scene.project()).unwrap();
    let mut index = repository.index().unwrap();
    let zero = git2::IndexTime::new(0, 0);
    let (id, path) = (git2::Oid::ZERO_SHA1, file.into());
    let entry =
        git2::IndexEntry { ctime: zero, mtime: zero, dev: 0, ino: 0, mode: 0o100_644, uid: 0, gid: 0, file_size: 0, id, flags: 0, flags_extended: 0, path };
    index.add_frombuffer(&entry, b"{}").unwrap();
    index.write().unwrap();
}

#[test]
fn what_git_brings_during_a_batch_is_left_alone() {
    for yes in [false, true] {
        let scene = Scene::new();
        scene.task("1", json!({ "run": "touch began; until [ -e 3.ran ]; do sleep 0.01; done" }));
        track_ahead(&scene, ".tasks/task_2.json");
        let arguments = if yes { &["work", "--jobs", "2", "--yes"][..] } else { &["work", "--jobs", "2"] };
        let work = scene.start(scene.crew(arguments));
        until("it is at work", || scene.has("began"));
        // First by its priority, so that it would be taken before the third.
        scene.task("2", json!({ "run": "touch 2.ran", "priority": 9 }));
        scene.task("3", json!({ "run": "touch 3.ran" }));
        let ran = work.ended().succeeded();
        assert_eq!((scene.has("2.ran"), scene.status("3")), (yes, "completed".into()), "{ran:#?}");
        let told = ran.err.matches("1 task was not run, for git brought it meanwhile; `crew work` shows what it runs and asks: 2").count();
        assert_eq!(told, usize::from(!yes), "{ran:#?}");
        if !yes {
            assert!(scene.outcomes("2").is_empty());
            scene.run(&["work"]).ended_with(4);
        }
    }
}

/// Every repository around the board may bring tasks, and one that cannot be read may bring any.
#[test]
fn whatever_repository_tracks_them() {
    let refused = |scene: &Scene, what: &str| {
        let ran = scene.run(&["work"]).ended_with(4);
        assert!(ran.err.contains("[not-armed]") && ran.err.contains("touch harm"), "{what}: {ran:#?}");
        assert!(!scene.has("harm"), "{what}");
    };
    let with_task = || {
        let scene = Scene::new();
        scene.task("1", json!({ "run": "touch harm" }));
        scene
    };
    let scene = with_task();
    let inner = git2::Repository::init(scene.tasks()).unwrap();
    let mut index = inner.index().unwrap();
    index.add_path(Path::new("task_1.json")).unwrap();
    index.write().unwrap();
    refused(&scene, "the board's directory is a working tree of its own");

    let scene = with_task();
    track(&scene, &[".tasks/task_1.json"]);
    let inside = scene.project().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::rename(scene.tasks(), inside.join(".tasks")).unwrap();
    let outer = git2::Repository::open(scene.project()).unwrap();
    let mut index = outer.index().unwrap();
    index.add_path(Path::new("inside/.tasks/task_1.json")).unwrap();
    index.write().unwrap();
    git2::Repository::init(&inside).unwrap();
    let ran = scene.run(&["-C", "inside", "work"]).ended_with(4);
    assert!(ran.err.contains("[not-armed]"), "a repository within the one that tracks them: {ran:#?}");

    let scene = with_task();
    git2::Repository::init(scene.project()).unwrap();
    scene.put(".git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n");
    refused(&scene, "a format that cannot be read here");

    let scene = with_task();
    let repository = git2::Repository::init(scene.project()).unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(Path::new(".tasks/task_1.json")).unwrap();
    let mut entry = index.get(0).unwrap();
    index.remove_path(Path::new(".tasks/task_1.json")).unwrap();
    entry.flags = (entry.flags & 0x0fff) | (3 << 12);
    index.add(&entry).unwrap();
    index.write().unwrap();
    refused(&scene, "in conflict");

    // What is called so and is no repository tracks nothing.
    let scene = with_task();
    std::fs::create_dir(scene.project().join(".git")).unwrap();
    scene.run(&["work"]).succeeded();
    assert!(scene.has("harm"));
}
