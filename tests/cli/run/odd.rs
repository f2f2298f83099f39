//! Files that are none, texts that hide something, records that are broken: each is named, nothing waits for it, and
//! nothing was done before it was noticed.

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::scene::{signal, until};

/// What the user has said to the run, and what was said and asked so far.
fn said(stage: &Stage) -> [Vec<u8>; 3] {
    ["inbox/user.jsonl", "thread.jsonl", "asks.json"].map(|name| stage.bytes(name))
}

fn nothing_began(stage: &Stage) {
    assert!(stage.processes_of("--supervisor").is_empty() && stage.processes_of("--daemon").is_empty());
}

#[test]
fn nobody_waits_for_what_is_no_regular_file() {
    let fifo = |path: &Path| mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
    let zero = |path: &Path| symlink("/dev/zero", path).unwrap();
    let directory = |path: &Path| std::fs::create_dir(path).unwrap();
    let long = |path: &Path| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    let ways: [&dyn Fn(&Path); 4] = [&fifo, &zero, &directory, &long];
    let whys = ["no regular file", "no regular file", "no regular file", "is longer than"];
    for (make, why) in ways.into_iter().zip(whys) {
        for (file, code) in [(".crew/teammates/bob.md", 2), (".crew/config.toml", 4)] {
            let stage = Stage::new(&["alice"]);
            make(&stage.scene.project().join(file));
            for verb in [&["send", "hello"][..], &["start", "--yes"], &["arm", "--yes"], &["arm"]] {
                let ran = stage.crew(verb).ended_with(code);
                assert!(ran.err.contains(file) && ran.err.contains(why), "{verb:?}: {ran:#?}");
            }
            for verb in [&["thread", "next"][..], &["status"], &[], &["needs"], &["next", "--as", "bob"]] {
                let ran = stage.crew(verb);
                assert!(ran.code() == Some(0) || ran.code() == Some(6) || ran.err.contains(file) && ran.err.contains(why), "{verb:?}: {ran:#?}");
                assert!(code == 4 || verb == ["needs"] || ran.code() == Some(2), "{verb:?}: {ran:#?}");
            }
            nothing_began(&stage);
            assert_eq!(said(&stage).concat(), b"");
        }
    }
}

