//! People who edit tasks by hand while they are worked on: in place and by renaming over, between a reading and its
//! exchange, with old versions, with garbage, all the time. No edit is lost, and no living holder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use board::disk::trace::{self, Observing, Op};
use board::presence::Presence;
use board::task::{Outcome, Status};
use board::transition::{By, Ending};
use board::{Durability, Error, Rule};
use serde_json::{Map, Value, json};

use crate::scratch::{PATIENCE, Scratch, add, claim, clean, end, finish, id, name, open, rule, take};
use crate::worker::{self, Told};

/// How an editor saves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    /// Empties the file and writes into it.
    InPlace,
    /// Writes a new file and renames it over the old one.
    RenamedOver,
    /// Moves the old file away first.
    MovedAway,
}

const HOW: [How; 3] = [How::InPlace, How::RenamedOver, How::MovedAway];

/// A person at an editor, who is in nobody's way.
#[derive(Debug, Clone)]
struct Person {
    file: PathBuf,
    beside: PathBuf,
}

impl Person {
    fn at(scratch: &Scratch, task: &str) -> Person {
        Person { file: scratch.file(task), beside: scratch.path().join(format!("beside.{task}")) }
    }

    fn save(&self, how: How, text: &str) {
        match how {
            How::InPlace => std::fs::write(&self.file, text).unwrap(),
            How::RenamedOver => {
                std::fs::write(&self.beside, text).unwrap();
                std::fs::rename(&self.beside, &self.file).unwrap();
            }
            How::MovedAway => {
                std::fs::rename(&self.file, &self.beside).unwrap();
                std::fs::write(&self.file, text).unwrap();
            }
        }
    }

    /// Reads the file. While a version is being merged with what one saved last, that lies beside for a moment.
    fn read_own(&self, saved: Option<String>) -> String {
        let since = Instant::now();
        loop {
            let text = std::fs::read_to_string(&self.file).unwrap();
            if saved.as_ref().is_none_or(|saved| text.contains(saved)) {
                return text;
            }
            assert!(since.elapsed() < PATIENCE, "{saved:?} is lost: {text}");
            std::thread::yield_now();
        }
    }

    /// Reads the file and adds a key to it.
    fn add_key(&self, how: How, key: &str) {
        let mut task: Map<String, Value> = serde_json::from_str(&std::fs::read_to_string(&self.file).unwrap()).unwrap();
        task.insert(key.into(), json!(key));
        self.save(how, &serde_json::to_string(&task).unwrap());
    }
}

/// Does something once when this thread's work on the disk comes there for the `nth` time.
fn when(nth: usize, there: impl Fn(&Op) -> bool + 'static, act: impl FnMut() + 'static) -> Observing {
    let (mut left, mut act) = (nth, act);
    trace::observe(move |op| {
        if left > 0 && there(op) {
            left -= 1;
            if left == 0 {
                act();
            }
        }
    })
}

/// The moment after a task was read and before its new version takes its place.
fn before_the_exchange(op: &Op) -> bool {
    *op == Op::Passed("replace.written")
}

fn an_exchange(op: &Op) -> bool {
    matches!(op, Op::Exchange(..))
}

const TASK: &str = r#"{"zebra":1.10,"subject":"caf\u00e9","retries":1,"alpha":[1e2,{"b":1,"a":2}]}"#;

/// The keys of a task's file in their order.
fn keys(text: &str) -> Vec<String> {
    // Values of a map of this crate are sorted; the text is not.
    let mut keys: Vec<(usize, String)> =
        serde_json::from_str::<Map<String, Value>>(text).unwrap().keys().map(|key| (text.find(&format!("\n  \"{key}\":")).unwrap(), key.clone())).collect();
    keys.sort();
    keys.into_iter().map(|(_, key)| key).collect()
}

