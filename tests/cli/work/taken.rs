//! Tasks that are cancelled or taken away while somebody works on them: the command ends, too.

use serde_json::json;

use crate::scene::{Scene, runs, until};

/// Says its pid, and so does a child in a session of its own that ignores signals; both stay.
const STAYS: &str =
    "setsid sh -c 'trap \"\" TERM HUP; echo $$ >> pids; while :; do sleep 1000; done' & until [ -e pids ]; do sleep 0.01; done; echo $$ >> pids; wait";

fn pids(scene: &Scene) -> Vec<i32> {
    until("both run", || scene.lines("pids").len() == 2);
    scene.lines("pids").iter().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn cancelled_in_a_batch() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": STAYS }));
    scene.task("2", json!({ "run": "until [ -e go ]; do sleep 0.01; done" }));
    let work = scene.start(scene.crew(&["work", "--jobs", "2"]));
    let pids = pids(&scene);
    scene.run(&["cancel", "1"]).succeeded();
    until("its processes have ended", || pids.iter().all(|&pid| !runs(pid)));
    assert_eq!(scene.status("2"), "in_progress", "the batch goes on");
    scene.put("go", "");
    let ran = work.ended().succeeded();
    scene.nothing_runs();
    assert!(ran.err.contains("1: ended: it was taken away: the task was cancelled (subject of 1)"), "{ran:#?}");
    assert!(ran.err.contains("1 completed, 0 failed, 1 taken away"), "{ran:#?}");
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("cancelled".into(), vec!["released".into()]));
}

#[test]
fn cancelled_with_an_editor_during_its_check() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "true", "check": STAYS }));
    let work = scene.start(scene.crew(&["work", "--json"]));
    let pids = pids(&scene);
    let mut task = scene.read("1");
    task["status"] = "cancelled".into();
    scene.put(".tasks/task_1.json", &task.to_string());
    until("its processes have ended", || pids.iter().all(|&pid| !runs(pid)));
    let ran = work.ended().succeeded();
    let ended: serde_json::Value = serde_json::from_str(ran.out.lines().nth(1).unwrap()).unwrap();
    assert_eq!((ended["event"].clone(), ended["status"].clone()), (json!("ended"), json!(null)));
    assert_eq!(ended["reason"], "it was taken away: somebody wrote that it is cancelled");
    assert_eq!(scene.read("1"), task);
}

#[test]
fn released_by_force_and_claimed_by_another() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let exec = scene.start(scene.crew(&["exec", "--as", "alice", "1", "--", "sh", "-c", STAYS]));
    let pids = pids(&scene);
    scene.run(&["release", "1", "--force", "--reason", "bob is faster"]).succeeded();
    scene.run(&["claim", "1", "--as", "bob"]).succeeded();
    let ran = exec.ended().ended_with(4);
    assert!(pids.iter().all(|&pid| !runs(pid)));
    scene.nothing_runs();
    assert!(ran.err.contains("task 1: it was taken away: bob is faster; bob holds it now"), "{ran:#?}");
    assert_eq!((scene.status("1"), scene.read("1")["owner"].clone()), ("in_progress".into(), json!("bob")));
}

#[test]
fn a_claim_that_an_editor_hid_ends_nothing() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch began; until [ -e go ]; do sleep 0.01; done" }));
    let old = scene.file(".tasks/task_1.json");
    scene.task("2", json!({ "run": "until [ -e began ]; do sleep 0.01; done; sleep 0.1; touch second" }));
    let work = scene.start(scene.crew(&["work", "--jobs", "2"]));
    until("it is at work", || scene.has("began"));
    scene.put(".tasks/task_1.json", &old);
    until("the board was written to", || scene.has("second"));
    scene.put("go", "");
    work.ended().succeeded();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["done".into()]));
}

#[test]
fn what_it_depends_on_is_reopened_meanwhile() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo 1 >> order" }));
    scene.task("2", json!({ "run": "touch began; until [ -e go ]; do sleep 0.01; done; echo 2 >> order", "blockedBy": [1] }));
    let work = scene.start(scene.crew(&["work", "--jobs", "1"]));
    until("the dependant is at work", || scene.has("began"));
    scene.run(&["reopen", "1", "--because", "it was not done"]).succeeded();
    scene.put("go", "");
    work.ended().succeeded();
    assert_eq!(scene.lines("order"), ["1", "2", "1", "2"], "done again, after what it depends on");
    assert_eq!((scene.status("2"), scene.outcomes("2")), ("completed".into(), vec!["released".into(), "done".into()]));
}
