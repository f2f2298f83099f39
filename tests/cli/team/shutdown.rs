//! How teammates are made to end.

use rustix::process::Signal;
use serde_json::json;

use super::messages::inbox;
use super::{SLEEPS, at_work, profile, spawn, spawn_at_work, until_go};
use crate::scene::{Running, Scene, is_stopped, runs, signal, until};

/// Asks a teammate to shut down when it has the time, and comes back when it knows.
fn asked(scene: &Scene, name: &str) -> Running {
    // Stopped meanwhile, so that the moment at which it knows can be seen.
    let pid = scene.pid_of(name);
    signal(pid, Signal::STOP);
    until("it is stopped", || is_stopped(pid));
    let shutdown = scene.start(scene.crew(&["shutdown", name, "--grace", "10m"]));
    let is_asked = || inbox(scene, name).contains("\"kind\":\"shutdown\"");
    until("it was asked", is_asked);
    signal(pid, Signal::CONT);
    until("it knows", || !is_asked());
    shutdown
}

#[test]
fn who_is_idle_ends_at_once() {
    let scene = Scene::new();
    spawn(&scene, "alice", SLEEPS);
    scene.run(&["shutdown", "alice"]).succeeded();
    assert_eq!(scene.member("alice")["status"], "shutdown");
    scene.nothing_runs();
    let ran = scene.run(&["shutdown", "alice"]).ended_with(4);
    assert!(ran.err.contains("alice is not at work"), "{ran:#?}");
    scene.run(&["shutdown", "--all"]).succeeded();
    scene.run(&["shutdown"]).ended_with(2);
}

#[test]
fn the_work_under_way_is_finished_and_no_other_begun() {
    let scene = Scene::new();
    scene.task("1", until_go());
    spawn_at_work(&scene, "alice");
    scene.task("2", json!({ "run": "touch harm" }));
    let shutdown = asked(&scene, "alice");
    assert_eq!(scene.member("alice")["status"], "working");
    scene.put("go", "");
    shutdown.ended().succeeded();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["done".into()]));
    assert_eq!((scene.status("2"), scene.has("harm")), ("pending".into(), false));
    scene.nothing_runs();
}

#[test]
fn a_turn_over_messages_is_finished_too() {
    let scene = Scene::new();
    scene.put(&profile("alice"), "---\npoll: 50ms\nidleTimeout: 1h\ncommand: cat >> heard; until [ -e go ]; do sleep 0.01; done\n---\n");
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    scene.run(&["send-message", "alice", "once"]).succeeded();
    until("it was heard", || scene.lines("heard").len() == 1);
    let shutdown = asked(&scene, "alice");
    scene.put("go", "");
    assert_eq!(shutdown.ended().succeeded().err, "", "it ended by itself");
    assert_eq!(inbox(&scene, "alice"), "", "and what was heard is consumed");
}

#[test]
fn after_its_grace_the_work_goes_back() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & sleep 1000" }));
    let child = spawn_at_work(&scene, "alice");
    scene.run(&["shutdown", "alice", "--grace", "100ms"]).succeeded();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("pending".into(), vec!["released".into()]));
    assert_eq!(scene.reason("1"), "alice was asked to shut down");
    assert!(scene.read("1")["owner"].is_null());
    assert!(!runs(child));
    scene.nothing_runs();
}

#[test]
fn who_does_not_answer_is_killed() {
    let scene = Scene::new();
    scene.task("1", until_go());
    let child = spawn_at_work(&scene, "alice");
    let pid = scene.pid_of("alice");
    signal(pid, Signal::STOP);
    until("it is stopped", || is_stopped(pid));
    let ran = scene.run(&["shutdown", "alice", "--grace", "100ms"]).succeeded();
    assert!(ran.err.contains("killing it"), "{ran:#?}");
    assert!(!runs(pid) && !runs(child));
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("pending".into(), vec!["lost".into()]));
    assert!(scene.reason("1").contains("its holder died"), "{}", scene.reason("1"));
    scene.nothing_runs();

    // What it was asked and could not answer is not for the next of its name.
    scene.put("go", "");
    scene.run(&["spawn", "alice"]).succeeded();
    until("it works", || scene.status("1") == "completed");
    until("it is idle", || scene.member("alice")["status"] == "idle");
}

#[test]
fn everybody() {
    let scene = Scene::new();
    spawn(&scene, "alice", SLEEPS);
    spawn(&scene, "bob", SLEEPS);
    scene.task("1", json!({ "run": "trap '' TERM; echo $$ >> pids; while :; do sleep 1000; done" }));
    at_work(&scene);
    scene.run(&["shutdown", "--all", "--grace", "0s"]).succeeded();
    assert!(scene.team().iter().all(|member| member["status"] == "shutdown"));
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("pending".into(), vec!["released".into()]));
    scene.nothing_runs();
    assert!(!scene.has(&profile("nobody")));
}