#[test]
fn an_edit_between_reading_and_exchange_is_merged() {
    for durability in [Durability::Relaxed, Durability::Full] {
        for how in HOW {
            let scratch = Scratch::new(durability);
            scratch.drop("1", TASK);
            let mut board = scratch.seen();
            let mut presence = board.enter(&name("ann"), "test").unwrap();
            let person = Person::at(&scratch, "1");
            let edit = |key: &'static str| {
                let person = person.clone();
                when(1, before_the_exchange, move || person.add_key(how, key))
            };
            let during = edit("during the claim");
            let claimed = take(&mut board, Some(&mut presence), "ann", "1");
            drop(during);
            let during = edit("during an edit");
            let mut locked = board.lock(PATIENCE).unwrap();
            locked.edit(&id("1"), &[("priority".into(), Some("7".into()))]).unwrap();
            locked.unlock().unwrap().settle().unwrap();
            drop(during);
            let during = edit("during the end");
            assert_eq!(finish(&mut board, "ann", &claimed).unwrap(), Status::Completed);
            drop(during);

            let (text, task) = (scratch.text("1"), scratch.json("1"));
            for key in ["during the claim", "during an edit", "during the end"] {
                assert_eq!(task[key], key, "{durability:?}, {how:?}: lost\n{text}");
            }
            assert_eq!((&task["priority"], &task["status"], task["attempts"].as_array().unwrap().len()), (&json!(7), &json!("completed"), 1));
            assert!(task.get("claim").is_none());
        }
    }
}

#[test]
fn unknown_keys_keep_their_order_and_their_spelling() {
    let scratch = Scratch::new(Durability::Relaxed);
    scratch.drop("1", TASK);
    let mut board = scratch.board();
    let claimed = take(&mut board, None, "ann", "1");
    finish(&mut board, "ann", &claimed).unwrap();
    let text = scratch.text("1");
    assert_eq!(keys(&text)[..4], ["zebra", "subject", "retries", "alpha"]);
    assert!(text.contains("\"zebra\": 1.10") && text.contains("caf\\u00e9") && text.contains("1e2"), "{text}");
    assert!(text.find("\"b\"") < text.find("\"a\""), "{text}");
}

/// Two edits in the two moments that a replacement has: both are there afterwards, and the claim.
#[test]
fn edits_before_and_after_the_exchange_are_both_merged() {
    for (first, second) in HOW.into_iter().flat_map(|first| HOW.map(|second| (first, second))) {
        let scratch = Scratch::new(Durability::Relaxed);
        scratch.drop("1", TASK);
        let mut board = scratch.seen();
        let mut presence = board.enter(&name("ann"), "test").unwrap();
        let person = Person::at(&scratch, "1");
        let mut moments = 0;
        let during = trace::observe(move |op| {
            moments += usize::from(before_the_exchange(op) || an_exchange(op));
            match moments {
                1 if before_the_exchange(op) => person.add_key(first, "first"),
                // Our version is there, and the first edit beside it.
                2 if an_exchange(op) => person.add_key(second, "second"),
                _ => {}
            }
        });
        let claimed = take(&mut board, Some(&mut presence), "ann", "1");
        drop(during);
        let task = scratch.json("1");
        assert_eq!((&task["first"], &task["second"]), (&json!("first"), &json!("second")), "{first:?}, {second:?}: {task}");
        assert_eq!(task["claim"]["turn"], claimed.turn, "{first:?}, {second:?}");
        assert_eq!(finish(&mut board, "ann", &claimed).unwrap(), Status::Completed);
    }
}

