//! Who takes up a task that its teammate did not come to the end of.

use serde_json::json;

use super::server::{ACCOUNT, Model, Step, post};
use crate::run::stage::Stage;
use crate::scene::until;

/// Zoe is killed in the middle of a task. Nobody of the team comes before her by name.
fn killed_in_the_middle(model: &Model) -> Stage {
    let stage = model.stage(&["alice", "bob", "zoe"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello" }));
    model.calls("zoe", [("bash", json!({ "command": "echo hello > hello" }))]);
    model.plays("zoe", [Step::Hangs]);
    stage.crew(&["spawn", "zoe", "--yes"]).succeeded();
    until("she waits for her model", || model.asked_of("zoe").len() == 2);
    stage
}

fn is_hers(stage: &Stage) -> bool {
    stage.scene.status("1") == "in_progress" && stage.scene.read("1")["claim"]["by"] == "zoe"
}

#[test]
fn it_waits_for_her_while_another_has_nothing_to_do() {
    let model = Model::new();
    let stage = killed_in_the_middle(&model);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("alice looks", || stage.scene.member("alice")["status"] == "idle");
    stage.kill(&[stage.scene.pid_of("zoe")]);
    until("alice has put it back", || stage.scene.outcomes("1") == ["lost"]);
    let asked = stage.crew(&["next", "--as", "alice"]);
    assert_eq!(asked.code(), Some(6), "{}", asked.err);
    stage.crew(&["spawn", "zoe", "--yes"]).succeeded();
    until("it is hers again", || is_hers(&stage));
    // There is nothing left to do: what was written before she died is the work that shows.
    model.calls("zoe", [post("work_done", "it was all there")]);
    until("it is done", || stage.scene.status("1") == "completed");
    assert!(model.asked_of("alice").is_empty());
    for name in ["alice", "zoe"] {
        stage.crew(&["shutdown", name, "--grace", "0s"]);
    }
    until("nothing runs", || stage.scene.processes().is_empty());
}

#[test]
fn a_run_that_is_started_anew_gives_it_to_her() {
    let model = Model::new();
    let stage = killed_in_the_middle(&model);
    stage.kill(&[stage.scene.pid_of("zoe")]);
    stage.start();
    // Alice has the turn of the thread; Bob would have the task.
    until("they are there", || stage.teammates().len() >= 2 && stage.scene.status("1") == "in_progress");
    assert!(is_hers(&stage), "{}", stage.scene.read("1"));
    assert_eq!(stage.scene.outcomes("1"), ["lost"]);
    stage.crew(&["stop"]).succeeded();
    until("nothing runs", || stage.scene.processes().is_empty());
}

#[test]
fn handed_off_to_nobody_by_name_it_is_anybody_elses() {
    let model = Model::new();
    let stage = model.stage(&["alice", "zoe"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello" }));
    model.calls("zoe", [("post", json!({ "kind": "handoff", "text": "not for me" }))]);
    stage.crew(&["spawn", "zoe", "--yes"]).succeeded();
    until("she has handed it off", || stage.scene.outcomes("1") == ["handoff"]);
    model.calls("alice", [("bash", json!({ "command": "echo hello > hello" })), post("work_done", "said")]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it is done", || stage.scene.status("1") == "completed");
    for name in ["alice", "zoe"] {
        stage.crew(&["shutdown", name, "--grace", "0s"]);
    }
    until("nothing runs", || stage.scene.processes().is_empty());
}

#[test]
fn what_a_person_did_meanwhile_is_no_work_of_hers() {
    let model = Model::new();
    let stage = model.stage(&["zoe"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello", "retries": 0 }));
    model.plays("zoe", [Step::Hangs]);
    stage.crew(&["spawn", "zoe", "--yes"]).succeeded();
    until("she waits for her model", || model.asked_of("zoe").len() == 1);
    stage.kill(&[stage.scene.pid_of("zoe")]);
    stage.scene.put("of-a-person", "hours later");
    let file = std::fs::File::open(stage.scene.project().join("of-a-person")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(3600)).unwrap();
    model.calls("zoe", [post("work_done", "it was all there")]);
    stage.crew(&["spawn", "zoe", "--yes"]).succeeded();
    until("it has failed", || stage.scene.status("1") == "failed");
    assert!(stage.scene.reason("1").contains("not credited"), "{}", stage.scene.reason("1"));
    stage.crew(&["shutdown", "zoe", "--grace", "0s"]);
    until("nothing runs", || stage.scene.processes().is_empty());
}

#[test]
fn what_was_written_before_it_was_put_back_is_her_work() {
    let model = Model::new();
    let stage = killed_in_the_middle(&model);
    stage.crew(&["shutdown", "zoe", "--grace", "0s"]).succeeded();
    until("it is put back", || stage.scene.outcomes("1") == ["released"]);
    model.calls("zoe", [post("work_done", "it was all there")]);
    stage.crew(&["spawn", "zoe", "--yes"]).succeeded();
    until("it is done", || stage.scene.status("1") == "completed");
    stage.crew(&["shutdown", "zoe", "--grace", "0s"]);
    until("nothing runs", || stage.scene.processes().is_empty());
}
