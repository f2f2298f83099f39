//! A disk that fills up under a batch: it stops with a clear word, nothing is lost, and it goes on afterwards.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::scene::{Ran, Scene};

const TASKS: usize = 40;

fn ids() -> impl Iterator<Item = String> {
    (1..=TASKS).map(|id| id.to_string())
}

fn add_tasks(scene: &Scene, run: &str) {
    ids().for_each(|id| scene.task(&id, json!({ "run": run, "blockedBy": [] })));
}

/// The batch has stopped with a word that helps, and the board says what is so.
fn stopped_well(scene: &Scene, ran: &Ran) {
    assert_eq!(ran.code(), Some(1), "{ran:#?}");
    assert!(
        ran.err.contains("crew: cannot ") && ran.err.contains("No space left on device") && ran.err.contains("hint: make room on the disk"),
        "{ran:#?}"
    );
    scene.nothing_runs();
    let listed = scene.run(&["ls", "--json"]).succeeded();
    let tasks: Vec<Value> = listed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(tasks.len(), TASKS, "{listed:#?}");
    for task in &tasks {
        assert!(task.get("invalid").is_none() && task.get("unsettled").is_none(), "{task}");
        let status = task["status"].as_str().unwrap_or("pending");
        assert!(matches!(status, "pending" | "in_progress" | "completed"), "a full disk fails no task: {task}");
    }
    // What was reported is so.
    for line in ran.err.lines() {
        if let Some((id, _)) = line.split_once(": done → completed") {
            assert_eq!(scene.status(id), "completed");
        }
    }
}

fn goes_on(scene: &Scene) {
    scene.run(&["work", "--jobs", "2"]).succeeded();
    for id in ids() {
        assert_eq!(scene.status(&id), "completed");
        assert_eq!(scene.outcomes(&id).iter().filter(|outcome| *outcome == "done").count(), 1, "{id}: {:?}", scene.outcomes(&id));
        assert!(scene.outcomes(&id).iter().all(|outcome| matches!(outcome.as_str(), "done" | "lost" | "released")), "{id}: {:?}", scene.outcomes(&id));
    }
    scene.nothing_runs();
}

/// In debug builds a file stands for a full disk: the error comes at every write of the board's.
#[test]
#[cfg(debug_assertions)]
fn as_every_write_says_so() {
    let scene = Scene::new();
    let flag = scene.home().with_file_name("full");
    // The eleventh fills the disk, in the middle of it all.
    add_tasks(&scene, &format!("echo x >> effects; test $(wc -l < effects) -lt 11 || touch '{}'", flag.display()));
    let mut work = scene.crew(&["work", "--jobs", "2"]);
    work.env("CREW_DISK_FULL", &flag);
    let ran = scene.start(work).ended();
    assert!(flag.exists());
    stopped_well(&scene, &ran);
    // Again, with nothing changed: the same word, and nothing worse.
    let mut work = scene.crew(&["work", "--jobs", "2"]);
    work.env("CREW_DISK_FULL", &flag);
    stopped_well(&scene, &scene.start(work).ended());
    std::fs::remove_file(&flag).unwrap();
    goes_on(&scene);
}

/// A real one: a small filesystem in memory, in a mount namespace that goes with this process.
#[test]
#[cfg(target_os = "linux")]
fn really() {
    const INSIDE: &str = "CREW_TEST_INSIDE";
    if let Some(place) = std::env::var_os(INSIDE) {
        return fills_up(Path::new(&place));
    }
    let place = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=1m none '{}'", place.path().display());
    // Root may make a namespace, others where user namespaces are allowed.
    let ways = [&["-m"][..], &["-rm"]];
    let Some(way) = ways.iter().find(|way| Command::new("unshare").args(**way).args(["sh", "-c", &mount]).output().is_ok_and(|ran| ran.status.success()))
    else {
        eprintln!("skipped: this process may not mount a small filesystem");
        return;
    };
    let test = std::env::current_exe().unwrap();
    let ran = Command::new("unshare")
        .args(*way)
        .args(["sh", "-c", &format!("{mount} && exec \"$@\""), "sh"])
        .arg(test)
        .args(["leftovers::full_disk::really", "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, place.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

#[cfg(target_os = "linux")]
fn fills_up(place: &Path) {
    // All of it there: the board, the logs, the teammates.
    let scene = Scene::within(place);
    add_tasks(&scene, "true");
    // It takes all that is left, to the last byte.
    scene.task("11", json!({ "run": "cat /dev/zero > ballast 2> /dev/null; true" }));
    stopped_well(&scene, &scene.run(&["work", "--jobs", "2"]));
    // Again, with nothing changed: the same word, and nothing worse.
    stopped_well(&scene, &scene.run(&["work", "--jobs", "2"]));
    std::fs::remove_file(scene.project().join("ballast")).unwrap();
    scene.task("11", json!({ "run": "true", "attempts": scene.read("11")["attempts"] }));
    goes_on(&scene);
}
