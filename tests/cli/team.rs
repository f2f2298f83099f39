//! `crew spawn`, `team`, `logs`, `shutdown`, `send-message`: teammates that live beside us.

mod messages;
mod profiles;
mod shutdown;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::scene::{Scene, is_stopped, runs, signal, until};

/// A teammate that looks often and stays.
const STAYS: &str = "---\npoll: 50ms\nidleTimeout: 1h\n---\n";
/// One that looks only when an event wakes it.
const SLEEPS: &str = "---\npoll: 1h\nidleTimeout: 1h\n---\n";
/// One that is soon gone.
const GOES: &str = "---\npoll: 100ms\nidleTimeout: 500ms\n---\n";

fn profile(name: &str) -> String {
    format!(".crew/teammates/{name}.md")
}

/// A board with a teammate that has this profile and is idle.
fn with(name: &str, text: &str) -> Scene {
    let scene = Scene::new();
    spawn(&scene, name, text);
    scene
}

fn spawn(scene: &Scene, name: &str, text: &str) {
    scene.put(&profile(name), text);
    assert_eq!(scene.run(&["spawn", name, "--yes"]).succeeded().out, format!("{name}\n"));
    until("it is idle", || scene.member(name)["status"] == "idle");
}

/// A task that says its pid and ends when a file called `go` is there.
fn until_go() -> serde_json::Value {
    json!({ "run": "echo $$ >> pids; until [ -e go ]; do sleep 0.01; done; echo $CREW_TASK_ID >> effects" })
}

fn at_work(scene: &Scene) -> i32 {
    until("the command runs", || !scene.lines("pids").is_empty());
    scene.lines("pids").last().unwrap().parse().unwrap()
}

/// Whether a process has events of the filesystem sent to it.
fn watches(pid: i32) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok()).any(|open| open.as_os_str() == "anon_inode:inotify")
}

#[test]
fn with_nothing_to_do_they_shut_down() {
    let scene = Scene::new();
    scene.put(&profile("crew"), GOES);
    let begun = scene.run(&["spawn", "crew", "--count", "3"]).succeeded();
    assert_eq!(begun.out, "crew-1\ncrew-2\ncrew-3\n");
    until("all have shut down", || scene.team().iter().all(|member| member["status"] == "shutdown"));
    assert_eq!(scene.team().len(), 3);
    until("their processes have ended", || scene.processes().is_empty());
    let shown = scene.run(&["team"]).succeeded();
    assert!(shown.out.is_empty() && shown.err.contains("nobody is at work"), "{shown:#?}");
    let log = scene.run(&["logs", "crew-2"]).succeeded().out;
    assert!(log.contains("crew-2 is at work") && log.contains("crew-2 has shut down"), "{log}");
}

#[test]
fn a_task_that_is_dropped_wakes_them() {
    let scene = Scene::new();
    // It would not look again by itself.
    spawn(&scene, "alice", SLEEPS);
    scene.task("1", json!({ "run": "echo $CREW_AS > by" }));
    until("it was taken", || scene.status("1") == "completed");
    assert_eq!(scene.lines("by"), ["alice"]);
    assert!(watches(scene.pid_of("alice")));
    until("it is idle again", || scene.member("alice")["status"] == "idle");
    // Written in place, as by an editor.
    std::fs::write(scene.tasks().join("task_2.json"), json!({ "subject": "in place", "run": "true" }).to_string()).unwrap();
    until("it was taken, too", || scene.status("2") == "completed");
    // The board hears of it before the log does.
    until("its log says so", || scene.run(&["logs", "alice"]).succeeded().out.contains("task 2: done"));
    assert!(scene.run(&["logs", "alice"]).succeeded().out.contains("task 1: done"));
}

