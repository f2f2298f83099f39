//! The working tree's SHA is the one that git itself gives, and taking it changes nothing.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::scene::Scene;

/// Runs git in a directory, with nobody's configuration.
fn git_in(scene: &Scene, directory: &Path, arguments: &[&str]) -> String {
    let mut git = scene.program("git");
    git.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"]);
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn git(scene: &Scene, arguments: &[&str]) -> String {
    git_in(scene, &scene.project(), arguments)
}

/// What git makes of the working tree, in an index of its own.
fn by_git(scene: &Scene) -> String {
    let script = "set -e; export GIT_INDEX_FILE=.git/oracle; rm -f .git/oracle; [ ! -e .git/index ] || cp .git/index .git/oracle
        git -c advice.addEmbeddedRepo=false add --all . >&2; git rm -r -q --cached --ignore-unmatch .tasks .crew >&2; git write-tree; rm .git/oracle";
    let mut shell = scene.program("sh");
    shell.args(["-c", script]).current_dir(scene.project()).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[track_caller]
fn agree(scene: &Scene, after: &str) -> String {
    let ours = scene.run(&["tree"]).succeeded().out.trim().to_owned();
    assert_eq!(ours, by_git(scene), "after {after}");
    ours
}

#[test]
fn it_is_what_git_says_after_every_change() {
    let scene = Scene::new();
    scene.task("1", serde_json::json!({}));
    assert!(scene.run(&["tree"]).ended_with(1).err.contains("no git working tree"));
    git(&scene, &["init", "--quiet"]);
    agree(&scene, "init, without a commit");
    scene.put(".gitignore", "target/\n*.log\n");
    scene.put("a.txt", "one\n");
    scene.put("sub/b.txt", "two\n");
    scene.put("target/out", "ignored\n");
    scene.put(".crew/goal.md", "a goal\n");
    let first = agree(&scene, "new files");
    git(&scene, &["add", "--all"]);
    assert_eq!(agree(&scene, "adding them"), first);
    git(&scene, &["commit", "--quiet", "-m", "first"]);
    assert_eq!(agree(&scene, "a commit"), first);
    git(&scene, &["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    assert_eq!(agree(&scene, "a commit of nothing"), first);

    // What is not the work changes nothing.
    scene.put("target/out", "other\n");
    scene.put("x.log", "ignored\n");
    scene.put(".crew/goal.md", "another goal\n");
    scene.run(&["add", "one more"]).succeeded();
    assert_eq!(agree(&scene, "changes of what is left out"), first);

    // The same size, in the same moment.
    for text in ["two\n", "six\n", "ten\n"] {
        scene.put("a.txt", text);
        assert_ne!(agree(&scene, text), first);
    }
    scene.put("a.txt", "one\n");
    assert_eq!(agree(&scene, "changing it back"), first);
    let file = scene.project().join("a.txt");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(agree(&scene, "chmod"), first);
    std::fs::remove_file(&file).unwrap();
    agree(&scene, "a file that is gone");
    std::os::unix::fs::symlink("sub/b.txt", &file).unwrap();
    agree(&scene, "a link");
    std::fs::rename(scene.project().join("sub"), scene.project().join("moved")).unwrap();
    agree(&scene, "a directory that is moved");
    std::fs::write(scene.project().join(std::ffi::OsStr::from_bytes(b"caf\xe9 \n name")), "x").unwrap();
    agree(&scene, "a name that is no text");
    // Tracked, though ignored.
    git(&scene, &["add", "--force", "x.log"]);
    scene.put("x.log", "changed\n");
    agree(&scene, "a tracked file that is ignored");
    git(&scene, &["add", "moved"]);
    git(&scene, &["mv", "moved/b.txt", "c.txt"]);
    agree(&scene, "staged changes");
}

#[test]
fn in_the_middle_of_a_merge_and_with_other_repositories_inside() {
    let scene = Scene::new();
    git(&scene, &["init", "--quiet", "--initial-branch", "main"]);
    for (file, text) in [("both", "base\n"), ("theirs", "base\n"), ("ours", "base\n")] {
        scene.put(file, text);
    }
    git(&scene, &["add", "both", "theirs", "ours"]);
    git(&scene, &["commit", "--quiet", "-m", "base"]);
    git(&scene, &["checkout", "--quiet", "-b", "side"]);
    scene.put("both", "side\n");
    git(&scene, &["rm", "--quiet", "ours"]);
    git(&scene, &["commit", "--quiet", "--all", "-m", "side"]);
    git(&scene, &["checkout", "--quiet", "main"]);
    scene.put("both", "main\n");
    scene.put("ours", "main\n");
    git(&scene, &["commit", "--quiet", "--all", "-m", "main"]);
    let mut merge = scene.program("git");
    merge.current_dir(scene.project()).args(["-c", "user.name=t", "-c", "user.email=t@example.org", "merge", "side"]);
    assert!(!merge.output().unwrap().status.success());
    agree(&scene, "a merge with conflicts");

    let other = scene.project().join("inside");
    std::fs::create_dir(&other).unwrap();
    git_in(&scene, &other, &["init", "--quiet"]);
    std::fs::write(other.join("f"), "x").unwrap();
    // Git refuses it until it has a commit; the tree is had all the same.
    let without = scene.run(&["tree"]).succeeded().out;
    git_in(&scene, &other, &["add", "f"]);
    git_in(&scene, &other, &["commit", "--quiet", "-m", "inner"]);
    assert_ne!(agree(&scene, "a repository inside"), without.trim());
    std::fs::write(other.join("f"), "y").unwrap();
    agree(&scene, "work in it");
}

#[test]
fn it_touches_nothing() {
    let scene = Scene::new();
    git(&scene, &["init", "--quiet"]);
    scene.put("a", "one\n");
    git(&scene, &["add", "a"]);
    git(&scene, &["commit", "--quiet", "-m", "first"]);
    scene.put("a", "two\n");
    scene.put("b", "new\n");
    git(&scene, &["add", "b"]);
    let seen = || {
        let all = scene.everything().into_iter().filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "objects"));
        (all.collect::<Vec<_>>(), git(&scene, &["status", "--porcelain"]))
    };
    let before = seen();
    scene.run(&["tree"]).succeeded();
    assert!(seen() == before);
    let json: serde_json::Value = serde_json::from_str(&scene.run(&["tree", "--json"]).succeeded().out).unwrap();
    assert_eq!(json["tree"].as_str().map(str::len), Some(40));
}
