//! `crew checkpoints` and `crew restore`: what they print, and what they change.

use ::board::checkpoints::{Checkpoints, Kind};
use ::board::place::{Place, Surroundings};
use serde_json::Value;

use crate::scene::Scene;

fn git(scene: &Scene, arguments: &[&str]) -> String {
    let mut git = scene.program("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes one, as a run does.
fn make(scene: &Scene, why: &str) -> u64 {
    let surroundings = Surroundings { crewboard_home: Some(scene.home().into()), ..Surroundings::default() };
    let place = Place::at(&scene.tasks(), &surroundings).unwrap();
    Checkpoints::of(&place).make(why, Some(7), Kind::Refs).unwrap().unwrap().number
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn where_there_is_none() {
    let scene = Scene::new();
    assert!(scene.run(&["checkpoints"]).succeeded().err.contains("`git init` makes one"));
    assert!(scene.run(&["restore", "1"]).ended_with(4).err.contains("is in no git working tree; `git init` makes one [no-repository]"));
    git(&scene, &["init", "--quiet"]);
    let ran = scene.run(&["checkpoints"]).succeeded();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "there is no checkpoint yet\n"));
    assert_eq!(scene.run(&["checkpoints", "--json"]).succeeded().out, "");
    assert!(scene.run(&["restore", "1"]).ended_with(4).err.contains("there is no checkpoint 1; `crew checkpoints` lists them"));
    scene.run(&["restore", "first"]).ended_with(2);
    assert!(!scene.home().exists() || std::fs::read_dir(scene.home()).unwrap().count() <= 1);
}

#[test]
fn there_and_back() {
    let scene = Scene::new();
    git(&scene, &["init", "--quiet", "--initial-branch", "main"]);
    scene.put("a", "one\n");
    scene.put("b", "one\n");
    scene.put(".gitignore", "*.log\n");
    git(&scene, &["add", "a"]);
    git(&scene, &["commit", "--quiet", "-m", "first"]);
    let tree = scene.run(&["tree"]).succeeded().out.trim().to_owned();
    assert_eq!(make(&scene, "the \u{1b}[31mbaseline\nof a run"), 1);
    scene.put("a", "two\n");
    std::fs::remove_file(scene.project().join("b")).unwrap();
    scene.put("later", "x\n");
    scene.put("x.log", "ignored\n");
    scene.task("1", serde_json::json!({}));
    let seen = (git(&scene, &["rev-parse", "HEAD"]), std::fs::read(scene.project().join(".git/index")).unwrap(), scene.read("1"));

    let ran = scene.run(&["restore", "1"]).succeeded();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "back at checkpoint 1: 2 files put back, 1 file removed; `crew restore 2` undoes it\n"));
    assert_eq!((scene.file("a"), scene.file("b"), scene.has("later"), scene.file("x.log")), ("one\n".into(), "one\n".into(), false, "ignored\n".into()));
    assert_eq!(scene.run(&["tree"]).succeeded().out.trim(), tree);
    assert_eq!((git(&scene, &["rev-parse", "HEAD"]), std::fs::read(scene.project().join(".git/index")).unwrap(), scene.read("1")), seen);

    let undone = objects(&scene.run(&["restore", "2", "--json"]).succeeded().out);
    assert_eq!(undone, [serde_json::json!({ "before": 3, "changed": 2, "removed": 1 })]);
    assert_eq!((scene.file("a"), scene.has("b"), scene.has("later")), ("two\n".into(), false, true));
    assert_eq!(scene.run(&["restore", "2"]).succeeded().err, "the working tree is as at checkpoint 2 already\n");

    let shown = scene.run(&["checkpoints"]).succeeded().out;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("N  WHEN") && lines[1].starts_with("1  20") && lines[1].contains(&tree[..10]), "{shown}");
    assert!(lines[1].contains("the \\u{1b}[31mbaseline") && !shown.contains('\u{1b}') && !shown.contains("of a run"), "{shown}");
    assert!(lines[2].ends_with("before going back to checkpoint 1"), "{shown}");
    let listed = objects(&scene.run(&["checkpoints", "--json"]).succeeded().out);
    assert_eq!((listed[0]["number"].as_u64(), listed[0]["seq"].as_u64(), listed[0]["tree"].as_str()), (Some(1), Some(7), Some(tree.as_str())));
    assert_eq!(git(&scene, &["rev-parse", "refs/crew/checkpoints/1"]), listed[0]["commit"].as_str().unwrap());
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_changed() {
    let scene = Scene::new();
    git(&scene, &["init", "--quiet"]);
    scene.put("out.log", "one\n");
    scene.put("a", "one\n");
    make(&scene, "with a log");
    scene.put(".gitignore", "*.log\n");
    scene.put("out.log", "grows\n");
    scene.put("a", "two\n");
    let ran = scene.run(&["restore", "1"]).ended_with(4);
    assert!(ran.err.contains("out.log; move that away and do it again [in-the-way]"), "{ran:#?}");
    assert_eq!((scene.file("a"), scene.file("out.log")), ("two\n".into(), "grows\n".into()));
}

#[test]
fn killed_in_the_middle_it_is_done_by_the_next() {
    for point in ["restore.intent", "restore.removing", "restore.putting", "restore.written"] {
        let scene = Scene::new();
        git(&scene, &["init", "--quiet"]);
        scene.put("a", "one\n");
        make(&scene, "first");
        scene.put("a", "two\n");
        scene.put("later", "x\n");
        let mut crew = scene.crew(&["restore", "1"]);
        crew.env("CREW_CRASH_AT", point);
        assert_eq!(scene.start(crew).ended().code(), None, "{point}");
        scene.run(&["restore", "1"]).succeeded();
        assert_eq!((scene.file("a"), scene.has("later")), ("one\n".into(), false), "{point}");
        scene.run(&["restore", "2"]).succeeded();
        assert_eq!((scene.file("a"), scene.has("later")), ("two\n".into(), true), "{point}");
    }
}
