//! Checkpoints: made of every kind of tree, and gone back to exactly, whatever happened in between and whenever it is
//! cut short.

use std::cell::RefCell;
use std::rc::Rc;

use board::checkpoints::{Checkpoints, Kind, Restored};
use board::crash::RESTORE_POINTS;
use board::disk::trace::{self, Op};
use board::{Error, Rule};
use serde_json::{Value, json};

use crate::repository::{Repository, no_text};
use crate::scratch::rule;
use crate::worker::{self, Told};

fn of(repository: &Repository) -> Checkpoints {
    Checkpoints::of(&repository.place())
}

fn make(repository: &Repository, why: &str) -> u64 {
    of(repository).make(why, None, Kind::Refs).unwrap().unwrap().number
}

fn list_file(repository: &Repository) -> std::path::PathBuf {
    repository.place().state().join("checkpoints.json")
}

/// A tree with something of everything.
fn full() -> Repository {
    let repository = Repository::with(&[
        (".gitignore", "*.log\n/build/\n"),
        ("kept", "the same\n"),
        ("changed", "one\n"),
        ("deleted", "one\n"),
        ("moved", "a text that moves\n"),
        ("program", "#!/bin/sh\n"),
        ("file to directory", "a file\n"),
        ("directory to file/a", "a\n"),
        ("directory to file/deep/b", "b\n"),
        ("emptied/deep/er/file", "x\n"),
        ("link to file", "a file\n"),
        (".tasks/board.json", "{}"),
        (".crew/memory.md", "first\n"),
    ]);
    repository.put("untracked", "new\n");
    repository.put("untracked too", "new\n");
    repository.put(no_text(b"no text \xff\n"), b"\x00\xff");
    repository.put("mixed/keep.log", "ignored\n");
    repository.put("mixed/work", "work\n");
    repository.put("build/out", "ignored\n");
    repository.link("link", "kept");
    repository.link("link to directory", "emptied");
    repository.permit("program", 0o755);
    repository.git(&["add", "-f", "link", ".tasks", ".crew"]);
    repository.put("staged", "for the next commit\n");
    repository.git(&["add", "staged"]);
    repository.put("staged", "and changed again\n");
    repository
}

/// Changes it in every way.
fn work(repository: &Repository) {
    repository.put("changed", "two\n");
    repository.remove("deleted");
    std::fs::rename(repository.path().join("moved"), repository.path().join("moved away")).unwrap();
    repository.permit("program", 0o644);
    repository.permit("kept", 0o755);
    repository.remove("file to directory");
    repository.put("file to directory/inner/file", "x\n");
    repository.remove("directory to file");
    repository.put("directory to file", "a file now\n");
    repository.remove("emptied");
    repository.remove("link to file");
    repository.link("link to file", "/etc/passwd");
    repository.remove("link");
    repository.put("link", "a file now\n");
    // Through the link, if it were followed, files of another directory would be changed.
    repository.remove("link to directory");
    repository.put("link to directory/file", "x\n");
    repository.put("untracked", "changed\n");
    repository.remove("untracked too");
    repository.put("added", "later\n");
    repository.put("added deep/er/file", "later\n");
    repository.put("only ignored is left/work", "later\n");
    repository.put("only ignored is left/keep.log", "ignored\n");
    repository.put(no_text(b"no text \xff\n"), "changed");
    repository.put(no_text(b"later \xfe"), "later");
    repository.remove("mixed/work");
    repository.put(".tasks/board.json", "{\"later\": true}");
    repository.put(".crew/memory.md", "second\n");
    repository.put("build/out", "changed, and ignored\n");
    repository.put("staged", "changed a third time\n");
}

/// What is never touched, as it is now.
fn untouched(repository: &Repository) -> Vec<(std::path::PathBuf, crate::repository::Thing)> {
    let ours = |path: &std::path::Path| {
        path.starts_with(".tasks") || path.starts_with(".crew") || path.starts_with("build") || path.extension().is_some_and(|e| e == "log")
    };
    repository.files().into_iter().filter(|(path, _)| ours(path)).collect()
}

