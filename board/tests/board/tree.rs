//! The working tree's SHA in repositories of every kind; what it is compared with; and what an error says.

use std::os::fd::AsFd as _;

use board::tree::{self, State};
use rustix::fs::inotify;

use crate::repository::{Repository, no_text};
use crate::trouble::run_unprivileged;
use crate::worker::Told;

fn state(repository: &Repository) -> State {
    tree::state(&repository.place()).unwrap().unwrap()
}

#[test]
fn no_repository_a_bare_one_and_one_without_a_commit() {
    let none = Repository::none();
    assert_eq!(tree::state(&none.place()).unwrap(), None);
    assert!(tree::diff(&none.place(), "a", "b", 1).unwrap_err().to_string().contains("git init"));
    none.git(&["init", "--quiet", "--bare", "."]);
    assert_eq!((tree::state(&none.place()).unwrap(), tree::sha(&none.place()).unwrap()), (None, None));

    let empty = Repository::empty();
    empty.put("a", "one\n");
    let before = state(&empty);
    assert_eq!((before.head, before.head_tree, before.tree), (None, None, empty.agrees("without a commit")));
}

#[test]
fn it_stands_beside_what_is_committed() {
    let repository = Repository::with(&[("a", "one\n"), ("sub/b", "two\n")]);
    repository.put(".tasks/task_1.json", "{}");
    repository.put(".crew/goal.md", "a goal");
    let clean = state(&repository);
    assert_eq!(clean.head.as_deref(), Some(repository.git(&["rev-parse", "HEAD"]).as_str()));
    assert_eq!(clean.head_tree.as_ref(), Some(&clean.tree));
    // Committed or not, the tasks and the team are no work.
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "-m", "with the board"]);
    let with_board = state(&repository);
    assert_ne!(with_board.head, clean.head);
    assert_eq!((&with_board.head_tree, &with_board.tree), (&clean.head_tree, &clean.tree));
    repository.put("a", "changed\n");
    let changed = state(&repository);
    assert_eq!((&changed.head, &changed.head_tree), (&with_board.head, &clean.head_tree));
    assert_ne!(changed.tree, clean.tree);
    let text = serde_json::to_string(&changed).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), changed);
    repository.git(&["commit", "--quiet", "--all", "-m", "the change"]);
    assert_eq!(state(&repository).head_tree, Some(changed.tree));
}

#[test]
fn a_project_that_is_a_part_of_its_repository() {
    let outer = Repository::with(&[("other/a", "one\n"), ("part/b", "two\n"), ("part/.tasks/task_1.json", "{}")]);
    let place = crate::repository::place(&outer.path().join("part"));
    let before = tree::state(&place).unwrap().unwrap();
    assert_eq!(before.head_tree.as_ref(), Some(&before.tree));
    outer.put("part/.tasks/task_1.json", "{\"changed\": true}");
    // The state of this board, were it kept inside.
    outer.put("home/whatever", "");
    std::fs::create_dir_all(outer.path().join(place.state())).unwrap();
    std::fs::write(place.state().join("log"), "grows").unwrap();
    let after = tree::state(&place).unwrap().unwrap();
    assert_ne!(after.tree, before.tree, "a file beside the state is work");
    outer.remove("home/whatever");
    assert_eq!(tree::state(&place).unwrap().unwrap(), before);
    outer.put("other/a", "changed elsewhere\n");
    assert_ne!(tree::state(&place).unwrap().unwrap().tree, before.tree);
}

#[test]
fn conflicts_in_the_index_are_what_lies_in_the_files() {
    let repository = Repository::with(&[("both", "base\n"), ("ours", "base\n")]);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.put("both", "side\n");
    repository.remove("ours");
    repository.commit("side");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.put("both", "main\n");
    repository.put("ours", "main\n");
    repository.commit("main");
    assert!(!repository.git_command(&repository.path(), &["merge", "side"]).output().unwrap().status.success());
    let index = repository.git_state();
    let middle = state(&repository);
    assert_eq!(middle.tree, repository.agrees("in the middle of a merge"));
    assert_eq!(repository.git_state(), index);
    repository.put("both", "solved\n");
    assert_ne!(repository.agrees("a conflict that is solved"), middle.tree);
}

