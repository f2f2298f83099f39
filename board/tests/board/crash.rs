//! Processes killed at every point and at every write: the board stays sound, and the work is done all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Child;

use board::crash::POINTS;
use board::disk::trace::{self, Observing};
use board::task::{Outcome, Status};
use board::transition::{By, Ending};
use board::{Board, Durability};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::scratch::{PATIENCE, Scratch, add, claim, clean, draft, end, finish, id, name, open, take};
use crate::worker::{self, Told};

/// Kills this process, as `kill -9` does, after so many operations on the disk; 0: never.
pub(crate) fn die_after(operations: u64) -> Observing {
    let mut done = 0;
    trace::observe(move |_| {
        done += 1;
        if done == operations {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    })
}

/// What work leaves behind: a line in a file.
fn leave_effect(project: &Path, task: &str, turn: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(project.join("effects")).unwrap();
    file.write_all(format!("{task} {turn}\n").as_bytes()).unwrap();
}

/// The one who dies: every kind of write, one after the other.
pub(crate) fn live_and_die(told: &Told) {
    let _dying = die_after(told.number("after"));
    let mut board = open(&told.project);
    let mut presence = board.enter(&name("victim"), "test").unwrap();
    let claimed = take(&mut board, Some(&mut presence), "victim", "1");
    leave_effect(&told.project, "1", &claimed.turn);
    finish(&mut board, "victim", &claimed).unwrap();
    presence.let_go(&claimed.turn).unwrap();
    board.add(&[draft(r#"{"subject":"a","blockedBy":[3]}"#), draft(r#"{"subject":"b","id":"named"}"#)], PATIENCE).unwrap();
    board.add(&[draft(r#"{"subject":"c"}"#)], PATIENCE).unwrap();
    let mut locked = board.lock(PATIENCE).unwrap();
    locked.cancel(&id("4")).unwrap();
    locked.unlock().unwrap().settle().unwrap();
    let mut locked = board.lock(PATIENCE).unwrap();
    locked.archive(&id("5")).unwrap();
    locked.block(&id("6"), &[id("3")]).unwrap();
    locked.unlock().unwrap().settle().unwrap();
    let failing = take(&mut board, Some(&mut presence), "victim", "3");
    end(&mut board, "3", &By::Holder { name: "victim", turn: Some(&failing.turn) }, &Ending::of(Outcome::Failed)).unwrap();
    presence.let_go(&failing.turn).unwrap();
    let mut locked = board.lock(PATIENCE).unwrap();
    locked.retry(&id("3")).unwrap();
    locked.unlock_for_good().unwrap().settle().unwrap();
}

/// A board for the victim: 2 waits for 1, 5 is done, the others are free.
fn prepare(durability: Durability) -> Scratch {
    let scratch = Scratch::new(durability);
    let mut board = scratch.board();
    let drafts = [r#"{"subject":"one"}"#, r#"{"subject":"two","blockedBy":[1],"unknown":1.10}"#, r#"{"subject":"three"}"#];
    add(&mut board, &drafts);
    add(&mut board, &[r#"{"subject":"four"}"#, r#"{"subject":"five"}"#, r#"{"subject":"six"}"#]);
    let five = take(&mut board, None, "earlier", "5");
    finish(&mut board, "earlier", &five).unwrap();
    board.lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
    scratch
}

/// Everything that a board says, for comparing two.
fn said(board: &Board) -> Vec<String> {
    board.index().entries().map(|(id, entry)| format!("{id} {:?}", entry.state)).chain(board.index().open().map(|id| format!("open {id}"))).collect()
}

/// What must be true after the victim's death, wherever it came; then the rest of the work is done.
fn check(scratch: &Scratch, long_lived: &mut Board, at: &str) {
    // Nothing is torn and nothing lost, as any program sees it.
    let mut found = BTreeSet::new();
    for (dir, archived) in [(scratch.path().join(".tasks"), false), (scratch.ours("archive"), true)] {
        for entry in std::fs::read_dir(dir).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            if file == ".board" {
                continue;
            }
            let task = file.strip_prefix("task_").and_then(|name| name.strip_suffix(".json")).unwrap_or_else(|| panic!("{at}: {file} was left"));
            assert!(found.insert(task.to_owned()), "{at}: task {task} is there twice");
            assert!(!archived || task == "5", "{at}: {task} was archived");
        }
    }
    for task in ["1", "2", "3", "4", "5", "6"] {
        assert!(found.contains(task), "{at}: task {task} is lost");
    }
    assert!(found.iter().all(|task| task == "named" || task.parse::<u64>().unwrap() <= 8), "{at}: {found:?}");
    let task = |name: &str| scratch.task(name);
    let one = task("1");
    match (&one.status, &one.claim) {
        (Status::Pending, None) => assert!(one.attempts.is_empty(), "{at}"),
        (Status::InProgress, Some(claim)) => assert_eq!((claim.by.as_str(), one.attempts.len()), ("victim", 0), "{at}"),
        (Status::Completed, None) => assert_eq!(one.attempts.len(), 1, "{at}"),
        other => panic!("{at}: task 1 is {other:?}"),
    }
    assert!(one.status == Status::Completed || task("2").blocked_by == [id("1")], "{at}: 2 was freed before 1 was done");
    assert_eq!(task("2").depends_on.unwrap(), [id("1")], "{at}");
    assert!(scratch.text("2").contains("1.10"), "{at}");

    // A process that saw the board before sees the same now as one that begins.
    long_lived.look().unwrap();
    long_lived.sweep().unwrap();
    assert_eq!(said(long_lived), said(&scratch.seen()), "{at}");

    // Its claims go back as lost, and nothing else does.
    let held: Vec<String> = ["1", "3"].into_iter().filter(|name| task(name).status == Status::InProgress).map(str::to_owned).collect();
    let mut board = scratch.board();
    assert_eq!(clean(&mut board), held, "{at}");
    assert_eq!(clean(&mut board), Vec::<String>::new(), "{at}");
    for name in &held {
        let task = task(name);
        assert_eq!((task.status, task.attempts.last().unwrap().outcome), (Status::Pending, Outcome::Lost), "{at}");
    }

    // Somebody else does the rest: once.
    let ids = add(long_lived, &[r#"{"subject":"after"}"#]);
    assert!(!found.contains(&ids[0]), "{at}: the id {} was given twice", ids[0]);
    let successor = long_lived;
    while let Some(claimed) = claim(successor, None, "successor", None).unwrap() {
        leave_effect(scratch.path(), claimed.task.id.as_str(), &claimed.turn);
        finish(successor, "successor", &claimed).unwrap();
    }
    let mut board = scratch.seen();
    let mut failed = Vec::new();
    for name in found.iter().chain(&ids).filter(|name| *name != "5") {
        let task = task(name);
        match task.status {
            Status::Completed => assert_eq!(task.attempts.iter().filter(|attempt| attempt.outcome == Outcome::Done).count(), 1, "{at}: {name}"),
            Status::Cancelled => assert_eq!(name, "4", "{at}"),
            // It died between the failure of 3 and its retry: 3 stays failed, and what waits for it waits.
            Status::Failed => failed.push(name.clone()),
            Status::Pending => assert!(!board.index().blockers(&id(name)).is_empty(), "{at}: {name} was left"),
            other => panic!("{at}: {name} is {other}"),
        }
    }
    assert!(failed.is_empty() || failed == ["3"], "{at}: {failed:?}");
    let effects = std::fs::read_to_string(scratch.path().join("effects")).unwrap();
    for name in ["1", "2"] {
        assert!(effects.lines().any(|line| line.split(' ').next() == Some(name)), "{at}: nobody worked on {name}");
    }
    board.lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
}

/// Lets the victim live once. Whether it was killed.
fn live_once(scratch: &Scratch, after: u64, point: Option<&str>) -> bool {
    let mut command = worker::command("die", scratch.path(), &json!({ "after": after }));
    command.envs(point.map(|point| ("CREW_CRASH_AT", point)));
    worker::was_killed(command.status().unwrap())
}

#[test]
fn killed_at_every_named_point() {
    for durability in [Durability::Relaxed, Durability::Full] {
        for point in POINTS {
            let mut passing = 1;
            loop {
                let scratch = prepare(durability);
                let mut before = scratch.seen();
                let at = format!("{point}:{passing}");
                let killed = live_once(&scratch, 0, Some(&at));
                check(&scratch, &mut before, &format!("{durability:?} {at}"));
                if !killed {
                    break;
                }
                passing += 1;
            }
            assert!(passing > 1, "{point} is never passed");
        }
    }
}

#[test]
fn killed_after_every_operation_on_the_disk() {
    for durability in [Durability::Relaxed, Durability::Full] {
        let mut after = 1;
        loop {
            let scratch = prepare(durability);
            let mut before = scratch.seen();
            let killed = live_once(&scratch, after, None);
            check(&scratch, &mut before, &format!("{durability:?}, operation {after}"));
            if !killed {
                break;
            }
            after += 1;
        }
        assert!(after > 50, "a victim that writes so little proves little: {after}");
    }
}

/// One of many who are killed at random: cleans, claims and finishes until it dies or nothing is left.
pub(crate) fn live_dangerously(told: &Told) {
    let who = told.text("name");
    let _dying = die_after(told.number("after"));
    let mut board = open(&told.project);
    board.set_max_lost(1_000_000);
    let mut presence = board.enter(&name(who), "test").unwrap();
    clean(&mut board);
    while let Some(claimed) = claim(&mut board, Some(&mut presence), who, None).unwrap() {
        leave_effect(&told.project, claimed.task.id.as_str(), &claimed.turn);
        finish(&mut board, who, &claimed).unwrap();
        presence.let_go(&claimed.turn).unwrap();
    }
}

fn killed_at_random(durability: Durability, seed: u64) {
    const TASKS: usize = 120;
    const KILLS: usize = 40;
    const SIDE_BY_SIDE: usize = 4;
    let scratch = Scratch::new(durability);
    let mut board = scratch.board();
    let chain = |n: usize| if n % 3 == 2 { format!(r#"{{"subject":"{n}","blockedBy":[{}]}}"#, n - 1) } else { format!(r#"{{"subject":"{n}"}}"#) };
    let drafts: Vec<String> = (1..=TASKS).map(chain).collect();
    add(&mut board, &drafts.iter().map(String::as_str).collect::<Vec<_>>());

    let mut chance = Chance::new(seed);
    let (mut kills, mut running): (usize, Vec<(usize, Child)>) = (0, Vec::new());
    let start = |number: usize, after: u64| {
        // The same few names again: a process that begins anew bears its dead predecessor's.
        worker::spawn("mortal", scratch.path(), &json!({ "name": format!("w{number}"), "after": after }))
    };
    let mut life = || 5 + chance.below(150) as u64;
    (0..SIDE_BY_SIDE).for_each(|number| running.push((number, start(number, life()))));
    while let Some((number, mut child)) = running.pop() {
        if worker::was_killed(child.wait().unwrap()) {
            kills += 1;
            let after = if kills < KILLS { life() } else { 0 };
            running.insert(0, (number, start(number, after)));
        }
    }
    let mut board = scratch.seen();
    clean(&mut board);
    board.set_max_lost(1_000_000);
    while let Some(claimed) = claim(&mut board, None, "last", None).unwrap() {
        leave_effect(scratch.path(), claimed.task.id.as_str(), &claimed.turn);
        finish(&mut board, "last", &claimed).unwrap();
    }

    let mut effects: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(scratch.path().join("effects")).unwrap().lines() {
        let (task, turn) = line.split_once(' ').unwrap();
        effects.entry(task.into()).or_default().push(turn.into());
    }
    let mut lost = 0;
    for n in 1..=TASKS {
        let task: Value = scratch.json(&n.to_string());
        assert_eq!(task["status"], "completed", "task {n}");
        let attempts = task["attempts"].as_array().unwrap();
        let of = |outcome: &str| attempts.iter().filter(|attempt| attempt["outcome"] == outcome).count();
        assert_eq!((of("done"), of("done") + of("lost")), (1, attempts.len()), "task {n}: {attempts:?}");
        lost += of("lost");
        let turns: Vec<&str> = attempts.iter().map(|attempt| attempt["turn"].as_str().unwrap()).collect();
        assert_eq!(turns.iter().collect::<BTreeSet<_>>().len(), turns.len(), "task {n}: a turn ended twice");
        let worked = effects.remove(&n.to_string()).unwrap_or_else(|| panic!("nobody worked on {n}"));
        assert!(worked.iter().all(|turn| turns.contains(&turn.as_str())), "task {n}: work that no attempt tells of: {worked:?} {turns:?}");
        let done = attempts.iter().find(|attempt| attempt["outcome"] == "done").unwrap();
        assert!(worked.iter().any(|turn| done["turn"] == turn.as_str()), "task {n}: completed by a turn that did nothing");
    }
    assert!(kills >= KILLS && lost > 0, "nobody was killed at work: {kills} killed, {lost} lost");
}

#[test]
fn killed_at_random_over_and_over() {
    killed_at_random(Durability::Relaxed, 1);
    killed_at_random(Durability::Full, 2);
}