fn work_files(repository: &Repository) -> Vec<(std::path::PathBuf, crate::repository::Thing)> {
    let untouched = untouched(repository);
    // A directory in which something ignored is has to stay.
    let holds_ignored = |path: &std::path::Path| untouched.iter().any(|(one, _)| one.starts_with(path));
    repository.files().into_iter().filter(|one| !untouched.contains(one) && !holds_ignored(&one.0)).collect()
}

#[test]
fn everything_comes_back_and_goes_again() {
    let repository = full();
    let checkpoints = of(&repository);
    let first = make(&repository, "the beginning");
    let (at_first, tree_at_first) = (work_files(&repository), repository.tree());
    work(&repository);
    let (at_second, tree_at_second, untouched_then, git_then) = (work_files(&repository), repository.tree(), untouched(&repository), repository.git_state());

    let back = checkpoints.restore(first).unwrap();
    assert_eq!(work_files(&repository), at_first);
    assert_eq!(repository.agrees("after a restore"), tree_at_first);
    assert!(!repository.has("added deep") && repository.has("only ignored is left/keep.log") && !repository.has("only ignored is left/work"));
    assert_eq!(untouched(&repository), untouched_then);
    assert_eq!(repository.git_state(), git_then);
    assert!(!repository.place().state().join("restore.json").exists());
    // Without the .gitignore's, the board's and what is the same.
    assert_eq!((back.before, back.removed), (2, 8), "{back:?}");

    let again = checkpoints.restore(back.before).unwrap();
    assert_eq!((work_files(&repository), repository.tree()), (at_second, tree_at_second));
    assert_eq!((untouched(&repository), repository.git_state()), (untouched_then, git_then));
    assert_eq!(again.before, 1 + back.before, "going back is a state, too");
    // To where one is: nothing.
    assert_eq!(checkpoints.restore(back.before).unwrap(), Restored { before: 4, changed: 0, removed: 0 });
    assert_eq!(rule(checkpoints.restore(99)), Rule::UnknownId);
}

#[test]
fn cut_short_at_every_point_it_is_completed() {
    for point in RESTORE_POINTS {
        for passing in 1.. {
            let repository = full();
            let first = make(&repository, "the beginning");
            let (at_first, tree_at_first) = (work_files(&repository), repository.tree());
            work(&repository);
            let (at_second, untouched_then, git_then) = (work_files(&repository), untouched(&repository), repository.git_state());
            let mut command = worker::command("restore", &repository.path(), &json!({ "number": first }));
            command.env("CREW_CRASH_AT", format!("{point}:{passing}"));
            let killed = worker::was_killed(command.status().unwrap());
            let at = format!("{point}:{passing}");
            let finished = of(&repository).finish_restore().unwrap();
            if point == "checkpoint.ref" && killed {
                // Nothing was begun; the checkpoint that the list does not know is found again.
                assert_eq!((finished, work_files(&repository)), (None, at_second), "{at}");
                repository.put("added", "still later\n");
                assert_eq!(make(&repository, "next"), 3);
                let known: Vec<(u64, String)> = of(&repository).list().unwrap().into_iter().map(|one| (one.number, one.why)).collect();
                assert_eq!(known, [(1, "the beginning".into()), (2, "before going back to checkpoint 1".into()), (3, "next".into())]);
                continue;
            }
            assert_eq!(finished.is_some(), killed, "{at}");
            assert_eq!((work_files(&repository), repository.tree()), (at_first, tree_at_first), "{at}");
            assert_eq!((untouched(&repository), repository.git_state()), (untouched_then, git_then), "{at}");
            assert_eq!(of(&repository).finish_restore().unwrap(), None, "{at}");
            if let Some(finished) = finished {
                assert_eq!((finished.before, finished.removed), (2, 8), "{at}");
                of(&repository).restore(finished.before).unwrap();
                assert_eq!(work_files(&repository), at_second, "{at}");
            }
            if !killed {
                assert!(passing > 1, "{point} is never passed");
                break;
            }
        }
    }
}