#[test]
fn submodules_count_as_the_commit_that_they_stand_on() {
    let other = Repository::with(&[("inner", "one\n")]);
    let repository = Repository::with(&[("a", "one\n")]);
    repository.git(&["submodule", "--quiet", "add", other.path().to_str().unwrap(), "sub"]);
    repository.commit("with a submodule");
    let clean = repository.agrees("a submodule");
    repository.put("sub/inner", "work in it\n");
    assert_eq!(repository.agrees("work in a submodule"), clean);
    let sub = repository.path().join("sub");
    repository.git_in(&sub, &["commit", "--quiet", "--all", "-m", "more"]);
    assert_ne!(repository.agrees("a commit in a submodule"), clean);
}

#[test]
fn what_the_index_says_and_no_file_does() {
    let other = Repository::with(&[("inner", "one\n")]);
    let repository = Repository::with(&[("a", "one\n"), ("b", "one\n"), ("sparse/c", "one\n"), ("kept/d", "one\n")]);
    repository.git(&["submodule", "--quiet", "add", other.path().to_str().unwrap(), "sub"]);
    repository.commit("with a submodule");
    let clean = repository.agrees("clean");
    repository.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    assert_eq!(repository.agrees("a submodule that is not there"), clean);
    repository.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/sparse/"]);
    assert!(!repository.has("sparse/c"));
    assert_eq!(repository.agrees("a sparse checkout"), clean);
    repository.put("new", "x\n");
    repository.git(&["add", "--intent-to-add", "new"]);
    assert_ne!(repository.agrees("a file that is meant to be added"), clean);
    repository.git(&["update-index", "--assume-unchanged", "b"]);
    repository.put("b", "changed in secret\n");
    repository.agrees("a file that is said to be unchanged");
}

