//! Who a teammate is: its file, another program's, or the defaults.

use serde_json::json;

use super::{STAYS, profile};
use crate::scene::{Scene, until};

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    for (text, why) in [
        ("---\nrole: coder\nlnaes: 2\n---\n", "alice.md:3: unknown key `lnaes`: did you mean `lanes`?"),
        ("---\npoll: soon\n---\n", "alice.md:2: `poll: soon`: a duration"),
        ("---\nname: bob\n---\n", "alice.md:2: `name: bob` is not the file's name"),
        ("---\nrole: coder\n", "alice.md:1: the front matter has no end"),
        ("---\nlanes: [\n---\n", "alice.md:"),
    ] {
        let scene = Scene::new();
        scene.put(&profile("alice"), text);
        let before = scene.everything();
        for verb in [&["spawn", "alice"][..], &["next", "--as", "alice"]] {
            let ran = scene.run(verb).ended_with(2);
            assert!(ran.err.contains(why) && ran.out.is_empty(), "{why}: {ran:#?}");
        }
        let told: serde_json::Value = serde_json::from_str(&scene.run(&["spawn", "alice", "--json"]).ended_with(2).err).unwrap();
        assert_eq!(told["rule"], "usage");
        assert_eq!(scene.everything(), before);
    }
}

#[test]
fn a_runner_that_is_not_here_is_refused() {
    let scene = Scene::new();
    scene.put(&profile("carol"), "---\nrunner: acp\n---\n");
    for (arguments, words) in [
        (&["spawn", "carol"][..], "there is no runner acp"),
        (&["spawn", "dave", "--runner", "no-such", "--yes"], "there is no coding CLI \"no-such\": known are claude-code, codex, gemini, opencode"),
    ] {
        let ran = scene.run(arguments).ended_with(4);
        assert!(ran.err.contains(words), "{ran:#?}");
    }
    assert!(scene.team().is_empty());
}

#[test]
fn another_programs_file_is_read_as_it_is() {
    let scene = Scene::new();
    scene.put(".claude/agents/x.md", "---\nname: reviewer\ndescription: Reviews: everything\ntools: Read, Grep\ncolor: red\n---\nYou review.\n");
    scene.task("1", json!({ "run": "echo $CREW_AS > by" }));
    scene.run(&["spawn", "x", "--from", ".claude/agents/x.md", "--runner", "command"]).succeeded();
    until("it works", || scene.status("1") == "completed");
    assert_eq!(scene.lines("by"), ["x"]);
    let ran = scene.run(&["spawn", "y", "--from", "no-such.md"]).ended_with(2);
    assert!(ran.err.contains("there is no file no-such.md"), "{ran:#?}");
}

#[test]
fn tier_role_and_needs_decide_what_it_takes() {
    let scene = Scene::new();
    scene.task("top", json!({ "run": "true", "tier": "top" }));
    scene.task("pilot", json!({ "run": "true", "role": "pilot" }));
    scene.task("wings", json!({ "run": "true", "needs": ["wings"] }));
    scene.task("bobs", json!({ "run": "true", "owner": "bob" }));
    scene.task("brief", json!({}));
    scene.task("mid", json!({ "run": "true", "tier": "mid", "role": "coder", "needs": ["write", "browser"], "priority": -1 }));
    scene.put(&profile("alice"), "---\ntier: mid\nrole: coder\ncapabilities: [browser]\npoll: 50ms\nidleTimeout: 1h\n---\n");
    scene.run(&["spawn", "alice"]).succeeded();
    until("what fits was done", || scene.status("mid") == "completed");
    until("it is idle", || scene.member("alice")["status"] == "idle");
    for id in ["top", "pilot", "wings", "bobs", "brief"] {
        assert_eq!((scene.status(id), scene.outcomes(id)), ("pending".into(), Vec::new()), "{id}");
    }
}

#[test]
fn many_share_one_file() {
    let scene = Scene::new();
    scene.put(&profile("crew"), STAYS);
    for id in 1..=20 {
        scene.task(&id.to_string(), json!({ "run": "echo $CREW_AS >> by" }));
    }
    scene.run(&["spawn", "crew", "--count", "3"]).succeeded();
    until("all is done", || scene.lines("by").len() == 20 && (1..=20).all(|id: u32| scene.status(&id.to_string()) == "completed"));
    until("all are idle", || scene.team().iter().all(|member| member["status"] == "idle"));
    scene.run(&["shutdown", "--all"]).succeeded();
    scene.nothing_runs();
}
