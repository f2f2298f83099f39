//! A power cut at any moment of a board's life, on a disk that keeps any part of what was not synced.
//!
//! Two teammates work, and every operation on the disk is recorded. At many moments the power is cut, in several ways;
//! what the disk might then hold is written out, and another process, which believes that it lives in another boot,
//! must find a sound board there and finish its work.

mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use board::disk::trace::{self, Op};
use board::locked::{Claimed, Unlocked};
use board::name::Name;
use board::presence::Presence;
use board::task::{Outcome, Status};
use board::task_id::TaskId;
use board::transition::{By, Ending};
use board::{Board, Durability};
use serde_json::json;

use crate::chance::Chance;
use crate::crash::die_after;
use crate::scratch::{PATIENCE, Scratch, claim, clean, draft, finish, id, name, open, surroundings, take, temporary};
use crate::worker::{self, Told};
use disk::{Disk, Event};

/// The boot after the cut.
const LATER: &str = "later";

/// What was done to the disk below a project, and what was promised in between.
struct Trace {
    project: PathBuf,
    durability: Durability,
    events: Vec<Event>,
}

type Events = Arc<Mutex<Vec<Event>>>;

/// Whether it lies in a generation of kept versions.
fn is_kept(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "kept")
}

/// A teammate that does anything at any time.
struct Restless {
    board: Board,
    /// The same board in another process.
    other: Board,
    name: Name,
    presence: Presence,
    held: Vec<Claimed>,
    added: Vec<TaskId>,
    chance: Chance,
    events: Events,
}

impl Restless {
    fn new(project: &Path, who: &str, chance: Chance, events: &Events) -> Restless {
        let (board, name) = (open(project), name(who));
        let presence = board.enter(&name, "test").unwrap();
        Restless { board, other: open(project), name, presence, held: Vec::new(), added: Vec::new(), chance, events: Arc::clone(events) }
    }

    fn act(&mut self) {
        match self.chance.below(12) {
            0..3 => self.add(),
            3..7 => self.claim(),
            7..11 => self.end(),
            _ => self.closed().settle().unwrap(),
        }
    }