#[test]
fn without_events_they_look() {
    let scene = Scene::new();
    scene.put(&profile("alice"), STAYS);
    let mut spawn = scene.crew(&["spawn", "alice"]);
    spawn.env("CREW_NO_NOTIFY", "1");
    scene.start(spawn).ended().succeeded();
    until("it is idle", || scene.member("alice")["status"] == "idle");
    assert!(!watches(scene.pid_of("alice")));
    scene.task("1", json!({ "run": "true" }));
    let dropped = Instant::now();
    until("it was taken", || scene.status("1") == "completed");
    assert!(dropped.elapsed() < Duration::from_secs(5), "{:?}", dropped.elapsed());
}

#[test]
fn one_of_a_name() {
    let scene = with("alice", STAYS);
    let ran = scene.run(&["spawn", "alice"]).ended_with(4);
    assert!(ran.err.contains("a teammate named alice is already at work (pid "), "{ran:#?}");
    let ran = scene.run(&["spawn", "alice", "--foreground"]).ended_with(4);
    assert!(ran.err.contains("[name-taken]") || ran.err.contains("already at work"), "{ran:#?}");
    // Of several all begin or none.
    scene.run(&["spawn", "bob", "--count", "1"]).succeeded();
    let ran = scene.run(&["spawn", "bob", "--count", "2"]).ended_with(4);
    assert!(ran.err.contains("bob-1") && ran.out.is_empty(), "{ran:#?}");
    assert!(scene.member("bob-2").is_null());
    // Names that could leave the directory, and reserved ones.
    for name in ["../x", "a/b", "user", ""] {
        let ran = scene.run(&["spawn", name]);
        assert!(matches!(ran.code(), Some(2 | 4)) && ran.err.contains("refused"), "{ran:#?}");
    }
}

#[test]
fn it_holds_nothing_of_where_it_was_started() {
    let scene = Scene::new();
    scene.put(&profile("alice"), STAYS);
    // Whoever reads what `spawn` says comes to its end, though the teammate lives on.
    let mut spawn = scene.crew(&["spawn", "alice"]);
    let ran = spawn.output().unwrap();
    assert_eq!((ran.status.code(), ran.stdout, ran.stderr), (Some(0), b"alice\n".to_vec(), Vec::new()));

    // Nor is it part of the task that started it.
    scene.put(&profile("bob"), STAYS);
    scene.task("1", json!({ "owner": "me" }));
    scene.run(&["exec", "--as", "me", "--yes", "1", "--", "sh", "-c", "\"$CREW\" spawn bob --yes"]).succeeded();
    assert_eq!((scene.status("1"), scene.summary("1")), ("completed".into(), "bob".into()));
    assert_eq!(scene.member("bob")["status"], "idle");
    scene.run(&["shutdown", "--all"]).succeeded();
    scene.nothing_runs();
}

#[test]
fn in_the_foreground_until_it_is_interrupted() {
    let scene = Scene::new();
    scene.put(&profile("alice"), STAYS);
    scene.task("1", until_go());
    let alice = scene.start(scene.crew(&["spawn", "alice", "--foreground"]));
    let pid = at_work(&scene);
    alice.signal(Signal::INT);
    let ran = alice.ended().ended_with(130);
    assert!(ran.err.contains("alice is at work") && ran.err.contains("alice has shut down"), "{ran:#?}");
    assert!(!runs(pid));
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("pending".into(), vec!["released".into()]));
    scene.nothing_runs();
}

#[test]
fn lanes_are_worked_side_by_side_and_no_more() {
    let scene = Scene::new();
    for id in ["1", "2", "3"] {
        scene.task(id, until_go());
    }
    scene.put(&profile("alice"), "---\npoll: 50ms\nidleTimeout: 1h\nlanes: 2\n---\n");
    scene.run(&["spawn", "alice"]).succeeded();
    until("two are at work", || scene.lines("pids").len() == 2);
    assert_eq!((scene.member("alice")["status"].clone(), scene.member("alice")["tasks"].clone()), (json!("working"), json!([1, 2])));
    assert_eq!(scene.status("3"), "pending");
    scene.put("go", "");
    until("all are done", || ["1", "2", "3"].iter().all(|id| scene.status(id) == "completed"));
}

