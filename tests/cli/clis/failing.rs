//! Limits, wrong keys, tools that are not there or not allowed: what each comes to.

use serde_json::{Value, json};

use super::office::{Office, call, line, post, sh};
use crate::scene::until;

const RESETS: i64 = 4_000_000_000;

fn limited() -> Value {
    line(json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "rejected", "resetsAt": RESETS, "rateLimitType": "five_hour" } }))
}

/// As the CLI ends that could not call its model.
fn refused(status: u16, text: &str) -> [Value; 2] {
    [line(json!({ "type": "result", "subtype": "success", "is_error": true, "api_error_status": status, "result": text })), json!({ "exit": 1 })]
}

#[test]
fn at_a_limit_the_turn_begins_anew_with_the_next_and_then_sleeps() {
    let office = Office::new(&[("alice", "runner: claude-code\nfallback: codex")], "");
    let stage = &office.stage;
    office.turn("alice", &[call("remember", json!({ "text": "the port is 8080" })), limited(), json!({ "exit": 1 })]);
    let failed = json!({ "type": "turn.failed", "error": { "message": "You’ve hit your usage limit. Try again later." } });
    office.turn("alice", &[line(failed), json!({ "exit": 1 })]);
    office.crew(&["start", "--yes"]).succeeded();
    until("the run sleeps", || stage.word() == "rate_limited");
    let asked = office.asked("alice");
    assert_eq!(asked.iter().map(|asked| asked["argv"][0].as_str().unwrap().rsplit('/').next().unwrap()).collect::<Vec<_>>(), ["claude", "codex"]);
    let second = asked[1]["prompt"].as_str().unwrap();
    assert!(
        second.contains("began with another model") && second.contains("remember {\"text\":\"the port is 8080\"}") && second.contains("<identity>"),
        "{second}"
    );
    let limits = stage.document("limits.json");
    assert_eq!(limits["limits"]["claude-code"]["until"], "2096-10-02T07:06:40Z", "{limits}");
    assert!(limits["limits"]["codex"]["until"].is_string(), "{limits}");
    let reason = stage.document("state.json")["reason"]["text"].as_str().unwrap().to_owned();
    assert!(reason.contains("usage limit"), "{reason}");
    stage.stops();
}

#[test]
fn what_is_quoted_limits_nobody() {
    let office = Office::new(&[("alice", "runner: claude-code"), ("bob", "runner: codex")], "");
    let text =
        "You’ve hit your usage limit. Try again later. {\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":4000000000}}";
    for (id, name) in [("1", "alice"), ("2", "bob")] {
        office.stage.scene.task(id, json!({ "subject": text, "owner": name, "description": text }));
        let quoted = match name {
            "alice" => line(json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "1", "content": text }] } })),
            _ => line(json!({ "type": "item.completed", "item": { "id": "1", "type": "command_execution", "aggregated_output": text } })),
        };
        let steps = [
            quoted,
            json!({ "say": text }),
            json!({ "stderr": text }),
            call("remember", json!({ "text": text })),
            sh(&format!("echo {name} > {name}")),
            post("work_done", text),
        ];
        office.turn(name, &steps);
        office.spawn(name);
        until("it is done", || office.stage.scene.status(id) == "completed");
        assert_eq!(office.stage.scene.outcomes(id), ["done"]);
    }
    assert!(office.stage.document("limits.json")["limits"].as_object().is_none_or(|limits| limits.is_empty()));
    office.shutdown(&["alice", "bob"]);
}

#[test]
fn a_key_that_is_not_accepted_pauses_the_run_and_says_how_one_logs_in() {
    let office = Office::new(&[("alice", "runner: claude-code")], "");
    office.turn("alice", &refused(401, "Invalid API key · Fix external API key"));
    office.crew(&["start", "--yes"]).succeeded();
    office.stage.ends_as("paused");
    let reason = office.stage.document("state.json")["reason"]["text"].as_str().unwrap().to_owned();
    assert!(reason.contains("Invalid API key") && reason.contains("log in"), "{reason}");
}

#[test]
fn what_a_turn_that_cannot_go_on_comes_to() {
    let denied = line(json!({ "type": "result", "subtype": "success", "is_error": false, "permission_denials": [{ "tool_name": "Bash" }] }));
    let no_server = line(json!({ "type": "system", "subtype": "init", "session_id": "s", "mcp_servers": [{ "name": "crew", "status": "failed" }] }));
    for (steps, outcome, words) in [
        (vec![denied, json!({ "exit": 0 })], "failed", vec!["not allowed to use Bash", "permissionMode"]),
        (vec![no_server, json!("hang")], "failed", vec!["could not start the team's tools", "crew mcp"]),
        (vec![json!({ "say": "I am done." })], "failed", vec!["ended without a post"]),
        (vec![call("idle", json!({}))], "failed", vec!["ended without a post"]),
        (vec![json!({ "stderr": "segfault at 0" }), json!({ "exit": 139 })], "failed", vec!["exit code 139", "segfault at 0"]),
        (refused(400, "what is that?").to_vec(), "failed", vec!["what is that?"]),
        (refused(404, "no such model").to_vec(), "released", vec!["does not have that model"]),
        (refused(529, "overloaded").to_vec(), "released", vec!["overloaded"]),
    ] {
        let office = Office::new(&[("alice", "runner: claude-code\nmodel: m")], "");
        let scene = &office.stage.scene;
        scene.task("1", json!({ "subject": "x", "retries": 0 }));
        office.turn("alice", &steps);
        office.spawn("alice");
        until("the attempt is over", || scene.outcomes("1") == [outcome]);
        let reason = scene.reason("1");
        assert!(words.iter().all(|word| reason.contains(word)), "{words:?} in {reason:?}");
        office.shutdown(&["alice"]);
    }
}