    fn add(&mut self) {
        // From 16 on the filesystem is synced, not each file.
        let count = *self.chance.pick(&[1, 1, 1, 2, 3, 16]);
        let drafts: Vec<_> = (0..count)
            .map(|n| match self.added.is_empty() || !self.chance.once_in(3) {
                true => draft(&format!(r#"{{"subject":"{n}","retries":1}}"#)),
                false => draft(&format!(r#"{{"subject":"{n}","blockedBy":["{}"]}}"#, self.chance.pick(&self.added))),
            })
            .collect();
        let added = self.board.add(&drafts, PATIENCE).unwrap();
        added.iter().for_each(|id| self.promise(id));
        self.added.extend(added);
    }

    fn claim(&mut self) {
        let claimed = claim(&mut self.board, Some(&mut self.presence), self.name.as_str(), None).unwrap();
        self.held.extend(claimed);
    }

    fn end(&mut self) {
        if self.held.is_empty() {
            return self.claim();
        }
        let claimed = self.held.swap_remove(self.chance.below(self.held.len()));
        let who = self.name.clone();
        let by = By::Holder { name: who.as_str(), turn: Some(&claimed.turn) };
        let ending = Ending::of(*self.chance.pick(&[Outcome::Done, Outcome::Done, Outcome::Failed, Outcome::Released]));
        // The generation in which the end lies may be closed before it is written, and gone or not.
        let mut closed = self.chance.once_in(3).then(|| self.closed());
        if self.chance.once_in(2) {
            closed.take().into_iter().for_each(|closed| closed.settle().unwrap());
        }
        let mut locked = self.board.lock(PATIENCE).unwrap();
        locked.end(&claimed.task.id, &by, &ending).unwrap();
        locked.unlock().unwrap().settle().unwrap();
        self.promise(&claimed.task.id);
        self.presence.let_go(&claimed.turn).unwrap();
        closed.into_iter().for_each(|closed| closed.settle().unwrap());
    }

    fn closed(&mut self) -> Unlocked {
        self.other.lock(PATIENCE).unwrap().unlock_for_good().unwrap()
    }

    fn promise(&self, id: &TaskId) {
        let path = self.board.place().tasks().join(id.file_name());
        self.events.lock().unwrap().push(Event::Promised(path));
    }
}

/// Records a board's life from its making on. Whenever one teammate's sync of the filesystem is under way, the other
/// one works.
fn record(durability: Durability, seed: u64) -> Trace {
    let temp = temporary();
    let project = temp.path().to_path_buf();
    let events = Events::default();
    let recorder = |events: &Events| {
        let events = Arc::clone(events);
        move |op: &Op| events.lock().unwrap().push(Event::Did(op.clone()))
    };
    let (go, told) = mpsc::channel();
    let (done, seen) = mpsc::channel();
    let neighbour = {
        let (project, events, record) = (project.clone(), Arc::clone(&events), recorder(&events));
        std::thread::spawn(move || {
            let _observing = trace::observe(record);
            let mut neighbour = None;
            while let Ok(()) = told.recv() {
                let neighbour = neighbour.get_or_insert_with(|| Restless::new(&project, "neighbour", Chance::new(!seed), &events));
                (0..3).for_each(|_| neighbour.act());
                done.send(()).unwrap();
            }
        })
    };
    let record = recorder(&events);
    let observing = trace::observe(move |op| {
        record(op);
        if *op == Op::SyncBegin {
            go.send(()).unwrap();
            seen.recv().unwrap();
        }
    });
    Board::init(&project, durability, &surroundings(&project)).unwrap();
    let mut teammate = Restless::new(&project, "teammate", Chance::new(seed), &events);
    (0..45).for_each(|_| teammate.act());
    drop((teammate, observing));
    neighbour.join().unwrap();
    let events = std::mem::take(&mut *events.lock().unwrap());
    Trace { project, durability, events }
}

impl Trace {
    fn is_full(&self) -> bool {
        self.durability == Durability::Full
    }

    /// The same as another way of writing would have done it.
    fn altered(&self, mut alter: impl FnMut(&Op) -> Vec<Op>) -> Trace {
        let alter = |event: &Event| match event {
            Event::Did(op) => alter(op).into_iter().map(Event::Did).collect(),
            promised => vec![promised.clone()],
        };
        Trace { project: self.project.clone(), durability: self.durability, events: self.events.iter().flat_map(alter).collect() }
    }

    /// Every moment.
    fn moments(&self) -> Vec<usize> {
        (0..=self.events.len()).collect()
    }

    /// The moments right after a kept version was removed: whatever it protected is to be on the disk by then.
    fn removals(&self) -> Vec<usize> {
        let removes = |event: &Event| matches!(event, Event::Did(Op::Remove(path)) if is_kept(path));
        (1..=self.events.len()).filter(|moment| removes(&self.events[moment - 1])).collect()
    }

    /// Cuts the power so many times, at some of these moments and however chance will have it. Whether the board stood
    /// it each time.
    fn stands(&self, among: &[usize], cuts: usize, seed: u64) -> bool {
        let (temp, mut chance) = (temporary(), Chance::new(seed));
        let mut moments: Vec<usize> = (0..cuts).map(|_| *chance.pick(among)).collect();
        moments.sort_unstable();
        let mut disk = Disk::default();
        let mut taken = self.events.iter();
        let mut done = 0;
        for (number, moment) in moments.into_iter().enumerate() {
            taken.by_ref().take(moment - done).for_each(|event| disk.take(event));
            done = moment;
            let to = temp.path().join(format!("{number:04} after {moment}"));
            std::fs::create_dir(&to).unwrap();
            disk.cut(&mut chance, &self.project, &to);
            let least: BTreeMap<String, usize> = self.tasks(&disk).filter_map(|(task, path, _)| Some((task, disk.least(path, self.is_full())?))).collect();
            std::fs::write(to.join("least.json"), json!(least).to_string()).unwrap();
        }
        taken.for_each(|event| disk.take(event));
        let versions: BTreeMap<String, Vec<String>> = self
            .tasks(&disk)
            .map(|(task, _, versions)| (task, versions.into_iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()))
            .collect();
        std::fs::write(temp.path().join("versions.json"), json!(versions).to_string()).unwrap();
        let mut boot = worker::command("boot", temp.path(), &json!({ "full": self.is_full() }));
        boot.env("CREW_BOOT_ID", LATER).stderr(Stdio::piped());
        let output = boot.output().unwrap();
        if !output.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success()
    }

    /// The tasks' files that there ever were, with their versions.
    fn tasks<'d>(&'d self, disk: &'d Disk) -> impl Iterator<Item = (String, &'d Path, Vec<&'d [u8]>)> {
        let tasks = self.project.join(".tasks");
        disk.versions().filter_map(move |(path, versions)| {
            let file = path.strip_prefix(&tasks).ok()?.to_str()?;
            Some((TaskId::of_file(file)?.ok()?.to_string(), path.as_path(), versions))
        })
    }
}

/// A process of the next boot: looks at what each cut has left.
pub(crate) fn boot_after_the_cut(told: &Told) {
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    let versions: BTreeMap<String, Vec<String>> = serde_json::from_slice(&read(told.project.join("versions.json"))).unwrap();
    let mut cuts: Vec<PathBuf> = std::fs::read_dir(&told.project).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cuts.sort();
    for project in cuts {
        let least: BTreeMap<String, usize> = serde_json::from_slice(&read(project.join("least.json"))).unwrap();
        if project.join(".tasks").exists() {
            check(&project, &least, &versions, told.flag("full"));
        } else {
            assert!(least.is_empty(), "{}: there is no board", project.display());
        }
        std::fs::remove_dir_all(project).unwrap();
    }
}

fn check(project: &Path, least: &BTreeMap<String, usize>, versions: &BTreeMap<String, Vec<String>>, full: bool) {
    let at = project.file_name().unwrap().to_str().unwrap();
    let mut board = open(project);
    board.lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();

    let (mut whole, mut torn) = (BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(project.join(".tasks")).unwrap() {
        let file = entry.unwrap();
        let Some(task) = TaskId::of_file(file.file_name().to_str().unwrap()) else { continue };
        let task = task.unwrap().to_string();
        let text = String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned();
        // The newline at its end may be missing: the task is whole all the same.
        let version = versions[&task].iter().rposition(|version| version.trim_end() == text.trim_end());
        match (version, least.get(&task)) {
            (Some(version), Some(least)) => assert!(version >= *least, "{at}: task {task} fell back to version {version} from {least}: {text}"),
            (Some(_), None) => {}
            (None, None) if !full => {}
            (None, _) => panic!("{at}: task {task} is nothing that was ever written: {text:?}"),
        }
        if version.is_some() { &mut whole } else { &mut torn }.insert(task);
    }
    for task in least.keys() {
        assert!(whole.contains(task), "{at}: task {task} is gone");
    }
    let kept: Vec<_> = std::fs::read_dir(project.join(".tasks/.board/kept")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(kept.len() <= 1, "{at}: {kept:?} are no longer needed");

    // The work goes on.
    clean(&mut board);
    while let Some(claimed) = claim(&mut board, None, "later", None).unwrap() {
        finish(&mut board, "later", &claimed).unwrap();
    }
    let status = |task: &str| board.read_task(&id(task)).map(|(_, task)| task.status);
    for task in &whole {
        let (_, read) = board.read_task(&id(task)).unwrap();
        let blocked = read.blocked_by.iter().any(|blocker| !matches!(status(blocker.as_str()), Ok(Status::Completed)));
        assert!(
            matches!(read.status, Status::Completed | Status::Failed) || (blocked && read.status == Status::Pending),
            "{at}: {task} is {:?}",
            read.status
        );
    }
    for task in &torn {
        assert!(status(task).is_err(), "{at}: {task} was torn, and there is no version of it");
    }
}

/// Cuts of one recorded life: enough to find what the alterations below break, and quick.
const CUTS: usize = 120;

#[test]
fn a_full_board_keeps_what_it_promised() {
    for seed in 1..=2 {
        let trace = record(Durability::Full, seed);
        assert!(trace.stands(&trace.moments(), CUTS, seed) && trace.stands(&trace.removals(), CUTS / 2, seed));
    }
}

#[test]
fn a_relaxed_board_keeps_every_task_that_was_on_disk() {
    for seed in 3..=4 {
        let trace = record(Durability::Relaxed, seed);
        assert!(trace.stands(&trace.moments(), CUTS, seed) && trace.stands(&trace.removals(), CUTS / 2, seed));
    }
}

/// Boards that would do a step less, or in another order, do not stand it: the cuts above can be failed.
#[test]
fn every_sync_and_every_kept_version_is_needed() {
    let (full, relaxed) = (record(Durability::Full, 5), record(Durability::Relaxed, 5));
    let falls = |what: &str, trace: &Trace, among: &[usize]| assert!((1..=20).any(|seed| !trace.stands(among, 50, seed)), "nothing is lost {what}");
    let without_versions = full.altered(|op| if matches!(op, Op::SyncFile(_)) { vec![] } else { vec![op.clone()] });
    falls("without syncing versions", &without_versions, &without_versions.moments());
    let without_names = full.altered(|op| if matches!(op, Op::SyncDir(_)) { vec![] } else { vec![op.clone()] });
    falls("without syncing names", &without_names, &without_names.moments());
    // A file that is renamed over the task leaves no displaced version.
    let renamed = relaxed.altered(|op| match op {
        Op::Exchange(from, to) => vec![Op::Rename(from.clone(), to.clone())],
        op => vec![op.clone()],
    });
    falls("without kept versions", &renamed, &renamed.moments());
    for trace in [&full, &relaxed] {
        let mut to_sync = false;
        let removed_first = trace.altered(|op| match op {
            Op::SyncBegin | Op::SyncAll => {
                to_sync = true;
                vec![]
            }
            Op::Remove(path) | Op::RemoveDir(path) if is_kept(path) => vec![op.clone()],
            op if std::mem::take(&mut to_sync) => vec![Op::SyncBegin, Op::SyncAll, op.clone()],
            op => vec![op.clone()],
        });
        falls("when generations are removed before the sync", &removed_first, &removed_first.removals());
    }
}

/// The next boot's first writer, which may die at it.
pub(crate) fn recover_and_die(told: &Told) {
    let _dying = die_after(told.number("after"));
    open(&told.project).lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
}

#[test]
fn a_recovery_that_is_killed_begins_again() {
    let mut after = 1;
    loop {
        let scratch = Scratch::new(Durability::Relaxed);
        let mut board = scratch.board();
        let task = board.add(&[draft(r#"{"subject":"x"}"#)], PATIENCE).unwrap().remove(0);
        let whole = scratch.text(task.as_str());
        take(&mut board, None, "somebody", task.as_str());
        scratch.drop(task.as_str(), "");
        let recover = |after: u64| {
            let mut command = worker::command("recover", scratch.path(), &json!({ "after": after }));
            worker::was_killed(command.env("CREW_BOOT_ID", LATER).status().unwrap())
        };
        let killed = recover(after);
        assert!(!recover(0));
        assert_eq!(scratch.text(task.as_str()), whole, "killed after operation {after}");
        if !killed {
            break;
        }
        after += 1;
    }
    assert!(after > 8, "recovery is more than that: {after}");
}

/// In this boot a torn file is a person's unfinished edit.
#[test]
fn an_unfinished_edit_stays_as_it_is() {
    let scratch = Scratch::new(Durability::Full);
    let mut board = scratch.board();
    let task = board.add(&[draft(r#"{"subject":"x","retries":1}"#)], PATIENCE).unwrap().remove(0);
    take(&mut board, None, "somebody", task.as_str());
    for unfinished in ["", "{\n  \"subject\": \"the ne", "\0\0\0\0"] {
        scratch.drop(task.as_str(), unfinished);
        let mut later = scratch.board();
        let mut locked = later.lock(PATIENCE).unwrap();
        locked.see().unwrap();
        locked.unlock_for_good().unwrap().settle().unwrap();
        assert_eq!(scratch.text(task.as_str()), unfinished);
    }
}
