//! A task's working tree: made, worked in, merged without harm to anybody's work, and removed when it holds none.

use std::path::{Path, PathBuf};

use board::Rule;
use board::crash::WORKTREE_POINTS;
use board::worktree::{Merge, Worktrees};
use serde_json::json;

use crate::repository::Repository;
use crate::scratch::{id, rule};
use crate::worker::{self, Told};

fn of(repository: &Repository) -> Worktrees {
    Worktrees::of(&repository.place())
}

fn open(repository: &Repository, task: &str) -> PathBuf {
    of(repository).open(&id(task)).unwrap()
}

fn merge(repository: &Repository, task: &str) -> Merge {
    of(repository).merge(&id(task), &format!("task {task}")).unwrap()
}

#[track_caller]
fn merged(repository: &Repository, task: &str) -> String {
    match merge(repository, task) {
        Merge::Merged { commit } => commit,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn conflict(repository: &Repository, task: &str) -> String {
    match merge(repository, task) {
        Merge::Conflict(why) => why,
        other => panic!("{other:?}"),
    }
}

fn remove(repository: &Repository, task: &str) -> bool {
    of(repository).remove(&id(task)).unwrap()
}

fn put(tree: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
    std::fs::write(tree.join(name), text).unwrap();
}

fn branches(repository: &Repository) -> String {
    repository.git(&["branch", "--format=%(refname:short)"])
}

/// Everything in the main tree that is not git's, and how git sees it.
fn main_tree(repository: &Repository) -> impl PartialEq + std::fmt::Debug + use<> {
    (repository.files(), repository.git(&["status", "--porcelain"]), repository.git(&["rev-parse", "HEAD"]))
}

#[test]
fn made_worked_in_merged_and_removed() {
    let repository = Repository::with(&[("a", "one\n"), ("b", "one\n"), (".gitignore", "*.o\n")]);
    repository.put("mine", "not committed\n");
    let tree = open(&repository, "12");
    assert_eq!(tree, repository.place().state().join("worktrees/12"));
    assert_eq!(repository.git_in(&tree, &["status", "--porcelain", "--branch"]), "## crew/12");
    assert!(!tree.join("mine").exists());
    put(&tree, "a", "two\n");
    std::fs::remove_file(tree.join("b")).unwrap();
    put(&tree, "new/file", "new\n");
    put(&tree, "x.o", "ignored\n");
    assert_eq!(open(&repository, "12"), tree, "the one that is there");
    assert_eq!(std::fs::read_to_string(tree.join("a")).unwrap(), "two\n");
    assert!(!remove(&repository, "12"), "nothing of this is committed");

    let commit = merged(&repository, "12");
    assert_eq!(repository.git(&["rev-parse", "main"]), commit);
    assert_eq!(repository.git(&["log", "-1", "--format=%s %an %P"]), format!("task 12 crew {}", repository.git(&["rev-parse", "main~1"])));
    assert_eq!((repository.text("a"), repository.has("b"), repository.text("new/file")), ("two\n".into(), false, "new\n".into()));
    assert_eq!(repository.git(&["status", "--porcelain"]), "?? mine");
    assert_eq!(merge(&repository, "12"), Merge::Nothing);
    assert!(of(&repository).has(&id("12")).unwrap());
    assert!(remove(&repository, "12"));
    assert!(!tree.exists() && !of(&repository).has(&id("12")).unwrap());
    assert_eq!((branches(&repository), repository.git(&["worktree", "list"]).lines().count()), ("main".into(), 1));
    assert!(!remove(&repository, "12"), "there is none any more");
    repository.git(&["worktree", "prune", "--verbose"]);
    // Again, from where HEAD is by now.
    assert_eq!(repository.git_in(&open(&repository, "12"), &["rev-parse", "HEAD"]), commit);
}

#[test]
fn side_by_side_they_come_together() {
    let repository = Repository::with(&[("a", "1\n2\n3\n4\n5\n"), ("b", "one\n")]);
    let [one, two] = ["one", "two"].map(|task| open(&repository, task));
    put(&one, "a", "first\n2\n3\n4\n5\n");
    put(&two, "a", "1\n2\n3\n4\nlast\n");
    put(&two, "new", "x\n");
    // Some commit, some do not.
    repository.git_in(&two, &["commit", "--quiet", "--all", "-m", "by hand"]);
    let first = merged(&repository, "one");
    repository.git(&["config", "user.name", "ann"]);
    repository.git(&["config", "user.email", "ann@example.org"]);
    let second = merged(&repository, "two");
    assert_eq!(repository.text("a"), "first\n2\n3\n4\nlast\n");
    assert_eq!(
        repository.git(&["log", "-1", "--format=%P %s %an"]),
        format!("{first} {} Merge branch 'crew/two' ann", repository.git(&["rev-parse", "crew/two"]))
    );
    assert_eq!((repository.git(&["rev-parse", "HEAD"]), repository.git(&["status", "--porcelain"])), (second, String::new()));
    assert!(remove(&repository, "one") && remove(&repository, "two"));
}

#[test]
fn a_conflict_changes_nothing_and_keeps_the_work() {
    let repository = Repository::with(&[("a", "one\n"), ("b", "one\n")]);
    let tree = open(&repository, "12");
    put(&tree, "a", "theirs\n");
    put(&tree, "new", "x\n");
    repository.put("a", "ours\n");
    repository.commit("ours");
    repository.put("b", "not committed\n");
    let before = main_tree(&repository);
    let why = conflict(&repository, "12");
    assert!(why.contains("crew/12 and main changed the same: a"), "{why}");
    assert_eq!(main_tree(&repository), before);
    assert!(!remove(&repository, "12") && tree.join("new").exists());
    // The author solves it there.
    assert!(!repository.git_command(&tree, &["merge", "main"]).output().unwrap().status.success());
    let middle = conflict(&repository, "12");
    assert!(middle.contains("in the middle of a merge") && middle.contains(tree.to_str().unwrap()), "{middle}");
    put(&tree, "a", "both\n");
    repository.git_in(&tree, &["commit", "--quiet", "--all", "-m", "solved"]);
    merged(&repository, "12");
    assert_eq!((repository.text("a"), repository.text("b"), repository.text("new")), ("both\n".into(), "not committed\n".into(), "x\n".into()));
    assert!(remove(&repository, "12"));
}

#[test]
fn what_is_not_committed_in_the_main_tree_is_never_overwritten() {
    let repository = Repository::with(&[("a", "one\n"), ("b", "one\n"), (".gitignore", "*.o\n")]);
    let tree = open(&repository, "12");
    put(&tree, "a", "two\n");
    put(&tree, "b", "two\n");
    put(&tree, "new", "theirs\n");
    repository.git_in(&tree, &["add", "--all"]);
    put(&tree, "forced.o", "theirs\n");
    repository.git_in(&tree, &["add", "--force", "forced.o"]);
    repository.git_in(&tree, &["commit", "--quiet", "-m", "work"]);
    for (file, text) in [("a", "mine\n"), ("new", "mine\n"), ("forced.o", "mine\n")] {
        repository.put(file, text);
        let before = main_tree(&repository);
        let why = conflict(&repository, "12");
        assert!(why.ends_with(&format!("would change: {file}")), "{why}");
        assert_eq!(main_tree(&repository), before);
        match file {
            "a" => repository.put("a", "one\n"),
            _ => repository.remove(file),
        }
    }
    // One that was removed.
    repository.remove("b");
    assert!(conflict(&repository, "12").ends_with("would change: b"));
    repository.put("b", "one\n");
    // Staged, and in no way.
    repository.put("staged", "mine\n");
    repository.git(&["add", "staged"]);
    // The same as what comes is no conflict.
    repository.put("a", "two\n");
    repository.put("new", "theirs\n");
    merged(&repository, "12");
    assert_eq!(repository.git(&["status", "--porcelain"]), "A  staged");
    assert_eq!(repository.text("forced.o"), "theirs\n");

    std::fs::write(repository.path().join(".git/index.lock"), "").unwrap();
    assert!(conflict(&repository, "12").contains("index.lock"));
}

#[test]
fn removed_only_when_it_holds_nothing() {
    let repository = Repository::with(&[("a", "one\n"), (".gitignore", "*.o\n")]);
    let tree = open(&repository, "12");
    put(&tree, "untracked", "x\n");
    assert!(!remove(&repository, "12"));
    std::fs::remove_file(tree.join("untracked")).unwrap();
    put(&tree, "a", "two\n");
    assert!(!remove(&repository, "12"));
    repository.git_in(&tree, &["commit", "--quiet", "--all", "-m", "work"]);
    assert!(!remove(&repository, "12"), "it is not merged");
    // Also when it was committed elsewhere than on its branch.
    repository.git_in(&tree, &["checkout", "--quiet", "-b", "elsewhere"]);
    repository.git(&["branch", "--force", "crew/12", "main"]);
    assert!(!remove(&repository, "12"));
    merged(&repository, "12");
    put(&tree, "x.o", "ignored\n");
    put(&tree, "deep/er/y.o", "ignored\n");
    assert!(remove(&repository, "12"));
    assert_eq!(branches(&repository), "elsewhere\nmain");
    // Work whose directory somebody removed is taken up again.
    put(&open(&repository, "13"), "b", "work\n");
    let tree = open(&repository, "13");
    repository.git_in(&tree, &["add", "b"]);
    repository.git_in(&tree, &["commit", "--quiet", "-m", "work"]);
    std::fs::remove_dir_all(&tree).unwrap();
    assert!(!remove(&repository, "13"));
    assert_eq!(std::fs::read_to_string(open(&repository, "13").join("b")).unwrap(), "work\n");
    // One that was cut short while it was made has holes, which nobody is to take for work.
    let ready = tree.with_file_name("13.ready");
    std::fs::remove_file(&ready).unwrap();
    std::fs::remove_file(tree.join("a")).unwrap();
    assert!(!of(&repository).has(&id("13")).unwrap());
    assert!(open(&repository, "13").join("a").exists() && ready.exists());
    // What is no working tree any more is not guessed at.
    std::fs::remove_file(tree.join(".git")).unwrap();
    let error = of(&repository).open(&id("13")).unwrap_err().to_string();
    assert!(error.contains(tree.to_str().unwrap()) && error.contains("save what you need"), "{error}");
}

#[test]
fn ids_projects_and_boards_of_every_kind() {
    let repository = Repository::with(&[("part/.tasks/task_1.json", "{}"), ("part/.crew/goal.md", "x"), ("part/a", "one\n")]);
    let worktrees = Worktrees::of(&crate::repository::place(&repository.path().join("part")));
    for task in ["a b.c".to_owned(), "x..y".into(), "ünï@{漢}".into(), "x.lock".into(), "é ".repeat(66).trim().into()] {
        let task = id(&task);
        let tree = worktrees.open(&task).unwrap();
        assert!(tree.ends_with("part"), "where the project is in it: {}", tree.display());
        put(&tree, task.as_str(), "x\n");
        put(&tree, ".tasks/task_1.json", "{\"not\": \"the board\"}");
        assert!(matches!(worktrees.merge(&task, "x").unwrap(), Merge::Merged { .. }));
        assert!(repository.has(&format!("part/{task}")));
        assert_eq!(repository.text("part/.tasks/task_1.json"), "{}");
        // Somebody wrote to what is no board; it is not thrown away.
        assert!(!worktrees.remove(&task).unwrap());
        put(&tree, ".tasks/task_1.json", "{}");
        assert!(worktrees.remove(&task).unwrap());
    }
    assert_eq!(branches(&repository), "main");
}

#[test]
fn where_there_is_nothing_to_begin_with() {
    assert_eq!(rule(of(&Repository::none()).open(&id("1"))), Rule::NoRepository);
    let empty = Repository::empty();
    assert_eq!(rule(of(&empty).open(&id("1"))), Rule::NoRepository);
    let repository = Repository::with(&[("a", "one\n")]);
    assert_eq!(rule(of(&repository).merge(&id("1"), "x")), Rule::NoRepository);
    assert!(!of(&repository).has(&id("1")).unwrap());
    // Another's working tree, and a branch in the way.
    let elsewhere = repository.path().parent().unwrap().join("1");
    repository.git(&["worktree", "add", "--quiet", "-b", "theirs", elsewhere.to_str().unwrap()]);
    let refused = of(&repository).open(&id("1")).unwrap_err();
    assert!(refused.to_string().contains(elsewhere.to_str().unwrap()), "{refused}");
    assert!(elsewhere.join("a").exists());
    repository.git(&["branch", "crew"]);
    let error = of(&repository).open(&id("2")).unwrap_err().to_string();
    assert!(error.contains("crew") && error.contains(repository.path().to_str().unwrap()), "{error}");
}

/// Works as a lane does, and may be killed by that.
pub(crate) fn merge_and_die(told: &Told) {
    let worktrees = Worktrees::of(&crate::repository::place(&told.project));
    let tree = worktrees.open(&id("12")).unwrap();
    if !tree.join("new").exists() {
        put(&tree, "a", "two\n");
        put(&tree, "new", "x\n");
    }
    worktrees.merge(&id("12"), "work").unwrap();
    worktrees.remove(&id("12")).unwrap();
}

#[test]
fn killed_at_every_point_it_goes_on() {
    for point in WORKTREE_POINTS {
        let mut passing = 1;
        loop {
            let repository = Repository::with(&[("a", "one\n"), ("b", "one\n")]);
            repository.put("b", "mine, not committed\n");
            let live = |at: Option<&str>| {
                let mut command = worker::command("lane", &repository.path(), &json!({}));
                command.envs(at.map(|at| ("CREW_CRASH_AT", at)));
                worker::was_killed(command.status().unwrap())
            };
            let at = format!("{point}:{passing}");
            let killed = live(Some(&at));
            if killed {
                assert!(!live(None));
            }
            assert_eq!(
                (repository.text("a"), repository.text("new"), repository.text("b")),
                ("two\n".into(), "x\n".into(), "mine, not committed\n".into()),
                "{at}"
            );
            assert_eq!((repository.git(&["status", "--porcelain"]), branches(&repository)), ("M b".into(), "main".into()), "{at}");
            assert_eq!(repository.git(&["log", "--format=%s"]), "work\nfirst", "{at}");
            assert!(!of(&repository).has(&id("12")).unwrap(), "{at}");
            if !killed {
                assert!(passing > 1, "{point} is never passed");
                break;
            }
            passing += 1;
        }
    }
}