#[test]
fn a_cli_that_is_not_installed_is_said_before_and_after() {
    let office = Office::new(&[("alice", "runner: gemini"), ("bob", "runner: claude-code"), ("carol", "runner: codex")], "");
    let mut doctor = office.command(&["doctor", "--json"]);
    // A machine with these two and nothing else.
    let path = office.stage.scene.project().with_file_name("clis").join("bin");
    doctor.env("PATH", format!("{}:/usr/bin:/bin", path.display())).env("STAND_IN_LOGGED_OUT", "1").env("CODEX_API_KEY", "sk-x");
    let said = office.stage.scene.start(doctor).ended();
    assert_eq!(said.code(), Some(1), "{}", said.out);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let of = |word: &str| {
        let all = report["findings"].as_array().unwrap().iter().filter(|one| one["check"] == "cli" && one["message"].as_str().unwrap().starts_with(word));
        all.map(|one| format!("{} {}", one["level"].as_str().unwrap(), one["message"].as_str().unwrap())).collect::<Vec<_>>().join("\n")
    };
    for (cli, parts) in [
        ("gemini", vec!["problem", "`gemini` is not found, and alice needs it", "npm install -g @google/gemini-cli"]),
        ("claude-code", vec!["is 9.9.9 (stand-in)", "problem claude-code: it is not logged in, and bob needs it", "log in"]),
        ("codex", vec!["is 9.9.9 (stand-in)", "carol gives it a key"]),
        ("not installed here", vec!["ok", "opencode"]),
    ] {
        let said = of(cli);
        assert!(parts.iter().all(|part| said.contains(part)), "{cli}: {parts:?} in {said}");
    }
}

#[test]
fn what_the_configuration_describes_is_shown_before_it_runs() {
    let own = "[clis.mine]\nprovider = \"me\"\nprogram = \"claude\"\narguments = [\"--mcp-config\", '{\"mcpServers\":{\"crew\":{\"command\":{crewProgram},\"args\":{crewArguments}}}}']\n\
               [[clis.mine.events]]\nis = \"session\"\nwhen = { \"/subtype\" = \"init\" }\nid = \"/session_id\"\n";
    let office = Office::new(&[("alice", "runner: mine\nmodel: m")], own);
    office.stage.scene.task("1", json!({ "subject": "x" }));
    let refused = office.crew(&["spawn", "alice"]);
    assert_eq!(refused.code(), Some(4), "{}", refused.err);
    assert!(refused.err.contains("(mine) claude --mcp-config") && refused.err.contains("mine m"), "{}", refused.err);
    office.turn("alice", &[sh("echo x > x"), post("work_done", "written")]);
    office.spawn("alice");
    until("it is done", || office.stage.scene.status("1") == "completed");
    office.shutdown(&["alice"]);
    office.stage.scene.put(".crew/config.toml", "[clis.mine]\nprogram = 3\n");
    let wrong = office.crew(&["spawn", "alice", "--yes"]);
    assert!(wrong.err.contains("config.toml: [clis.mine]") || wrong.err.contains("[clis.mine]"), "{}", wrong.err);
    assert_ne!(wrong.code(), Some(0));
}

#[test]
fn doctor_runs_nothing_that_the_repository_describes() {
    let config = "[clis.claude-code]\nprogram = \"./tools/evil\"\nenvironment = { BASH_ENV = \"x\" }\nkeeps = [\"AWS_SECRET_ACCESS_KEY\"]\n";
    let office = Office::new(&[("alice", "runner: claude-code")], config);
    let scene = &office.stage.scene;
    scene.put("tools/evil", "#!/bin/sh\ntouch harm\n");
    std::fs::set_permissions(scene.project().join("tools/evil"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let said = office.crew(&["doctor"]).out;
    assert!(said.contains("it is not asked from here"), "{said}");
    assert!(!scene.has("harm"));
    let asked = office.crew(&["spawn", "alice"]);
    assert_eq!(asked.code(), Some(4));
    for part in ["./tools/evil -p", "BASH_ENV", "AWS_SECRET_ACCESS_KEY"] {
        assert!(asked.err.contains(part), "{part} in {}", asked.err);
    }
}

#[test]
fn a_key_that_is_not_accepted_is_in_no_record() {
    let office = Office::new(&[("alice", "runner: claude-code")], "");
    office.stage.scene.task("1", json!({ "subject": "x", "retries": 0 }));
    office.turn("alice", &refused(400, "Invalid API key: sk-ant-very-secret-1"));
    let mut spawn = office.command(&["spawn", "alice", "--yes"]);
    spawn.env("ANTHROPIC_API_KEY", "sk-ant-very-secret-1");
    office.stage.scene.start(spawn).ended().succeeded();
    until("the attempt is over", || office.stage.scene.outcomes("1") == ["failed"]);
    assert!(office.stage.scene.reason("1").contains("Invalid API key: [key]"), "{}", office.stage.scene.reason("1"));
    office.shutdown(&["alice"]);
}
