//! What a CLI does for a teammate, and what it is given.

use serde_json::json;

use super::office::{Office, call, line, post, sh};
use crate::scene::until;

const CLAUDE: &str = "runner: claude-code\nmodel: large\neffort: high";

#[test]
fn a_task_is_done_and_the_next_turn_goes_on_with_the_session() {
    let office = Office::new(&[("alice", CLAUDE)], "[prices.large]\ninput = 3.0\noutput = 15.0\ncacheRead = 0.3\n");
    let scene = &office.stage.scene;
    scene.task("1", json!({ "subject": "Say hello", "check": "grep -q hello hello" }));
    office.turn("alice", &[call("read_thread", json!({})), json!({ "say": "I write it." }), sh("echo hello > hello"), post("work_done", "it says hello")]);
    office.spawn("alice");
    until("it is done", || scene.status("1") == "completed");
    assert_eq!(scene.outcomes("1"), ["done"]);
    let first = &office.asked("alice")[0];
    let prompt = first["prompt"].as_str().unwrap();
    for part in ["<identity>You are 'alice'", "Be brief.", "MCP server `crew`", "You hold task 1: Say hello", "must succeed: grep -q hello hello"] {
        assert!(prompt.contains(part), "{part:?} in {prompt}");
    }
    let argv = first["argv"].to_string();
    assert!(argv.contains(r#""--model","large""#) && argv.contains(r#""--effort","high""#) && !argv.contains("--resume"), "{argv}");
    let log = std::fs::read_to_string(scene.read("1")["attempts"][0]["log"].as_str().unwrap()).unwrap();
    for part in ["I write it.", "> mcp__crew__read_thread {}", "> mcp__crew__post", "< This is post 1."] {
        assert!(log.contains(part), "{part:?} in {log}");
    }

    // The next turn goes on with the session, and is not told again who it is.
    let session = office.session("alice", "claude-code").unwrap();
    scene.task("2", json!({ "subject": "Say goodbye" }));
    office.turn(
        "alice",
        &[line(json!({ "type": "system", "subtype": "compact_boundary", "session_id": session })), sh("echo bye > bye"), post("work_done", "said")],
    );
    until("the second is done", || scene.status("2") == "completed");
    let second = &office.asked("alice")[1];
    assert_eq!(second["resumed"], session.as_str());
    assert!(!second["prompt"].as_str().unwrap().contains("<identity>") && second["prompt"].as_str().unwrap().contains("You hold task 2"));

    // It said that it made its conversation shorter: who it is comes first again. Another process goes on with it, too.
    office.shutdown(&["alice"]);
    scene.task("3", json!({ "subject": "Say more" }));
    office.turn("alice", &[sh("echo more > more"), post("work_done", "said")]);
    office.spawn("alice");
    until("the third is done", || scene.status("3") == "completed");
    let third = &office.asked("alice")[2];
    assert_eq!(third["resumed"], session.as_str());
    assert!(third["prompt"].as_str().unwrap().starts_with("<identity>You are 'alice'"));

    let spent: serde_json::Value = serde_json::from_str(&office.crew(&["quota", "--by", "teammate", "--json"]).succeeded().out).unwrap();
    let alice = &spent["sums"][0];
    assert_eq!(
        (alice["calls"].as_u64(), alice["inputTokens"].as_u64(), alice["outputTokens"].as_u64(), alice["cacheRead"].as_u64()),
        (Some(3), Some(300), Some(30), Some(60)),
        "{spent}"
    );
    assert!((alice["usd"].as_f64().unwrap() - 3.0 * (100.0 * 3.0 + 10.0 * 15.0 + 20.0 * 0.3) / 1e6).abs() < 1e-9, "{spent}");
    office.shutdown(&["alice"]);
}

#[test]
fn it_is_given_its_own_key_and_the_teams_tools_none() {
    let office = Office::new(&[("alice", CLAUDE), ("bob", "runner: codex")], "");
    for (id, name) in [("1", "alice"), ("2", "bob")] {
        office.stage.scene.task(id, json!({ "subject": "x", "owner": name }));
        office.turn(name, &[sh(&format!("echo {name} > {name}.txt")), post("work_done", "written")]);
        let mut spawn = office.command(&["spawn", name, "--yes"]);
        spawn.env("ANTHROPIC_API_KEY", "sk-own").env("CODEX_API_KEY", "sk-codex").env("GITHUB_TOKEN", "other").env("INNOCENT", "x");
        office.stage.scene.start(spawn).ended().succeeded();
        until("it is done", || office.stage.scene.status(id) == "completed");
    }
    for (name, own, others) in [("alice", "ANTHROPIC_API_KEY", "CODEX_API_KEY"), ("bob", "CODEX_API_KEY", "ANTHROPIC_API_KEY")] {
        let asked = &office.asked(name)[0];
        let variables: Vec<&str> = asked["environment"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(variables.contains(&own) && variables.contains(&"INNOCENT") && variables.contains(&"CREW_TURN"), "{variables:?}");
        assert!(!variables.contains(&others) && !variables.contains(&"GITHUB_TOKEN"), "{variables:?}");
        let tools: Vec<&str> = asked["ofTools"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().split('=').next().unwrap()).collect();
        let mut needed: Vec<&str> = tools.into_iter().filter(|name| !name.is_empty()).collect();
        needed.sort_unstable();
        assert_eq!(needed, ["CREWBOARD_HOME", "CREW_AS", "CREW_BOARD", "CREW_LOG_DIR", "CREW_TASK_ID", "CREW_TURN", "HOME"]);
    }
    office.shutdown(&["alice", "bob"]);
}

#[test]
fn a_post_ends_the_turn_and_the_cli_that_goes_on_is_ended() {
    let office = Office::new(&[("alice", CLAUDE)], "");
    office.stage.scene.task("1", json!({ "subject": "x" }));
    office.turn("alice", &[sh("echo x > x"), post("work_done", "done"), post("say", "and more"), sh("sleep 600 & echo y > y"), json!("hang")]);
    office.spawn("alice");
    until("it is done", || office.stage.scene.status("1") == "completed");
    assert_eq!(office.stage.thread().len(), 1, "the first counts");
    until("nothing of the turn is left", || office.stage.scene.processes().len() == 1);
    office.shutdown(&["alice"]);
}

#[test]
fn killed_in_the_middle_it_goes_on_with_its_task_and_its_session() {
    let office = Office::new(&[("alice", CLAUDE)], "");
    let scene = &office.stage.scene;
    scene.task("1", json!({ "subject": "x" }));
    office.turn("alice", &[sh("echo half > x"), json!("hang")]);
    office.spawn("alice");
    until("it is at work", || scene.has("x") && office.session("alice", "claude-code").is_some());
    let session = office.session("alice", "claude-code").unwrap();
    office.stage.kill(&[scene.pid_of("alice")]);
    office.turn("alice", &[post("work_done", "it was there already")]);
    office.spawn("alice");
    until("it is done", || scene.status("1") == "completed");
    assert_eq!(scene.outcomes("1"), ["lost", "done"]);
    assert_eq!(office.asked("alice")[1]["resumed"], session.as_str());
    assert!(office.asked("alice")[1]["prompt"].as_str().unwrap().contains("cut short"));
    let first = i32::try_from(office.asked("alice")[0]["pid"].as_i64().unwrap()).unwrap();
    assert!(!scene.processes().contains(&first), "what it had started was ended");
    office.shutdown(&["alice"]);
}

#[test]
fn a_session_that_is_gone_is_begun_anew() {
    for runner in ["claude-code", "codex"] {
        let office = Office::new(&[("alice", &format!("runner: {runner}"))], "");
        let scene = &office.stage.scene;
        for id in ["1", "2"] {
            scene.task(id, json!({ "subject": "x" }));
            if id == "2" {
                office.turn("alice", &[json!("lost")]);
            }
            office.turn("alice", &[sh(&format!("echo {id} > x")), post("work_done", "written")]);
            office.spawn("alice");
            until("it is done", || scene.status(id) == "completed");
            office.shutdown(&["alice"]);
        }
        let asked = office.asked("alice");
        assert_eq!(scene.outcomes("2"), ["done"], "{runner}: no attempt is spent by that");
        assert!(asked[1]["resumed"].is_string() && asked[2]["resumed"].is_null(), "{runner}: {asked:?}");
        assert!(asked[2]["prompt"].as_str().unwrap().contains("<identity>"), "{runner}");
    }
}

#[test]
fn lanes_have_sessions_of_their_own() {
    let office = Office::new(&[("alice", "runner: codex\nlanes: 2")], "");
    let scene = &office.stage.scene;
    for id in ["1", "2"] {
        scene.task(id, json!({ "subject": "x" }));
        office.turn(
            "alice",
            &[sh("echo $CREW_TASK_ID > $CREW_TASK_ID.txt; while [ ! -e ../../go ] && [ ! -e go ]; do sleep 0.02; done"), post("work_done", "written")],
        );
    }
    office.spawn("alice");
    until("both are at work", || office.asked("alice").len() == 2);
    let trees = scene.processes().len();
    assert!(trees >= 5, "a teammate, two CLIs, two tools: {trees}");
    for pid in scene.processes() {
        if let Ok(cwd) = std::fs::read_link(format!("/proc/{pid}/cwd")) {
            let _ = std::fs::write(cwd.join("go"), "");
        }
    }
    until("both are done", || ["1", "2"].iter().all(|id| scene.status(id) == "completed"));
    let asked = office.asked("alice");
    assert!(asked.iter().all(|asked| asked["resumed"].is_null()), "{asked:?}");
    office.shutdown(&["alice"]);
}

#[test]
fn an_agent_of_claude_codes_own_is_taken_as_it_is() {
    let office = Office::new(&[], "");
    let scene = &office.stage.scene;
    scene.put(
        ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews: everything\ntools: Read, Grep\nmodel: inherit\ncolor: red\n---\nYou are hard to please.\n",
    );
    scene.task("1", json!({ "subject": "Look at it", "check": "true" }));
    office.turn("reviewer", &[post("done", "it is well")]);
    office.crew(&["spawn", "reviewer", "--from", ".claude/agents/reviewer.md", "--yes"]).succeeded();
    until("it is done", || scene.status("1") == "completed");
    let asked = &office.asked("reviewer")[0];
    let argv = asked["argv"].to_string();
    assert!(argv.contains(r#""--tools","Read,Grep""#) && !argv.contains("--model"), "{argv}");
    assert!(asked["prompt"].as_str().unwrap().contains("You are hard to please."));
    office.shutdown(&["reviewer"]);
}
