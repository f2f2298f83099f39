use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::conversation::ToolCall;
use crate::fixture::run;
use crate::profile::Profile;
use crate::tools::Toolbox;

mod commands;

/// A workspace beside a file that is none of it, and the tools of files.
struct Bench {
    temp: tempfile::TempDir,
    toolbox: Toolbox,
}

impl Bench {
    fn new() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["ws/.tasks", "ws/.crew", "ws/sub", "logs", "outside"] {
            std::fs::create_dir_all(temp.path().join(dir)).unwrap();
        }
        std::fs::write(temp.path().join("outside/secret"), "secret\n").unwrap();
        let workspace = Arc::new(Workspace::open(&temp.path().join("ws")).unwrap());
        let outputs = Arc::new(Outputs::new(board::disk::Dir::open(&temp.path().join("logs")).unwrap(), "turn"));
        let toolbox = Toolbox::of(&Profile::named("alice").unwrap(), tools(&workspace, &outputs, None), Some(outputs));
        Bench { temp, toolbox }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.temp.path().join("ws").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    fn call(&self, name: &str, input: Value) -> Result<String, String> {
        match run(self.toolbox.call(&ToolCall { id: "1".into(), name: name.into(), input, malformed: None })) {
            Answer::Result { text, is_error: false } => Ok(text),
            Answer::Result { text, is_error: true } => Err(text),
            Answer::Effect(effect) => panic!("{effect:?}"),
        }
    }

    fn refused(&self, name: &str, input: Value, because: &str) {
        let said = self.call(name, input.clone()).unwrap_err();
        assert!(said.contains(because), "{name} {input}: {said}");
    }

    fn write(&self, path: &str, content: &str) -> Result<String, String> {
        self.call("write_file", json!({ "path": path, "content": content }))
    }
}

#[test]
fn a_file_is_read_written_and_edited() {
    let bench = Bench::new();
    assert_eq!(bench.write("a/b/c.txt", "one\ntwo\nthree\n").unwrap(), "Created a/b/c.txt: 3 lines.");
    assert_eq!(bench.call("read_file", json!({ "path": "./a/b/c.txt" })).unwrap(), "     1\tone\n     2\ttwo\n     3\tthree\n");
    let page = bench.call("read_file", json!({ "path": "a/b/c.txt", "offset": 2, "limit": 1 })).unwrap();
    assert_eq!(page, "     2\ttwo\n[there is more: read_file {\"limit\":1,\"offset\":3,\"path\":\"a/b/c.txt\"}]\n");
    bench.call("edit_file", json!({ "path": "a/b/c.txt", "old": "two", "new": "2" })).unwrap();
    bench.call("edit_file", json!({ "path": "a/b/c.txt", "old": "e\n", "new": "E\n", "all": true })).unwrap();
    assert_eq!(bench.read("a/b/c.txt"), "onE\n2\nthreE\n");
    assert_eq!(std::fs::read_dir(bench.at("a/b")).unwrap().count(), 1, "nothing unfinished is left");
    bench.refused("read_file", json!({ "path": "none" }), "cannot read none");
    bench.put("empty", "");
    assert_eq!(bench.call("read_file", json!({ "path": "empty" })).unwrap(), "empty is empty.");
    bench.put("binary", "a\0b");
    bench.refused("read_file", json!({ "path": "binary" }), "no text (3 bytes)");
    bench.refused("read_file", json!({ "path": "sub" }), "a directory");
}

#[test]
fn what_nobody_has_read_is_not_replaced() {
    let bench = Bench::new();
    bench.put("a", "mine\n");
    bench.refused("write_file", json!({ "path": "a", "content": "x" }), "was not read");
    bench.refused("edit_file", json!({ "path": "a", "old": "mine", "new": "x" }), "was not read");
    bench.call("read_file", json!({ "path": "a" })).unwrap();
    bench.put("a", "theirs: mine\n");
    bench.refused("edit_file", json!({ "path": "a", "old": "mine", "new": "x" }), "changed since it was read");
    bench.refused("write_file", json!({ "path": "a", "content": "x" }), "changed since it was read");
    assert_eq!(bench.read("a"), "theirs: mine\n");
    bench.call("read_file", json!({ "path": "a" })).unwrap();
    bench.call("edit_file", json!({ "path": "a", "old": "mine", "new": "x" })).unwrap();
    // Its own change is no stranger's.
    bench.call("edit_file", json!({ "path": "a", "old": "x", "new": "y" })).unwrap();
    assert_eq!(bench.read("a"), "theirs: y\n");
    // One that was replaced with the same size and time is another file.
    let time = std::fs::metadata(bench.at("a")).unwrap().modified().unwrap();
    std::fs::write(bench.at("b"), "theirs: z\n").unwrap();
    std::fs::File::open(bench.at("b")).unwrap().set_modified(time).unwrap();
    std::fs::rename(bench.at("b"), bench.at("a")).unwrap();
    bench.refused("edit_file", json!({ "path": "a", "old": "theirs", "new": "" }), "changed since it was read");
}

