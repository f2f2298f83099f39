//! Somebody at a desk: no turn is theirs but what they claim, and their turn in the thread.

use serde_json::{Value, json};

use super::client::Client;
use super::{at_desk, in_turn, run, scene, thread, thread_turn};

/// What `crew needs --json` lists.
fn needs(scene: &crate::scene::Scene) -> Vec<Value> {
    scene.run(&["needs", "--json"]).succeeded().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_tool_does_what_it_says() {
    let scene = scene();
    let mut client = at_desk(&scene, "alice");
    let inbox = |name: &str| {
        let path = run(&scene).dir().join("inbox").join(format!("{name}.jsonl"));
        std::fs::read_to_string(path).unwrap_or_default()
    };
    assert_eq!(client.done("task_create", json!({ "subject": "write", "priority": 3 })), "It is task 1.");
    assert_eq!((&scene.read("1")["subject"], &scene.read("1")["priority"]), (&json!("write"), &json!(3)));
    client.done("task_create", json!({ "subject": "read", "blockedBy": ["1"] }));
    client.done("task_update", json!({ "id": "2", "subject": "read it", "priority": 7 }));
    assert_eq!((&scene.read("2")["subject"], &scene.read("2")["blockedBy"]), (&json!("read it"), &json!(["1"])));
    let listed = client.done("task_list", json!({}));
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(client.done("task_get", json!({ "id": "2" })).contains("read it"));

    client.done("remember", json!({ "text": "the port is 80" }));
    client.done("remember", json!({ "text": "tests need a database" }));
    client.done("revise", json!({ "number": 1, "was": "the port", "text": "the port is 8080" }));
    client.done("forget", json!({ "number": 2, "was": "tests" }));
    let memory = scene.run(&["memory"]).succeeded().out;
    assert!(memory.contains("8080") && !memory.contains("database"), "{memory}");

    client.done("send_message", json!({ "to": "bob", "text": "hello" }));
    client.done("ask", json!({ "to": "bob", "text": "which port?" }));
    client.done("notify", json!({ "to": "bob", "text": "the port has changed" }));
    let heard = inbox("bob");
    assert!(["hello", "which port?", "the port has changed"].iter().all(|words| heard.contains(words)), "{heard}");
    assert_eq!(heard.matches("\"from\":\"alice\"").count(), 3, "{heard}");

    client.done("claim_task", json!({}));
    assert_eq!(
        (&scene.read("1")["owner"], &scene.read("1")["claim"]["by"], &scene.read("1")["claim"]["process"]),
        (&json!("alice"), &json!("alice"), &Value::Null)
    );
    client.done("tell_user", json!({ "text": "the disk is nearly full" }));
    assert!(needs(&scene).iter().any(|need| need.to_string().contains("the disk is nearly full")), "{:?}", needs(&scene));
    assert!(client.done("read_thread", json!({})).contains("alice tells the user: the disk is nearly full"));
    client.done("idle", json!({}));
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("pending".into(), vec!["released".into()]));
    client.done("claim_task", json!({ "id": "1" }));
    assert_eq!(client.done("post", json!({ "kind": "done", "text": "it is written" })), "This is post 2. Task 1 is completed.");
    assert_eq!((scene.status("1"), scene.summary("1")), ("completed".into(), "it is written".into()));
}

#[test]
fn one_claim_and_one_post_for_it() {
    let scene = scene();
    ["1", "2", "3"].iter().for_each(|id| scene.task(id, json!({})));
    let mut client = at_desk(&scene, "alice");
    client.done("claim_task", json!({ "id": "2" }));
    client.refused("claim_task", json!({ "id": "1" }), "alice holds task 2 already");
    client.refused("claim_task", json!({ "id": "2" }), "alice holds task 2 already");
    let mut of_bob = at_desk(&scene, "bob");
    of_bob.refused("claim_task", json!({ "id": "2" }), "alice");
    of_bob.refused("task_update", json!({ "id": "2", "subject": "mine" }), "alice works on task 2");
    of_bob.refused("post", json!({ "kind": "done", "text": "x" }), "'bob' has claimed no task");
    let ran = scene.run(&["claim", "2", "--as", "bob"]).ended_with(4);
    assert!(ran.err.contains("alice"), "{ran:#?}");

    // It lives on when the client goes, and another one of alice's finds it.
    assert_eq!(client.goes(), Some(0));
    let mut client = at_desk(&scene, "alice");
    client.refused("claim_task", json!({ "id": "1" }), "alice holds task 2 already");
    assert_eq!(client.done("post", json!({ "kind": "work_done", "text": "did it" })), "This is post 1. Task 2 is completed.");
    assert_eq!((scene.status("2"), scene.outcomes("2")), ("completed".into(), vec!["done".into()]));
    client.refused("post", json!({ "kind": "work_done", "text": "again" }), "claimed no task");
    // The next claim begins anew.
    client.done("claim_task", json!({ "id": "1" }));
    let mut beside = at_desk(&scene, "alice");
    client.done("post", json!({ "kind": "done", "text": "that, too" }));
    beside.refused("post", json!({ "kind": "done", "text": "twice" }), "claimed no task");
    assert_eq!(thread(&scene).len(), 2);
    // A claim from a shell is one too.
    scene.run(&["claim", "3", "--as", "alice"]).succeeded();
    client.refused("claim_task", json!({}), "alice holds task 3 already");
    client.done("post", json!({ "kind": "done", "text": "third" }));
    client.refused("claim_task", json!({}), "there is no task that you could claim");
}