#[test]
fn who_is_at_work() {
    let scene = Scene::new();
    scene.task("1", until_go());
    spawn_at_work(&scene, "alice");
    let pid = scene.pid_of("alice");
    let member = scene.member("alice");
    assert_eq!((member["status"].clone(), member["tasks"].clone(), member["runner"].clone()), (json!("working"), json!([1]), json!("command")));
    assert!(member["since"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());

    signal(pid, Signal::STOP);
    until("it is stopped", || is_stopped(pid));
    assert_eq!(scene.member("alice")["status"], "stopped");
    signal(pid, Signal::CONT);
    until("it goes on", || scene.member("alice")["status"] == "working");

    signal(pid, Signal::KILL);
    until("it is dead", || scene.member("alice")["status"] == "dead");
    assert_eq!(scene.member("alice")["tasks"], json!([]));

    let lines = scene.run(&["team"]).succeeded().out;
    assert!(lines.starts_with("NAME ") && lines.contains("\nalice  dead "), "{lines}");
    // What it held is still to be cleaned up.
    let file = ".tasks/.board/teammates/alice.json";
    let mut record: serde_json::Value = serde_json::from_str(&scene.file(file)).unwrap();
    record["since"] = json!("2026-01-02T03:04:05Z");
    scene.put(file, &record.to_string());
    assert!(scene.run(&["team"]).succeeded().out.contains("\nalice  dead "));
    scene.run(&["doctor", "--fix"]);
    assert_eq!(scene.status("1"), "pending");
    let shown = scene.run(&["team"]).succeeded();
    assert!(shown.out.is_empty(), "it has been dead for long: {shown:#?}");

    let mut narrow = scene.crew(&["team", "--all"]);
    narrow.env("COLUMNS", "40");
    let narrow = scene.start(narrow).ended().succeeded().out;
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
}

/// Spawns a teammate that stays, and waits until it is at its task.
fn spawn_at_work(scene: &Scene, name: &str) -> i32 {
    scene.put(&profile(name), STAYS);
    scene.run(&["spawn", name, "--yes"]).succeeded();
    at_work(scene)
}

#[test]
fn killed_it_leaves_its_task_to_whoever_cleans() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "test $CREW_ATTEMPT = 2 && exit 0; setsid sh -c 'echo $$ >> pids; exec sleep 1000' & wait" }));
    let child = spawn_at_work(&scene, "alice");
    signal(scene.pid_of("alice"), Signal::KILL);
    until("it is dead", || scene.member("alice")["status"] == "dead");
    assert!(runs(child), "nobody has ended it yet");
    assert_eq!(scene.status("1"), "in_progress", "a look changes nothing");

    // A namesake cleans, too.
    scene.run(&["spawn", "alice"]).succeeded();
    until("it was done again", || scene.status("1") == "completed");
    assert_eq!(scene.outcomes("1"), ["lost", "done"]);
    assert!(!runs(child));
    let log = scene.run(&["logs", "alice"]).succeeded().out;
    assert!(log.contains("task 1: lost by alice, pending again"), "{log}");
}

#[test]
fn a_stopped_holder_whose_task_was_finished_by_another_finishes_nothing() {
    let scene = Scene::new();
    scene.task("1", until_go());
    spawn_at_work(&scene, "alice");
    let pid = scene.pid_of("alice");
    signal(pid, Signal::STOP);
    until("it is stopped", || is_stopped(pid));
    scene.put("go", "");
    until("its command has ended", || scene.lines("effects").len() == 1);

    scene.run(&["claim", "1", "--as", "bob"]).ended_with(4);
    scene.run(&["release", "1", "--force", "--reason", "alice does not answer"]).succeeded();
    scene.run(&["claim", "1", "--as", "bob"]).succeeded();
    scene.run(&["finish", "1", "--as", "bob"]).succeeded();
    let finished = scene.read("1");

    signal(pid, Signal::CONT);
    until("it is idle", || scene.member("alice")["status"] == "idle");
    assert_eq!(scene.read("1"), finished);
    assert_eq!(scene.outcomes("1"), ["released", "done"]);
    let log = scene.run(&["logs", "alice"]).succeeded().out;
    assert!(log.contains("turn-over"), "the refusal is told: {log}");
    // And it goes on with other work.
    scene.task("2", json!({ "run": "true" }));
    until("it works", || scene.status("2") == "completed");
}

