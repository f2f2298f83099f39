//! Which posts are accepted, and which work is credited.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::scene::{is_stopped, signal, until};

/// Tries a post that has to be refused, and changes nothing.
#[track_caller]
fn refused(stage: &Stage, arguments: &[&str], code: i32, why: &str) {
    let before = stage.bytes("thread.jsonl");
    let ran = stage.crew(&[&["post"], arguments].concat()).ended_with(code);
    assert!(ran.err.contains(why), "{why}: {ran:#?}");
    assert_eq!(stage.bytes("thread.jsonl"), before, "{arguments:?}");
}

#[test]
fn one_post_a_turn_of_whoever_holds_it() {
    let stage = Stage::new(&["alice", "bob"]);
    refused(&stage, &["--as", "alice", "--kind", "say", "x"], 4, "[no-turn]");
    stage.start();
    let cue = stage.turn_of("alice");
    let open = stage.document("turn.json")["turn"].as_str().unwrap().to_owned();
    refused(&stage, &["--as", "bob", "--kind", "say", "x"], 4, "it is alice's turn, not bob's");
    refused(&stage, &["--as", "bob", "--turn", &open, "--kind", "say", "x"], 4, "it is alice's turn");
    refused(&stage, &["--as", "mallory", "--kind", "say", "x"], 4, "[no-turn]");
    refused(&stage, &["--as", "alice", "--turn", "another", "--kind", "say", "x"], 4, "the turn another is over");
    refused(&stage, &["--as", "alice", "--kind", "shout", "x"], 2, "shout");
    refused(&stage, &["--as", "alice", "--kind", "say", " "], 2, "says something");
    refused(&stage, &["--as", "user", "--kind", "say", "x"], 2, "user");
    let long = "x".repeat((64 << 10) + 1);
    refused(&stage, &["--as", "alice", "--kind", "say", &long], 4, "65537 bytes");

    // Twice in one turn: the second is refused, whoever tries, and however soon.
    let before = stage.thread().len();
    let (code, said) = cue.tries("\"$CREW\" post --kind say first; \"$CREW\" post --kind say second");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("[second-post]") || said.contains("[turn-over]") || said.contains("[no-turn]"), "{said}");
    assert_eq!(stage.thread().len(), before + 1);
    stage.turn_of("bob");
    refused(&stage, &["--as", "alice", "--turn", &open, "--kind", "say", "late"], 4, "[turn-over]");
    refused(&stage, &["--as", "bob", "--turn", &open, "--kind", "say", "late"], 4, "[turn-over]");
    let said: Vec<Value> = stage.thread().into_iter().map(|post| json!([post["from"], post["text"]])).collect();
    assert_eq!(said, [json!(["alice", "first"])]);
    stage.stops();
    stage.is_sound();
}

#[test]
fn of_many_posts_at_once_one_is_accepted() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let _cue = stage.turn_of("alice");
    // It closes no turn meanwhile: the thread itself says that there is a post.
    let daemon = stage.daemon();
    signal(daemon, Signal::STOP);
    until("it is stopped", || is_stopped(daemon));
    let running: Vec<_> = (0..6).map(|n| stage.scene.start(stage.scene.crew(&["post", "--as", "alice", "--kind", "say", &n.to_string()]))).collect();
    let codes: Vec<i32> = running.into_iter().map(|one| one.ended().code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, 0 | 4)), "{codes:?}");
    assert_eq!(stage.thread().len(), 1);
    refused(&stage, &["--as", "alice", "--kind", "say", "again"], 4, "has ended with post 1; a turn has one post [second-post]");
    signal(daemon, Signal::CONT);
    stage.stops();
}

#[test]
fn work_is_credited_by_the_tree() {
    let stage = Stage::with(&["alice", "bob"], "maxTalkTurns = 99\n");
    let git = "git -c user.name=t -c user.email=t@example.org";
    stage.start();
    let mut after = 0;
    let mut done = |who: &str, work: &str, credited: bool| {
        stage.turn_of(who).does(&format!("{work}; \"$CREW\" post --kind work_done '{who} has worked'; exit"));
        until(&format!("the post after {work}"), || stage.thread().iter().skip(after).any(|post| post["from"] == who));
        let post = stage.thread()[after].clone();
        assert_eq!(post["credited"], credited, "{work}: {post}");
        after += 1;
        if !credited {
            until("it is said that it was not credited", || stage.thread().len() > after);
            let note = stage.thread()[after].clone();
            assert_eq!((&note["from"], &note["re"]), (&json!("system"), &post["seq"]), "{note}");
            assert!(note["text"].as_str().unwrap().contains("not credited"), "{note}");
            after += 1;
        }
    };
    done("alice", ":", false);
    done("bob", &format!("{git} commit --quiet --allow-empty -m empty"), false);
    done("alice", "echo x > .tasks/notes; echo x > .crew/notes; echo x > some.ignored", false);
    done("bob", "echo two > file", true);
    // Who has spoken after credited work: the one that was silent for longer.
    done("alice", &format!("{git} commit --quiet -a -m 'what was dirty'"), true);
    done("bob", "echo x > 'a new one'", true);
    done("alice", ":", false);
    stage.stops();
    stage.is_sound();
    let made = stage.document("checkpoints.json")["checkpoints"].as_array().unwrap().clone();
    let whys: Vec<&str> = made.iter().map(|one| one["why"].as_str().unwrap()).collect();
    assert_eq!(whys, ["baseline before run", "bob: bob has worked", "alice: alice has worked", "bob: bob has worked"]);
}

#[test]
fn a_command_that_ends_without_a_post_moves_by_its_exit_code() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.turn_of("alice").does("echo three > file; echo what I did; exit 0");
    let _bob = stage.turn_of("bob");
    let post = stage.thread()[0].clone();
    assert_eq!((&post["kind"], &post["credited"], &post["text"]), (&json!("work_done"), &json!(true), &json!("what I did")));
    stage.stops();
}

#[test]
fn a_task_s_command_tells_the_user_once() {
    let stage = Stage::new(&[]);
    stage.scene.task(
        "1",
        json!({ "run": "\"$CREW\" notice --tell 'nearly full' > .stage/number; \"$CREW\" notice --tell 'full' 2> .stage/second; echo $? >> .stage/second" }),
    );
    stage.crew(&["work", "--yes"]).succeeded();
    let thread = stage.thread();
    assert_eq!(thread.len(), 1, "{thread:#?}");
    assert_eq!((&thread[0]["from"], &thread[0]["task"]), (&json!("system"), &json!("1")));
    assert!(thread[0]["text"].as_str().unwrap().ends_with(" tells the user: nearly full"), "{thread:#?}");
    assert_eq!(stage.scene.file(".stage/number"), "1\n");
    let second = stage.scene.file(".stage/second");
    assert!(second.contains("there is one a turn") && second.ends_with("\n4\n"), "{second}");
    let needs: serde_json::Value = serde_json::from_str(&stage.crew(&["needs", "--json"]).succeeded().out).unwrap();
    assert_eq!((&needs["kind"], &needs["task"], &needs["text"]), (&json!("notice"), &json!("1"), &json!("nearly full")));
    stage.crew(&["answer", "1", "I know"]).succeeded();
    assert_eq!(stage.scene.status("1"), "completed");
}
