//! `crew exec`: one task, with a living holder.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::scene::{Scene, runs, until};

#[test]
fn claims_runs_and_finishes_by_the_exit_code() {
    let scene = Scene::new();
    scene.task("1", json!({ "priority": 1 }));
    scene.task("2", json!({ "priority": 9 }));
    let ran = scene.run(&["exec", "--as", "me", "--", "sh", "-c", "echo working on $CREW_TASK_ID as $CREW_AS; echo and talking >&2"]).succeeded();
    assert_eq!(ran.out, "working on 2 as me\nand talking\n");
    assert_eq!((scene.status("2"), scene.summary("2")), ("completed".into(), "working on 2 as me\nand talking".into()));
    assert_eq!(scene.read("2")["attempts"][0]["by"], "me");

    let ran = scene.run(&["exec", "--as", "me", "--", "sh", "-c", "exit 7"]).ended_with(1);
    assert!(ran.err.contains("task 1: the command ended with exit code 7"), "{ran:#?}");
    assert_eq!((scene.status("1"), scene.read("1")["attempts"][0]["exit"].clone()), ("failed".into(), json!(7)));

    let ran = scene.run(&["exec", "--as", "me", "--", "touch", "harm"]).ended_with(6);
    assert_eq!((ran.out.as_str(), scene.has("harm")), ("", false));
}

#[test]
fn a_certain_task_or_none() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    scene.task("2", json!({ "blockedBy": ["1"] }));
    for (id, why) in [("2", "blocked"), ("3", "no task 3")] {
        let ran = scene.run(&["exec", "--as", "me", id, "--", "touch", "harm"]).ended_with(4);
        assert!(ran.err.contains(why), "{ran:#?}");
    }
    assert!(!scene.has("harm"));
    scene.run(&["exec", "--as", "me", "1", "--", "true"]).succeeded();
    scene.run(&["exec", "--as", "me", "2", "--", "true"]).succeeded();
    scene.run(&["exec", "--as", "me", "1", "--", "true"]).ended_with(4);
}

#[test]
fn a_check_has_the_last_word() {
    let scene = Scene::new();
    scene.task("1", json!({ "check": "test -e made" }));
    let ran = scene.run(&["exec", "--as", "me", "--", "true"]).ended_with(1);
    assert!(ran.err.contains("the check ended with exit code 1"), "{ran:#?}");
    assert_eq!(scene.status("1"), "failed");
    scene.run(&["retry", "1"]).succeeded();
    scene.run(&["exec", "--as", "me", "--", "touch", "made"]).succeeded();
    assert_eq!(scene.status("1"), "completed");
}

#[test]
fn one_of_a_name() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    scene.task("2", json!({}));
    let first = scene.start(scene.crew(&["exec", "--as", "me", "--", "sh", "-c", "touch began; until [ -e go ]; do sleep 0.01; done"]));
    until("the first is at work", || scene.has("began"));
    let ran = scene.run(&["exec", "--as", "me", "--", "touch", "harm"]).ended_with(4);
    assert!(ran.err.contains("a teammate named me is already at work (pid "), "{ran:#?}");
    assert_eq!((scene.status("2"), scene.has("harm")), ("pending".into(), false));
    scene.run(&["exec", "--as", "you", "--", "true"]).succeeded();
    scene.put("go", "");
    first.ended().succeeded();
    assert_eq!((scene.status("1"), scene.status("2")), ("completed".into(), "completed".into()));
}

#[test]
fn killed_it_leaves_its_task_to_the_next() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let exec = scene.start(scene.crew(&["exec", "--as", "me", "--", "sh", "-c", "echo $$ > pid; exec sleep 1000"]));
    until("it is at work", || scene.lines("pid").len() == 1);
    exec.killed();
    let left: i32 = scene.lines("pid")[0].parse().unwrap();
    assert!(runs(left), "nobody has ended it yet");
    assert_eq!(scene.status("1"), "in_progress");
    scene.run(&["exec", "--as", "you", "--", "true"]).succeeded();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["lost".into(), "done".into()]));
    scene.nothing_runs();
}

#[test]
fn interrupted_it_gives_its_task_back() {
    let scene = Scene::new();
    scene.task("1", json!({ "check": "touch checked" }));
    let exec = scene.start(scene.crew(&["exec", "--as", "me", "--", "sh", "-c", "touch began; exec sleep 1000"]));
    until("it is at work", || scene.has("began"));
    exec.signal(Signal::INT);
    exec.ended().ended_with(130);
    assert_eq!((scene.status("1"), scene.outcomes("1"), scene.reason("1")), ("pending".into(), vec!["released".into()], "interrupted".into()));
    assert!(scene.read("1")["owner"].is_null() && !scene.has("checked"));
    scene.nothing_runs();
}

#[test]
fn to_a_reader_that_has_gone_it_works_all_the_same() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let mut exec = scene.crew(&["exec", "--as", "me", "--", "sh", "-c", "echo a; echo b; exit 5"]);
    let mut child = exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(scene.status("1"), "failed");
}

#[test]
fn try_later_parks_for_the_same_name() {
    let scene = Scene::new();
    scene.put(".crew/config.toml", "waitBaseSec = 1\n");
    scene.task("1", json!({}));
    let ran = scene.run(&["exec", "--as", "me", "--", "sh", "-c", "exit 75"]).succeeded();
    assert!(ran.err.contains("tried again later"), "{ran:#?}");
    assert_eq!((scene.read("1")["parked"]["on"].clone(), scene.read("1")["owner"].clone()), (json!("until"), json!("me")));
    scene.run(&["exec", "--as", "you", "--", "true"]).ended_with(6);
    until("its time has come", || scene.run(&["exec", "--as", "me", "--", "true"]).code() == Some(0));
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["parked".into(), "done".into()]));
}
