//! What changed is noticed: by a sweep whatever was done to hide it, and by events within a moment.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use board::watch::{Happened, Watch};
use board::{Board, Durability};

use crate::chance::Chance;
use crate::scratch::{PATIENCE, Scratch, add, claim, finish, id, name, take};

/// Everything that a board says of its tasks.
fn said(board: &Board) -> BTreeMap<String, String> {
    board.index().entries().map(|(id, entry)| (id.to_string(), format!("{:?}", entry.state))).collect()
}

/// Edits of the same length in the same inode, the time put back as `cp -p` and archivers do.
#[test]
fn no_edit_in_place_is_missed_whatever_its_time_says() {
    const EDITS: usize = 5_000;
    let scratch = Scratch::new(Durability::Relaxed);
    let text = |priority: usize| format!(r#"{{"subject":"x","priority":{priority}}}"#);
    (0..3).for_each(|task| scratch.drop(&task.to_string(), &text(10)));
    let mut board = scratch.seen();
    let mut now = [10; 3];
    let mut chance = Chance::new(3);
    for edit in 0..EDITS {
        let task = chance.below(3);
        let path = scratch.file(&task.to_string());
        let before = std::fs::metadata(&path).unwrap();
        now[task] = 10 + (now[task] - 9) % 90;
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(text(now[task]).as_bytes(), 0).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        let after = file.metadata().unwrap();
        assert_eq!((after.ino(), after.size(), after.mtime_nsec()), (before.ino(), before.size(), before.mtime_nsec()), "this hides nothing");
        let changed = board.sweep().unwrap();
        assert!(changed.contains(&id(&task.to_string())), "edit {edit} was missed");
        for (task, priority) in now.iter().enumerate() {
            let seen = board.index().get(&id(&task.to_string())).unwrap().facts().unwrap().priority;
            assert_eq!(seen, *priority as i64, "edit {edit}: task {task}");
        }
    }
}

/// The same through what is known of a directory that nobody came to or left.
#[test]
fn names_that_come_and_go_are_noticed_by_a_sweep() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.seen();
    let mut chance = Chance::new(4);
    for step in 0..1_500 {
        let (one, other) = (scratch.file(&chance.below(6).to_string()), scratch.file(&chance.below(6).to_string()));
        let text = format!(r#"{{"subject":"x","priority":{}}}"#, chance.below(50));
        match chance.below(6) {
            0 | 1 => std::fs::write(&one, text).unwrap(),
            2 => drop(std::fs::remove_file(&one)),
            3 => drop(std::fs::rename(&one, &other)),
            4 => drop(std::fs::hard_link(&one, &other)),
            _ => drop(std::fs::copy(&one, &other)),
        }
        board.sweep().unwrap();
        assert_eq!(said(&board), said(&scratch.seen()), "step {step}");
    }
}

// ---- events -------------------------------------------------------------------------------------------------------

/// A watch and the wakings that it gave.
struct Watched {
    watch: Watch,
    wakings: Receiver<()>,
}

impl Watched {
    fn begin(scratch: &Scratch) -> Watched {
        let (wake, wakings) = channel();
        std::fs::create_dir_all(scratch.path().join("inbox")).unwrap();
        let inbox = scratch.path().join("inbox/ann.jsonl");
        let wake = move || wake.send(()).unwrap_or_default();
        let watch = Watch::begin(&scratch.path().join(".tasks"), std::slice::from_ref(&inbox), wake).unwrap();
        Watched { watch, wakings }
    }

    /// Waits for events until `enough` of them have come.
    fn until(&self, mut enough: impl FnMut(&Happened) -> bool) {
        let mut all = Happened::default();
        loop {
            self.wakings.recv_timeout(PATIENCE).expect("nothing woke");
            let news = self.watch.take();
            all.tasks.extend(news.tasks);
            all.overflow |= news.overflow;
            all.files |= news.files;
            if enough(&all) {
                return;
            }
        }
    }

    /// What comes up to a file that is dropped now: everything that was done before has been told by then.
    fn all_so_far(&self, scratch: &Scratch) -> Vec<String> {
        scratch.drop("sentinel", r#"{"subject":"x"}"#);
        let mut names = Vec::new();
        self.until(|happened| {
            names = happened.tasks.keys().cloned().collect();
            assert!(!happened.overflow);
            names.contains(&"task_sentinel.json".to_owned())
        });
        // The sentinel's own later events.
        names.retain(|name| name != "task_sentinel.json");
        names
    }
}

#[test]
fn every_way_of_changing_a_task_wakes() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.seen();
    let watched = Watched::begin(&scratch);
    let beside = scratch.path().join("beside");
    let text = |n: usize| format!(r#"{{"subject":"x","priority":{n}}}"#);
    type Way<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let ways: [Way<'_>; 7] = [
        ("dropped", Box::new(|| scratch.drop("1", &text(1)))),
        ("edited in place", Box::new(|| scratch.drop("1", &text(2)))),
        (
            "renamed over",
            Box::new(|| {
                std::fs::write(&beside, text(3)).unwrap();
                std::fs::rename(&beside, scratch.file("1")).unwrap();
            }),
        ),
        (
            "copied over",
            Box::new(|| {
                std::fs::write(&beside, text(4)).unwrap();
                std::fs::copy(&beside, scratch.file("1")).unwrap();
            }),
        ),
        ("moved away", Box::new(|| std::fs::rename(scratch.file("1"), &beside).unwrap())),
        ("moved there", Box::new(|| std::fs::rename(&beside, scratch.file("1")).unwrap())),
        ("removed", Box::new(|| std::fs::remove_file(scratch.file("1")).unwrap())),
    ];
    for (way, change) in &ways {
        change();
        // Several events may tell of it one after the other; what counts is what the file says in the end.
        watched.until(|happened| {
            assert!(!happened.overflow, "{way}");
            board.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
            happened.tasks.contains_key("task_1.json") && said(&board) == said(&scratch.seen())
        });
    }
}

#[test]
fn what_another_process_does_wakes_too() {
    let scratch = Scratch::new(Durability::Full);
    let (mut worker, mut waiter) = (scratch.board(), scratch.seen());
    let watched = Watched::begin(&scratch);
    add(&mut worker, &[r#"{"subject":"x"}"#, r#"{"subject":"y","blockedBy":[1]}"#]);
    let claimed = claim(&mut worker, None, "me", None).unwrap().unwrap();
    finish(&mut worker, "me", &claimed).unwrap();
    watched.until(|happened| {
        waiter.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
        waiter.index().open().map(ToString::to_string).eq(["2"])
    });
}

#[test]
fn looks_and_our_own_files_wake_nobody() {
    let scratch = Scratch::new(Durability::Full);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"x"}"#]);
    let mut presence = board.enter(&name("ann"), "test").unwrap();
    let watched = Watched::begin(&scratch);
    // Looking, by us and by others.
    for _ in 0..20 {
        scratch.seen().sweep().unwrap();
        scratch.text("1");
        std::fs::metadata(scratch.file("1")).unwrap();
        std::fs::read_dir(scratch.path().join(".tasks")).unwrap().for_each(drop);
    }
    // Locking, and ending a generation.
    board.lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
    board.sweep_for_all(Duration::ZERO).unwrap();
    presence.set_activity(board::presence::Activity::Working, jiff::Timestamp::now()).unwrap();
    // What editors leave, and what is no task.
    for file in [".task_1.json.swp", "task_1.json~", "#task_1.json#", "4913", "BOARD.md", "task_.json.tmp", "notes.txt"] {
        let path = scratch.path().join(".tasks").join(file);
        std::fs::write(&path, "x").unwrap();
        std::fs::write(&path, "y").unwrap();
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::create_dir(scratch.path().join(".tasks/deep")).unwrap();
    std::fs::write(scratch.path().join(".tasks/deep/task_7.json"), "{}").unwrap();
    assert_eq!(watched.all_so_far(&scratch), Vec::<String>::new());
    // And a claim is one name: the new version lies elsewhere until it is exchanged.
    take(&mut board, Some(&mut presence), "ann", "1");
    let names = watched.all_so_far(&scratch);
    assert_eq!(names, ["task_1.json"]);
}

#[test]
fn an_inbox_wakes_and_a_directory_that_is_gone_is_told_of() {
    let scratch = Scratch::new(Durability::Relaxed);
    let watched = Watched::begin(&scratch);
    std::fs::write(scratch.path().join("inbox/bob.jsonl"), "x").unwrap();
    std::fs::write(scratch.path().join("inbox/ann.jsonl"), "x").unwrap();
    watched.until(|happened| happened.files);
    std::fs::rename(scratch.path().join(".tasks"), scratch.path().join("elsewhere")).unwrap();
    watched.until(|happened| happened.overflow);
}

/// Anything at all, for a while: whoever follows the events sees in the end what is there.
#[test]
fn events_lead_to_what_is_there() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.seen();
    let watched = Watched::begin(&scratch);
    let mut chance = Chance::new(5);
    let beside = scratch.path().join("beside");
    for round in 0..40 {
        for _ in 0..10 {
            let file = scratch.file(&chance.below(8).to_string());
            let text = format!(r#"{{"subject":"x","priority":{}}}"#, chance.below(50));
            match chance.below(5) {
                0 | 1 => std::fs::write(&file, text).unwrap(),
                2 => {
                    std::fs::write(&beside, text).unwrap();
                    std::fs::rename(&beside, &file).unwrap();
                }
                3 => drop(std::fs::remove_file(&file)),
                _ => drop(std::fs::rename(&file, scratch.file(&chance.below(8).to_string()))),
            }
        }
        scratch.drop("round", &format!(r#"{{"subject":"x","priority":{}}}"#, 100 + round));
        watched.until(|happened| {
            board.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
            said(&board) == said(&scratch.seen())
        });
    }
}
