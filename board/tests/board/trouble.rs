//! Full disks, directories that must not be written, clocks that jump, files of ours that were damaged or deleted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use board::disk::trace::{self, Op};
use board::index::State;
use board::ready::Claimant;
use board::task::{Outcome, Status};
use board::transition::{By, Ending};
use board::{Board, Durability, Error, Result, Rule};
use serde_json::json;

use crate::chance::Chance;
use crate::scratch::{PATIENCE, Scratch, add, claim, draft, end, finish, id, name, open, rule, surroundings, take};
use crate::worker::{self, Told};

fn kind<T: std::fmt::Debug>(result: Result<T>) -> std::io::ErrorKind {
    result.unwrap_err().io_kind().expect("an error of the system")
}

fn count(board: &Board, status: board::facts::Phase) -> usize {
    board.index().entries().filter(|(_, entry)| entry.facts().is_some_and(|facts| facts.status == status)).count()
}

// ---- full disks ---------------------------------------------------------------------------------------------------

/// Works on a disk that is full whenever `fill(true)` was the last word: clear errors, nothing lost, and on it goes.
fn fill_up(project: &Path, mut fill: impl FnMut(bool)) {
    use std::io::ErrorKind::StorageFull;
    let mut board = open(project);
    let mut presence = board.enter(&name("ann"), "test").unwrap();
    let big = format!(r#"{{"subject":"one","description":"{}"}}"#, "x".repeat(20_000));
    add(&mut board, &[&big, r#"{"subject":"two","blockedBy":[1]}"#]);
    let text = |task: &str| std::fs::read_to_string(project.join(format!(".tasks/task_{task}.json"))).unwrap();
    let versions = || snapshot(&project.join(".tasks/.board/kept")).into_values().flatten().count();
    let (before, kept) = (text("1"), versions());

    fill(true);
    assert_eq!(kind(claim(&mut board, Some(&mut presence), "ann", None)), StorageFull);
    assert_eq!(text("1"), before);
    assert!(presence.holds().is_empty(), "it names a turn that never began");
    let mut reader = open(project);
    reader.look().unwrap();
    assert_eq!(reader.index().ready_for(&Claimant::shell("anybody")).count(), 1, "a full disk is read all the same");
    assert_eq!(kind(board.add(&[draft(&big), draft(&big)], PATIENCE)), StorageFull);
    assert_eq!(versions(), kept, "half a file was left");
    fill(false);

    let claimed = take(&mut board, Some(&mut presence), "ann", "1");
    fill(true);
    assert_eq!(kind(finish(&mut board, "ann", &claimed)), StorageFull);
    let held: serde_json::Value = serde_json::from_str(&text("1")).unwrap();
    assert_eq!((&held["status"], &held["claim"]["turn"]), (&json!("in_progress"), &json!(claimed.turn)));
    fill(false);
    assert_eq!(finish(&mut board, "ann", &claimed).unwrap(), Status::Completed);
    presence.let_go(&claimed.turn).unwrap();
    let claimed = claim(&mut board, Some(&mut presence), "ann", None).unwrap().unwrap();
    assert_eq!(claimed.task.id, id("2"), "its dependant was freed");
    finish(&mut board, "ann", &claimed).unwrap();
    let added = add(&mut board, &[&big]);
    let mut newcomer = open(project);
    newcomer.look().unwrap();
    assert_eq!(newcomer.index().entries().count(), 3, "what was refused is not there");
    assert!(!["1", "2"].contains(&added[0].as_str()), "an id was given twice");
    board.lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
}

/// A process to which the disk is full while a file is there.
pub(crate) fn fill_by_flag(told: &Told) {
    let flag = PathBuf::from(told.text("flag"));
    fill_up(&told.project, |full| if full { std::fs::write(&flag, "").unwrap() } else { std::fs::remove_file(&flag).unwrap() });
}

#[test]
fn a_disk_that_is_said_to_be_full() {
    for durability in [Durability::Relaxed, Durability::Full] {
        let scratch = Scratch::new(durability);
        let flag = scratch.path().join("full");
        let mut command = worker::command("fill-flag", scratch.path(), &json!({ "flag": flag }));
        assert!(!worker::was_killed(command.env("CREW_DISK_FULL", &flag).status().unwrap()));
    }
}

/// A process on a small filesystem of its own, which it fills to the last byte.
pub(crate) fn fill_for_real(told: &Told) {
    let project = &told.project;
    Board::init(project, if told.flag("full") { Durability::Full } else { Durability::Relaxed }, &surroundings(project)).unwrap();
    let filler = project.join("filler");
    fill_up(project, |full| {
        let _ = std::fs::remove_file(&filler);
        let mut size = 1 << 20;
        while full && size > 0 {
            use std::io::Write as _;
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&filler).unwrap();
            if file.write_all(&vec![0; size]).is_err() {
                size /= 2;
            }
        }
    });
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_disk_that_is_full() {
    // Mounting wants root; a machine without it has the test above.
    let mounts = || Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !is_root() || !mounts() {
        eprintln!("not tried: this needs root and mount namespaces");
        return;
    }
    for full in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let told = worker::command("fill-real", temp.path(), &json!({ "full": full }));
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\""]).arg(temp.path());
        command.arg(told.get_program()).args(told.get_args());
        command.envs(told.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let status = command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).status().unwrap();
        assert!(status.success(), "{status}");
    }
}