/// What a person writes in that moment and what a claim makes of it.
#[test]
fn an_edit_that_forbids_the_claim_stands_to_the_byte() {
    type Expected = fn(Error) -> bool;
    let cases: [(&'static str, Expected); 5] = [
        (r#"{"subject":"x","status":"cancelled"}"#, |e| matches!(e, Error::Refused(refusal) if refusal.rule == Rule::IllegalTransition)),
        (
            r#"{"subject":"x","status":"completed", "by hand":true}"#,
            |e| matches!(e, Error::Refused(refusal) if refusal.rule == Rule::IllegalTransition),
        ),
        (r#"{"subject": 7}"#, |e| matches!(e, Error::NotATask { .. })),
        ("no JSON at all", |e| matches!(e, Error::NotATask { .. })),
        ("\u{feff}[1, 2]\r\n", |e| matches!(e, Error::NotATask { .. })),
    ];
    for how in HOW {
        for (text, expected) in cases {
            let scratch = Scratch::new(Durability::Full);
            scratch.drop("1", TASK);
            scratch.drop("2", TASK);
            let mut board = scratch.seen();
            let mut presence = board.enter(&name("ann"), "test").unwrap();
            let person = Person::at(&scratch, "1");
            let during = when(1, before_the_exchange, move || person.save(how, text));
            let refused = claim(&mut board, Some(&mut presence), "ann", Some("1")).unwrap_err();
            drop(during);
            assert_eq!(scratch.text("1"), text, "{how:?}");
            assert!(expected(refused), "{how:?}: {text}");
            assert!(presence.holds().is_empty(), "a turn that never began is named");
            // Another task is not in its way, and the board knows what the file says now.
            let next = claim(&mut board, Some(&mut presence), "ann", None).unwrap().unwrap();
            assert_eq!(next.task.id, id("2"));
        }
    }
}

/// Withdrawing a claim does not lose what was edited on top of it.
#[test]
fn an_edit_of_a_version_that_is_withdrawn_is_kept() {
    for second in HOW {
        let scratch = Scratch::new(Durability::Relaxed);
        scratch.drop("1", TASK);
        let mut board = scratch.seen();
        let person = Person::at(&scratch, "1");
        let mut exchanges = 0;
        let during = trace::observe(move |op| {
            exchanges += usize::from(an_exchange(op));
            match op {
                op if before_the_exchange(op) && exchanges == 0 => person.save(How::RenamedOver, r#"{"subject":"x","status":"cancelled"}"#),
                op if an_exchange(op) && exchanges == 1 => person.add_key(second, "second"),
                _ => {}
            }
        });
        assert_eq!(rule(claim(&mut board, None, "ann", Some("1"))), Rule::IllegalTransition);
        drop(during);
        let task = scratch.json("1");
        assert_eq!((&task["status"], &task["second"]), (&json!("cancelled"), &json!("second")), "{second:?}: {task}");
        assert!(task.get("claim").is_none(), "{second:?}: {task}");
    }
}

#[test]
fn a_file_that_is_deleted_in_that_moment_stays_deleted() {
    let scratch = Scratch::new(Durability::Relaxed);
    scratch.drop("1", TASK);
    scratch.drop("2", TASK);
    let mut board = scratch.seen();
    let mut presence = board.enter(&name("ann"), "test").unwrap();
    let file = scratch.file("1");
    let during = when(1, before_the_exchange, move || std::fs::remove_file(&file).unwrap());
    // Of all that is ready: the next one.
    let claimed = claim(&mut board, Some(&mut presence), "ann", None).unwrap().unwrap();
    drop(during);
    assert_eq!(claimed.task.id, id("2"));
    assert_eq!(presence.holds().len(), 1);
    assert!(!scratch.file("1").exists());
    // Deleted during the work: the end says so, and nothing comes back.
    std::fs::remove_file(scratch.file("2")).unwrap();
    assert!(matches!(finish(&mut board, "ann", &claimed), Err(Error::NoSuchTask(_))));
    assert!(!scratch.file("2").exists());
    // Deleted between the reading of the end and its exchange.
    scratch.drop("3", TASK);
    board.sweep().unwrap();
    let claimed = take(&mut board, Some(&mut presence), "ann", "3");
    let file = scratch.file("3");
    let during = when(1, before_the_exchange, move || std::fs::remove_file(&file).unwrap());
    assert!(matches!(finish(&mut board, "ann", &claimed), Err(Error::NoSuchTask(_))));
    drop(during);
    assert!(!scratch.file("3").exists());
}

/// What was displaced is half written: its writer is waited for.
#[test]
fn an_edit_that_is_not_finished_is_waited_for() {
    let scratch = Scratch::new(Durability::Relaxed);
    scratch.drop("1", TASK);
    let mut board = scratch.seen();
    let file = scratch.file("1");
    let writer: Rc<RefCell<Option<std::thread::JoinHandle<()>>>> = Rc::default();
    let started = Rc::clone(&writer);
    let during = when(1, before_the_exchange, move || {
        // Emptied, and the rest comes from the same descriptor when the exchange is long done.
        let mut open = std::fs::OpenOptions::new().write(true).truncate(true).open(&file).unwrap();
        let path = file.clone();
        *started.borrow_mut() = Some(std::thread::spawn(move || {
            while !std::fs::read_to_string(&path).unwrap_or_default().contains("\"claim\"") {
                std::thread::yield_now();
            }
            open.write_all(br#"{"subject":"the new subject","by":"#).unwrap();
            open.write_all(br#""hand"}"#).unwrap();
        }));
    });
    let claimed = take(&mut board, None, "ann", "1");
    drop(during);
    writer.borrow_mut().take().unwrap().join().unwrap();
    let task = scratch.json("1");
    assert_eq!((&task["subject"], &task["by"], &task["claim"]["turn"]), (&json!("the new subject"), &json!("hand"), &json!(claimed.turn)));
}

/// One that holds a task until it is killed.
pub(crate) fn hold_until_killed(told: &Told) {
    let mut board = open(&told.project);
    let mut presence = board.enter(&name("bob"), "test").unwrap();
    take(&mut board, Some(&mut presence), "bob", "1");
    std::fs::write(told.project.join("holding"), "").unwrap();
    loop {
        std::thread::park();
    }
}

/// An editor that saves an old version over a claim: put back while the holder lives, and honoured when it is dead.
#[test]
fn an_old_version_over_a_claim_frees_the_task_only_of_the_dead() {
    for how in HOW {
        let scratch = Scratch::new(Durability::Relaxed);
        scratch.drop("1", r#"{"subject":"x","status":"pending"}"#);
        let old = scratch.text("1");
        let mut looker = scratch.seen();
        let bob = worker::Held::spawn("hold", scratch.path(), &json!({}));
        while !scratch.path().join("holding").exists() {
            std::thread::yield_now();
        }
        let person = Person::at(&scratch, "1");
        looker.look().unwrap();
        let before = scratch.json("1");

        // Whoever locks next puts it back: one that saw the claim, and one that comes later.
        for newcomer in [false, true] {
            person.save(how, &old.replace("\"x\"", "\"new words\""));
            let mut next = if newcomer { scratch.board() } else { scratch.seen() };
            let board = if newcomer { &mut next } else { &mut looker };
            let refused = claim(board, None, "eve", Some("1"));
            assert_eq!(rule(refused), Rule::OneHolder, "{how:?}, newcomer {newcomer}");
            let after = scratch.json("1");
            assert_eq!((&after["claim"]["turn"], &after["owner"]), (&before["claim"]["turn"], &before["owner"]), "{how:?}, newcomer {newcomer}");
            assert_eq!(after["subject"], "new words", "the rest of the edit stands");
        }

        drop(bob);
        person.save(how, &old);
        let claimed = take(&mut looker, None, "eve", "1");
        assert_eq!(finish(&mut looker, "eve", &claimed).unwrap(), Status::Completed);
        assert_eq!(clean(&mut looker), Vec::<String>::new());
    }
}

/// An old version that names a turn which is over: nobody works on it, so that it goes back.
#[test]
fn an_old_version_with_a_claim_that_is_over_holds_nothing() {
    for (how, outcome) in HOW.into_iter().zip([Outcome::Released, Outcome::Done, Outcome::Failed]) {
        let scratch = Scratch::new(Durability::Relaxed);
        let mut board = scratch.board();
        add(&mut board, &[r#"{"subject":"x"}"#]);
        let mut looker = scratch.seen();
        let mut presence = board.enter(&name("ann"), "test").unwrap();
        let claimed = take(&mut board, Some(&mut presence), "ann", "1");
        let held = scratch.text("1");
        let by = By::Holder { name: "ann", turn: Some(&claimed.turn) };
        end(&mut board, "1", &by, &Ending::of(outcome)).unwrap();
        presence.let_go(&claimed.turn).unwrap();
        looker.look().unwrap();
        for board in [&mut looker, &mut board] {
            Person::at(&scratch, "1").save(how, &held.replace("\"x\"", "\"new words\""));
            board.sweep().unwrap();
            let again = take(board, None, "eve", "1");
            assert_eq!(rule(end(board, "1", &by, &Ending::of(outcome))), Rule::TurnOver);
            let by = By::Holder { name: "eve", turn: Some(&again.turn) };
            end(board, "1", &by, &Ending::of(Outcome::Released)).unwrap();
            assert_eq!(scratch.json("1")["subject"], "new words");
        }
    }
}

/// A claim is told of while its file is half written, so that a looker sees it for the first time in the journal.
#[test]
fn a_claim_that_is_told_of_while_its_file_cannot_be_read() {
    let scratch = Scratch::new(Durability::Relaxed);
    let (whole, half) = (r#"{"subject":"x","status":"pending"}"#, r#"{"subject":"x","#);
    scratch.drop("1", half);
    let mut looker = scratch.seen();
    scratch.drop("1", whole);
    let mut board = scratch.board();
    let mut presence = board.enter(&name("ann"), "test").unwrap();
    let claimed = take(&mut board, Some(&mut presence), "ann", "1");
    scratch.drop("1", half);
    looker.look().unwrap();
    scratch.drop("1", whole);
    looker.sweep().unwrap();
    assert_eq!(rule(claim(&mut looker, None, "eve", Some("1"))), Rule::OneHolder);
    assert_eq!(finish(&mut board, "ann", &claimed).unwrap(), Status::Completed);
}

// ---- two people and three teammates -------------------------------------------------------------------------------

const TASKS: usize = 24;
const EDITS_EACH: usize = 10;

/// Adds keys to the tasks of one's own, over and over, whoever works on them.
fn edit_all_the_time(scratch: &Scratch, mine: &[usize], how: How) {
    for edit in 0..EDITS_EACH {
        for task in mine {
            let person = Person::at(scratch, &task.to_string());
            let text = person.read_own(edit.checked_sub(1).map(|before| format!("\"edit {before:02}\"")));
            let end = text.trim_end().strip_suffix('}').unwrap().trim_end();
            let text = format!("{end},\n  \"edit {edit:02}\": {edit}.0\n}}\n");
            match how {
                How::InPlace => {
                    // Whoever reads between the two halves sees an unfinished file.
                    let mut file = std::fs::File::create(&person.file).unwrap();
                    let (half, rest) = text.split_at(text.len() / 2);
                    file.write_all(half.as_bytes()).unwrap();
                    std::thread::yield_now();
                    file.write_all(rest.as_bytes()).unwrap();
                }
                how => person.save(how, &text),
            }
        }
    }
}

/// Claims and ends until the people have gone home and nothing is left.
fn work_on(scratch: &Scratch, who: &str, home: &AtomicBool, held: &[AtomicBool], twice: &AtomicUsize) {
    let mut board = scratch.seen();
    let mut presence = board.enter(&name(who), "test").unwrap();
    let mut turns = 0;
    loop {
        let last = home.load(Ordering::SeqCst);
        board.sweep().unwrap();
        let claimed = match claim(&mut board, Some(&mut presence), who, None) {
            Ok(Some(claimed)) => claimed,
            Ok(None) if last => break,
            Ok(None) => {
                std::thread::yield_now();
                continue;
            }
            Err(e) => {
                assert!(e.is_refusal(), "{e}");
                continue;
            }
        };
        let task: usize = claimed.task.id.as_str().parse().unwrap();
        turns += 1;
        twice.fetch_add(usize::from(held[task].swap(true, Ordering::SeqCst)), Ordering::SeqCst);
        std::thread::yield_now();
        held[task].store(false, Ordering::SeqCst);
        // While people write it goes back and forth.
        let outcome = if home.load(Ordering::SeqCst) || turns % 4 == 0 { Outcome::Done } else { Outcome::Released };
        let by = By::Holder { name: who, turn: Some(&claimed.turn) };
        loop {
            match end(&mut board, claimed.task.id.as_str(), &by, &Ending::of(outcome)) {
                // Half written: tried again.
                Err(Error::NotATask { .. }) => std::thread::yield_now(),
                Err(e) => {
                    // An old version came between reading and exchange: the turn is lost, the work is done again.
                    assert!(e.is_refusal(), "{e}");
                    break;
                }
                Ok(_) => break,
            }
        }
        presence.let_go(&claimed.turn).unwrap();
    }
}

#[test]
fn two_writers_edit_by_hand_during_work() {
    for durability in [Durability::Relaxed, Durability::Full] {
        let scratch = Scratch::new(durability);
        for task in 0..TASKS {
            scratch.drop(&task.to_string(), &format!("{{\n  \"z\": 0,\n  \"subject\": \"{task}\",\n  \"status\": \"pending\",\n  \"a\": 1.50\n}}\n"));
        }
        let (home, twice) = (AtomicBool::new(false), AtomicUsize::new(0));
        let held: Vec<AtomicBool> = (0..TASKS).map(|_| AtomicBool::new(false)).collect();
        let (even, odd): (Vec<usize>, Vec<usize>) = (0..TASKS).partition(|task| task % 2 == 0);
        std::thread::scope(|scope| {
            for who in ["ann", "bob", "cyd"] {
                let (scratch, home, held, twice) = (&scratch, &home, &held, &twice);
                scope.spawn(move || work_on(scratch, who, home, held, twice));
            }
            let people =
                [scope.spawn(|| edit_all_the_time(&scratch, &even, How::InPlace)), scope.spawn(|| edit_all_the_time(&scratch, &odd, How::RenamedOver))];
            let ended = people.map(std::thread::ScopedJoinHandle::join);
            home.store(true, Ordering::SeqCst);
            ended.into_iter().for_each(|person| person.unwrap());
        });
        assert_eq!(twice.load(Ordering::SeqCst), 0, "two held one task at one time");
        for task in 0..TASKS {
            let (text, json) = (scratch.text(&task.to_string()), scratch.json(&task.to_string()));
            assert_eq!(json["status"], "completed", "task {task}: {text}");
            let edits: Vec<String> = keys(&text).into_iter().filter(|key| key.starts_with("edit ")).collect();
            assert_eq!(edits, (0..EDITS_EACH).map(|edit| format!("edit {edit:02}")).collect::<Vec<_>>(), "{durability:?}, task {task}: {text}");
            assert!(text.contains("\"edit 03\": 3.0") && text.contains("\"a\": 1.50"), "{text}");
            let known: BTreeMap<usize, &str> = ["z", "subject", "status", "a"].map(|key| (text.find(&format!("\"{key}\"")).unwrap(), key)).into();
            assert_eq!(known.into_values().collect::<Vec<_>>(), ["z", "subject", "status", "a"], "{text}");
            let done = json["attempts"].as_array().unwrap().iter().filter(|attempt| attempt["outcome"] == "done").count();
            assert_eq!(done, 1, "{text}");
        }
    }
}

/// Presence is what tells of a claim that a file no longer does; it must be whole however much it holds.
#[test]
fn a_teammate_that_holds_much_is_seen_to_hold_it() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    let many: Vec<String> = (0..12).map(|n| format!(r#"{{"subject":"{n}"}}"#)).collect();
    let ids = add(&mut board, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let mut presence: Presence = board.enter(&name("ann"), "test").unwrap();
    for (held, task) in ids.iter().enumerate() {
        let old = scratch.text(task);
        take(&mut board, Some(&mut presence), "ann", task);
        let seen = board.teammates().unwrap();
        assert_eq!(seen[0].record.as_ref().map(|record| record.holds.len()), Some(held + 1), "of {} holds", held + 1);
        scratch.drop(task, &old);
        assert_eq!(rule(claim(&mut scratch.board(), None, "eve", Some(task))), Rule::OneHolder);
    }
}
