//! Batches that are interrupted or killed, and two at once.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{Scene, until};

/// What an interrupt promises.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_signal_ends_it_soon_and_leaves_nothing() {
    for (which, run) in [
        // Obeys; ignores; ignores, with a child in another session that does, too.
        (Signal::INT, "echo $$ >> at-work; exec sleep 1000"),
        (Signal::TERM, "trap '' TERM INT HUP; echo $$ >> at-work; while :; do sleep 1000; done"),
        (Signal::INT, "trap '' TERM INT HUP; setsid sh -c 'echo $$ >> at-work; while :; do sleep 1000; done' & wait"),
    ] {
        let scene = Scene::new();
        for id in ["1", "2", "3"] {
            scene.task(id, json!({ "run": format!("test -e go && exit 0; {run}"), "retries": 1 }));
        }
        let work = scene.start(scene.crew(&["work", "--jobs", "2"]));
        until("two are at work", || scene.lines("at-work").len() == 2);
        let since = Instant::now();
        work.signal(which);
        let ran = work.ended().ended_with(130);
        assert!(since.elapsed() < SOON, "{run}: {:?}", since.elapsed());
        scene.nothing_runs();
        assert!(ran.err.contains("interrupted: 0 completed, 0 failed"), "{ran:#?}");
        for (id, outcomes) in [("1", vec!["released"]), ("2", vec!["released"]), ("3", vec![])] {
            assert_eq!((scene.status(id), scene.outcomes(id)), ("pending".into(), outcomes.into_iter().map(str::to_owned).collect()), "{run}");
            assert!(scene.read(id)["owner"].is_null() && scene.read(id).get("claim").is_none());
        }
        assert_eq!(scene.reason("1"), "interrupted");

        scene.put("go", "");
        scene.run(&["work", "--jobs", "2"]).succeeded();
        assert!(["1", "2", "3"].iter().all(|id| scene.status(id) == "completed"));
    }
}

#[test]
fn a_signal_while_it_waits_for_a_time_ends_it_at_once() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "exit 75" }));
    let work = scene.start(scene.crew(&["work"]));
    until("it is parked", || scene.read("1").get("parked").is_some());
    work.signal(Signal::INT);
    work.ended().ended_with(130);
    assert_eq!(scene.outcomes("1"), ["parked"]);
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn killed_twenty_times_and_all_is_done() {
    const TASKS: usize = 300;
    const KILLS: usize = 20;
    let scene = Scene::new();
    // On a slow machine the same task may be under way at many of the kills.
    scene.put(".crew/config.toml", "maxLost = 50\n");
    for id in 1..=TASKS {
        let leaves = match id % 10 {
            0 => "setsid sleep 1000 & ",
            5 => "sleep 1000 & ",
            _ => "",
        };
        scene.task(&id.to_string(), json!({ "run": format!("{leaves}echo $CREW_TASK_ID >> effects") }));
    }
    let mut numbers = Numbers(20_240_229);
    let mut kills = 0;
    let summary = loop {
        let mut work = scene.crew(&["work", "--jobs", "4", "--json"]);
        let mut work = work.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut events = BufReader::new(work.stdout.take().unwrap()).lines();
        if kills == KILLS {
            let seen: Vec<Value> = events.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
            assert_eq!(work.wait().unwrap().code(), Some(0), "{seen:#?}");
            break seen;
        }
        let mut left = numbers.below(14);
        while left > 0 {
            let event: Value = serde_json::from_str(&events.next().unwrap().unwrap()).unwrap();
            left -= u64::from(event["event"] == "ended");
        }
        work.kill().unwrap();
        work.wait().unwrap();
        kills += 1;
    };
    scene.nothing_runs();

    let effects = scene.lines("effects");
    let (mut lost, mut tried) = (0, 0);
    for id in 1..=TASKS {
        let id = id.to_string();
        assert_eq!(scene.status(&id), "completed", "{id}");
        let outcomes = scene.outcomes(&id);
        let (last, earlier) = outcomes.split_last().unwrap();
        assert!(last == "done" && earlier.iter().all(|outcome| outcome == "lost"), "{id}: {outcomes:?}");
        let times = effects.iter().filter(|effect| **effect == id).count();
        assert!(times >= 1 && times <= outcomes.len(), "{id} ran {times} times in {outcomes:?}");
        lost += earlier.len();
        tried += outcomes.len();
    }
    assert!(lost >= KILLS / 2, "a kill in the middle of work loses what was under way: {lost} of {tried}");
    assert!(summary.iter().any(|event| event["event"] == "returned"), "{summary:#?}");
    let doctor = scene.run(&["doctor", "--json"]);
    assert_eq!(doctor.code(), Some(0), "{doctor:#?}");
}

/// As `kill -9` at each step of a claim and of an end, of which there are several a task.
#[test]
#[cfg(debug_assertions)]
fn killed_at_every_step_and_all_is_done() {
    let points = board::crash::POINTS.into_iter().filter(|point| !point.starts_with("add."));
    for point in points.flat_map(|point| [1, 2, 5].map(|nth| format!("{point}:{nth}"))) {
        let scene = Scene::new();
        let ids = ["1", "2", "3"];
        ids.iter().for_each(|id| scene.task(id, json!({ "run": "echo $CREW_TASK_ID >> effects", "check": "true" })));
        let mut work = scene.crew(&["work", "--jobs", "2"]);
        work.env("CREW_CRASH_AT", &point);
        let code = scene.start(work).ended().code();
        assert!(code.is_none() || !point.ends_with(":1"), "{point} was not passed");
        scene.run(&["work", "--jobs", "2"]).succeeded();
        for id in ids {
            let (outcomes, effects) = (scene.outcomes(id), scene.lines("effects").iter().filter(|effect| *effect == id).count());
            assert_eq!(scene.status(id), "completed", "{point}");
            let (last, earlier) = outcomes.split_last().unwrap();
            assert!(last == "done" && earlier.iter().all(|outcome| outcome == "lost"), "{point}: {outcomes:?}");
            assert!((1..=outcomes.len()).contains(&effects), "{point}: {id} ran {effects} times in {outcomes:?}");
        }
        scene.nothing_runs();
    }
}

#[test]
fn two_at_once_complete_each_task_once() {
    const TASKS: usize = 120;
    let scene = Scene::new();
    // The first four wait for each other, so that both batches are at work.
    let together = "touch at-$CREW_AS; for n in 1 2 3 4; do until [ -e at-worker-$n ]; do sleep 0.01; done; done; ";
    for id in 1..=TASKS {
        let wait = if id <= 4 { together } else { "" };
        scene.task(&id.to_string(), json!({ "run": format!("{wait}echo $CREW_TASK_ID >> effects") }));
    }
    let batches = [(); 2].map(|()| scene.start(scene.crew(&["work", "--jobs", "2"])));
    let ran = batches.map(|batch| batch.ended().succeeded());
    let completed = |err: &str| err.lines().find_map(|line| line.split_once(" completed, 0 failed")?.0.parse::<usize>().ok()).unwrap();
    assert_eq!(ran.iter().map(|ran| completed(&ran.err)).sum::<usize>(), TASKS, "{ran:#?}");
    let mut effects: Vec<usize> = scene.lines("effects").iter().map(|id| id.parse().unwrap()).collect();
    effects.sort_unstable();
    assert_eq!(effects, (1..=TASKS).collect::<Vec<_>>());
    for id in 1..=TASKS {
        assert_eq!((scene.status(&id.to_string()), scene.outcomes(&id.to_string())), ("completed".into(), vec!["done".into()]));
    }
}