#[test]
fn a_stopped_holder_does_not_finish_what_another_holds() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let exec = scene.start(scene.crew(&["exec", "--as", "alice", "1", "--", "sh", "-c", "touch began; until [ -e go ]; do sleep 0.01; done"]));
    until("it is at work", || scene.has("began"));
    exec.signal(Signal::STOP);
    until("it is stopped", || is_stopped(exec.pid()));
    scene.put("go", "");
    scene.run(&["release", "1", "--force"]).succeeded();
    scene.run(&["claim", "1", "--as", "bob"]).succeeded();
    exec.signal(Signal::CONT);
    let ran = exec.ended().ended_with(4);
    assert!(ran.err.contains("turn-over"), "{ran:#?}");
    assert_eq!((scene.status("1"), scene.read("1")["owner"].clone()), ("in_progress".into(), json!("bob")));
    scene.run(&["finish", "1", "--as", "bob"]).succeeded();
    assert_eq!(scene.outcomes("1"), ["released", "done"]);
}

#[test]
fn a_parked_task_waits_for_its_teammate() {
    let scene = Scene::new();
    scene.put(".crew/config.toml", "waitBaseSec = 1\n");
    scene.task("1", json!({ "run": "echo $CREW_AS $CREW_ATTEMPT >> by; test $CREW_ATTEMPT = 2 || exit 75" }));
    spawn(&scene, "alice", STAYS);
    until("it was done", || scene.status("1") == "completed");
    assert_eq!(scene.lines("by"), ["alice 1", "alice 2"]);
    assert_eq!(scene.outcomes("1"), ["parked", "done"]);
}

#[test]
fn logs_are_followed_to_their_end() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo one; echo $$ >> pids; until [ -e go ]; do sleep 0.01; done; echo two" }));
    spawn_at_work(&scene, "alice");
    assert_eq!(scene.run(&["logs", "1"]).succeeded().out, "one\n");
    let [of_task, of_teammate] = ["1", "alice"].map(|of| scene.start(scene.crew(&["logs", "-f", of])));
    until("both have begun to follow", || of_task.said() == "one\n" && of_teammate.said().contains("is at work"));
    scene.put("go", "");
    assert_eq!(of_task.ended().succeeded().out, "one\ntwo\n");
    scene.run(&["shutdown", "alice"]).succeeded();
    let told = of_teammate.ended().succeeded().out;
    assert!(told.contains("task 1: done") && told.ends_with("alice has shut down\n"), "{told}");

    scene.task("2", json!({}));
    scene.run(&["claim", "2", "--as", "bob"]).succeeded();
    let ran = scene.run(&["logs", "2"]).ended_with(4);
    assert!(ran.err.contains("the attempt at task 2 under way has no log: bob is at it, and crew runs no command for it"), "{ran:#?}");
    scene.run(&["finish", "2", "--as", "bob"]).succeeded();
    let ran = scene.run(&["logs", "2"]).ended_with(4);
    assert!(ran.err.contains("attempt 1 at task 2 has no log: bob did it, and crew ran no command for it; `crew show 2` shows"), "{ran:#?}");
    scene.run(&["reopen", "1", "--because", "again"]).succeeded();
    scene.run(&["claim", "1", "--as", "bob"]).succeeded();
    let ran = scene.run(&["logs", "1"]).ended_with(4);
    assert!(ran.err.contains("attempt 1 has one: /") && ran.err.contains(".log"), "what there is: {ran:#?}");

    scene.task("3", json!({}));
    for (of, why) in [("3", "no attempt yet"), ("nobody", "neither a task nor a log"), ("../x", "path separator")] {
        let ran = scene.run(&["logs", of]).ended_with(4);
        assert!(ran.err.contains(why), "{ran:#?}");
    }
}