/// Goes back, and may be killed by that.
pub(crate) fn restore_and_die(told: &Told) {
    Checkpoints::of(&crate::repository::place(&told.project)).restore(told.number("number")).unwrap();
}

#[test]
fn to_the_byte_where_git_converts() {
    let repository =
        Repository::with(&[(".gitattributes", "* text=auto eol=crlf\n*.id ident\n*.unix text eol=lf\n"), ("crlf", "one\r\ntwo\r\n"), ("mixed", "x\r\n")]);
    repository.put("mixed", "one\r\ntwo\n");
    repository.put("lf", "one\ntwo\n");
    repository.put("a.unix", "one\r\ntwo\n");
    repository.put("a.id", "$Id: something $\n");
    repository.put("binary", b"\0\r\n\r\n");
    let first = make(&repository, "first");
    let then = repository.files();
    for name in ["crlf", "mixed", "lf", "a.unix", "a.id", "binary"] {
        repository.put(name, "changed\r\n");
    }
    repository.remove(".gitattributes");
    let before = of(&repository).restore(first).unwrap().before;
    assert_eq!(repository.files(), then);
    repository.agrees("after a restore");
    of(&repository).restore(before).unwrap();
    assert_eq!(repository.text("lf"), "changed\r\n");
    // Only the ends of lines differ: the same to git, not to whoever wrote it.
    of(&repository).restore(first).unwrap();
    repository.put("lf", "one\r\ntwo\r\n");
    of(&repository).restore(first).unwrap();
    assert_eq!(repository.files(), then);
}

#[test]
fn what_is_ignored_before_or_afterwards_stays() {
    let repository = Repository::with(&[(".gitignore", ".env\n"), ("a", "one\n")]);
    repository.put(".env", "a secret\n");
    let first = make(&repository, "first");
    // Somebody forgets what is to be ignored.
    repository.put(".gitignore", "a.log\n");
    repository.put("a", "two\n");
    let back = of(&repository).restore(first).unwrap();
    assert_eq!((repository.text(".env"), back.removed), ("a secret\n".into(), 0));
    assert_eq!(repository.text("a"), "one\n");

    // What would have to be overwritten: nothing is begun.
    repository.put("out.log", "first\n");
    let second = make(&repository, "with a log");
    repository.put(".gitignore", ".env\n*.log\n");
    repository.put("out.log", "grows\n");
    repository.put("a", "three\n");
    let refused = of(&repository).restore(second).unwrap_err();
    assert!(refused.to_string().contains("out.log"), "{refused}");
    assert_eq!(rule::<()>(Err(refused)), Rule::InTheWay);
    assert_eq!((repository.text("a"), repository.text("out.log")), ("three\n".into(), "grows\n".into()));
    assert_eq!(of(&repository).finish_restore().unwrap(), None);
    repository.put("out.log", "first\n");
    of(&repository).restore(second).unwrap();
    assert_eq!(repository.text("a"), "one\n");

    // A directory that is to become a file again, with something ignored in it.
    repository.remove("a");
    repository.put("a/work", "x\n");
    repository.put("a/.env", "another secret\n");
    let refused = of(&repository).restore(second).unwrap_err().to_string();
    assert!(refused.contains("a/.env"), "{refused}");
    assert_eq!((repository.text("a/.env"), repository.text("a/work")), ("another secret\n".into(), "x\n".into()));
    repository.remove("a/.env");
    of(&repository).restore(second).unwrap();
    assert_eq!(repository.text("a"), "one\n");
}