#[test]
fn a_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.put("run.sh", "a");
    std::fs::set_permissions(bench.at("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    bench.call("read_file", json!({ "path": "run.sh" })).unwrap();
    bench.write("run.sh", "b").unwrap();
    assert_eq!(std::fs::metadata(bench.at("run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
}

#[test]
fn no_path_leads_out() {
    let bench = Bench::new();
    let secret = bench.temp.path().join("outside/secret");
    symlink(&secret, bench.at("link")).unwrap();
    symlink("../outside", bench.at("dir")).unwrap();
    symlink("../../outside/secret", bench.at("sub/deep")).unwrap();
    symlink("/proc/self/root", bench.at("root")).unwrap();
    symlink("/proc/self/cwd", bench.at("cwd")).unwrap();
    let through_root = format!("root{}", secret.display());
    for path in [
        secret.to_str().unwrap(),
        "../outside/secret",
        "sub/../../outside/secret",
        "link",
        "dir/secret",
        "sub/deep",
        &through_root,
        "cwd/Cargo.toml",
        "/proc/self/root/etc/passwd",
    ] {
        for (name, input) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old": "secret", "new": "x" })),
            ("grep", json!({ "path": path, "pattern": "secret" })),
        ] {
            let said = bench.call(name, input).unwrap_err();
            assert!(said.contains("is not in the workspace") || said.contains("symbolic link") || said.contains("was not read"), "{name} {path}: {said}");
        }
    }
    for path in ["..", "/", "dir", "root"] {
        bench.refused("glob", json!({ "path": path, "pattern": "**" }), "is not in the workspace");
    }
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret\n");
    assert!(!bench.temp.path().join("outside/x").exists());
    // What is within is found, and nothing is looked into that is reached by a link.
    assert_eq!(bench.call("glob", json!({ "pattern": "**" })).unwrap(), "no file matches");
}

#[test]
fn links_inside_are_read_through_and_not_written_through() {
    let bench = Bench::new();
    bench.put("sub/a", "1\n");
    symlink("sub", bench.at("to")).unwrap();
    symlink("sub/a", bench.at("file")).unwrap();
    assert_eq!(bench.call("read_file", json!({ "path": "to/a" })).unwrap(), "     1\t1\n");
    bench.call("read_file", json!({ "path": "file" })).unwrap();
    for path in ["to/a", "to/new", "file"] {
        bench.refused("write_file", json!({ "path": path, "content": "x" }), "symbolic link");
    }
    assert_eq!(bench.read("sub/a"), "1\n");
}

#[test]
fn the_boards_directories_are_not_written_by_any_name() {
    let bench = Bench::new();
    bench.put(".tasks/task_1.json", "{}");
    symlink(".tasks", bench.at("t")).unwrap();
    symlink("..", bench.at("sub/up")).unwrap();
    for path in [".tasks/task_1.json", ".tasks/new", ".tasks", ".crew/config.toml", "./.crew/x", ".TASKS/x", ".Crew/teammates/x.md"] {
        bench.refused("write_file", json!({ "path": path, "content": "x" }), "belong to the board");
    }
    for path in ["t/new", "sub/up/.tasks/new"] {
        bench.refused("write_file", json!({ "path": path, "content": "x" }), "symbolic link");
    }
    // What is called so elsewhere is a file like others.
    bench.write("sub/.tasks/x", "x").unwrap();
    assert_eq!(bench.read(".tasks/task_1.json"), "{}");
    assert_eq!(bench.call("read_file", json!({ "path": ".tasks/task_1.json" })).unwrap(), "     1\t{}\n");
}

#[test]
fn another_name_of_a_file_keeps_what_it_says() {
    let bench = Bench::new();
    let secret = bench.temp.path().join("outside/secret");
    std::fs::hard_link(&secret, bench.at("hard")).unwrap();
    bench.call("read_file", json!({ "path": "hard" })).unwrap();
    bench.write("hard", "x").unwrap();
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret\n");
    assert_eq!(bench.read("hard"), "x");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let bench = Bench::new();
    rustix::fs::mknodat(rustix::fs::CWD, bench.at("fifo"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(bench.at("socket")).unwrap();
    for path in ["fifo", "socket"] {
        bench.refused("read_file", json!({ "path": path }), "no regular file");
        bench.refused("write_file", json!({ "path": path, "content": "x" }), "no regular file");
        bench.refused("grep", json!({ "path": path, "pattern": "x" }), "no regular file");
    }
    drop(socket);
    assert_eq!(bench.call("grep", json!({ "pattern": "x" })).unwrap(), "nothing matches");
}

#[test]
fn a_directory_that_becomes_a_link_meanwhile_leads_nowhere() {
    let bench = Bench::new();
    bench.put("real/a", "inside\n");
    symlink(bench.temp.path().join("outside"), bench.at("evil")).unwrap();
    symlink(".tasks", bench.at("board")).unwrap();
    let at = |path: &str| bench.at(path);
    let (real, others) = (at("real"), [at("evil"), at("board")]);
    let (over, flips) = (std::sync::atomic::AtomicBool::new(false), std::sync::atomic::AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                for other in &others {
                    for _ in 0..2 {
                        rustix::fs::renameat_with(rustix::fs::CWD, &real, rustix::fs::CWD, other, rustix::fs::RenameFlags::EXCHANGE).unwrap();
                        flips.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            }
        });
        let mut tried = 0;
        while tried < 300 || flips.load(std::sync::atomic::Ordering::Relaxed) < 300 {
            let _ = bench.write(&format!("real/new{tried}"), "x");
            if let Ok(read) = bench.call("read_file", json!({ "path": "real/secret" })) {
                panic!("read {read:?}");
            }
            tried += 1;
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let names = |path: &Path| std::fs::read_dir(path).unwrap().count();
    assert_eq!(names(&bench.temp.path().join("outside")), 1);
    assert_eq!(names(&bench.at(".tasks")), 0);
}

#[test]
fn files_are_found_by_their_paths() {
    let bench = Bench::new();
    for path in ["src/a.rs", "src/deep/b.rs", "c.rs", "d.txt", ".git/x.rs", ".tasks/e.rs", "target/f.rs", "sub/keep.log", "sub/g.log", ".github/h.rs"] {
        bench.put(path, "x\n");
    }
    bench.put(".gitignore", "target/\n*.log\n");
    bench.put("sub/.gitignore", "!keep.log\n");
    let glob = |input: Value| bench.call("glob", input).unwrap();
    assert_eq!(glob(json!({ "pattern": "**/*.rs" })), ".github/h.rs\nc.rs\nsrc/a.rs\nsrc/deep/b.rs\n");
    assert_eq!(glob(json!({ "pattern": "*.rs", "path": "src" })), "src/a.rs\nsrc/deep/b.rs\n");
    assert_eq!(glob(json!({ "pattern": "src/*.rs" })), "src/a.rs\n");
    assert_eq!(glob(json!({ "pattern": "*.log" })), "sub/keep.log\n");
    assert_eq!(glob(json!({ "pattern": "*.log", "path": "sub" })), "sub/keep.log\n", "what is ignored above counts");
    assert_eq!(glob(json!({ "pattern": "*.rs", "offset": 3 })), "src/deep/b.rs\n");
    assert_eq!(glob(json!({ "pattern": "*.rs", "offset": 9 })), "there are only 4 results");
    assert_eq!(glob(json!({ "pattern": "*.rs", "path": ".tasks" })), ".tasks/e.rs\n");
    bench.refused("glob", json!({ "pattern": "{" }), "is no pattern");
    bench.refused("glob", json!({ "pattern": "*", "path": "none" }), "cannot open none");
}

#[test]
fn lines_are_found_by_what_they_say() {
    let bench = Bench::new();
    bench.put("a.rs", "one\nTwo\r\nthree\nfour\n");
    bench.put("b.txt", "two\n");
    bench.put("c.bin", "two\0");
    bench.put("ignored", "two\n");
    bench.put(".gitignore", "ignored\n");
    bench.put("long", &format!("two{}\n", "x".repeat(1000)));
    let grep = |input: Value| bench.call("grep", input).unwrap();
    assert_eq!(grep(json!({ "pattern": "two$" })), "b.txt:1:two\n");
    assert_eq!(grep(json!({ "pattern": "^two$", "ignoreCase": true })), "a.rs:2:Two\nb.txt:1:two\n");
    assert_eq!(grep(json!({ "pattern": "two", "ignoreCase": true, "filesOnly": true })), "a.rs\nb.txt\nlong\n");
    assert_eq!(grep(json!({ "pattern": "T", "glob": "*.rs", "context": 1 })), "a.rs-1-one\na.rs:2:Two\na.rs-3-three\n");
    assert_eq!(grep(json!({ "pattern": "e", "path": "a.rs" })), "a.rs:1:one\na.rs:3:three\n");
    assert!(grep(json!({ "pattern": "two", "path": "long" })).ends_with("xx […]\n"));
    assert_eq!(grep(json!({ "pattern": "nowhere" })), "nothing matches");
    bench.refused("grep", json!({ "pattern": "(" }), "is no regular expression");
}

#[test]
fn long_results_say_with_which_call_they_go_on() {
    let bench = Bench::new();
    bench.put("many", &"a line with an x\n".repeat(5000));
    let (mut input, mut lines, mut calls) = (json!({ "pattern": "x" }), 0, 0);
    loop {
        let text = bench.call("grep", input.clone()).unwrap();
        assert!(text.len() <= crate::tools::bounds::MOST);
        lines += text.lines().filter(|line| line.starts_with("many:")).count();
        calls += 1;
        let Some((_, next)) = text.split_once("[there is more: grep ") else { break };
        input = serde_json::from_str(next.strip_suffix(']').unwrap()).unwrap();
    }
    assert_eq!((lines, calls > 2), (5000, true));
}
