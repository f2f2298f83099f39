//! What a run executes was allowed, each time; and what only a person may do is no teammate's.

use serde_json::json;

use super::stage::Stage;
use crate::scene::until;

const SLOW_CHECK: &str = "---\nchecks:\n  - touch .stage/checked; sleep 600\n---\nEverything is as it should be.\n";

#[test]
fn a_check_that_was_changed_meanwhile_is_not_run() {
    let stage = Stage::new(&["alice"]);
    stage.scene.put(".crew/goal.md", "---\nchecks:\n  - 'true'\n---\nIt is done.\n");
    stage.start();
    let cue = stage.turn_of("alice");
    stage.scene.put(".crew/goal.md", "---\nchecks:\n  - touch harm\n---\nIt is done.\n");
    cue.does("\"$CREW\" post --kind done 'it is done'; exit");
    stage.ends_as("paused");
    assert_eq!((stage.reason().as_str(), stage.scene.has("harm"), stage.thread().len()), ("not_armed", false, 1));
    stage.stops();
}

#[test]
fn an_auditor_that_was_changed_meanwhile_is_not_run() {
    let stage = Stage::with(&["alice"], "auditor = \"false\"\n");
    stage.start();
    let cue = stage.turn_of("alice");
    stage.scene.put(".crew/config.toml", "auditor = \"touch harm\"\n");
    cue.does("\"$CREW\" post --kind done 'it is done'; exit");
    stage.ends_as("paused");
    assert_eq!((stage.reason().as_str(), stage.scene.has("harm")), ("not_armed", false));
    stage.stops();
}

#[test]
fn a_program_that_was_changed_between_two_turns_is_not_run() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    let cue = stage.turn_of("alice");
    stage.scene.put("tools/speak", "touch harm\n");
    cue.does("\"$CREW\" post --kind say 'go on'; exit");
    stage.ends_as("paused");
    assert_eq!((stage.reason().as_str(), stage.scene.has("harm")), ("not_armed", false));
    stage.stops();
}

#[test]
fn stop_ends_an_audit_and_its_checks() {
    let stage = Stage::new(&["alice"]);
    stage.scene.put(".crew/goal.md", SLOW_CHECK);
    stage.start();
    stage.turn_of("alice").does("\"$CREW\" post --kind done 'it is done'; exit");
    until("the check runs", || stage.scene.has(".stage/checked"));
    stage.stops();
    assert_eq!((stage.word().as_str(), stage.thread().len()), ("stopped", 1), "no verdict");
}

#[test]
fn an_audit_whose_daemon_died_is_made_once_more_and_alone() {
    let stage = Stage::new(&["alice"]);
    stage.scene.put(".crew/goal.md", SLOW_CHECK);
    stage.start();
    stage.turn_of("alice").does("\"$CREW\" post --kind done 'it is done'; exit");
    until("the check runs", || stage.scene.has(".stage/checked"));
    let first = stage.processes_of("--audit");
    stage.kill(&[stage.daemon()]);
    until("it is audited again", || stage.processes_of("--audit").iter().any(|pid| !first.contains(pid)));
    until("the first is gone", || stage.processes_of("--audit").len() == 1);
    // Without daemon and supervisor `crew stop` ends it too.
    stage.kill(&[stage.supervisor(), stage.daemon()]);
    stage.stops();
}

#[test]
fn a_teammate_answers_for_nobody() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    for verb in ["approve 1", "deny 1", "answer 1 yes", "send 'go on'", "notice 1 --release"] {
        let (code, said) = stage.turn_of("alice").tries(&format!("\"$CREW\" {verb}"));
        assert_eq!(code, 4, "{verb}: {said}");
        assert!(said.contains("[only-a-person]"), "{verb}: {said}");
    }
    // Elsewhere it is a person like any other.
    let (code, said) = stage.turn_of("alice").tries("mkdir .stage/other; cd .stage/other; unset CREW_BOARD; \"$CREW\" init; \"$CREW\" send hello; cd ../..");
    assert_eq!(code, 0, "{said}");
    stage.stops();
}

#[test]
fn without_a_repository_the_exit_code_is_the_credit() {
    let stage = Stage::new(&["alice"]);
    std::fs::remove_dir_all(stage.scene.project().join(".git")).unwrap();
    let ran = stage.start();
    assert!(ran.err.contains("no git repository"), "{ran:#?}");
    stage.turn_of("alice").does("echo made one; exit 0");
    until("it is posted", || stage.thread().len() == 1);
    assert_eq!((stage.thread()[0]["kind"].as_str(), stage.thread()[0]["credited"].as_bool()), (Some("work_done"), Some(true)));
    // What says the same again has done nothing new.
    stage.turn_of("alice").does("echo made one; exit 0");
    until("it is posted, and noted", || stage.thread().len() == 3);
    assert_eq!(stage.thread()[1]["credited"].as_bool(), Some(false));
    assert!(stage.thread()[2]["text"].as_str().unwrap().contains("no git repository"), "{:?}", stage.thread()[2]);
    stage.stops();
}

#[test]
fn a_refused_post_is_no_work_by_the_exit_code() {
    let stage = Stage::with(&["alice"], "maxTalkTurns = 1\n");
    let profile = std::fs::read_to_string(stage.scene.project().join(".crew/teammates/alice.md")).unwrap();
    stage.scene.put(".crew/teammates/alice.md", &profile.replacen("---\n", "---\nwrites: false\n", 1));
    stage.start();
    stage.says("alice", "--kind say 'one'");
    stage.turn_of("alice").does("\"$CREW\" post --kind say two; echo posted; exit 0");
    stage.ends_as("paused");
    assert_eq!((stage.reason().as_str(), stage.thread()[1]["credited"].as_bool()), ("talk", Some(false)));
    stage.stops();
}

#[test]
fn work_on_a_task_without_a_command_is_credited_by_the_tree() {
    let stage = Stage::new(&[]);
    let command = "[ \"$CREW_TASK_ID\" = idle ] || echo x > made; \"$CREW\" post --kind work_done 'it is done'";
    stage.scene.put(".crew/teammates/bob.md", &format!("---\ncommand: '{}'\nidleTimeout: 200ms\npoll: 50ms\n---\n", command.replace('\'', "''")));
    stage.scene.task("idle", json!({}));
    stage.scene.task("real", json!({}));
    stage.crew(&["spawn", "bob", "--foreground", "--yes"]).succeeded();
    assert_eq!((stage.scene.status("idle"), stage.scene.status("real")), ("failed".into(), "completed".into()));
    assert!(stage.scene.reason("idle").contains("not credited"), "{}", stage.scene.reason("idle"));
    let of = |task: &str| stage.thread().into_iter().find(|post| post["task"] == task).unwrap();
    assert_eq!((of("idle")["credited"].as_bool(), of("real")["credited"].as_bool()), (Some(false), Some(true)));
    assert!(stage.thread().iter().any(|post| post["from"] == "system" && post["re"] == of("idle")["seq"]));
}