// ---- what must not be written or read -----------------------------------------------------------------------------

/// Runs a worker to which permissions mean something: another user where this one is root.
pub(crate) fn run_unprivileged(job: &str, project: &Path, arguments: &serde_json::Value) {
    let told = worker::command(job, project, arguments);
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(told.get_program()).args(told.get_args());
            command.envs(told.get_envs().filter_map(|(key, value)| Some((key, value?))));
            command
        }
        false => told,
    };
    let output = command.stdin(std::process::Stdio::null()).output();
    match output {
        Err(e) if is_root() && e.kind() == std::io::ErrorKind::NotFound => eprintln!("not tried: there is no setpriv"),
        output => {
            let output = output.unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

fn permit(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file below a directory, with its bytes.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                all.extend(snapshot(&path));
                all.insert(path, None);
            }
            false => {
                let bytes = std::fs::read(&path).unwrap();
                all.insert(path, Some(bytes));
            }
        }
    }
    all
}

/// Looks at a board that it must not write.
pub(crate) fn only_look(told: &Told) {
    use std::io::ErrorKind::PermissionDenied;
    let mut board = open(&told.project);
    board.look().unwrap();
    board.sweep().unwrap();
    assert_eq!(board.index().ready_for(&Claimant::shell("me")).count(), 1);
    assert_eq!(board.read_task(&id("1")).unwrap().1.subject, "x");
    assert_eq!(kind(claim(&mut board, None, "me", None)), PermissionDenied);
    assert_eq!(kind(board.add(&[draft(r#"{"subject":"y"}"#)], PATIENCE)), PermissionDenied);
    let refused = claim(&mut board, None, "me", None).unwrap_err().to_string();
    assert!(refused.contains(".tasks"), "it names the path: {refused}");
    board.look().unwrap();
    assert!(board.stale_claims(jiff::Timestamp::now()).unwrap().is_empty());
    assert!(board.teammates().is_ok());
}

#[test]
fn a_board_that_must_not_be_written_is_read() {
    for with_writer in [false, true] {
        let scratch = Scratch::new(Durability::Full);
        scratch.drop("1", r#"{"subject":"x"}"#);
        if with_writer {
            scratch.board().lock(PATIENCE).unwrap().unlock().unwrap().settle().unwrap();
        } else {
            std::fs::remove_dir_all(scratch.path().join(".tasks/.board")).unwrap();
        }
        let mut dirs = vec![scratch.path().to_path_buf()];
        dirs.extend(snapshot(scratch.path()).into_iter().filter(|(_, bytes)| bytes.is_none()).map(|(path, _)| path));
        let before = snapshot(scratch.path());
        before.iter().filter(|(_, bytes)| bytes.is_some()).for_each(|(path, _)| permit(path, 0o444));
        dirs.iter().rev().for_each(|dir| permit(dir, 0o555));
        run_unprivileged("look", scratch.path(), &json!({}));
        assert_eq!(snapshot(scratch.path()), before);
        dirs.iter().for_each(|dir| permit(dir, 0o755));
    }
}

/// One file that must not be read, among others.
pub(crate) fn pass_over(told: &Told) {
    let project = &told.project;
    let mut board = Board::init(project, Durability::Full, &surroundings(project)).unwrap();
    add(&mut board, &[r#"{"subject":"secret","priority":9}"#, r#"{"subject":"open"}"#, r#"{"subject":"later"}"#]);
    let secret = project.join(".tasks/task_1.json");
    let text = std::fs::read(&secret).unwrap();
    permit(&secret, 0);
    let mut newcomer = open(project);
    newcomer.look().unwrap();
    assert!(matches!(&newcomer.index().get(&id("1")).unwrap().state, State::Invalid(problem) if problem.reason.contains("cannot be read")));
    assert!(matches!(claim(&mut newcomer, None, "me", Some("1")), Err(Error::NotATask { .. })));
    // A board that has seen it readable passes it over too.
    for board in [&mut newcomer, &mut board] {
        let claimed = claim(board, None, "me", None).unwrap().unwrap();
        assert_ne!(claimed.task.id, id("1"));
        finish(board, "me", &claimed).unwrap();
    }
    permit(&secret, 0o644);
    assert_eq!(std::fs::read(&secret).unwrap(), text);

    // Forbidden between its reading and its exchange: given back, and the claim refused.
    let path = secret.clone();
    let during = trace::observe(move |op| {
        if *op == Op::Passed("replace.written") {
            permit(&path, 0);
        }
    });
    let refused = claim(&mut board, None, "me", Some("1"));
    drop(during);
    assert!(refused.is_err());
    permit(&secret, 0o644);
    assert_eq!(std::fs::read(&secret).unwrap(), text);
    board.sweep().unwrap();
    let claimed = take(&mut board, None, "me", "1");
    finish(&mut board, "me", &claimed).unwrap();
}

#[test]
fn a_file_that_must_not_be_read_is_passed_over() {
    let temp = crate::scratch::temporary();
    permit(temp.path(), 0o777);
    run_unprivileged("pass-over", temp.path(), &json!({}));
}

// ---- clocks -------------------------------------------------------------------------------------------------------

fn set_mtime(path: &Path, time: SystemTime) {
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[test]
fn files_from_the_future_and_the_past() {
    let scratch = Scratch::new(Durability::Relaxed);
    let now = SystemTime::now();
    for (task, time) in [("1", now + YEAR), ("2", now - YEAR), ("3", SystemTime::UNIX_EPOCH)] {
        scratch.drop(task, r#"{"subject":"x"}"#);
        set_mtime(&scratch.file(task), time);
    }
    // Half written, and nobody can be at work on it.
    for (task, time) in [("4", now + YEAR), ("5", now - YEAR)] {
        scratch.drop(task, r#"{"subject":"#);
        set_mtime(&scratch.file(task), time);
    }
    scratch.drop("6", r#"{"subject":"#);
    set_mtime(&scratch.file("6"), now);
    let mut board = scratch.seen();
    for task in ["4", "5"] {
        assert!(matches!(board.index().get(&id(task)).unwrap().state, State::Invalid(_)), "task {task} is waited for");
    }
    let just_now = |board: &Board| matches!(board.index().get(&id("6")).unwrap().state, State::Unsettled(_) | State::Invalid(_));
    assert!(just_now(&board));
    for (task, time) in [("1", now + YEAR), ("2", now - YEAR)] {
        scratch.drop(task, r#"{"subject":"y","priority":1}"#);
        set_mtime(&scratch.file(task), time);
        board.sweep().unwrap();
        assert_eq!(board.index().get(&id(task)).unwrap().facts().unwrap().priority, 1, "an edit of {task} was missed");
    }
    for task in ["1", "2", "3"] {
        let claimed = take(&mut board, None, "me", task);
        finish(&mut board, "me", &claimed).unwrap();
    }
}

#[test]
fn a_sweep_of_the_future_keeps_nobody_from_looking() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.seen();
    assert!(board.sweep_for_all(Duration::from_secs(60)).unwrap());
    assert!(!board.sweep_for_all(Duration::from_secs(60)).unwrap(), "one look in so long is enough for all");
    let future = jiff::Timestamp::now().as_nanosecond() + i128::try_from(YEAR.as_nanos()).unwrap();
    for text in [format!("{future:>31}\n"), "garbage".into(), String::new()] {
        std::fs::write(scratch.ours("sweep.lock"), &text).unwrap();
        scratch.drop("1", &format!(r#"{{"subject":"x","note":{:?}}}"#, text.len()));
        assert!(board.sweep_for_all(Duration::from_secs(60)).unwrap(), "{text:?}");
    }
    assert_eq!(board.index().entries().count(), 1);
}

/// Writes another time into the journal's first line.
fn put_kept_since(scratch: &Scratch, seconds: i64) {
    use std::os::unix::fs::FileExt as _;
    let path = scratch.ours("journal.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let line = text.lines().next().unwrap();
    let mut header: serde_json::Value = serde_json::from_str(line).unwrap();
    header["kept_since"] = seconds.into();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(format!("{:<1$}\n", header.to_string(), line.len()).as_bytes(), 0).unwrap();
}

fn generations(scratch: &Scratch) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(scratch.ours("kept")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn generations_are_closed_whatever_the_clock_says() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    let now = jiff::Timestamp::now().as_second();
    for since in [now + 1_000_000, now - 10, 0, i64::MAX, i64::MIN + 1] {
        add(&mut board, &[r#"{"subject":"x"}"#]);
        let claimed = claim(&mut board, None, "me", None).unwrap().unwrap();
        let open = generations(&scratch);
        put_kept_since(&scratch, since);
        finish(&mut board, "me", &claimed).unwrap();
        let now_open = generations(&scratch);
        assert_eq!(now_open.len(), 1, "{since}: {now_open:?}");
        assert!(now_open[0] > open[0], "{since}: {open:?} is still written into");
    }
}

// ---- files that come and go ---------------------------------------------------------------------------------------

#[test]
fn files_that_vanish_in_the_middle_of_a_look() {
    let scratch = Scratch::new(Durability::Relaxed);
    (0..40).for_each(|task| scratch.drop(&format!("stays {task}"), r#"{"subject":"x"}"#));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut chance = Chance::new(7);
            while !done.load(Ordering::SeqCst) {
                let (file, beside) = (scratch.file(&format!("comes {}", chance.below(40))), scratch.path().join("beside"));
                match chance.below(3) {
                    0 => drop(std::fs::remove_file(&file)),
                    1 => drop(std::fs::write(&file, r#"{"subject":"x"}"#)),
                    _ => drop(std::fs::rename(&file, &beside)),
                }
            }
        });
        let mut board = scratch.board();
        for _ in 0..300 {
            board.sweep().unwrap();
            // Half written is what they may be, or gone.
            assert!(board.index().entries().all(|(_, entry)| !matches!(entry.state, State::Invalid(_))));
            let stays = board.index().entries().filter(|(id, entry)| id.as_str().starts_with("stays") && entry.facts().is_some()).count();
            assert_eq!(stays, 40);
            let mut newcomer = scratch.board();
            newcomer.look().unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    let mut board = scratch.seen();
    let seen = board.index().entries().count();
    board.sweep().unwrap();
    assert_eq!(board.index().entries().count(), seen);
}

#[test]
fn a_hundred_thousand_tasks() {
    use board::facts::Phase;
    const MANY: usize = 100_000;
    let scratch = Scratch::new(Durability::Relaxed);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let scratch = &scratch;
            scope.spawn(move || (half..MANY).step_by(2).for_each(|task| scratch.drop(&task.to_string(), r#"{"subject":"x"}"#)));
        }
    });
    let mut board = scratch.board();
    board.set_threads(2);
    board.look().unwrap();
    assert_eq!((board.index().entries().count(), board.index().open().count()), (MANY, MANY));
    let claimed = claim(&mut board, None, "me", None).unwrap().unwrap();
    assert_eq!(claimed.task.id, id("0"), "in natural order");
    finish(&mut board, "me", &claimed).unwrap();
    assert_eq!(add(&mut board, &[r#"{"subject":"one more"}"#]), [MANY.to_string()]);
    std::fs::remove_file(scratch.file("5")).unwrap();
    scratch.drop("7", r#"{"subject":"x","status":"cancelled"}"#);
    board.sweep().unwrap();
    assert_eq!((count(&board, Phase::Completed), count(&board, Phase::Cancelled), count(&board, Phase::Pending)), (1, 1, MANY - 2));
}

// ---- our own files ------------------------------------------------------------------------------------------------

/// Every way of damaging the journal, which is a cache: nothing but a full look comes of it.
#[test]
fn a_damaged_journal_costs_nothing() {
    let journal = |scratch: &Scratch| scratch.ours("journal.jsonl");
    let cut = |path: &Path, keep: u64| std::fs::File::options().write(true).open(path).unwrap().set_len(keep).unwrap();
    type Damage<'a> = Box<dyn Fn(&Scratch) + 'a>;
    let damages: [(&str, Damage<'_>); 8] = [
        ("a torn last line", Box::new(|s| std::fs::write(journal(s), std::fs::read(journal(s)).unwrap().strip_suffix(b"\n").unwrap()).unwrap())),
        (
            "half a line more",
            Box::new(|s| std::fs::write(journal(s), [std::fs::read(journal(s)).unwrap(), b"{\"task\":\"1".into()].concat()).unwrap()),
        ),
        ("deleted", Box::new(|s| std::fs::remove_file(journal(s)).unwrap())),
        (
            "another file",
            Box::new(|s| {
                std::fs::copy(journal(s), s.path().join("copy")).unwrap();
                std::fs::rename(s.path().join("copy"), journal(s)).unwrap();
            }),
        ),
        ("emptied", Box::new(|s| cut(&journal(s), 0))),
        ("cut to its first line", Box::new(|s| cut(&journal(s), 160))),
        ("cut in a line", Box::new(|s| cut(&journal(s), 200))),
        ("no header", Box::new(|s| std::fs::write(journal(s), "x".repeat(std::fs::read(journal(s)).unwrap().len())).unwrap())),
    ];
    for (what, damage) in &damages {
        let scratch = Scratch::new(Durability::Relaxed);
        let drafts: Vec<String> = (0..8).map(|n| format!(r#"{{"subject":"{n}"}}"#)).collect();
        add(&mut scratch.board(), &drafts.iter().map(String::as_str).collect::<Vec<_>>());
        // One that writes and one that only looks, both for long.
        let (mut writer, mut looker) = (scratch.seen(), scratch.seen());
        let work = |board: &mut Board, others: &mut [&mut Board]| {
            let claimed = claim(board, None, "me", None).unwrap().unwrap();
            others.iter_mut().for_each(|other| other.look().unwrap());
            let task = &claimed.task.id;
            for other in others.iter() {
                let turn = other.index().get(task).and_then(|entry| entry.facts()?.turn().map(|(turn, _)| turn.to_owned()));
                assert_eq!(turn.as_ref(), Some(&claimed.turn), "{what}: a claim was not told of");
            }
            finish(board, "me", &claimed).unwrap();
            others.iter_mut().for_each(|other| other.look().unwrap());
            assert!(others.iter().all(|other| !other.index().open().any(|open| open == task)), "{what}: an end was not told of");
        };
        work(&mut writer, &mut [&mut looker]);
        damage(&scratch);
        work(&mut writer, &mut [&mut looker]);
        damage(&scratch);
        work(&mut looker, &mut [&mut writer]);
        damage(&scratch);
        let mut newcomer = scratch.board();
        work(&mut newcomer, &mut [&mut writer, &mut looker]);
        // And it is whole again.
        let first = std::fs::read_to_string(journal(&scratch)).unwrap().lines().next().map(str::to_owned).unwrap_or_default();
        assert!(serde_json::from_str::<serde_json::Value>(&first).is_ok(), "{what}: {first}");
        work(&mut writer, &mut [&mut newcomer, &mut looker]);
        assert_eq!(scratch.seen().index().open().count(), 3, "{what}");
    }
}

/// Somebody removes the lock file while it is held, so that two have the lock: one of them gets the task.
#[test]
fn a_lock_that_is_deleted_while_it_is_held() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"x"}"#, r#"{"subject":"y"}"#]);
    let mut presence = board.enter(&name("ann"), "test").unwrap();
    let (lock, project) = (scratch.ours("lock"), scratch.path().to_path_buf());
    let theirs = Rc::new(RefCell::new(None));
    let bob = Rc::clone(&theirs);
    let during = trace::observe(move |op| {
        if *op == Op::Passed("replace.written") {
            std::fs::remove_file(&lock).unwrap();
            *bob.borrow_mut() = Some(claim(&mut open(&project), None, "bob", Some("1")).is_ok());
        }
    });
    let mine = claim(&mut board, Some(&mut presence), "ann", Some("1"));
    drop(during);
    assert_ne!(theirs.take().unwrap(), mine.is_ok(), "two have it, or nobody");
    assert_eq!(scratch.json("1")["owner"], if mine.is_ok() { "ann" } else { "bob" });
    assert_eq!(presence.holds().len(), usize::from(mine.is_ok()));
    // From then on they lock the same file again.
    let mut other = scratch.board();
    let held = other.lock(PATIENCE).unwrap();
    assert!(matches!(board.lock(Duration::ZERO), Err(Error::LockTimeout { .. })));
    held.unlock().unwrap().settle().unwrap();
    let claimed = claim(&mut board, Some(&mut presence), "ann", None).unwrap().unwrap();
    assert_eq!(claimed.task.id, id("2"));
}

#[test]
fn a_newer_board_is_only_read() {
    for whole in [false, true] {
        let scratch = Scratch::new(Durability::Relaxed);
        add(&mut scratch.board(), &[r#"{"subject":"x"}"#]);
        if !whole {
            std::fs::remove_dir_all(scratch.path().join(".tasks/.board")).unwrap();
            std::fs::create_dir(scratch.path().join(".tasks/.board")).unwrap();
        }
        std::fs::write(scratch.ours("board.json"), r#"{"format":2,"durability":{"of":"another kind"}}"#).unwrap();
        let before = snapshot(scratch.path());
        let mut board = scratch.board();
        board.look().unwrap();
        assert_eq!(board.index().open().count(), 1);
        board.sweep().unwrap();
        let newer = |what: &str, result: Result<()>| match result {
            Err(Error::NewerFormat { found: 2, .. }) => {}
            other => panic!("{what}: {other:?}"),
        };
        newer("lock", board.lock(PATIENCE).map(drop));
        newer("claim", claim(&mut board, None, "me", None).map(drop));
        newer("add", board.add(&[draft(r#"{"subject":"y"}"#)], PATIENCE).map(drop));
        newer("enter", board.enter(&name("ann"), "test").map(drop));
        newer("sweep for all", board.sweep_for_all(Duration::ZERO).map(drop));
        newer("groups", board.groups().map(drop));
        newer("init", Board::init(scratch.path(), Durability::Full, &surroundings(scratch.path())).map(drop));
        assert_eq!(snapshot(scratch.path()), before, "something was written");
    }
}

#[test]
fn no_id_is_given_twice_whatever_becomes_of_the_watermark() {
    let scratch = Scratch::new(Durability::Full);
    let mut board = scratch.board();
    let mut given = add(&mut board, &[r#"{"subject":"x"}"#; 3]);
    // The highest is archived: only the archive tells of it.
    let claimed = take(&mut board, None, "me", &given[2]);
    finish(&mut board, "me", &claimed).unwrap();
    let mut locked = board.lock(PATIENCE).unwrap();
    locked.archive(&id(&given[2])).unwrap();
    locked.unlock().unwrap().settle().unwrap();
    let watermark = scratch.ours("high-watermark");
    // The first would make the archived one the next.
    let broken = ["2", "", "garbage", "\0\0\0\0\0\0\0\0", "-5", "0", "1", "18446744073709551615", "99999999999999999999999999"];
    for text in broken {
        std::fs::write(&watermark, text).unwrap();
        let ids = add(&mut board, &[r#"{"subject":"x"}"#, r#"{"subject":"y"}"#]);
        assert!(ids.iter().all(|id| !given.contains(id) && id.parse::<u64>().is_ok_and(|number| number > 0)), "{text:?}: {ids:?} of {given:?}");
        given.extend(ids);
    }
    std::fs::remove_file(&watermark).unwrap();
    for dropped in ["18446744073709551615", "18446744073709551614", "9007199254740993", "00001", "0"] {
        scratch.drop(dropped, r#"{"subject":"x"}"#);
        given.push(dropped.into());
        let ids = add(&mut board, &[r#"{"subject":"x"}"#, r#"{"subject":"y"}"#]);
        assert!(ids.iter().all(|id| !given.contains(id)), "beside {dropped}: {ids:?} of {given:?}");
        given.extend(ids);
    }
    // The last number of all.
    scratch.drop("9007199254740991", r#"{"subject":"x"}"#);
    std::fs::remove_file(&watermark).unwrap();
    assert_eq!(rule(board.add(&[draft(r#"{"subject":"x"}"#)], PATIENCE)), Rule::IdTaken);
}

/// A process that has not looked for a while adds a task that waits for one that another has just added.
#[test]
fn an_edge_to_a_task_that_another_process_has_just_added() {
    let scratch = Scratch::new(Durability::Relaxed);
    let (mut one, mut other) = (scratch.seen(), scratch.seen());
    add(&mut one, &[r#"{"subject":"x"}"#]);
    add(&mut other, &[r#"{"subject":"y","blockedBy":[1]}"#]);
    scratch.drop("by hand", r#"{"subject":"z"}"#);
    let added = one.add(&[draft(r#"{"subject":"y","blockedBy":["by hand"]}"#)], PATIENCE);
    assert!(added.is_ok(), "a file that was dropped just now: {added:?}");
    // An edge that another has taken away closes no cycle any more: 2 waited for 1.
    let mut locked = other.lock(PATIENCE).unwrap();
    locked.unblock(&id("2"), &[]).unwrap();
    locked.unlock().unwrap().settle().unwrap();
    let added = one.add(&[draft(r#"{"subject":"y","blockedBy":[2],"blocks":[1]}"#)], PATIENCE);
    assert!(added.is_ok(), "an edge that is gone: {added:?}");
}

// ---- generations --------------------------------------------------------------------------------------------------

/// New tasks are written outside the lock, into a generation that another process may close at any moment.
#[test]
fn what_is_written_beside_outlives_the_generation_that_it_lies_in() {
    let scratch = Scratch::new(Durability::Full);
    let mut board = scratch.board();
    // Closed when the first of them is written, and when the last is.
    for moment in [1, 20] {
        let (project, mut written) = (scratch.path().to_path_buf(), 0);
        let during = trace::observe(move |op| {
            written += usize::from(*op == Op::Passed("add.written"));
            if *op == Op::Passed("add.written") && written == moment {
                open(&project).lock(PATIENCE).unwrap().unlock_for_good().unwrap().settle().unwrap();
            }
        });
        let ids = add(&mut board, &[r#"{"subject":"x"}"#; 20]);
        drop(during);
        assert!(ids.iter().all(|task| scratch.status(task) == Status::Pending), "closed after {moment}");
    }
}

/// A turn ends with the board's lock; a teammate whose task somebody else ended hears of it at its own end.
#[test]
fn a_stopped_holder_whose_task_was_taken_cannot_finish_it() {
    let scratch = Scratch::new(Durability::Full);
    let (mut slow, mut quick) = (scratch.board(), scratch.board());
    add(&mut slow, &[r#"{"subject":"x"}"#]);
    let mut presence = slow.enter(&name("slow"), "test").unwrap();
    let first = take(&mut slow, Some(&mut presence), "slow", "1");
    let (by, ending) = (By::Holder { name: "slow", turn: Some(&first.turn) }, Ending::of(Outcome::Done));
    end(&mut quick, "1", &By::Force, &Ending::of(Outcome::Released)).unwrap();
    let second = take(&mut quick, None, "quick", "1");
    let mut locked = slow.lock(PATIENCE).unwrap();
    assert_eq!(rule(locked.end(&id("1"), &by, &ending)), Rule::TurnOver);
    locked.unlock().unwrap().settle().unwrap();
    assert_eq!(scratch.json("1")["claim"]["turn"], second.turn);
    finish(&mut quick, "quick", &second).unwrap();
    assert_eq!(rule(end(&mut slow, "1", &by, &ending)), Rule::TurnOver);
}

/// Somebody takes an id while an addition that wants it is written: nothing of that addition is on the board.
#[test]
fn an_addition_that_comes_too_late_for_one_of_its_ids_adds_nothing() {
    for durability in [Durability::Relaxed, Durability::Full] {
        let scratch = Scratch::new(durability);
        let mut board = scratch.board();
        let person = scratch.path().join(".tasks/task_c.json");
        let during = trace::observe(move |op| {
            if *op == Op::Passed("add.written") {
                std::fs::write(&person, "{\"subject\":\"mine\"}").unwrap();
            }
        });
        let drafts = ["a", "b", "c", "d"].map(|id| draft(&format!("{{\"id\":\"{id}\",\"subject\":\"x\"}}")));
        let refused = board.add(&drafts, PATIENCE).unwrap_err();
        drop(during);
        assert_eq!(rule::<()>(Err(refused)), Rule::IdTaken);
        assert_eq!(scratch.text("c"), "{\"subject\":\"mine\"}");
        let on_board = |id: &str| scratch.path().join(format!(".tasks/task_{id}.json")).exists();
        assert_eq!(["a", "b", "d"].map(on_board), [false; 3], "{durability:?}");
        assert_eq!(scratch.seen().index().entries().count(), 1);
        let kept = std::fs::read_dir(scratch.path().join(".tasks/.board/kept")).unwrap().flatten();
        assert_eq!(kept.map(|generation| std::fs::read_dir(generation.path()).unwrap().count()).sum::<usize>(), 0, "nothing is left beside");
        // Without that id it is added.
        add(&mut board, &["{\"id\":\"a\",\"subject\":\"x\"}"]);
    }
}
