//! The example of a team of models: played from recordings, it reaches its goal each time, and nothing of it is left.

use serde_json::{Value, json};

use super::server::{KEY, Model, post};
use crate::scene::{Ran, Scene, until};

fn play(scene: &Scene) -> Ran {
    let mut script = scene.program("sh");
    script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/thinking/run.sh")).arg(scene.home().parent().unwrap());
    scene.start(script).ended()
}

#[test]
fn from_a_failing_test_to_a_passing_one() {
    let said = [(); 2].map(|()| {
        let scene = Scene::new();
        let ran = play(&scene).succeeded();
        scene.nothing_runs();
        assert!(ran.out.contains("(exit code 1)") && ran.out.contains("4 slugs are right"), "{ran:#?}");
        ran.out.split("TEAMMATE").next().unwrap().to_owned()
    });
    assert_eq!(said[0], said[1]);
    for part in ["1 ana work_done", "2 ben work_done → rita", "3 rita handoff → ana", "4 ana done", "5 audit say\n    accepted"] {
        assert!(said[0].contains(part), "{part} in {}", said[0]);
    }
}

#[test]
fn what_is_recorded_is_played_and_what_is_asked_otherwise_is_not() {
    let model = Model::new();
    let recording = |stage: &crate::run::stage::Stage| stage.scene.project().with_file_name("alice.jsonl");
    let stage = model.stage(&["alice"], "", "[accounts.work]\nkind = \"anthropic\"\nkeyFile = \"~/key\"\n");
    stage.scene.task("1", json!({ "subject": "Say hello" }));
    model.calls("alice", [("bash", json!({ "command": "echo hello > hello; pwd" }))]);
    model.calls("alice", [post("work_done", "hello is said")]);
    stage.crew(&["spawn", "alice", "--yes", "--record", recording(&stage).to_str().unwrap()]).succeeded();
    until("it is done", || stage.scene.status("1") == "completed");
    let recorded = std::fs::read_to_string(recording(&stage)).unwrap();
    assert!(!recorded.contains(KEY) && !recorded.contains(stage.scene.project().to_str().unwrap()), "{recorded}");

    // Elsewhere, with nobody to ask.
    let other = model.stage(&[], "", "");
    other.scene.put("played.jsonl", &recorded);
    other.scene.put(".crew/teammates/alice.md", "---\nrunner: script\nscript: played.jsonl\npoll: 100ms\nidleTimeout: 20s\n---\nBe brief.\n");
    other.scene.task("1", json!({ "subject": "Say hello" }));
    other.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it is done again", || other.scene.status("1") == "completed");
    assert_eq!(other.scene.file("hello"), "hello\n");
    other.scene.task("2", json!({ "subject": "Say goodbye", "retries": 0 }));
    until("what was not recorded fails", || other.scene.status("2") == "failed");
    let why: Value = other.scene.reason("2").into();
    assert!(why.as_str().unwrap().contains("the recording has no answer") && why.as_str().unwrap().contains("crew spawn --record"), "{why}");
    assert_eq!(model.asked().len(), 2);
}
