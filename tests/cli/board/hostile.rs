//! A board as real directories are: files that are no tasks, tasks as other programs write them, and things that are
//! no files at all.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::{ids, objects, ready, snapshot};
use crate::scene::{Scene, is_asleep, until};

/// Files that say something else than a task, and that nothing may change.
const UNREADABLE: [&str; 9] =
    ["task_4.json", "task_5.json", "task_14.json", "task_15.json", "task_16.json", "task_19.json", "task_20.json", "task_24.json", "task_25.json"];

/// The board.
fn hostile() -> Scene {
    let scene = Scene::bare();
    let files: [(&str, &[u8]); 24] = [
        ("task_1.json", br#"{"id":1,"subject":"plain"}"#),
        ("task_2.json", b"\xef\xbb\xbf{\"subject\":\"with a BOM\"}\r\n"),
        ("task_3.json", br#"{"id":"3","subject":"id is a string","owner":"","blockedBy":[1]}"#),
        ("task_4.json", br#"{"id":4,"subject":"half writ"#),
        ("task_5.json", b""),
        (
            "task_6.json",
            "{\"id\":6,\"subject\":\"unknown keys stay\",\"zeta\":1.10,\"alpha\":{\"k\":[1e2,null]},\"description\":\"café 🐢\"}".as_bytes(),
        ),
        ("task_7.json", br#"{"id":7,"subject":"own blocker","blockedBy":[7]}"#),
        ("task_8.json", br#"{"id":8,"subject":"cycle a","blockedBy":[9]}"#),
        ("task_9.json", br#"{"id":9,"subject":"cycle b","blockedBy":["8"]}"#),
        ("task_10.json", br#"{"id":10,"subject":"absent blocker","blockedBy":[404]}"#),
        ("task_11.json", br#"{"id":99,"subject":"id differs from the name"}"#),
        ("task_12.json", br#"{"id":12,"subject":"unknown status","status":"wip"}"#),
        ("task_13.json", br#"{"id":13,"subject":"dispatched","owner":"alice"}"#),
        ("task_14.json", b"[1,2,3]"),
        ("task_15.json", b"{\"subject\":\"latin-1: \xe9\"}"),
        ("task_16.json", br#"{"description":"no subject"}"#),
        ("task_17.json", br#"{"id":17,"subject":"done already","status":"completed"}"#),
        ("task_18.json", br#"{"id":18,"subject":"blocked by a finished one","blockedBy":[17]}"#),
        ("task_1.json~", br#"{"id":1,"subject":"backup"}"#),
        (".task_1.json.swp", b"b0VIM 8.2"),
        ("#task_1.json#", br#"{"id":1,"subject":"emacs"}"#),
        ("task_a b.json", br#"{"subject":"name with a space"}"#),
        ("task_24.json", br#"{"subject":"dup","subject":"keys"}"#),
        ("task_.json", br#"{"subject":"no id at all"}"#),
    ];
    let at = |name: &str| scene.tasks().join(name);
    for (name, bytes) in files {
        std::fs::write(at(name), bytes).unwrap();
    }
    std::fs::write(at("task_23.json"), format!("{{\"subject\":\"deep {}\"}}", "x".repeat(10 << 20))).unwrap();
    std::fs::write(at("task_25.json"), "[".repeat(100_000)).unwrap();
    std::fs::create_dir(at("task_19.json")).unwrap();
    mknodat(CWD, at("task_20.json"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    symlink("task_1.json", at("task_21.json")).unwrap();
    symlink("/nonexistent", at("task_22.json")).unwrap();
    scene
}

/// What is there that is no task, as it is.
fn unreadable(scene: &Scene) -> Vec<(String, Vec<u8>)> {
    let names: Vec<PathBuf> =
        UNREADABLE.iter().chain(&["task_21.json", "task_22.json", "task_1.json~", ".task_1.json.swp"]).map(|name| scene.tasks().join(name)).collect();
    snapshot(&scene.tasks()).into_iter().filter(|(path, _)| names.iter().any(|name| name.as_os_str() == path.as_str())).collect()
}

/// What `crew ls --json` says of one id or file.
fn told<'a>(list: &'a [Value], name: &str) -> &'a Value {
    let file = format!("task_{name}.json");
    let is = |object: &&Value| object["file"] == file.as_str() || ids(std::slice::from_ref(object)) == [name];
    list.iter().find(is).unwrap_or_else(|| panic!("nothing is said of {name}"))
}

#[test]
fn every_file_is_listed_for_what_it_is() {
    let scene = hostile();
    let before = snapshot(&scene.project());
    let list = objects(&scene.run(&["ls", "--json"]).succeeded());

    assert_eq!(ids(&list), ["1", "2", "3", "6", "7", "8", "9", "10", "11", "12", "13", "17", "18", "23", "a b"]);
    for ready in ["1", "2", "6", "11", "18", "23", "a b"] {
        let task = told(&list, ready);
        assert_eq!((&task["ready"], task.get("why")), (&Value::Bool(true), None), "{ready}");
    }
    for (id, why) in [
        ("3", "blocked by 1"),
        ("7", "blocked by itself"),
        ("8", "blocked by 9"),
        ("9", "blocked by 8"),
        ("10", "blocked by 404, which does not exist"),
        ("12", "its status is none that this board knows"),
        ("13", "dispatched to alice"),
        ("17", "it is completed"),
    ] {
        let task = told(&list, id);
        assert_eq!((&task["ready"], task["why"].as_str()), (&Value::Bool(false), Some(why)), "{id}");
    }
    for (id, reason, line, column) in [
        ("14", "a task is a JSON object", 1, 1),
        ("15", "the text is not UTF-8", 1, 22),
        ("16", "there is no `subject`", 0, 0),
        ("19", "it is a directory", 0, 0),
        ("20", "it is no regular file", 0, 0),
        ("21", "it is a symbolic link", 0, 0),
        ("22", "it is a symbolic link", 0, 0),
        ("24", "the key \"subject\" stands here a second time", 1, 28),
        ("25", "arrays and objects nest deeper", 1, 1),
    ] {
        let problem = &told(&list, id)["invalid"];
        assert!(problem["reason"].as_str().unwrap().starts_with(reason), "{id}: {problem}");
        assert_eq!((problem["line"].as_u64(), problem["column"].as_u64()), (Some(line), Some(column)), "{id}");
    }
    assert!(told(&list, "").get("invalid").is_some(), "a name without an id");
    // The name wins over the id inside, and numbers are as they were written.
    assert_eq!(told(&list, "11")["id"], 11);
    assert!(scene.run(&["ls", "--json"]).out.contains(r#""zeta":1.10,"alpha":{"k":[1e2,null]}"#));
    let people = scene.run(&["ls"]).succeeded();
    assert_eq!(people.out.lines().count(), 1 + list.len(), "one line for each: {}", people.out);

    for verb in [
        &["ls", "--ready"][..],
        &["ls", "--invalid"],
        &["next", "--as", "bob"],
        &["show", "23"],
        &["show", "6", "--json"],
        &["graph"],
        &["graph", "--dot"],
        &["doctor"],
        &[],
    ] {
        assert!(matches!(scene.run(verb).code(), Some(0 | 1)), "{verb:?}");
    }
    assert_eq!(snapshot(&scene.project()), before, "looking changes nothing, and makes no .board");
}

#[test]
fn what_may_be_half_written_is_given_time() {
    let scene = hostile();
    let said = |name: &str| told(&objects(&scene.run(&["ls", "--json"]).succeeded()), name).clone();
    // A file that was just written may be in the middle of it.
    for name in ["4", "5"] {
        std::fs::File::options().write(true).open(scene.tasks().join(format!("task_{name}.json"))).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
        assert!(said(name).get("unsettled").is_some(), "{name}");
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3);
    std::fs::File::options().write(true).open(scene.tasks().join("task_4.json")).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(said("4")["invalid"]["column"], 28, "after two seconds it is what it is");
}

#[test]
fn a_fifo_is_not_even_opened() {
    let scene = hostile();
    // Whoever opens it for writing waits until somebody opens it for reading.
    let mut writer = scene.program("sh");
    writer.args(["-c", "exec > .tasks/task_20.json; echo opened > opened"]);
    let writer = scene.start(writer);
    until("it waits", || is_asleep(writer.pid()));
    for verb in [
        &["ls"][..],
        &["ls", "--json"],
        &["show", "20"],
        &["doctor"],
        &["next", "--as", "bob"],
        &["claim", "20", "--as", "bob"],
        &["claim", "--as", "bob"],
        &["work"],
    ] {
        scene.run(verb);
        assert!(!scene.has("opened") && is_asleep(writer.pid()), "{verb:?} opened it");
    }
    writer.killed();
}

#[test]
fn for_alice_there_is_one_more() {
    let scene = hostile();
    assert_eq!(scene.run(&["next", "--as", "bob"]).succeeded().out, "1\n");
    assert_eq!(scene.run(&["next", "--as", "alice"]).succeeded().out, "13\n", "her own before any other");
    assert_eq!(scene.run(&["claim", "--as", "alice"]).succeeded().out, "13\n");
    let ran = scene.run(&["claim", "13", "--as", "bob"]).ended_with(4);
    assert!(ran.err.contains("task 13") && ran.err.contains("alice"), "{ran:?}");
}

#[test]
fn a_shell_empties_it_and_changes_nothing_that_it_cannot_read() {
    let scene = hostile();
    let before = unreadable(&scene);
    assert_eq!(before.len(), UNREADABLE.len() + 4);
    let mut done = Vec::new();
    until("nothing is left to claim", || {
        let claimed = scene.run(&["claim", "--as", "bob"]);
        if claimed.code() == Some(6) {
            return true;
        }
        let id = claimed.succeeded().out.trim_end().to_owned();
        scene.run(&["finish", &id, "--as", "bob"]).succeeded();
        done.push(id);
        false
    });
    done.sort();
    assert_eq!(done, ["1", "11", "18", "2", "23", "3", "6", "a b"], "3 became ready with the completion of 1");
    assert_eq!(unreadable(&scene), before);

    // What nobody here knows is there in its order, as it was written.
    let text = scene.file(".tasks/task_6.json");
    let order: Vec<usize> = ["\"id\"", "\"subject\"", "\"zeta\": 1.10", "\"alpha\"", "1e2", "\"description\": \"café 🐢\""]
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(order.is_sorted(), "{text}");
    assert_eq!(scene.read("11")["id"], 11, "put right by the first write");
    assert!(!scene.file(".tasks/task_2.json").starts_with('\u{feff}'));
}

#[test]
fn a_whole_batch_changes_nothing_that_it_cannot_read() {
    let scene = hostile();
    let before = unreadable(&scene);
    scene.task("30", serde_json::json!({ "run": "echo done > out" }));
    scene.run(&["work", "--jobs", "2"]).succeeded();
    assert_eq!(scene.file("out"), "done\n");
    assert_eq!(unreadable(&scene), before);
    assert_eq!(ready(&scene), ["1", "2", "6", "11", "18", "23", "a b"]);
}

#[test]
fn doctor_names_them_all() {
    let scene = hostile();
    let before = snapshot(&scene.project());
    let report: Value = serde_json::from_str(&scene.run(&["doctor", "--json"]).ended_with(1).out).unwrap();
    assert_eq!(snapshot(&scene.project()), before, "doctor only looks");
    let found = |check: &str| -> Vec<(String, String)> {
        let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
        let name = |finding: &Value| match finding.get("file").or(finding.get("task")) {
            Some(Value::String(name)) => name.clone(),
            Some(id) => id.to_string(),
            None => String::new(),
        };
        findings.map(|finding| (name(finding), finding["message"].as_str().unwrap().to_owned())).collect()
    };
    let names = |check: &str| found(check).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    for check in ["locks", "exchange", "clock"] {
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.iter().any(|finding| finding["check"] == check && finding["level"] == "ok"), "{check}: {report:#}");
    }
    assert_eq!(names("id"), ["11"]);
    assert_eq!(names("status"), ["12"]);
    assert_eq!(names("absent-blocker"), ["10"]);
    assert_eq!(names("edges"), ["18"]);
    let cycles: Vec<String> = found("cycle").into_iter().map(|(_, message)| message).collect();
    assert!(cycles.len() == 2 && cycles[0].contains("7 → 7") && cycles[1].contains("8 → 9 → 8"), "{cycles:?}");
    let mut broken = names("invalid");
    broken.extend(names("unsettled"));
    broken.sort();
    let mut expected: Vec<String> = UNREADABLE.iter().chain(&["task_21.json", "task_22.json", "task_.json"]).map(|name| (*name).to_owned()).collect();
    expected.sort();
    assert_eq!(broken, expected);
}