#[test]
fn other_repositories_inside_are_left_and_named() {
    let repository = Repository::with(&[("a", "one\n")]);
    let first = make(&repository, "first");
    let inner = repository.path().join("inner");
    repository.put("inner/file", "x\n");
    repository.git_in(&inner, &["init", "--quiet"]);
    repository.git_in(&inner, &["add", "file"]);
    repository.git_in(&inner, &["commit", "--quiet", "-m", "inner"]);
    repository.put("a", "two\n");
    let error = of(&repository).restore(first).unwrap_err().to_string();
    assert!(error.contains("inner") && error.contains(&repository.path().display().to_string()), "{error}");
    assert_eq!((repository.text("a"), repository.text("inner/file")), ("one\n".into(), "x\n".into()));
    assert_eq!(of(&repository).finish_restore().unwrap(), None);
}

#[test]
fn made_where_nothing_is_committed_and_where_there_is_no_repository() {
    let none = Repository::none();
    assert_eq!(of(&none).make("x", None, Kind::Refs).unwrap(), None);
    assert_eq!((of(&none).list().unwrap(), of(&none).finish_restore().unwrap()), (vec![], None));
    assert_eq!(rule(of(&none).restore(1)), Rule::NoRepository);
    assert!(!none.place().state().exists(), "reading makes nothing");

    let empty = Repository::empty();
    let first = of(&empty).make("empty", Some(7), Kind::Refs).unwrap().unwrap();
    assert_eq!((first.number, first.seq, &first.head), (1, Some(7), &None));
    empty.put("a", "one\n");
    let second = make(&empty, "a file");
    of(&empty).restore(1).unwrap();
    assert!(!empty.has("a"));
    of(&empty).restore(second).unwrap();
    assert_eq!(empty.text("a"), "one\n");
    assert!(!empty.git_command(&empty.path(), &["rev-parse", "HEAD"]).output().unwrap().status.success(), "still no commit");
}

#[test]
fn each_follows_the_one_before_and_needs_nobody() {
    let repository = Repository::with(&[("a", "one\n")]);
    let head = repository.git(&["rev-parse", "HEAD"]);
    let first = of(&repository).make("first\nwith more", None, Kind::Refs).unwrap().unwrap();
    // Nothing has changed: the same again.
    assert_eq!(of(&repository).make("again", None, Kind::Refs).unwrap().unwrap(), first);
    repository.put("a", "two\n");
    let second = of(&repository).make("second", None, Kind::Refs).unwrap().unwrap();
    repository.commit("the same tree, another HEAD");
    let third = of(&repository).make("third", None, Kind::Refs).unwrap().unwrap();
    assert_eq!((third.number, &third.tree, third.head != second.head), (3, &second.tree, true));
    assert_eq!(of(&repository).list().unwrap(), [first.clone(), second.clone(), third.clone()]);
    let shown = repository.git(&["log", "--format=%H %P %an", "refs/crew/checkpoints/3"]);
    let wanted = format!("{} {} crew\n{} {} crew\n{} {head} crew\n{head}  t", third.commit, second.commit, second.commit, first.commit, first.commit);
    assert_eq!(shown, wanted);
    assert_eq!(repository.git(&["rev-parse", "refs/crew/checkpoints/2^{tree}"]), second.tree);
    assert_eq!(repository.git(&["branch", "--format=%(refname)"]), "refs/heads/main");
    // What git cleans away is not needed.
    repository.git(&["gc", "--quiet", "--prune=now"]);
    of(&repository).restore(first.number).unwrap();
    assert_eq!(repository.text("a"), "one\n");
}

