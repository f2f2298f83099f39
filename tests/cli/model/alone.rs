//! One teammate and its tasks.

use serde_json::json;

use super::server::{KEY, Model, Step, post};
use crate::scene::until;

const ACCOUNT: &str = "[accounts.work]\nkind = \"anthropic\"\nkeyFile = \"~/key\"\n[prices.large]\ninput = 3.0\noutput = 15.0\n";

#[test]
fn a_task_is_done_and_checked_and_what_it_cost_is_known() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello", "description": "In the file hello.", "check": "grep -q hello hello" }));
    stage.scene.task("2", json!({ "subject": "Say more", "blockedBy": ["1"] }));
    // Where the kernel can, it keeps the file of the key from the shell.
    let key = if teammates::confinement::support().keeps { "~/key" } else { "" };
    model.calls(
        "alice",
        [("bash", json!({ "command": format!("echo hello > hello; env; cat /proc/$PPID/environ {key}") })), ("read_file", json!({ "path": "hello" }))],
    );
    model.calls("alice", [post("work_done", "hello is said")]);
    model.calls("alice", [("write_file", json!({ "path": "more", "content": "more\n" })), post("work_done", "more")]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("both are done", || stage.scene.status("1") == "completed" && stage.scene.status("2") == "completed");
    let asked = model.asked_of("alice");
    assert_eq!(asked.len(), 3);
    assert!(asked[0].head.contains(&format!("x-api-key: {KEY}")), "{}", asked[0].head);
    let told = asked[0].told();
    for part in ["You hold task 1: Say hello", "    In the file hello.", "must succeed: grep -q hello hello"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(asked[1].told().contains("exit code"), "{}", asked[1].told());
    assert!(asked[2].told().contains("What it depended on is done:") && asked[2].told().contains("hello is said"), "{}", asked[2].told());

    // What the ledger says is what the server has answered.
    let quota: serde_json::Value = serde_json::from_str(&stage.crew(&["quota", "--by", "task", "--json"]).succeeded().out).unwrap();
    let sums = asked.iter().filter_map(|asked| asked.tokens).fold((0, 0), |sum, tokens| (sum.0 + tokens.0, sum.1 + tokens.1));
    let total = &quota["total"];
    assert_eq!((total["calls"].as_u64(), total["inputTokens"].as_u64(), total["outputTokens"].as_u64()), (Some(3), Some(sums.0), Some(sums.1)));
    let usd = sums.0 as f64 * 3e-6 + sums.1 as f64 * 15e-6;
    assert!((total["usd"].as_f64().unwrap() - usd).abs() < 1e-12, "{total}");
    assert_eq!(quota["sums"].as_array().unwrap().len(), 2);

    // The key is where it was put, and nowhere else.
    let kept: Vec<_> = everywhere(&stage.state).into_iter().chain(stage.scene.everything()).filter(|(_, bytes)| has(bytes, KEY)).collect();
    assert!(kept.is_empty(), "{:?}", kept.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(stage.scene.summary("1"), "hello is said");
    let thread = stage.thread();
    assert_eq!(thread.iter().map(|post| post["text"].as_str().unwrap()).collect::<Vec<_>>(), ["hello is said", "more"]);
}

fn everywhere(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let (mut all, mut open) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            match entry.path().is_dir() {
                true => open.push(entry.path()),
                false => all.push((entry.path(), std::fs::read(entry.path()).unwrap_or_default())),
            }
        }
    }
    all
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_turn_that_comes_to_nothing_is_an_attempt() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello", "retries": 2 }));
    // It stops; then it says that it worked, and has not; then it asks.
    model.calls("alice", []);
    model.calls("alice", [post("work_done", "I am sure that it is done")]);
    model.calls("alice", [("post", json!({ "kind": "say", "text": "Which hello?", "handoff": "user" }))]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it asks", || stage.scene.outcomes("1") == ["failed", "failed", "parked"]);
    let told = model.asked_of("alice")[2].told();
    assert!(told.contains("its turn ended without a post") && told.contains("not credited"), "{told}");
    model.calls("alice", [("bash", json!({ "command": "echo hello > hello" })), post("work_done", "said")]);
    stage.crew(&["answer", "The long one."]).succeeded();
    until("it is done", || stage.scene.status("1") == "completed");
    let told = model.asked_of("alice")[3].told();
    assert!(told.contains("Which hello?") && told.contains("The long one."), "{told}");
}

#[test]
fn in_working_trees_of_their_own_two_lanes_work_side_by_side() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "lanes: 2\n", ACCOUNT);
    stage.git(&["add", "."]);
    stage.git(&["commit", "--quiet", "-m", "team"]);
    stage.scene.task("1", json!({ "subject": "Say hello" }));
    stage.scene.task("2", json!({ "subject": "Say more", "retries": 0 }));
    // Whichever lane comes first writes; the other says that it did.
    model.calls("alice", [("bash", json!({ "command": "pwd > hello" }))]);
    model.calls("alice", [("bash", json!({ "command": "pwd" }))]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("both have looked", || model.asked_of("alice").len() == 4);
    model.plays("alice", [Step::Calls(vec![post("work_done", "there")]), Step::Calls(vec![post("work_done", "there too")])]);
    until("both are over", || ["1", "2"].iter().filter(|id| ["completed", "failed"].contains(&stage.scene.status(id).as_str())).count() == 2);
    let (done, other) = if stage.scene.status("1") == "completed" { ("1", "2") } else { ("2", "1") };
    assert_eq!(stage.scene.status(other), "failed");
    assert!(stage.scene.reason(other).contains("not credited"), "{}", stage.scene.reason(other));
    assert!(stage.scene.file("hello").contains(&format!("worktrees/{done}")), "{}", stage.scene.file("hello"));
}

