//! How it speaks, and how it ends.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ::board::name::Name;
use rustix::process::Signal;
use serde_json::{Value, json};
use teammates::tools::Toolbox;
use teammates::tools::crew::desk::Desk;
use teammates::tools::crew::{self, Ask, ClaimTask, Crew, Doing, Notify, Post, TaskCreate, TaskUpdate, TellUser};
use teammates::workplace::Workplace;

use super::client::Client;
use super::{READERS, at_desk, open, scene};
use crate::scene::signal;

#[test]
fn the_versions_that_are_spoken() {
    let scene = scene();
    for (asked, answered) in [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2099-01-01", "2025-11-25")] {
        let mut client = Client::silent(scene.crew(&["mcp", "--as", "alice"]));
        let hello = client.greet(asked);
        assert_eq!(hello["protocolVersion"], answered);
        assert_eq!(hello["serverInfo"], json!({ "name": "crewboard", "version": env!("CARGO_PKG_VERSION") }));
        assert!(hello["instructions"].as_str().unwrap().contains("You are alice"), "{hello}");
        assert!(hello["capabilities"]["tools"].is_object() && hello["capabilities"]["resources"].is_object(), "{hello}");
        assert!(client.ask("ping", json!({}))["result"].is_object());
        assert_eq!(client.done("task_list", json!({})), "there is no such task");
        assert_eq!(client.goes(), Some(0));
    }
    scene.nothing_runs();
}

/// Does nothing: only what it could be asked for is looked at.
struct Nobody;

impl Crew for Nobody {
    fn post(&self, _: Post) -> Doing<'_> {
        unreachable!()
    }
    fn tell_user(&self, _: TellUser) -> Doing<'_> {
        unreachable!()
    }
    fn task_create(&self, _: TaskCreate) -> Doing<'_> {
        unreachable!()
    }
    fn task_update(&self, _: TaskUpdate) -> Doing<'_> {
        unreachable!()
    }
    fn claim_task(&self, _: ClaimTask) -> Doing<'_> {
        unreachable!()
    }
    fn ask(&self, _: Ask) -> Doing<'_> {
        unreachable!()
    }
    fn notify(&self, _: Notify) -> Doing<'_> {
        unreachable!()
    }
}