#[test]
fn on_the_branch() {
    let repository = Repository::with(&[("a", "one\n"), (".tasks/task_1.json", "{}")]);
    repository.git(&["add", "--force", ".tasks"]);
    repository.git(&["commit", "--quiet", "-m", "the board"]);
    let head = repository.git(&["rev-parse", "HEAD"]);
    repository.put(".tasks/task_1.json", "{\"changed\":1}");
    let clean = of(&repository).make("crew: baseline before run", None, Kind::Branch).unwrap().unwrap();
    assert_eq!((&clean.commit, repository.git(&["rev-parse", "HEAD"])), (&head, head.clone()), "there was nothing to commit");
    repository.put("a", "two\n");
    repository.put("b", "new\n");
    let made = of(&repository).make("crew: baseline before run", None, Kind::Branch).unwrap().unwrap();
    assert_eq!(repository.git(&["log", "-1", "--format=%H %P %s %an", "main"]), format!("{} {head} crew: baseline before run crew", made.commit));
    assert_eq!(repository.git(&["status", "--porcelain"]), "M .tasks/task_1.json", "the board is nobody's business");
    repository.git(&["config", "user.name", "ann"]);
    repository.git(&["config", "user.email", "ann@example.org"]);
    repository.remove("b");
    // A checkpoint that is on no branch is none of those.
    make(&repository, "no commit");
    of(&repository).make("after", None, Kind::Branch).unwrap();
    assert_eq!(repository.git(&["log", "-1", "--format=%s %an %ae", "main"]), "after ann ann@example.org");
    // The commit has the board, the checkpoint has not; git keeps only the one.
    repository.git(&["gc", "--quiet", "--prune=now"]);
    of(&repository).restore(made.number).unwrap();
    assert_eq!((repository.text("b"), repository.tree()), ("new\n".into(), made.tree));
    assert_eq!(repository.text(".tasks/task_1.json"), "{\"changed\":1}");

    repository.commit("to begin with");
    repository.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    repository.put("b", "side\n");
    repository.commit("side");
    assert!(!repository.git_command(&repository.path(), &["merge", "main"]).output().unwrap().status.success());
    let then = (repository.files(), repository.git_state());
    let refused = of(&repository).make("x", None, Kind::Branch).unwrap_err();
    assert!(refused.to_string().contains("in the middle of a merge"), "{refused}");
    assert_eq!((repository.files(), repository.git_state()), then);
    make(&repository, "in the middle of a merge");
    assert_eq!((repository.files(), repository.git_state()), then);
}

#[test]
fn in_a_sparse_checkout_nothing_that_is_not_here_is_lost() {
    let repository = Repository::with(&[("a", "one\n"), ("sparse/c", "one\n")]);
    repository.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/sparse/"]);
    repository.put("a", "two\n");
    let made = of(&repository).make("on the branch", None, Kind::Branch).unwrap().unwrap();
    assert_eq!(repository.git(&["ls-tree", "-r", "--name-only", "main"]), "a\nsparse/c");
    assert_eq!((repository.git(&["status", "--porcelain"]), repository.has("sparse/c")), (String::new(), false));
    repository.put("a", "three\n");
    of(&repository).restore(made.number).unwrap();
    assert_eq!((repository.text("a"), repository.has("sparse/c")), ("two\n".into(), false));
}

