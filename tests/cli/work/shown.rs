//! What a batch shows, and to whom.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::scene::{Ran, Scene};

fn some_tasks() -> Scene {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "true", "subject": "go well with a subject that is much longer than any line should become here" }));
    scene.task("2", json!({ "run": "exit 3", "subject": "go badly", "retries": 1 }));
    scene.task("3", json!({ "subject": "think" }));
    scene
}

#[test]
fn plain_lines_where_nobody_looks() {
    for no_color in [None, Some("1")] {
        let scene = some_tasks();
        let mut work = scene.crew(&["work", "--jobs", "1"]);
        work.envs(no_color.map(|value| ("NO_COLOR", value)));
        let ran = scene.start(work).ended().ended_with(1);
        assert_eq!(ran.out, "", "stdout is for data");
        let mut lines: Vec<&str> = ran.err.lines().collect();
        // Ends are told in the order in which the disk has them.
        lines[..3].sort_unstable();
        assert_eq!(
            lines,
            [
                "1: done → completed (go well with a subject that is much longer than any line sho…)",
                "2: failed → failed: the command ended with exit code 3 (go badly)",
                "2: failed → pending: the command ended with exit code 3 (go badly)",
                "1 completed, 1 failed, 1 attempt did not settle it",
                "  1 task failed; `crew show ID` says why, `crew retry ID` tries again: 2",
                "  1 task has no command and needs a teammate that thinks: 3",
            ]
        );
    }
}

#[test]
fn objects_for_scripts() {
    let scene = some_tasks();
    let ran = scene.run(&["work", "--jobs", "1", "--json"]).ended_with(1);
    assert_eq!(ran.err, "");
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let began = |task: u64, attempt: usize| json!({ "event": "began", "task": task, "attempt": attempt });
    let failed =
        |status: &str| json!({ "event": "ended", "task": 2, "outcome": "failed", "exit": 3, "reason": "the command ended with exit code 3", "status": status });
    let done = json!({ "event": "ended", "task": 1, "outcome": "done", "exit": 0, "reason": null, "status": "completed" });
    for event in [began(1, 1), done, began(2, 1), failed("pending"), began(2, 2), failed("failed")] {
        assert_eq!(events.iter().filter(|seen| **seen == event).count(), 1, "{event} in {events:#?}");
    }
    let of_second: Vec<_> = events.iter().filter(|event| event["task"] == 2).map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(of_second, ["began", "ended", "began", "ended"]);
    let left = json!([{ "why": "failed", "tasks": [2] }, { "why": "needThought", "tasks": [3] }]);
    let summary = json!({ "event": "summary", "completed": 1, "failed": 1, "again": 1, "takenAway": 0, "interrupted": false, "left": left });
    assert_eq!(events.last(), Some(&summary));
}

#[test]
fn the_summary_is_told_to_scripts_also_when_interrupted() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch began; sleep 1000" }));
    scene.put(".tasks/task_broken.json", "{\"subject\": ");
    let work = scene.start(scene.crew(&["work", "--json"]));
    crate::scene::until("it is at work", || scene.has("began"));
    work.signal(rustix::process::Signal::INT);
    let ran = work.ended().ended_with(130);
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let left = json!([{ "why": "ready", "tasks": [1] }, { "why": "invalid", "files": ["task_broken.json"] }]);
    assert_eq!(last, json!({ "event": "summary", "completed": 0, "failed": 0, "again": 1, "takenAway": 0, "interrupted": true, "left": left }));
}