#[test]
fn the_tools_are_those_of_models() {
    let scene = scene();
    scene.put(".crew/teammates/bob.md", "---\nmayRun: true\n---\n");
    for (name, may_run) in [("alice", false), ("bob", true), ("mallory", false)] {
        let desk = Rc::new(Desk::of(Workplace::open(open(&scene)).unwrap(), Name::new(name).unwrap()));
        let all = crew::tools(&desk, &(Rc::new(Nobody) as Rc<dyn Crew>), may_run);
        let models = Toolbox::of(&teammates::profile::Profile::named(name).unwrap(), all, None);
        let models = models.definitions().iter().filter(|tool| tool.name != "compact");
        let expected: Vec<Value> = models.map(|tool| json!([tool.name, tool.description, tool.schema])).collect();

        let answer = at_desk(&scene, name).ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let told: Vec<Value> = tools.iter().map(|tool| json!([tool["name"], tool["description"], tool["inputSchema"]])).collect();
        assert_eq!((told, tools.len()), (expected, 15), "{name}");
        for tool in tools {
            let schema = &tool["inputSchema"];
            assert!(schema["type"] == "object" && schema["properties"].is_object() && jsonschema::meta::is_valid(schema), "{tool}");
            assert!(jsonschema::validator_for(schema).is_ok(), "{tool}");
            assert_eq!(tool["annotations"]["readOnlyHint"], READERS.contains(&tool["name"].as_str().unwrap()), "{tool}");
            assert_eq!(schema["properties"]["run"].is_object(), may_run && ["task_create", "task_update"].contains(&tool["name"].as_str().unwrap()), "{tool}");
        }
    }
    // Whom its file gives fewer has fewer.
    scene.put(".crew/teammates/alice.md", "---\ntools: [read_thread]\n---\n");
    let answer = at_desk(&scene, "alice").ask("tools/list", json!({}));
    let names: Vec<&Value> = answer["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["post", "idle", "read_thread"]);
}

#[test]
fn what_does_not_fit_is_answered_and_ends_nothing() {
    let scene = scene();
    let mut client = Client::silent(scene.crew(&["mcp", "--as", "alice"]));
    // Also before anybody has greeted.
    for line in ["garbage", "", "{\"jsonrpc\":", "\u{0}\u{1b}[31m", &"x".repeat(1 << 20)] {
        client.write(line);
    }
    client.greet("2025-11-25");
    let before = scene.everything();
    client.write("more garbage");
    for line in ["{\"a\":1}", "[1,2]", "7"] {
        client.write(line);
        assert_eq!(client.next()["error"]["code"], -32600, "{line}");
    }
    let mut error = |method: &str, params: Value| client.ask(method, params)["error"].clone();
    assert_eq!(error("no/such/method", json!({}))["code"], -32601);
    let unknown = error("tools/call", json!({ "name": "posts", "arguments": {} }));
    assert_eq!(unknown["code"], -32602);
    assert!(unknown["message"].as_str().unwrap().contains("There is no tool \"posts\"; did you mean \"post\"?"), "{unknown}");
    assert_eq!(error("tools/call", json!({ "name": "compact" }))["code"], -32602);
    assert_eq!(error("tools/call", json!({ "name": "post", "arguments": [1] }))["code"], -32602);
    assert_eq!(error("tools/call", json!({ "arguments": {} }))["code"], -32602);
    for (name, arguments, because) in [
        ("post", json!({ "kind": "shout", "text": "x" }), "unknown variant `shout`"),
        ("post", json!({ "text": "x" }), "missing field `kind`"),
        ("post", json!({ "kind": "say", "text": "x", "as": "bob" }), "unknown field `as`"),
        ("post", json!({ "kind": "say", "text": " " }), "a post says something"),
        ("task_get", json!({}), "missing field `id`"),
        ("task_get", json!({ "id": { "a": 1 } }), "an id is a text, or a whole number"),
        ("task_create", json!({ "subject": "x", "run": "true" }), "unknown field `run`"),
        ("idle", json!({ "x": 1 }), "unknown field `x`"),
        ("send_message", json!({ "to": "bob", "text": "x", "from": "user" }), "unknown field `from`"),
    ] {
        client.refused(name, arguments, because);
    }
    let said = client.call("task_get", json!({})).unwrap_err();
    assert!(said.contains("They must fit this schema: {\"additionalProperties\":false"), "{said}");
    assert_eq!(scene.everything(), before);
    assert_eq!(client.done("task_list", json!({})), "there is no such task");
    assert_eq!(client.goes(), Some(0));
}

#[test]
fn it_ends_when_its_client_goes_also_in_the_middle_of_a_call() {
    let scene = scene();
    let mut client = at_desk(&scene, "alice");
    let mut board = open(&scene);
    let locked = board.lock(Duration::from_secs(10)).unwrap();
    client.send("tools/call", json!({ "name": "task_create", "arguments": { "subject": "x" } }));
    // What comes behind it is answered: it is under way.
    assert!(client.ask("ping", json!({}))["result"].is_object());
    let gone = Instant::now();
    assert_eq!(client.goes(), Some(0));
    assert!(gone.elapsed() < Duration::from_secs(4), "a call that waits for the lock would take ten seconds: {:?}", gone.elapsed());
    drop(locked);
    scene.nothing_runs();
    assert_eq!(scene.run(&["ls", "--json"]).succeeded().out, "");

    // What can be answered in time is.
    let mut client = at_desk(&scene, "alice");
    client.send("tools/call", json!({ "name": "task_create", "arguments": { "subject": "x" } }));
    assert_eq!(client.goes(), Some(0));
    assert_eq!(scene.read("1")["subject"], "x");
    // Nobody was greeted.
    assert_eq!(Client::silent(scene.crew(&["mcp", "--as", "alice"])).goes(), Some(1));
    scene.nothing_runs();
}

#[test]
fn it_ends_when_it_is_told_to() {
    let scene = scene();
    for which in [Signal::TERM, Signal::INT] {
        let mut client = at_desk(&scene, "alice");
        signal(client.pid(), which);
        assert_eq!(client.ended(), Some(130));
    }
    // Also before it was greeted, and while a call waits.
    let mut board = open(&scene);
    let locked = board.lock(Duration::from_secs(10)).unwrap();
    let mut client = at_desk(&scene, "alice");
    client.send("tools/call", json!({ "name": "task_create", "arguments": { "subject": "x" } }));
    assert!(client.ask("ping", json!({}))["result"].is_object());
    signal(client.pid(), Signal::TERM);
    assert_eq!(client.ended(), Some(130));
    drop(locked);
    scene.nothing_runs();
}

#[test]
fn without_a_board_or_a_name_nothing_is_spoken() {
    let scene = scene();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut nowhere = scene.crew(&["mcp", "--as", "alice"]);
    nowhere.current_dir(elsewhere.path());
    let ran = scene.start(nowhere).ended().ended_with(2);
    assert!(ran.out.is_empty() && ran.err.contains("`crew init` makes one"), "{ran:#?}");
    for (arguments, why) in [(&["mcp"][..], "--as"), (&["mcp", "--as", "user"], "reserved"), (&["mcp", "--as", "../x"], "path separator")] {
        let ran = scene.run(arguments).ended_with(2);
        assert!(ran.out.is_empty() && ran.err.contains(why), "{ran:#?}");
    }
    let mut odd = scene.crew(&["mcp", "--as", "alice"]);
    odd.env("CREW_TURN", "t").env("CREW_TASK_ID", "../x");
    let ran = scene.start(odd).ended().ended_with(2);
    assert!(ran.out.is_empty() && ran.err.contains("CREW_TASK_ID"), "{ran:#?}");
    scene.put(".crew/teammates/alice.md", "---\nwrite: false\n---\n");
    let ran = scene.run(&["mcp", "--as", "alice"]).ended_with(2);
    assert!(ran.out.is_empty() && ran.err.contains("did you mean"), "{ran:#?}");
}

#[test]
fn it_needs_nothing_of_its_environment() {
    let scene = scene();
    let board = scene.tasks();
    scene.task("1", json!({}));
    let mut bare = scene.crew(&["mcp", "--as", "alice"]);
    // Where the state is kept then is the machine's temporary directory: the test has its own.
    bare.env_clear().env("CREW_BOARD", &board).env("TMPDIR", scene.home()).current_dir("/");
    std::fs::create_dir_all(scene.home()).unwrap();
    let mut client = Client::greeting(bare);
    client.done("claim_task", json!({ "id": "1" }));
    client.done("post", json!({ "kind": "work_done", "text": "it is done" }));
    assert_eq!(client.goes(), Some(0));
    assert_eq!(scene.status("1"), "completed");
}
