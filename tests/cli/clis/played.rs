//! A mixed team: a command, a model that is played from a recording, and a coding CLI.

use serde_json::json;

use super::office::{Office, post, sh};
use crate::scene::until;

#[test]
fn a_mixed_team_empties_one_board_and_ends_one_run() {
    // What the model is to say is recorded first, as anybody would record it.
    let model = crate::model::server::Model::new();
    let recorded = model.stage(&[], "", crate::model::server::ACCOUNT);
    recorded.scene.put(".crew/teammates/bob.md", &model.profile(""));
    recorded.scene.task("2", json!({ "subject": "Say hello", "owner": "bob" }));
    model.calls("bob", [("bash", json!({ "command": "echo hello > hello" })), crate::model::server::post("work_done", "hello is said")]);
    let file = recorded.scene.project().with_file_name("bob.jsonl");
    recorded.crew(&["spawn", "bob", "--yes", "--record", file.to_str().unwrap()]).succeeded();
    until("it is recorded", || recorded.scene.status("2") == "completed");

    let bob = "runner: script\nscript: bob.jsonl";
    let office = Office::new(&[("alice", "runner: claude-code"), ("bob", bob), ("carol", "runner: command"), ("dave", "runner: codex")], "");
    let scene = &office.stage.scene;
    scene.put("bob.jsonl", &std::fs::read_to_string(&file).unwrap());
    scene.put(".crew/config.toml", "auditor = \"test -e made -a -e hello -a -e goodbye && echo '{\\\"accept\\\": true}'\"\n");
    scene.task("1", json!({ "subject": "make it", "run": "echo made > made" }));
    scene.task("2", json!({ "subject": "Say hello", "owner": "bob" }));
    scene.task("3", json!({ "subject": "Say goodbye", "owner": "dave", "blockedBy": ["1", "2"] }));
    office.turn("dave", &[sh("echo goodbye > goodbye"), post("work_done", "said")]);
    // Alice has the turn of the thread, and says that all is done when the board is empty.
    office.turn("alice", &[sh("until grep -q completed .tasks/task_3.json; do sleep 0.02; done"), post("done", "all of it is there")]);
    office.crew(&["start", "--yes"]).succeeded();
    office.stage.ends_as("completed");
    for id in ["1", "2", "3"] {
        assert_eq!(scene.status(id), "completed", "{id}");
    }
    until("nothing runs", || scene.processes().is_empty());
}
