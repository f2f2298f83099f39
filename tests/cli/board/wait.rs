//! `crew wait`: until what is waited for is finished, or cannot be.

use rustix::process::Signal;
use serde_json::json;

use super::objects;
use crate::scene::{Running, Scene, until};

fn waiting(scene: &Scene, arguments: &[&str], events: bool) -> Running {
    let mut command = scene.crew(arguments);
    command.envs((!events).then_some(("CREW_NO_NOTIFY", "1")));
    let running = scene.start(command);
    // It has its signals in hand from the moment on that it looks at the board.
    let looks = || {
        let maps = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).into_iter().flatten().flatten();
        maps.filter_map(|fd| std::fs::read_link(fd.path()).ok()).any(|path| path == scene.tasks())
    };
    until("it looks", looks);
    running
}

fn done(scene: &Scene, id: &str) {
    scene.run(&["claim", id, "--as", "me"]).succeeded();
    scene.run(&["finish", id, "--as", "me"]).succeeded();
}

#[test]
fn it_ends_when_the_last_is_finished() {
    for events in [true, false] {
        let scene = Scene::new();
        scene.task("1", json!({}));
        scene.task("2", json!({ "blockedBy": [1] }));
        scene.task("3", json!({ "status": "cancelled" }));
        let all = waiting(&scene, &["wait", "--all", "--json"], events);
        let one = waiting(&scene, &["wait", "1", "--timeout", "1h"], events);
        done(&scene, "1");
        one.ended().succeeded();
        done(&scene, "2");
        let ran = all.ended().succeeded();
        assert_eq!(objects(&ran), [json!({ "done": true, "completed": 2, "failed": [], "cancelled": [3], "stuck": [] })]);
    }
}

#[test]
fn a_drop_and_an_edit_by_hand_are_seen() {
    let scene = Scene::new();
    scene.task("1", json!({ "status": "in_progress", "owner": "another program" }));
    let all = waiting(&scene, &["wait", "--all"], true);
    scene.task("1", json!({ "status": "completed" }));
    all.ended().succeeded();
}

#[test]
fn a_failure_is_one() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    scene.task("2", json!({ "status": "failed" }));
    let all = waiting(&scene, &["wait", "--all"], true);
    done(&scene, "1");
    let ran = all.ended().ended_with(1);
    assert!(ran.err.contains("task 2: failed"), "{ran:?}");
    scene.run(&["wait", "1"]).succeeded();
    scene.run(&["wait", "1", "2"]).ended_with(1);
}

#[test]
fn it_ends_where_nothing_can_go_on_and_says_why() {
    let scene = Scene::new();
    let at = "2026-01-02T03:04:05Z";
    scene.task("1", json!({ "blockedBy": [2] }));
    scene.task("2", json!({ "status": "failed" }));
    scene.task("3", json!({ "blockedBy": [404] }));
    scene.task("4", json!({ "blockedBy": [5] }));
    scene.task("5", json!({ "blockedBy": [4] }));
    scene.task("6", json!({ "status": "wip" }));
    scene.task("7", json!({ "status": "in_progress", "owner": "bob", "parked": { "on": "ask" } }));
    // Its holder is gone for certain: its lease ran out.
    scene.task("8", json!({ "status": "in_progress", "owner": "bob", "claim": { "turn": "t", "by": "bob", "at": at, "lease": at } }));
    scene.task("9", json!({ "blockedBy": [8] }));
    scene.task("10", json!({ "status": "completed" }));
    let ran = scene.run(&["wait", "--all"]).ended_with(1);
    for part in [
        "nothing can go on",
        "task 1: blocked by 2 (failed)",
        "task 3: blocked by 404",
        "task 4: blocked by 5",
        "task 6:",
        "task 7: parked by bob: it waits for an answer",
        "task 8: its holder bob is gone",
        "task 9: blocked by 8",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    // Parked until a time, it goes on by itself.
    scene.task("7", json!({ "status": "in_progress", "owner": "bob", "parked": { "on": "until", "until": "2126-01-02T03:04:05Z" } }));
    let ran = scene.run(&["wait", "--all", "--timeout", "1ms"]).ended_with(1);
    assert!(ran.err.contains("8 tasks not finished within 1ms, of which 7 cannot go on (`crew ls` says why)"), "{ran:?}");
    assert!(!ran.err.contains("nobody is at work"), "somebody is: {ran:?}");
    // Whoever names a task wants it done.
    scene.run(&["cancel", "1"]).succeeded();
    let ran = scene.run(&["wait", "1"]).ended_with(1);
    assert!(ran.err.contains("task 1: cancelled"), "{ran:?}");
    let ran = scene.run(&["wait", "12345"]).ended_with(4);
    assert!(ran.err.contains("12345"), "{ran:?}");
    scene.run(&["wait"]).ended_with(2);
}

#[test]
fn a_long_chain_is_no_trouble() {
    let scene = Scene::new();
    let lines: String =
        (1..=1500).map(|n| format!("{{\"subject\":\"s\",\"id\":{n},\"blockedBy\":[{}]}}\n", if n > 1 { (n - 1).to_string() } else { String::new() })).collect();
    super::fed(&scene, &["add", "--jsonl", "-"], lines).succeeded();
    let ran = scene.run(&["wait", "1500", "--timeout", "1ms"]).ended_with(1);
    assert!(ran.err.contains("not finished within"), "it can still be done: {ran:?}");
    scene.run(&["cancel", "1"]).succeeded();
    let ran = scene.run(&["wait", "1500"]).ended_with(1);
    assert!(ran.err.contains("nothing can go on"), "{ran:?}");
}

#[test]
fn interrupted_it_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM] {
        let scene = Scene::bare();
        scene.task("1", json!({}));
        let wait = waiting(&scene, &["wait", "--all"], true);
        wait.signal(signal);
        let ran = wait.ended().ended_with(130);
        assert!(ran.out.is_empty() && ran.err.lines().count() == 1, "no more than that nobody is at work: {ran:?}");
        scene.nothing_runs();
        assert!(!scene.tasks().join(".board").exists(), "it only looked");
    }
}

#[test]
fn it_says_that_nobody_is_at_work() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let ran = scene.run(&["wait", "--all", "--timeout", "1ms"]).ended_with(1);
    assert!(ran.err.contains("nobody is at work") && ran.err.contains("1 task not finished within 1ms"), "{ran:?}");
    let silent = scene.run(&["wait", "--all", "--timeout", "1ms", "--json"]).ended_with(1);
    assert!(!silent.err.contains("nobody is at work"), "{silent:?}");
}