#[test]
fn a_turn_has_the_time_that_its_task_gives_it() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello", "timeout": "300ms", "retries": 0 }));
    model.plays("alice", [Step::Hangs]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("its time is over", || stage.scene.outcomes("1") == ["timeout"]);
    assert!(stage.scene.reason("1").contains("longer than its 300ms"), "{}", stage.scene.reason("1"));
}

#[test]
fn killed_in_the_middle_it_goes_on_with_its_task() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello" }));
    model.calls(
        "alice",
        [("bash", json!({ "command": "echo half > hello; (setsid sleep 600 &)" })), ("bash", json!({ "command": "sleep 600 & echo on", "background": true }))],
    );
    model.plays("alice", [Step::Hangs]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it waits for its model", || model.asked_of("alice").len() == 2);
    stage.kill(&[stage.scene.pid_of("alice")]);
    model.calls("alice", [("bash", json!({ "command": "echo whole > hello" })), post("work_done", "the other half")]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it is done", || stage.scene.status("1") == "completed");
    assert_eq!(stage.scene.outcomes("1"), ["lost", "done"]);
    let told = model.asked_of("alice")[2].told();
    assert!(told.contains("<identity>You are 'alice'") && told.contains("cut short") && told.contains("echo half > hello"), "what its log says: {told}");
    assert_eq!(stage.thread().len(), 1);
    stage.crew(&["shutdown", "alice", "--grace", "0s"]);
    until("nothing runs", || stage.scene.processes().is_empty());
}

#[test]
fn what_it_does_at_this_moment_is_shown() {
    let model = Model::new();
    let stage = model.stage(&["alice"], "", ACCOUNT);
    stage.scene.task("1", json!({ "subject": "Say hello" }));
    model.calls("alice", [("bash", json!({ "command": "sleep 601", "background": true }))]);
    stage.crew(&["spawn", "alice", "--yes"]).succeeded();
    until("it waits for its model", || stage.scene.member("alice")["doing"] == "large");
    until("its command is told", || {
        stage.scene.member("alice")["background"].as_array().is_some_and(|all| all[0].as_str().unwrap().starts_with("sleep 601"))
    });
    model.calls("alice", [("bash", json!({ "command": "while ! test -e go; do sleep 0.01; done" }))]);
    until("it is in its shell", || stage.scene.member("alice")["doing"].as_str().is_some_and(|doing| doing.starts_with("bash while")));
    stage.scene.put("go", "");
    model.calls("alice", [post("work_done", "went")]);
    until("it is done", || stage.scene.status("1") == "completed" && stage.scene.member("alice")["doing"].is_null());
    stage.crew(&["shutdown", "alice"]).succeeded();
    until("what ran in the background has ended with it", || stage.scene.processes().is_empty());
}

#[test]
fn a_model_that_cannot_be_called_is_said_before_anything_begins() {
    let model = Model::new();
    let stage = model.stage(&[], "", "");
    let wrong = [
        ("---\nrunner: anthropic\n---\n", "no model is named"),
        ("---\nmodel: m\n---\n", "a model needs a runner"),
        ("---\nrunner: anthropic\nmodel: m\naccount: nobody\n---\n", "there is no account \"nobody\""),
        ("---\nrunner: anthropic\nmodel: m\n---\n", "ANTHROPIC_API_KEY"),
        ("---\nrunner: openai\nmodel: m\nbaseUrl: http://127.0.0.1:1\nfallback: openai/x\n---\n", "OPENAI_API_KEY"),
    ];
    for (profile, why) in wrong {
        stage.scene.put(".crew/teammates/alice.md", profile);
        let ran = stage.crew(&["spawn", "alice", "--yes"]);
        assert!(ran.err.contains(why), "{why}: {ran:#?}");
        let start = stage.crew(&["start", "--yes"]);
        assert!(start.code() != Some(0) && start.err.contains(why), "{why}: {start:#?}");
        let doctor = stage.crew(&["doctor"]);
        assert!(doctor.out.contains(why), "{why}: {doctor:#?}");
    }
    assert!(model.asked().is_empty() && stage.scene.processes().is_empty());
}
