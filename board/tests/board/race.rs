//! Sixteen processes at one board: every task has one holder at a time and one completion.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::Child;

use board::Durability;
use board::task::{Outcome, Status};
use board::transition::{By, Ending};
use serde_json::json;

use crate::chance::Chance;
use crate::scratch::{PATIENCE, Scratch, add, claim, end, id, name, open};
use crate::worker::{self, Told};

const PROCESSES: usize = 16;
/// So many of them begin anew all the time, and read the whole board each time.
const FRESH: usize = 4;
const TASKS: usize = 500;
/// So many claims are made by a process that begins anew before it ends.
const CLAIMS_OF_FRESH: usize = 6;

/// What a worker writes down: `claim <task> <turn>`, or `twice <task>` where somebody held it already.
struct Log(File);

impl Log {
    fn open(project: &Path, who: &str) -> Log {
        Log(OpenOptions::new().create(true).append(true).open(project.join(format!("log.{who}"))).unwrap())
    }

    fn line(&mut self, line: &str) {
        self.0.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Every worker's lines, as words.
    fn all(project: &Path) -> Vec<Vec<String>> {
        let entries = std::fs::read_dir(project).unwrap().map(|entry| entry.unwrap());
        let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log."));
        let text: String = logs.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect();
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }
}

/// Works on a task while nobody else may: says so if somebody does.
fn hold(project: &Path, task: &str, log: &mut Log) {
    let held = project.join(format!("held.{task}"));
    match OpenOptions::new().write(true).create_new(true).open(&held) {
        Ok(_) => {
            std::thread::yield_now();
            std::fs::remove_file(&held).unwrap();
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => log.line(&format!("twice {task}")),
        Err(e) => panic!("{e}"),
    }
}

/// A worker: claims, works and finishes (or gives back) until nothing is left.
pub(crate) fn work(told: &Told) {
    let (who, fresh, mut chance) = (told.text("name"), told.flag("fresh"), Chance::new(told.number("seed")));
    let mut log = Log::open(&told.project, who);
    let mut board = open(&told.project);
    // Some are teammates with a presence, some shells that name their process.
    let mut presence = told.flag("present").then(|| board.enter(&name(who), "test").unwrap());
    for number in 1.. {
        if fresh {
            board = open(&told.project);
        }
        let Some(claimed) = claim(&mut board, presence.as_mut(), who, None).unwrap() else { break };
        let task = claimed.task.id.as_str();
        log.line(&format!("claim {task} {}", claimed.turn));
        hold(&told.project, task, &mut log);
        let outcome = if chance.once_in(8) { Outcome::Released } else { Outcome::Done };
        end(&mut board, task, &By::Holder { name: who, turn: Some(&claimed.turn) }, &Ending::of(outcome)).unwrap();
        if let Some(presence) = &mut presence {
            presence.let_go(&claimed.turn).unwrap();
        }
        if fresh && number == CLAIMS_OF_FRESH {
            log.line("more");
            break;
        }
    }
    board.lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
}

fn start(project: &Path, number: usize, generation: usize) -> Child {
    let told =
        json!({ "name": format!("w{number}-{generation}"), "fresh": number < FRESH, "present": number.is_multiple_of(2), "seed": number * 1000 + generation });
    worker::spawn("race", project, &told)
}

/// One race to the end; `twice` counts holders at one time.
fn race(durability: Durability, round: u64) {
    let scratch = Scratch::on_disk(durability);
    let mut board = scratch.board();
    let priorities = (0..TASKS).map(|n| format!(r#"{{"subject":"{n}","priority":{}}}"#, Chance::new(round * 7919 + n as u64).below(3)));
    let drafts: Vec<String> = priorities.collect();
    add(&mut board, &drafts.iter().map(String::as_str).collect::<Vec<_>>());

    let mut running: Vec<(usize, usize, Child)> = (0..PROCESSES).map(|number| (number, 0, start(scratch.path(), number, 0))).collect();
    while let Some((number, generation, mut child)) = running.pop() {
        assert!(!worker::was_killed(child.wait().unwrap()));
        let log = std::fs::read_to_string(scratch.path().join(format!("log.w{number}-{generation}"))).unwrap_or_default();
        if log.ends_with("more\n") {
            running.insert(0, (number, generation + 1, start(scratch.path(), number, generation + 1)));
        }
    }

    let mut claims: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in Log::all(scratch.path()) {
        match line[0].as_str() {
            "claim" => claims.entry(line[1].clone()).or_default().push(line[2].clone()),
            "more" => {}
            _ => panic!("two held one task at one time: {line:?}"),
        }
    }
    assert_eq!(claims.len(), TASKS, "every task was claimed");
    let board = scratch.seen();
    for (task, mut turns) in claims {
        let task = board.read_task(&id(&task)).unwrap().1;
        assert_eq!(task.status, Status::Completed, "task {}", task.id);
        let done = task.attempts.iter().filter(|attempt| attempt.outcome == Outcome::Done).count();
        assert_eq!(done, 1, "task {} was completed {done} times", task.id);
        let mut attempts: Vec<String> = task.attempts.iter().map(|attempt| attempt.turn.clone()).collect();
        attempts.sort();
        turns.sort();
        assert_eq!(attempts, turns, "task {}: what its file tells and what its holders wrote down", task.id);
    }
    assert_eq!(board.index().in_progress().count() + board.index().open().count(), 0);
}

#[test]
fn every_task_has_one_holder_and_one_completion() {
    for round in 0..2 {
        race(Durability::Relaxed, round);
    }
}

#[test]
fn the_same_on_a_board_that_syncs() {
    race(Durability::Full, 2);
}

/// The lesson's way: look for a pending task, write it anew, rename. No lock.
pub(crate) fn work_without_lock(told: &Told) {
    let who = told.text("name");
    let mut log = Log::open(&told.project, who);
    let tasks = told.project.join(".tasks");
    let replace = |name: &str, task: &serde_json::Value| {
        let beside = tasks.join(format!(".{name}.{who}"));
        std::fs::write(&beside, task.to_string()).unwrap();
        std::fs::rename(&beside, tasks.join(name)).unwrap();
    };
    loop {
        let mut names: Vec<String> = std::fs::read_dir(&tasks).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("task_"));
        names.sort();
        let read = |name: &String| serde_json::from_slice::<serde_json::Value>(&std::fs::read(tasks.join(name)).ok()?).ok();
        let pending = names.iter().find_map(|name| Some((name, read(name).filter(|task| task["status"] == "pending")?)));
        let Some((file, mut task)) = pending else { break };
        task["status"] = "in_progress".into();
        task["owner"] = who.into();
        replace(file, &task);
        log.line(&format!("claim {file} {who}"));
        hold(&told.project, file, &mut log);
        task["status"] = "completed".into();
        replace(file, &task);
    }
}

/// The control: without the lock the same harness sees tasks that two took.
#[test]
fn without_the_lock_the_harness_sees_double_claims() {
    for _ in 0..10 {
        let scratch = Scratch::on_disk(Durability::Relaxed);
        for task in 0..100 {
            scratch.drop(&format!("{task:03}"), r#"{"subject":"x","status":"pending"}"#);
        }
        let start = |number| worker::spawn("naive", scratch.path(), &json!({ "name": format!("w{number}") }));
        let children: Vec<Child> = (0..PROCESSES).map(start).collect();
        for mut child in children {
            assert!(!worker::was_killed(child.wait().unwrap()));
        }
        let mut claims: BTreeMap<String, usize> = BTreeMap::new();
        Log::all(scratch.path()).iter().filter(|line| line[0] == "claim").for_each(|line| *claims.entry(line[1].clone()).or_default() += 1);
        if claims.values().any(|count| *count > 1) {
            return;
        }
    }
    panic!("sixteen processes without a lock never took one task twice: the race is none");
}