#[test]
fn of_many_at_once_one_has_it() {
    let scene = scene();
    scene.task("1", json!({}));
    let all = |name: &str, arguments: Value, clients: &mut [Client]| {
        for client in clients.iter_mut() {
            client.send("tools/call", json!({ "name": name, "arguments": arguments }));
        }
        clients.iter().filter(|client| client.next()["result"]["isError"] == false).count()
    };
    let mut clients: Vec<Client> = ["alice", "alice", "bob", "mallory"].map(|name| at_desk(&scene, name)).into();
    assert_eq!(all("claim_task", json!({ "id": "1" }), &mut clients), 1);
    let holder = scene.read("1")["claim"]["by"].as_str().unwrap().to_owned();
    let mut clients: Vec<Client> = (0..4).map(|_| at_desk(&scene, &holder)).collect();
    assert_eq!(all("post", json!({ "kind": "done", "text": "x" }), &mut clients), 1);
    assert_eq!((thread(&scene).len(), scene.outcomes("1")), (1, vec!["done".into()]));
    let turn = thread_turn(&scene, "alice");
    let mut clients: Vec<Client> = (0..4).map(|_| in_turn(&scene, "alice", &turn, None)).collect();
    assert_eq!(all("post", json!({ "kind": "say", "text": "x" }), &mut clients), 1);
    assert_eq!(thread(&scene).len(), 2);
}

#[test]
fn which_claim_is_theirs() {
    let scene = scene();
    ["1", "2", "3"].iter().for_each(|id| scene.task(id, json!({})));
    let mut client = at_desk(&scene, "alice");
    // What a process of that name holds is for that process to end.
    scene.run(&["claim", "1", "--as", "alice", "--holder", &std::process::id().to_string()]).succeeded();
    client.refused("post", json!({ "kind": "done", "text": "x" }), "'alice' has claimed no task from here");
    assert!(client.done("idle", json!({})).contains("nothing to give back"));
    client.refused("claim_task", json!({}), "alice holds task 1 already");
    assert_eq!(scene.status("1"), "in_progress");
    // Of several the last, unless the surroundings name one.
    scene.run(&["claim", "3", "--as", "alice", "--another"]).succeeded();
    scene.run(&["claim", "2", "--as", "alice", "--another"]).succeeded();
    let mut named = scene.crew(&["mcp", "--as", "alice"]);
    named.env("CREW_TASK_ID", "3");
    let mut named = Client::greeting(named);
    assert!(client.done("idle", json!({})).contains("Task 2 is given back"));
    scene.run(&["claim", "2", "--as", "alice", "--another"]).succeeded();
    assert!(named.done("idle", json!({})).contains("Task 3 is given back"));
    assert_eq!((scene.status("1"), scene.status("2")), ("in_progress".into(), "in_progress".into()));
}

#[test]
fn each_move_on_a_task() {
    let scene = scene();
    let moves = [
        (json!({ "kind": "gate", "text": "`git push`?" }), "in_progress"),
        (json!({ "kind": "say", "text": "which port?", "handoff": "user" }), "in_progress"),
        (json!({ "kind": "wait", "text": "for the build" }), "in_progress"),
        (json!({ "kind": "handoff", "handoff": "bob" }), "pending"),
        (json!({ "kind": "say", "text": "I have begun" }), "pending"),
    ];
    let mut client = at_desk(&scene, "alice");
    for (number, (post, _)) in moves.iter().enumerate() {
        let id = (number + 1).to_string();
        scene.task(&id, json!({}));
        client.done("claim_task", json!({ "id": id }));
        client.done("post", post.clone());
        assert!(scene.read(&id)["claim"].is_null(), "{post}: its turn is over: {}", scene.read(&id));
    }
    let outcomes: Vec<String> = (1..=5).flat_map(|id| scene.outcomes(&id.to_string())).collect();
    assert_eq!(outcomes, ["parked", "parked", "parked", "handoff", "handoff"]);
    assert_eq!(scene.read("4")["owner"], "bob");
    assert_eq!(needs(&scene).len(), 2, "the gate and the question");
    scene.task("6", json!({}));
    client.done("claim_task", json!({ "id": "6" }));
    client.refused("post", json!({ "kind": "handoff", "handoff": "carol" }), "nobody is called carol");
    client.refused("post", json!({ "kind": "handoff", "handoff": "user" }), "kind say and handoff user");
    client.done("post", json!({ "kind": "handoff", "handoff": "bob" }));
}