#[test]
fn a_link_to_a_profile_is_followed_and_a_device_is_no_program() {
    let stage = Stage::new(&["alice"]);
    stage.scene.put("tools/bob", "---\ncommand: sh tools/fifo tools/zero /dev/zero tools/large\n---\n");
    symlink("../../tools/bob", stage.scene.project().join(".crew/teammates/bob.md")).unwrap();
    mkfifoat(CWD, stage.scene.project().join("tools/fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    symlink("/dev/zero", stage.scene.project().join("tools/zero")).unwrap();
    stage.scene.put("tools/large", &("#!/bin/sh\n".to_owned() + &"#\n".repeat(2 << 20)));
    assert!(stage.crew(&["arm"]).ended_with(4).err.contains("sh tools/fifo tools/zero"));
    stage.crew(&["arm", "--yes"]).succeeded();
    // What is allowed already is not asked for again.
    stage.crew(&["arm"]).succeeded();
    let armed = || serde_json::from_slice::<Value>(&stage.bytes("armed.json")).unwrap()["files"].clone();
    let before = armed();
    assert!(before["tools/large"].is_string() && before["tools/speak"].is_string(), "{before}");
    assert!(before["tools/fifo"].is_null() && before["tools/zero"].is_null() && before["/dev/zero"].is_null(), "{before}");
    stage.scene.put("tools/large", &("#!/bin/sh\n".to_owned() + &"#\n".repeat((2 << 20) - 1) + "!\n"));
    stage.crew(&["arm", "--yes"]).succeeded();
    assert_ne!(armed()["tools/large"], before["tools/large"], "its last piece counts");
}

#[test]
fn a_profile_that_cannot_be_read_is_neither_overlooked_nor_begun() {
    for (text, place) in
        [(&b"---\ncommand: touch harm\n---\n\xff\n"[..], "bob.md:4: "), (b"---\ncommand: [\n---\n", "bob.md:"), (b"---\ncomand: x\n---\n", "bob.md:2: ")]
    {
        let stage = Stage::new(&["alice"]);
        std::fs::write(stage.scene.project().join(".crew/teammates/bob.md"), text).unwrap();
        for verb in [&["arm"][..], &["arm", "--yes"], &["start"], &["start", "--yes"], &["send", "hello"], &["thread", "next"]] {
            let ran = stage.crew(verb).ended_with(2);
            assert!(ran.err.contains(place) && ran.out.is_empty(), "{verb:?}: {ran:#?}");
        }
        nothing_began(&stage);
        assert_eq!(said(&stage).concat(), b"");
        assert!(stage.bytes("armed.json").is_empty(), "nothing was allowed");
    }
    let stage = Stage::new(&[]);
    stage.scene.put(".crew/teammates", "no directory");
    assert!(stage.crew(&["arm", "--yes"]).ended_with(1).err.contains(".crew/teammates"));
}

#[test]
fn garbage_in_the_thread_is_named_and_put_away() {
    let stage = Stage::new(&["alice", "bob"]);
    let posts: String = (1..=2).map(|seq| format!("{}\n", json!({ "seq": seq, "from": "alice", "kind": "say", "text": "x" }))).collect();
    stage.crew(&["send", "hello"]).succeeded();
    std::fs::remove_file(stage.state.join("inbox/user.jsonl")).unwrap();
    stage.put("thread.jsonl", format!("{posts}GARBAGE\n").as_bytes());
    let before = said(&stage);
    for verb in [&["thread"][..], &["thread", "next"], &["status"], &["send", "x"], &["start", "--yes"]] {
        let ran = stage.crew(verb).ended_with(4);
        assert!(["thread.jsonl:3: ", "GARBAGE", "editor", "crew new-run"].iter().all(|part| ran.err.contains(part)), "{verb:?}: {ran:#?}");
    }
    assert_eq!(said(&stage), before);
    stage.crew(&["new-run"]).succeeded();
    assert!(stage.bytes("runs/1/thread.jsonl").ends_with(b"GARBAGE\n"));
    stage.start();
    // The line may have been a post: its number is not used again.
    assert_eq!(stage.says("alice", "--kind say anew")["seq"], 4);
    stage.stops();
}

#[test]
fn a_record_that_is_broken_is_noticed_before_anything_is_written() {
    let stage = Stage::new(&["alice"]);
    let ask = |id: u64, kind: &str| json!({ "id": id, "kind": kind, "from": "alice", "seq": id, "text": "x", "at": "2026-01-02T03:04:05Z" });
    let posts = [
        json!({ "seq": 1, "from": "alice", "kind": "gate", "text": "x" }),
        json!({ "seq": 2, "from": "alice", "kind": "say", "handoff": "user", "text": "x" }),
    ];
    let asks = json!({ "format": 1, "asks": [ask(1, "gate"), ask(2, "question"), ask(3, "notice")] });
    stage.crew(&["send", "hello"]).succeeded();
    for record in ["state.json", "cursors.json"] {
        stage.put("thread.jsonl", posts.iter().map(|post| format!("{post}\n")).collect::<String>().as_bytes());
        stage.put("asks.json", asks.to_string().as_bytes());
        stage.put(record, b"{\"broken");
        let before = said(&stage);
        let all = [&["send", "x"][..], &["approve"], &["deny"], &["deny", "--stay"], &["answer", "2", "x"], &["answer", "3", "x"], &["resume"]];
        for verb in all {
            let ran = stage.crew(verb).ended_with(4);
            assert!(ran.err.contains(record) && ran.out.is_empty(), "{verb:?}: {ran:#?}");
            assert!(said(&stage) == before && stage.bytes("pause.request").is_empty(), "{verb:?}");
        }
        nothing_began(&stage);
        std::fs::remove_file(stage.state.join(record)).unwrap();
    }
    // What a teammate says of its task, which a record is to follow.
    stage.scene.task("1", json!({}));
    stage.crew(&["claim", "1", "--as", "zoe"]).succeeded();
    stage.put("asks.json", b"{\"broken");
    let before = said(&stage);
    let ran = stage.crew(&["post", "--as", "zoe", "--task", "1", "--kind", "gate", "push"]).ended_with(4);
    assert!(ran.err.contains("asks.json") && said(&stage) == before, "{ran:#?}");
}

#[test]
fn a_notice_with_a_broken_record_says_nothing() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    let cue = stage.turn_of("alice");
    stage.put("asks.json", b"{\"broken");
    let (code, text) = cue.tries("\"$CREW\" notice --tell hello");
    assert!(code == 4 && text.contains("asks.json"), "{code} {text}");
    assert!(stage.thread().is_empty());
}

#[test]
fn what_hides_is_shown_as_its_code() {
    let stage = Stage::new(&["alice"]);
    let hidden = "\u{61c}\u{200b}\u{200d}\u{200f}\u{202e}\u{2028}\u{2060}\u{feff}\u{e0041}\u{e007f}";
    let text = format!("a{hidden}b 👩\u{200d}🚀");
    stage.crew(&["send", "hello"]).succeeded();
    stage.put("thread.jsonl", format!("{}\n", json!({ "seq": 1, "from": "alice", "kind": "gate", "text": text })).as_bytes());
    let ask = json!({ "id": 1, "kind": "gate", "from": "alice", "seq": 1, "text": text, "at": "2026-01-02T03:04:05Z" });
    stage.put("asks.json", json!({ "format": 1, "asks": [ask] }).to_string().as_bytes());
    for verb in [&["thread"][..], &["needs"], &["status"], &[], &["thread", "--json"], &["needs", "--json"], &["status", "--json"]] {
        let ran = stage.crew(verb).succeeded();
        let shown = ran.out.replace("👩\u{200d}🚀", "");
        assert!(shown.len() < ran.out.len() && !shown.contains(|c| hidden.contains(c)), "{verb:?}: {ran:#?}");
        assert!(shown.contains("\\u{e0041}") || shown.contains("\\udb40\\udc41"), "{verb:?}: {ran:#?}");
    }
}

#[test]
fn a_gate_that_was_denied_is_not_said_to_wait() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    stage.says("alice", "--kind gate push");
    stage.ends_as("gated");
    assert_eq!(stage.reason(), "gate");
    until("nothing is at work", || stage.processes_of("--supervisor").is_empty());
    stage.crew(&["deny", "--stay"]).succeeded();
    assert_eq!((stage.word().as_str(), stage.reason().as_str()), ("gated", "denied"));
    let shown = stage.crew(&["status"]).succeeded().out;
    assert!(shown.contains("nothing waits for you") && shown.contains("was denied") && !shown.contains("waits for an answer"), "{shown}");
    // Denied twice is refused, and asks nothing of a run.
    stage.crew(&["deny", "1", "--stay"]).ended_with(4);
    assert!(stage.bytes("pause.request").is_empty());
    stage.start();
    stage.turn_of("alice");
    stage.stops();
}

#[test]
fn only_what_lives_is_said_to_be_still_there() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    let cue = stage.turn_of("alice");
    let (supervisor, daemon) = (stage.supervisor(), stage.daemon());
    signal(supervisor, Signal::STOP);
    until("it is suspended", || crate::scene::is_stopped(supervisor));
    stage.kill(&[daemon]);
    let ran = stage.crew(&["stop", "--timeout", "100ms"]).ended_with(1);
    assert!(ran.err.contains(&format!("the supervisor (pid {supervisor} ")) && ran.err.contains(&format!("kill -CONT {supervisor}")), "{ran:#?}");
    assert!(ran.err.contains("the turn of alice") && !ran.err.contains("daemon"), "{ran:#?}");
    drop(cue);
    signal(supervisor, Signal::CONT);
    stage.stops();
}
