//! Runs that bring nothing, and those that have to wait.

use serde_json::json;

use super::stage::Stage;
use crate::scene::until;

#[test]
fn after_six_turns_of_talk_only_work_is_accepted() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    for number in 0..6 {
        stage.says(["alice", "bob"][number % 2], &format!("--kind say 'talk {number}'"));
    }
    let before = stage.bytes("thread.jsonl");
    for refused in ["--kind say more", "--kind done finished", "--kind handoff --handoff bob 'you do it'", "--kind wait later", "--kind gate may-I"] {
        let (code, said) = stage.turn_of("alice").tries(&format!("\"$CREW\" post {refused}"));
        assert_eq!(code, 4, "{said}");
        for part in ["6 turns in a row", "[not-accepted]", "`work_done`", "--handoff user"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    assert_eq!(stage.bytes("thread.jsonl"), before);
    // A kill resets no cap.
    let cue = stage.turn_of("alice");
    stage.kill(&[stage.daemon()]);
    let (code, said) = cue.tries("\"$CREW\" post --kind say more");
    assert!(code == 4 && said.contains("[not-accepted]"), "{said}");
    stage.turn_of("alice").does("echo two > file; \"$CREW\" post --kind work_done worked; exit");
    // Talk is free again.
    let next = stage.document("turn.json");
    until("there is work", || stage.thread().iter().any(|post| post["credited"] == true));
    stage.says("bob", "--kind say 'well done'");
    assert!(!next.is_null());
    stage.stops();
    stage.is_sound();
}

/// A team whose scripts all do the same in every turn.
fn of_scripts(names: &[&str], config: &str, script: &str) -> Stage {
    let stage = Stage::with(names, config);
    stage.scene.put("tools/speak", script);
    stage
}

#[test]
fn a_team_that_only_talks_ends_paused() {
    let stage = of_scripts(&["alice", "bob"], "maxTalkTurns = 3\n", "\"$CREW\" post --kind say talk || \"$CREW\" post --kind work_done nothing\n");
    stage.start();
    stage.ends_as("paused");
    assert_eq!((stage.reason().as_str(), stage.thread().iter().filter(|post| post["kind"] == "work_done").count()), ("talk", 3));
    let shown = stage.crew(&["status"]).succeeded();
    assert!(shown.out.contains("6 turns in a row brought no verified work") && shown.out.contains("crew start"), "{shown:#?}");
    // A person lets it go on: as many turns again.
    let before = stage.thread().len();
    stage.start();
    stage.ends_as("paused");
    assert_eq!(stage.thread()[before..].iter().filter(|post| post["from"] != "system").count(), 6);
    stage.is_sound();
}

#[test]
fn three_silent_turns_pause_the_run_and_name_who() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say hello");
    for turn in 0..3 {
        assert_eq!(stage.word(), "running", "{turn}");
        stage.turn_of("bob").does("exit 3");
        until("it has ended", || stage.events("turn.silent").len() == turn + 1);
    }
    stage.ends_as("paused");
    let state = stage.document("state.json");
    assert_eq!((&state["reason"]["code"], &state["reason"]["who"]), (&json!("silent_turns"), &json!("bob")));
    assert_eq!(stage.thread().len(), 1);
    assert!(stage.crew(&["status"]).succeeded().out.contains("bob has ended 3 turns in a row"));
    stage.start();
    stage.says("bob", "--kind say 'here I am'");
    stage.stops();
}

#[test]
fn a_wait_is_its_authors_and_a_message_ends_it() {
    let stage = Stage::with(&["alice", "bob"], "waitBaseSec = 1\n");
    stage.start();
    let first = stage.says("alice", "--kind wait 'the build runs'");
    until("it waits", || stage.word() == "waiting");
    let second = stage.says("alice", "--kind wait 'it runs on'");
    let at = |post: &serde_json::Value| post["ts"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(at(&second).duration_since(at(&first)) >= jiff::SignedDuration::from_secs(1), "{first} {second}");
    // A kill ends no wait, and doubles none.
    until("it waits", || stage.word() == "waiting");
    let (supervisor, daemon) = (stage.supervisor(), stage.daemon());
    stage.kill(&[supervisor, daemon]);
    let again = stage.crew(&[]).succeeded();
    assert!(again.err.contains("goes on where it was"), "{again:#?} {} {:?}", stage.document("state.json"), stage.events("run"));
    let third = stage.says("alice", "--kind wait 'and on'");
    assert!(at(&third).duration_since(at(&second)) >= jiff::SignedDuration::from_secs(2), "{second} {third}");
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_message_ends_a_wait() {
    let stage = Stage::with(&["alice", "bob"], "waitBaseSec = 3600\nwaitCapMin = 60\n");
    stage.start();
    stage.says("alice", "--kind wait 'the build runs'");
    until("it waits", || stage.word() == "waiting");
    stage.crew(&["send", "forget the build"]).succeeded();
    stage.says("alice", "--kind say 'forgotten'");
    assert_eq!(stage.thread()[1]["text"], "forget the build");
    stage.stops();
}