#[test]
fn nothing_with_a_check_is_completed_by_a_word() {
    let scene = scene();
    scene.task("1", json!({ "check": "make test" }));
    let mut client = at_desk(&scene, "alice");
    client.done("claim_task", json!({ "id": "1" }));
    let said = client.done("post", json!({ "kind": "work_done", "text": "did it" }));
    assert!(said.contains("`crew finish 1 --as alice` completes it") && said.contains("make test"), "{said}");
    assert_eq!(scene.status("1"), "in_progress");
    client.refused("post", json!({ "kind": "work_done", "text": "again" }), "a turn has one post");
    scene.run(&["finish", "1", "--as", "alice"]).succeeded();
    assert_eq!(scene.status("1"), "completed");
}

#[test]
fn the_turn_in_the_thread_is_theirs_when_it_is() {
    let scene = scene();
    let mut client = at_desk(&scene, "alice");
    for (name, arguments) in
        [("post", json!({ "kind": "say", "text": "x" })), ("tell_user", json!({ "text": "x" })), ("notify", json!({ "to": "user", "text": "x" }))]
    {
        client.refused(name, arguments.clone(), "it is not the turn of 'alice' in the thread, and 'alice' has claimed no task");
        thread_turn(&scene, "bob");
        client.refused(name, arguments, "it is not the turn of 'alice' in the thread");
    }
    assert!(thread(&scene).is_empty());
    let turn = thread_turn(&scene, "alice");
    client.done("tell_user", json!({ "text": "the disk is nearly full" }));
    client.refused("tell_user", json!({ "text": "and fuller" }), "there is one a turn");
    assert!(client.done("idle", json!({})).contains("is open until it has a post"));
    assert!(client.done("post", json!({ "kind": "say", "text": "hello", "handoff": "bob" })).starts_with("This is post 2."));
    assert_eq!(run(&scene).thread.all().unwrap()[1].turn, Some(turn));
    client.refused("post", json!({ "kind": "say", "text": "more" }), "a turn has one post");
    assert_eq!(thread(&scene).len(), 2);
}

#[test]
fn it_may_do_no_more_than_its_file_says() {
    let scene = scene();
    scene.put(".crew/teammates/bob.md", "---\nrole: tester\ntier: cheap\nmayRun: true\n---\n");
    scene.task("1", json!({ "role": "coder" }));
    scene.task("2", json!({ "tier": "top" }));
    let mut of_bob = at_desk(&scene, "bob");
    of_bob.refused("claim_task", json!({ "id": "1" }), "coder");
    of_bob.refused("claim_task", json!({ "id": "2" }), "top");
    of_bob.done("task_create", json!({ "subject": "x", "run": "true" }));
    assert_eq!(scene.read("3")["run"], "true");
    // Without a file it is somebody with a shell, but for commands.
    let mut of_mallory = at_desk(&scene, "mallory");
    of_mallory.refused("task_create", json!({ "subject": "x", "run": "true" }), "unknown field `run`");
    of_mallory.done("claim_task", json!({ "id": "2" }));
    assert_eq!(scene.read("2")["claim"]["by"], "mallory");
    // Below a teammate's process it is that teammate.
    let file = "---\ncommand: '\"$CREW\" mcp --as alice > said 2>&1; echo $? >> said'\npoll: 50ms\nidleTimeout: 1h\n---\n";
    scene.put(".crew/teammates/carol.md", file);
    scene.task("4", json!({ "owner": "carol" }));
    scene.run(&["spawn", "carol", "--yes"]).succeeded();
    crate::scene::until("it has tried", || scene.lines("said").len() > 1);
    assert!(scene.file("said").contains("acts as carol only, not as alice") && scene.lines("said").last().unwrap() == "4", "{}", scene.file("said"));
}