#[test]
fn filters_that_are_not_installed() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let repository = Repository::with(&[(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n"), ("a.bin", pointer)]);
    let clean = repository.agrees("a pointer");
    repository.put("b.bin", pointer);
    assert_ne!(repository.agrees("another pointer"), clean);
}

#[test]
fn line_ends_and_modes_are_as_git_takes_them() {
    let repository = Repository::with(&[(".gitattributes", "* text=auto eol=crlf\n"), ("a.txt", "one\r\ntwo\r\n")]);
    let clean = repository.agrees("CRLF");
    repository.put("a.txt", "one\ntwo\n");
    assert_eq!(repository.agrees("the same with LF"), clean);
    repository.put("new", "x\r\n\0");
    repository.agrees("what is no text");

    // A disk that shows every file as a program.
    repository.git(&["config", "core.filemode", "false"]);
    let shown = repository.tree();
    repository.permit("a.txt", 0o755);
    repository.permit("new", 0o755);
    assert_eq!(repository.agrees("modes that are not trusted"), shown);
    repository.git(&["update-index", "--chmod=+x", "a.txt"]);
    assert_ne!(repository.agrees("a mode of the index"), shown);
    // One that has no links.
    repository.git(&["config", "core.filemode", "true"]);
    repository.link("link", "a.txt");
    repository.commit("a link");
    let link = repository.agrees("a link");
    repository.git(&["config", "core.symlinks", "false"]);
    repository.remove("link");
    repository.put("link", "a.txt");
    assert_eq!(repository.agrees("a link that lies there as a file"), link);
}

#[test]
fn names_that_are_no_text_and_names_that_differ_in_case() {
    let repository = Repository::with(&[("a", "one\n")]);
    let clean = repository.agrees("clean");
    repository.put(no_text(b"caf\xe9\n/\xff\xfe"), "x");
    assert_ne!(repository.agrees("a name that is no text"), clean);
    repository.git(&["add", "--all"]);
    repository.agrees("the same, known");

    let folding = Repository::with(&[("Readme", "one\n"), ("dir/File", "two\n")]);
    folding.git(&["config", "core.ignorecase", "true"]);
    let clean = folding.agrees("names in two cases");
    folding.put("Readme", "changed\n");
    assert_ne!(folding.agrees("a change"), clean);
    folding.put("Readme", "one\n");
    folding.put("another", "new\n");
    assert_ne!(folding.agrees("a new file"), clean);
    folding.remove("another");
    folding.remove("dir/File");
    assert_ne!(folding.agrees("a file that is gone"), clean);
}

#[test]
fn ignored_directories_are_not_looked_into() {
    let repository = Repository::with(&[(".gitignore", "/target/\n"), ("a", "one\n"), ("seen/b", "two\n")]);
    let clean = repository.tree();
    std::fs::create_dir_all(repository.path().join("target/deep")).unwrap();
    (0..20_000).for_each(|n| std::fs::write(repository.path().join(format!("target/deep/{n}")), "").unwrap());
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
    let opened = || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(watch.as_fd(), &mut buffer);
        let mut opened = Vec::new();
        while let Ok(event) = reader.next() {
            opened.push(event.wd());
        }
        opened
    };
    let deep = inotify::add_watch(&watch, repository.path().join("target/deep"), inotify::WatchFlags::OPEN).unwrap();
    let seen = inotify::add_watch(&watch, repository.path().join("seen"), inotify::WatchFlags::OPEN).unwrap();
    assert_eq!(repository.tree(), clean);
    let opened = opened();
    assert!(opened.contains(&seen) && !opened.contains(&deep), "{opened:?}: {deep} is ignored");
}

#[test]
fn what_cannot_be_read_or_written_is_named() {
    let repository = Repository::with(&[("a", "one\n")]);
    // Others may look, nobody but the owner may write; one file nobody else may read.
    repository.put("new", "x\n");
    repository.permit("new", 0o644);
    run_unprivileged("tree", &repository.path(), &serde_json::json!({ "refused": "objects" }));
    repository.remove("new");
    repository.put("a", "changed\n");
    repository.permit("a", 0o600);
    run_unprivileged("tree", &repository.path(), &serde_json::json!({ "refused": "open" }));
    repository.permit("a", 0o644);
    repository.git(&["add", "a"]);
    let text = std::fs::read(repository.path().join(".git/index")).unwrap();
    std::fs::write(repository.path().join(".git/index"), &text[..text.len() / 2]).unwrap();
    let error = tree::sha(&repository.place()).unwrap_err().to_string();
    assert!(error.contains("project") && error.contains("index"), "{error}");
}

/// Takes the tree as somebody who may not.
pub(crate) fn take_without_permission(told: &Told) {
    let place = crate::repository::place(&told.project);
    let error = tree::sha(&place).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot take the tree of {}", told.project.display())), "{error}");
    assert!(error.contains(told.text("refused")), "{error}");
}

#[test]
fn what_differs_is_shown_up_to_a_length() {
    let repository = Repository::with(&[("a", "one\ntwo\n"), ("moved", "a text\nthat is the same\n"), ("binary", "\0\x01")]);
    let from = repository.tree();
    repository.put("a", "one\n2 é\n");
    repository.git(&["mv", "moved", "is here"]);
    repository.put("binary", "\0\x02");
    repository.put("latin", b"caf\xe9\n");
    repository.link("link", "a");
    repository.permit("a", 0o755);
    let to = repository.tree();
    let place = repository.place();
    let whole = tree::diff(&place, &from, &to, 1 << 20).unwrap();
    for part in [
        "-two\n",
        "+2 é\n",
        "old mode 100644\nnew mode 100755\n",
        "rename from moved\nrename to is here\n",
        "Binary files",
        "+caf\u{fffd}\n",
        "new file mode 120000",
    ] {
        assert!(whole.contains(part), "{part:?} is missing:\n{whole}");
    }
    assert_eq!(tree::diff(&place, &from, &from, 100).unwrap(), "");
    // Commits stand for their trees.
    assert_eq!(tree::diff(&place, &repository.git(&["rev-parse", "HEAD"]), &to, 1 << 20).unwrap(), whole);
    let cut = tree::diff(&place, &from, &to, 150).unwrap();
    let (shown, note) = cut.trim_end().rsplit_once('\n').unwrap();
    assert!(shown.len() < 150 && whole.starts_with(&format!("{shown}\n")), "{cut}");
    assert!(note.starts_with("[cut here: ") && note.contains(&format!("{} of ", shown.len() + 1)), "{cut}");
    let error = tree::diff(&place, &from, &"0".repeat(40), 100).unwrap_err().to_string();
    assert!(error.contains(&repository.path().display().to_string()), "{error}");
}
