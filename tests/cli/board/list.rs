//! `crew ls` for people and for scripts: filters, pipes, widths, colours, and nothing that moves a cursor.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use super::{ids, objects};
use crate::scene::Scene;

/// Everything in a task that must not reach a terminal as it is.
const NASTY: &str = "nasty \u{1b}[31mred\u{1b}]0;title\u{7}\r\u{8}\u{9b}2J\u{202e}back\u{2028}\u{7f}";

fn board() -> Scene {
    let scene = Scene::new();
    scene.task("1", json!({ "subject": "first of them, with a subject that goes on for longer than a narrow terminal", "plan": "p" }));
    scene.task("2", json!({ "status": "in_progress", "owner": "bob", "claim": { "turn": "t", "by": "bob", "at": "2026-01-02T03:04:05Z" } }));
    scene.task("3", json!({ "status": "completed", "owner": "bob", "plan": "p" }));
    scene.task("10", json!({ "blockedBy": [1, 2, 404] }));
    scene.task("a b", json!({ "status": "failed", "subject": NASTY, "description": NASTY, "run": NASTY, "owner": "é" }));
    scene.put(".tasks/task_x.json", "{\"subject\": \u{1b}[31m}");
    scene
}

/// What a command writes to a terminal of so many columns, on stdout and stderr.
fn on_terminal(scene: &Scene, arguments: &[&str], columns: u16, variables: &[(&str, &str)]) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(ours.as_fd(), Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let theirs = File::options().read(true).write(true).open(ptsname(&ours, Vec::new()).unwrap().to_str().unwrap()).unwrap();
    let mut command = scene.crew(arguments);
    command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(OwnedFd::from(theirs))).env("TERM", "xterm").envs(variables.iter().copied());
    let mut child = command.spawn().unwrap();
    // So that the terminal is closed when the child is done with it.
    drop(command);
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    let mut terminal = File::from(ours);
    // At the end of a terminal there is an error.
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(seen).unwrap().replace("\r\n", "\n")
}

#[test]
fn filters_all_have_to_hold() {
    let scene = board();
    let shown = |filter: &[&str]| ids(&objects(&scene.run(&[&["ls", "--json"], filter].concat()).succeeded()));
    assert_eq!(shown(&[]), ["1", "2", "3", "10", "a b"]);
    assert_eq!(shown(&["--status", "pending"]), ["1", "10"]);
    assert_eq!(shown(&["--status", "failed,completed"]), ["3", "a b"]);
    assert_eq!(shown(&["--owner", "bob"]), ["2", "3"]);
    assert_eq!(shown(&["--plan", "p", "--status", "pending"]), ["1"]);
    assert_eq!(shown(&["--ready"]), ["1"]);
    assert_eq!(shown(&["--ready", "--owner", "bob"]), Vec::<String>::new());
    let invalid = objects(&scene.run(&["ls", "--json", "--invalid"]).succeeded());
    assert_eq!((invalid.len(), &invalid[0]["file"]), (1, &json!("task_x.json")));
    let summary = &objects(&scene.run(&["--json"]).succeeded())[0];
    assert_eq!(*summary, json!({ "pending": 2, "ready": 1, "inProgress": 1, "completed": 1, "failed": 1, "cancelled": 0, "invalid": 1 }));
    assert!(scene.run(&[]).succeeded().out.starts_with("5 tasks: 1 ready, 1 in progress, 1 waiting, 1 completed, 1 failed\n1 file is no valid task"));
}