#[test]
fn a_reader_that_has_gone_changes_nothing() {
    for arguments in [&["work"][..], &["work", "--json"]] {
        let scene = some_tasks();
        let mut child = scene.crew(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert_eq!((scene.status("1"), scene.status("2")), ("completed".into(), "failed".into()));
    }
}

#[test]
fn closed_streams_change_nothing() {
    for arguments in ["work", "work --json"] {
        let scene = some_tasks();
        scene.task("4", json!({ "run": "echo out; echo err >&2; cat" }));
        let mut shell = scene.program("sh");
        shell.args(["-c", &format!("exec \"$CREW\" {arguments} <&- >&- 2>&-")]);
        scene.start(shell).ended().ended_with(1);
        assert_eq!((scene.status("1"), scene.status("2"), scene.status("4")), ("completed".into(), "failed".into(), "completed".into()));
        assert_eq!(scene.summary("4"), "out\nerr");
    }
}

/// Runs a shell line on a terminal of 40 columns. `None`: there is no program here that makes one.
fn on_a_terminal(scene: &Scene, line: &str) -> Option<Ran> {
    let mut script = scene.program("script");
    script.args(["-qec", &format!("stty cols 40 rows 24; {line}"), "/dev/null"]).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    match scene.program("script").arg("--version").output() {
        Ok(_) => Some(scene.start(script).ended()),
        Err(_) => {
            eprintln!("skipped: this test needs `script` to make a terminal");
            None
        }
    }
}

/// Takes out what moves the cursor and colours text; what is left stands on lines.
fn drawn(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' if rest.next_if_eq(&'[').is_some() => {
                while rest.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                // Going to another line or column ends what was drawn.
                if rest.next() != Some('m') {
                    plain.push('\n');
                }
            }
            c => plain.push(c),
        }
    }
    plain.split(['\r', '\n']).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_bar_on_a_narrow_terminal() {
    for no_color in ["", "NO_COLOR=1 "] {
        let scene = Scene::new();
        for id in 1..=6 {
            scene.task(&id.to_string(), json!({ "run": "sleep 0.15", "subject": "a subject that is much longer than forty columns \u{1b}[31m are" }));
        }
        let Some(ran) = on_a_terminal(&scene, &format!("{no_color}\"$CREW\" work --jobs 1")) else { return };
        assert_eq!(ran.code(), Some(0), "{ran:#?}");
        let lines = drawn(&ran.out);
        let too_wide: Vec<_> = lines.iter().filter(|line| line.chars().count() > 40).collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
        let bar = |line: &&String| line.contains("/6");
        assert!(lines.iter().filter(bar).count() > 1, "a bar moves: {lines:#?}");
        assert_eq!(lines.last().map(String::as_str), Some("6 completed, 0 failed"));
        assert!(!ran.out.contains("\u{1b}[31m"), "a subject colours nothing: {:?}", ran.out);
        let coloured = ran
            .out
            .split("\u{1b}[")
            .skip(1)
            .filter_map(|rest| rest.split_once(|c: char| c.is_ascii_alphabetic()).map(|(digits, _)| (digits, rest.as_bytes()[digits.len()])));
        assert_eq!(coloured.filter(|(digits, letter)| *letter == b'm' && !digits.is_empty() && *digits != "0").count(), 0, "{:?}", ran.out);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_it_asks_before_it_runs_what_a_repository_brings() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch ran" }));
    let repository = git2::Repository::init(scene.project()).unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(std::path::Path::new(".tasks/task_1.json")).unwrap();
    index.write().unwrap();
    for (answer, code, ran) in [("no", 4, false), ("", 4, false), ("yes", 0, true)] {
        let line = format!("printf '%s\\n' '{answer}' > answer; exec \"$CREW\" work < /dev/tty");
        // `script` types into the terminal what it reads.
        let mut script = scene.program("script");
        script.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh");
        scene.put("typed", &format!("{answer}\n"));
        script.stdin(std::fs::File::open(scene.project().join("typed")).unwrap());
        if scene.program("script").arg("--version").output().is_err() {
            eprintln!("skipped: this test needs `script` to make a terminal");
            return;
        }
        let said = scene.start(script).ended();
        assert_eq!((said.code(), scene.has("ran")), (Some(code), ran), "{answer:?}: {said:#?}");
        assert!(said.out.contains(".tasks/task_1.json: touch ran") && said.out.contains("Run them? [y/N]"), "{said:#?}");
    }
}
