//! What waits for a person, and that it is decided once.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::scene::until;

/// A run that waits at a gate; the answer is the gate's number.
fn gated(config: &str) -> (Stage, u64) {
    let stage = Stage::with(&["alice", "bob"], config);
    stage.start();
    let gate = stage.says("alice", "--kind gate 'push to production'")["seq"].as_u64().unwrap();
    stage.ends_as("gated");
    (stage, gate)
}

fn decisions(stage: &Stage) -> Vec<Value> {
    stage.thread().into_iter().filter(|post| !post["decision"].is_null()).collect()
}

#[test]
fn approved_twice_and_from_two_places_at_once_it_counts_once() {
    let (stage, gate) = gated("");
    let needs: Value = serde_json::from_str(&stage.crew(&["needs", "--json"]).succeeded().out).unwrap();
    assert_eq!((&needs["id"], &needs["kind"], &needs["commands"][0]), (&json!(gate), &json!("gate"), &json!(format!("crew approve {gate}"))));
    let number = gate.to_string();
    // At once: not after the daemon and its supervisor have gone.
    let both = ["because one said so", "because two said so"].map(|why| stage.scene.start(stage.scene.crew(&["approve", &number, "--because", why])));
    let mut codes: Vec<i32> = both.into_iter().map(|one| one.ended().code().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 4]);
    let again = stage.crew(&["approve", &number]).ended_with(4);
    assert!(again.err.contains("was approved at") && again.err.contains("[answered]"), "{again:#?}");
    assert!(stage.crew(&["deny", &number]).ended_with(4).err.contains("was approved at"));
    // The run goes on, with whoever has asked.
    stage.says("alice", "--kind say 'it is pushed'");
    let decided = decisions(&stage);
    assert_eq!(decided.len(), 1, "{decided:#?}");
    assert_eq!((&decided[0]["from"], &decided[0]["re"], &decided[0]["decision"]), (&json!("system"), &json!(gate), &json!("approved")));
    assert!(stage.crew(&["needs"]).succeeded().err.contains("nothing waits for you"));
    stage.stops();
    stage.is_sound();
}

#[test]
fn killed_while_gated_it_is_still_gated() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let supervisor = stage.supervisor();
    let daemon = stage.daemon();
    let cue = stage.turn_of("alice");
    // Whatever of them is still there when the gate has been raised.
    cue.does("\"$CREW\" post --kind gate 'push to production'; exit");
    until("it is gated", || stage.word() == "gated");
    stage.kill(&[supervisor, daemon]);
    let shown = stage.crew(&[]).succeeded();
    assert!(shown.out.contains("gated") && shown.out.contains("crew approve 1"), "{shown:#?}");
    assert_eq!((stage.word().as_str(), stage.processes_of("--daemon").len()), ("gated", 0));
    assert_eq!(decisions(&stage).len(), 0);
    // `crew start` neither: a missing approver has not approved.
    stage.start();
    stage.ends_as("gated");
    assert_eq!(stage.thread().len(), 1);
    // Without a number, since there is one only.
    stage.crew(&["approve"]).succeeded();
    stage.says("alice", "--kind say 'it is pushed'");
    stage.stops();
    stage.is_sound();
}

#[test]
fn denied_it_goes_on_or_stays() {
    let (stage, gate) = gated("");
    stage.crew(&["deny", "--stay", "--because", "not on a Friday"]).succeeded();
    until("nothing is at work", || stage.processes_of("--supervisor").is_empty());
    assert_eq!((stage.word().as_str(), decisions(&stage)[0]["text"].as_str()), ("gated", Some("denied: not on a Friday")));
    stage.start();
    let second = stage.says("alice", "--kind gate 'push on Monday'")["seq"].as_u64().unwrap();
    stage.ends_as("gated");
    stage.crew(&["deny"]).succeeded();
    stage.turn_of("alice");
    let decided: Vec<Value> = decisions(&stage).iter().map(|post| json!([post["re"], post["decision"]])).collect();
    assert_eq!(decided, [json!([gate, "denied"]), json!([second, "denied"])]);
    stage.stops();
}

#[test]
fn patterns_decide_deny_first() {
    let stage = Stage::with(&["alice", "bob"], "gateAutoDeny = [\"PROD\"]\ngateAutoApprove = [\"staging .*\", \"push to prod.*\"]\n");
    stage.start();
    for (text, decision) in [("staging is next", "approved"), ("push to production", "denied")] {
        let gate = stage.says("alice", &format!("--kind gate '{text}'"));
        until("it is decided", || decisions(&stage).iter().any(|post| post["re"] == gate["seq"] && post["decision"] == decision));
    }
    // An approval must match the whole of it.
    stage.says("alice", "--kind gate 'this is about staging it'");
    stage.ends_as("gated");
    assert_eq!(decisions(&stage).len(), 2);
    stage.scene.put(".crew/config.toml", "gateMode = \"auto\"\n");
    stage.crew(&["approve"]).succeeded();
    stage.start();
    stage.says("alice", "--kind gate 'anything'");
    stage.turn_of("alice");
    assert_eq!(decisions(&stage).len(), 4);
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_configuration_that_cannot_be_used_begins_nothing() {
    let stage = Stage::new(&["alice"]);
    for (text, parts) in [
        ("gateAutoApprove = [\"fine\", \"un(closed\"]\n", ["config.toml", "gateAutoApprove", "un(closed"]),
        ("gateAutoDeny = [\"*\"]\n", ["config.toml", "gateAutoDeny", "\"*\""]),
        ("maxTalkTurn = 3\n", ["config.toml:1", "`maxTalkTurn`", "`maxTalkTurns`"]),
    ] {
        stage.scene.put(".crew/config.toml", text);
        let ran = stage.crew(&["start", "--yes"]).ended_with(4);
        assert!(parts.iter().all(|part| ran.err.contains(part)), "{parts:?}: {ran:#?}");
    }
    assert!(stage.processes_of("--daemon").is_empty() && stage.bytes("state.json").is_empty());
}

#[test]
fn a_question_is_answered_once_and_by_a_message() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say --handoff user 'which colour?'");
    stage.ends_as("awaiting_user");
    let both = ["red", "blue"].map(|answer| stage.scene.start(stage.scene.crew(&["answer", "1", answer])));
    let mut codes: Vec<i32> = both.into_iter().map(|one| one.ended().code().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 4]);
    stage.says("alice", "--kind say --handoff user 'and which size?'");
    stage.ends_as("awaiting_user");
    // At once, while the last daemon may still be there.
    stage.crew(&["send", "a large one"]).succeeded();
    stage.says("alice", "--kind say 'thank you'");
    let of_user: Vec<Value> = stage.thread().into_iter().filter(|post| post["from"] == "user").collect();
    assert_eq!((of_user.len(), &of_user[1]["text"]), (2, &json!("a large one")));
    assert!(stage.document("asks.json")["asks"].as_array().unwrap().iter().all(|ask| !ask["answer"].is_null()));
    stage.stops();
    stage.is_sound();
}