#[test]
fn every_line_fits_a_narrow_terminal() {
    let scene = board();
    for columns in [40, 60, 100, 200] {
        let seen = on_terminal(&scene, &["ls"], columns, &[("NO_COLOR", "1")]);
        assert_eq!(seen.lines().count(), 7, "a header, and one line each: {seen}");
        assert!(seen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{columns}: {seen}");
        let told = scene.crew(&["ls"]);
        let mut told = told;
        told.env("COLUMNS", columns.to_string());
        assert_eq!(scene.start(told).ended().succeeded().out, seen, "COLUMNS says the same");
    }
    let graph = on_terminal(&scene, &["graph"], 40, &[]);
    assert!(graph.lines().filter(|line| line.starts_with(['S', '1', '2', 'n'])).all(|line| line.chars().count() <= 40), "{graph}");
    // A pipe is no terminal: nothing is cut but what is longer than any table should have.
    assert!(scene.run(&["ls"]).succeeded().out.contains("with a subject that goes on for longer than a narrow"));
}

#[test]
fn colours_are_for_terminals_alone_and_never_unwanted() {
    let scene = board();
    for command in [&["ls"][..], &["show", "1"], &["doctor"]] {
        if command[0] != "doctor" {
            assert!(on_terminal(&scene, command, 80, &[]).contains("\u{1b}["), "{command:?}");
        }
        assert!(!scene.run(command).out.contains('\u{1b}'), "{command:?} in a pipe");
    }
    for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        assert!(!on_terminal(&scene, &["ls"], 80, &variables).contains('\u{1b}'), "{variables:?}");
    }
}

#[test]
fn people_are_told_what_was_done() {
    let scene = board();
    for (command, words) in [
        (&["claim", "1", "--as", "me"][..], "1\n"),
        (&["finish", "1", "--as", "me"], "task 1: completed"),
        (&["retry", "a b"], "task a b: pending"),
        (&["cancel", "10"], "task 10: cancelled"),
        (&["edit", "10", "--priority", "2"], "task 10: changed"),
        (&["archive", "3"], "1 task archived in"),
        (&["init"], "was there already"),
    ] {
        let seen = on_terminal(&scene, command, 80, &[]);
        assert!(seen.contains(words), "{command:?}: {seen}");
    }
}

#[test]
fn control_characters_never_reach_a_terminal() {
    let scene = board();
    scene.task("b", json!({ "subject": "waits", "blockedBy": ["a b"], "attempts": [{ "turn": NASTY, "by": NASTY, "started": "2026-01-02T03:04:05Z", "ended": "2026-01-02T03:04:05Z", "outcome": "failed", "reason": NASTY }], "result": { "summary": NASTY } }));
    let harmful = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}');
    let commands: [&[&str]; 12] = [
        &["ls"],
        &["ls", "--json"],
        &["show", "a b"],
        &["show", "b"],
        &["show", "x"],
        &["graph"],
        &["graph", "--dot"],
        &["graph", "--mermaid"],
        &["doctor"],
        &["doctor", "--json"],
        &["claim", "x", "--as", "me"],
        &["claim", "a b", "--as", "me", "--json"],
    ];
    for command in commands {
        let ran = scene.run(command);
        let json = command.contains(&"--json");
        // JSON is data: what a terminal obeys is escaped there too, what only confuses people's eyes is theirs.
        let bad = |c: char| if json { c.is_control() && c != '\n' } else { harmful(c) };
        assert!(!ran.out.contains(bad) && !ran.err.contains(bad), "{command:?}: {:?} {:?}", ran.out, ran.err);
    }
    let told = &objects(&scene.run(&["ls", "--json", "--status", "failed"]).succeeded())[0];
    assert_eq!(told["subject"], NASTY, "and it means the same");
}

#[test]
fn a_reader_that_goes_early_has_what_it_wants() {
    let scene = Scene::new();
    let lines: String = (0..3000).map(|n| format!("{{\"subject\":\"{}\"}}\n", format!("subject {n} ").repeat(10))).collect();
    super::fed(&scene, &["add", "--jsonl", "-"], lines).succeeded();
    for command in [&["ls"][..], &["ls", "--json"], &["graph", "--dot"], &["schema"], &["completions", "bash"], &["--help"]] {
        let mut child = scene.crew(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        // One line is read, and the pipe is closed.
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{command:?}");
        assert!(!first.is_empty());
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let scene = board();
    for command in [&["ls"][..], &["ls", "--json"], &["show", "1"]] {
        let mut full = scene.crew(command);
        let Ok(device) = File::options().write(true).open("/dev/full") else { return };
        let output = full.stdout(Stdio::from(device)).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"), "{command:?}");
    }
}
