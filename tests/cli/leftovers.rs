//! What tasks leave running is ended, however the attempt ends; and what a full disk leaves is all there.

mod full_disk;

use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::scene::{Scene, runs, signal, until};

/// Three ways to leave something running behind one's back: each child says its pid and stays.
const WAYS: [(&str, &str); 3] = [
    ("plain", "sh -c 'echo $$ >> left; exec sleep 1000' &"),
    ("another session", "setsid sh -c 'echo $$ >> left; exec sleep 1000' &"),
    (
        "a daemon that forked twice, and ignores",
        "(setsid sh -c '(sh -c \"trap \\\"\\\" TERM HUP; echo \\$\\$ >> left; while :; do sleep 1000; done\" &) ' &)",
    ),
];

/// Leaves one of each, and waits until all have said who they are.
fn leave() -> String {
    let children: Vec<&str> = WAYS.iter().map(|(_, child)| *child).collect();
    format!("touch left; {} ; until [ $(wc -l < left) = {} ]; do sleep 0.01; done", children.join(" "), WAYS.len())
}

/// The children that were left; that they are there makes the rest worth something.
fn left(scene: &Scene) -> Vec<i32> {
    let left: Vec<i32> = scene.lines("left").iter().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(left.len(), WAYS.len());
    left
}

fn all_left(scene: &Scene) {
    until("all were left", || scene.lines("left").len() == WAYS.len());
    assert!(left(scene).iter().all(|&pid| runs(pid)));
}

#[test]
fn after_completion() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": leave() }));
    scene.run(&["work"]).succeeded();
    left(&scene);
    scene.nothing_runs();
    assert_eq!(scene.status("1"), "completed");
}

#[test]
fn while_another_task_goes_on_with_its_own() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": leave() }));
    // Its child is an orphan of the same process, and its own until it ends.
    scene.task(
        "2",
        json!({ "run": "(setsid sh -c 'echo $$ > own; exec sleep 1000' &); until [ -e go ]; do sleep 0.01; done; kill -0 $(cat own) && echo still there" }),
    );
    let work = scene.start(scene.crew(&["work", "--jobs", "2"]));
    until("the first is done", || scene.status("1") == "completed");
    assert!(left(&scene).iter().all(|&pid| !runs(pid)), "at once, not at the batch's end");
    scene.put("go", "");
    work.ended().succeeded();
    assert_eq!(scene.summary("2"), "still there");
    scene.nothing_runs();
}

#[test]
fn after_a_failure_and_of_a_check() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "true", "check": format!("{}; exit 1", leave()) }));
    scene.run(&["work"]).ended_with(1);
    left(&scene);
    scene.nothing_runs();
}

#[test]
fn after_its_time() {
    let scene = Scene::new();
    // Enough for all to be there.
    scene.task("1", json!({ "run": format!("{}; sleep 1000", leave()), "timeout": "3s" }));
    scene.run(&["work"]).ended_with(1);
    assert_eq!(scene.outcomes("1"), ["timeout"]);
    left(&scene);
    scene.nothing_runs();
}

#[test]
fn after_a_shutdown_of_a_teammate() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": format!("{}; sleep 1000", leave()) }));
    scene.run(&["spawn", "alice"]).succeeded();
    all_left(&scene);
    let since = Instant::now();
    scene.run(&["shutdown", "alice", "--grace", "0s"]).succeeded();
    scene.nothing_runs();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("pending".into(), vec!["released".into()]), "after {:?}", since.elapsed());
}

#[test]
fn after_a_turn_over_messages() {
    let scene = Scene::new();
    let command = leave();
    scene.put(".crew/listen.sh", &command);
    scene.put(".crew/teammates/alice.md", "---\npoll: 50ms\nidleTimeout: 1h\ncommand: [sh, .crew/listen.sh]\n---\n");
    scene.run(&["spawn", "alice", "--yes"]).succeeded();
    scene.run(&["send-message", "alice", "hello"]).succeeded();
    until("all were left", || scene.lines("left").len() == WAYS.len());
    until("it is idle", || scene.member("alice")["status"] == "idle");
    assert!(left(&scene).iter().all(|&pid| !runs(pid)));
}

#[test]
fn after_the_death_of_a_teammate() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": format!("test $CREW_ATTEMPT = 2 && exit 0; {}; sleep 1000", leave()) }));
    scene.run(&["spawn", "alice"]).succeeded();
    all_left(&scene);
    // A person's own process with the same name is nobody's leftover.
    let mut own = scene.program("sleep");
    let own = scene.start({
        own.arg("1000");
        own
    });
    signal(scene.pid_of("alice"), Signal::KILL);
    until("it is dead", || scene.member("alice")["status"] == "dead");
    assert!(left(&scene).iter().all(|&pid| runs(pid)), "nobody has cleaned yet");
    let ran = scene.run(&["work"]).succeeded();
    assert!(ran.err.contains("1: lost by alice, now to be done again") && ran.err.contains("processes of it ended"), "{ran:#?}");
    assert_eq!(scene.outcomes("1"), ["lost", "done"]);
    assert!(left(&scene).iter().all(|&pid| !runs(pid)));
    assert_eq!(scene.processes(), [own.pid()]);
    own.killed();
    scene.nothing_runs();
}

#[test]
fn what_is_to_be_kept_survives_even_the_death_of_its_teammate() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": leave(), "keep": true }));
    scene.task("2", json!({ "run": "test $CREW_ATTEMPT = 2 && exit 0; touch began; sleep 1000", "blockedBy": ["1"] }));
    scene.run(&["spawn", "alice"]).succeeded();
    until("the second is at work", || scene.has("began"));
    signal(scene.pid_of("alice"), Signal::KILL);
    until("it is dead", || scene.member("alice")["status"] == "dead");
    scene.run(&["work"]).succeeded();
    assert!(left(&scene).iter().all(|&pid| runs(pid)));
}

#[test]
fn after_the_death_of_a_teammate_in_a_turn_over_messages() {
    // A batch cleans, and so does a namesake.
    for cleaner in [&["work"][..], &["spawn", "alice", "--yes"]] {
        let scene = Scene::new();
        scene.put(".crew/listen.sh", &format!("test -e heard && exit; touch heard; {}; sleep 1000", leave()));
        scene.put(".crew/teammates/alice.md", "---\npoll: 50ms\nidleTimeout: 1h\ncommand: [sh, .crew/listen.sh]\n---\n");
        scene.run(&["spawn", "alice", "--yes"]).succeeded();
        scene.run(&["send-message", "alice", "hello"]).succeeded();
        all_left(&scene);
        signal(scene.pid_of("alice"), Signal::KILL);
        until("it is dead", || scene.member("alice")["status"] == "dead");
        assert!(left(&scene).iter().all(|&pid| runs(pid)), "nobody has cleaned yet");
        scene.run(cleaner).succeeded();
        until("a cleaner has ended them", || left(&scene).iter().all(|&pid| !runs(pid)));
    }
}

/// Who returns a task for the last time says that it has failed, also by its exit code.
#[test]
fn what_was_lost_too_often_has_failed_in_this_batch() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo x >> began; until [ -e go ]; do sleep 0.01; done" }));
    for time in 1..=5 {
        let work = scene.start(scene.crew(&["work"]));
        until("it is at work", || scene.lines("began").len() == time);
        work.killed();
    }
    let ran = scene.run(&["work"]).ended_with(1);
    assert!(ran.err.contains("1: lost by worker-1, now failed") && ran.err.contains("0 completed, 1 failed"), "{ran:#?}");
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("failed".into(), vec!["lost".to_owned(); 5]));
    scene.nothing_runs();
}
