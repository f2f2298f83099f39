//! The thread, as the command shows it.

use serde_json::{Value, json};

use crate::scene::Scene;

/// Threads, and who speaks next by which rule. Numbers, texts and times are left out where they do not matter.
const CASES: &str = include_str!("../cases/scheduler.jsonl");

#[test]
fn who_speaks_next_in_every_case() {
    let scene = Scene::bare();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let thread: String = case["thread"].as_array().unwrap().iter().map(|post| format!("{post}\n")).collect();
        scene.put("thread.jsonl", &thread);
        let team: Vec<&str> = case["team"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let ran = scene.run(&["thread", "next", "--thread", "thread.jsonl", "--team", &team.join(","), "--json"]);
        let ran = ran.ended_with(if case["next"].is_null() { 6 } else { 0 });
        let said: Value = serde_json::from_str(&ran.out).unwrap();
        let warns = said.get("warn").is_some();
        assert_eq!(json!([said["next"], said["rule"], warns]), json!([case["next"], case["rule"], case.get("warns").is_some()]), "{line}\n{said}");
        assert!(said["why"].as_str().is_some_and(|why| !why.is_empty()), "{said}");
        assert_eq!(scene.file("thread.jsonl"), thread);
    }
}

#[test]
fn for_people_it_is_the_name_and_the_reason_beside() {
    let scene = Scene::new();
    scene.put("t", "{\"from\":\"alice\",\"kind\":\"handoff\",\"handoff\":\"dave\"}\n");
    let ran = scene.run(&["thread", "next", "--thread", "t", "--team", "alice,bob"]).succeeded();
    assert_eq!(ran.out, "bob\n");
    assert_eq!(ran.err, "alice handed the turn to dave, who is not on the team; that is ignored\nbob has not spoken yet (rule 6)\n");
}

#[test]
fn the_team_is_whoever_can_take_a_turn() {
    let scene = Scene::new();
    let ran = scene.run(&["thread", "next"]).ended_with(2);
    assert!(ran.err.contains(".crew/teammates has a `command`"), "{ran:#?}");
    for name in ["bob", "alice"] {
        scene.put(&format!(".crew/teammates/{name}.md"), "---\ncommand: ./talk\n---\n");
    }
    assert_eq!(scene.run(&["thread", "next"]).succeeded().out, "alice\n");
    assert_eq!(scene.run(&["thread"]).succeeded().out, "", "nothing was said yet");
}

#[test]
fn what_is_no_thread_is_refused_with_its_line() {
    let scene = Scene::new();
    let over = |file: &str| scene.run(&["thread", "next", "--thread", file, "--team", "alice"]);
    let ran = over("absent").ended_with(2);
    assert!(ran.err.contains("cannot read the thread absent"), "{ran:#?}");
    scene.put("t", "{\"from\":\"alice\",\"kind\":\"say\"}\n{\"from\":\"alice\",\"kind\":\"shout\"}\n");
    let ran = over("t").ended_with(4);
    assert!(ran.err.contains("shout") && ran.err.contains("unknown variant"), "{ran:#?}");
    let ran = scene.run(&["thread", "next", "--thread", "t"]).ended_with(2);
    assert!(ran.err.contains("--team"), "{ran:#?}");
}