#[test]
fn what_a_filter_has_converted_comes_back_as_it_lay_there() {
    // As with LFS: git has a pointer where a big file lies.
    let repository = Repository::with(&[(".gitattributes", "*.bin filter=big\n"), ("a", "one\n")]);
    for (key, program) in [("clean", "echo pointer"), ("smudge", "echo the big file")] {
        repository.git(&["config", &format!("filter.big.{key}"), program]);
    }
    repository.put("x.bin", "the big file\n");
    repository.commit("big");
    assert_eq!(repository.git(&["show", "HEAD:x.bin"]), "pointer");
    let first = make(&repository, "first");
    repository.remove("x.bin");
    repository.put("a", "two\n");
    of(&repository).restore(first).unwrap();
    assert_eq!((repository.text("x.bin"), repository.text("a")), ("the big file\n".into(), "one\n".into()));
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_list_keeps_what_it_does_not_know() {
    let repository = Repository::with(&[("a", "one\n")]);
    make(&repository, "first");
    let mut list: Value = serde_json::from_slice(&std::fs::read(list_file(&repository)).unwrap()).unwrap();
    assert_eq!(list["format"], 1);
    list["later"] = json!({ "x": 1 });
    list["checkpoints"][0]["later"] = json!([2]);
    std::fs::write(list_file(&repository), list.to_string()).unwrap();
    repository.put("a", "two\n");
    make(&repository, "second");
    let mut list: Value = serde_json::from_slice(&std::fs::read(list_file(&repository)).unwrap()).unwrap();
    assert_eq!((&list["later"]["x"], &list["checkpoints"][0]["later"][0], list["checkpoints"].as_array().unwrap().len()), (&json!(1), &json!(2), 2));

    list["format"] = json!(2);
    list["checkpoints"][1] = json!({ "number": "two" });
    let bytes = list.to_string();
    std::fs::write(list_file(&repository), &bytes).unwrap();
    assert_eq!(of(&repository).list().unwrap().len(), 1);
    assert!(matches!(of(&repository).make("x", None, Kind::Refs), Err(Error::NewerFormat { found: 2, known: 1, .. })));
    assert!(matches!(of(&repository).restore(1), Err(Error::NewerFormat { .. })));
    assert_eq!(std::fs::read_to_string(list_file(&repository)).unwrap(), bytes);

    // A list that is gone is made anew from the commits, one that is broken is not guessed at.
    std::fs::write(list_file(&repository), "{\"checkpoints\": [").unwrap();
    assert_eq!(rule(of(&repository).make("x", None, Kind::Refs)), Rule::NotValid);
    std::fs::remove_file(list_file(&repository)).unwrap();
    repository.put("a", "three\n");
    assert_eq!(make(&repository, "third"), 3);
    assert_eq!(of(&repository).list().unwrap().iter().map(|one| one.why.as_str()).collect::<Vec<_>>(), ["first", "second", "third"]);
    of(&repository).restore(1).unwrap();
    assert_eq!(repository.text("a"), "one\n");
}

#[test]
fn a_commit_is_on_disk_before_the_list_names_it() {
    let repository = Repository::with(&[("a", "one\n")]);
    let done = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&done);
    let observing = trace::observe(move |op| noted.borrow_mut().push(op.clone()));
    make(&repository, "first");
    drop(observing);
    let done = done.borrow();
    let listed = done.iter().position(|op| matches!(op, Op::Rename(_, to) if to.ends_with("checkpoints.json"))).unwrap();
    assert!(done[..listed].contains(&Op::SyncAll), "{done:?}");
    assert!(matches!(done[listed + 1], Op::SyncDir(_)), "{done:?}");
}

#[test]
fn boards_that_share_a_repository_have_their_own() {
    let outer = Repository::with(&[("one/.tasks/x", ""), ("two/.tasks/x", ""), ("a", "one\n")]);
    let [one, two] = ["one", "two"].map(|part| Checkpoints::of(&crate::repository::place(&outer.path().join(part))));
    let first = one.make("of one", None, Kind::Refs).unwrap().unwrap();
    let second = two.make("of two", None, Kind::Refs).unwrap().unwrap();
    assert_eq!((first.number, second.number), (1, 2));
    outer.put("a", "two\n");
    one.make("of one again", None, Kind::Refs).unwrap();
    assert_eq!(one.list().unwrap().iter().map(|one| one.number).collect::<Vec<_>>(), [1, 3]);
    two.restore(2).unwrap();
    assert_eq!(outer.text("a"), "one\n");
}

#[test]
fn it_goes_on_after_a_disk_that_was_full() {
    let repository = full();
    let first = make(&repository, "the beginning");
    let at_first = work_files(&repository);
    work(&repository);
    let told =
        worker::command("restore", &repository.path(), &json!({ "number": first })).env("CREW_DISK_FULL", repository.path().join("changed")).output().unwrap();
    assert!(!told.status.success());
    let told = of(&repository).finish_restore().unwrap();
    assert!(told.is_none(), "not even the intent could be written");
    of(&repository).restore(first).unwrap();
    assert_eq!(work_files(&repository), at_first);
}
