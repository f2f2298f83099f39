//! Files of the run as a crash, or a newer crewboard, has left them; and as a reader sees them at any moment.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::stage::Stage;
use crate::scene::until;

/// A run of one post that is stopped.
fn at_rest() -> Stage {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say one");
    stage.stops();
    stage
}

#[track_caller]
fn tear(stage: &Stage, name: &str, half: &str) {
    stage.put(name, &[stage.bytes(name), half.as_bytes().to_vec()].concat());
}

#[test]
fn torn_last_lines_are_cut_off_and_told() {
    let stage = at_rest();
    tear(&stage, "thread.jsonl", "{\"seq\":2,\"from\":\"bob\",\"te");
    tear(&stage, "events.jsonl", "{\"ts\":\"2026-0");
    std::fs::create_dir_all(stage.state.join("inbox")).unwrap();
    tear(&stage, "inbox/user.jsonl", "{\"id\":\"half");
    // Half a line is no post for a reader, either.
    assert_eq!(stage.crew(&["thread", "--json"]).succeeded().out.lines().count(), 1);
    stage.start();
    assert_eq!(stage.says("bob", "--kind say two")["seq"], 2);
    let file = |name: &str| stage.events("torn").into_iter().find(|event| event["file"] == name);
    for name in ["thread.jsonl", "events.jsonl"] {
        until(&format!("{name} is told of"), || file(name).is_some());
    }
    assert_eq!(file("thread.jsonl").unwrap()["bytes"], "{\"seq\":2,\"from\":\"bob\",\"te");
    until("the inbox is told of", || stage.events("inbox.malformed").iter().any(|event| event["file"] == "inbox/user.malformed"));
    assert_eq!(stage.bytes("inbox/user.malformed"), b"{\"id\":\"half\n");
    stage.crew(&["send", "whole"]).succeeded();
    // A turn is under way; it comes with the next one.
    stage.says("alice", "--kind say three");
    stage.turn_of("bob");
    assert_eq!(stage.thread().iter().filter(|post| post["from"] == "user").map(|post| &post["text"]).collect::<Vec<_>>(), [&json!("whole")]);
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_torn_inbox_loses_no_message_behind_it() {
    let stage = at_rest();
    std::fs::create_dir_all(stage.state.join("inbox")).unwrap();
    tear(&stage, "inbox/user.jsonl", "{\"id\":\"half");
    // Sent by a run that it starts.
    stage.crew(&["send", "whole"]).succeeded();
    stage.turn_of("bob");
    assert_eq!(stage.thread().last().unwrap()["text"], "whole");
    stage.stops();
    stage.is_sound();
}

#[test]
fn what_a_newer_crewboard_has_written_is_not_changed() {
    for word in ["stopped", "running", "gated"] {
        let stage = at_rest();
        let mut state = stage.document("state.json");
        state["format"] = json!(99);
        state["state"] = json!(word);
        state["later"] = json!({ "kept": true });
        stage.put("state.json", state.to_string().as_bytes());
        let before = (stage.bytes("state.json"), stage.bytes("thread.jsonl"));
        for arguments in [&["start", "--yes"][..], &["new-run"], &["stop"]] {
            let ran = stage.crew(arguments);
            if ran.code() == Some(0) {
                // Nothing had to be changed.
                assert!(arguments == ["stop"] && word != "running", "{word} {arguments:?}: {ran:#?}");
                continue;
            }
            let ran = ran.ended_with(4);
            assert!(ran.err.contains("state.json says format 99") && ran.err.contains("only reads"), "{word} {arguments:?}: {ran:#?}");
        }
        if word == "running" {
            let ran = stage.crew(&[]).ended_with(4);
            assert!(ran.err.contains("state.json says format 99"), "{ran:#?}");
        }
        // It can be looked at.
        let shown = stage.crew(&["status", "--json"]).succeeded();
        assert!(shown.out.contains(&format!("\"state\":\"{word}\"")), "{shown:#?}");
        assert_eq!((stage.bytes("state.json"), stage.bytes("thread.jsonl")), before, "{word}");
        assert!(stage.scene.processes().is_empty() && !stage.state.join("runs/1/thread.jsonl").exists());
    }
}

#[test]
fn what_waits_in_a_newer_format_is_not_answered() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind gate push");
    stage.ends_as("gated");
    until("nothing is at work", || stage.processes_of("--supervisor").is_empty());
    let mut asks = stage.document("asks.json");
    asks["format"] = json!(99);
    stage.put("asks.json", asks.to_string().as_bytes());
    let before = (stage.bytes("asks.json"), stage.bytes("thread.jsonl"));
    for arguments in [&["approve"][..], &["deny"], &["new-run"], &["start", "--yes"]] {
        let ran = stage.crew(arguments).ended_with(4);
        assert!(ran.err.contains("asks.json says format 99"), "{arguments:?}: {ran:#?}");
    }
    assert_eq!((stage.bytes("asks.json"), stage.bytes("thread.jsonl")), before);
    assert!(stage.crew(&["needs"]).succeeded().out.contains("push"));
}

#[test]
fn at_any_moment_every_line_is_whole() {
    let stage = Stage::with(&["alice", "bob"], "maxTalkTurns = 40\n");
    // Posts and notices in quick succession, as long as the test reads.
    stage.scene.put(
        "tools/speak",
        "\"$CREW\" notice --tell \"$(seq 1 400)\"; \"$CREW\" post --kind say \"$(seq 1 2000)\" || \"$CREW\" post --kind work_done nothing\n",
    );
    stage.start();
    let over = AtomicBool::new(false);
    let read = std::thread::scope(|scope| {
        let readers: Vec<_> = ["thread.jsonl", "events.jsonl"]
            .map(|name| {
                let (stage, over) = (&stage, &over);
                scope.spawn(move || {
                    let mut read = 0_u64;
                    while !over.load(Ordering::Relaxed) {
                        let bytes = stage.bytes(name);
                        // What is being appended now has no end yet; everything before it is a line.
                        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
                        assert!(bytes[whole..].is_empty() || bytes[whole..].starts_with(b"{"), "{name}");
                        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                            serde_json::from_slice::<Value>(line).unwrap_or_else(|e| panic!("{name}: {e}: {}", String::from_utf8_lossy(line)));
                        }
                        read += 1;
                    }
                    read
                })
            })
            .into();
        until("there is something to read", || stage.thread().len() >= 40);
        over.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(read.iter().all(|count| *count > 5), "{read:?}");
    stage.stops();
    stage.is_sound();
}
