//! What can be read, and that nothing else can.

use serde_json::{Value, json};

use super::{at_desk, run, scene};

#[test]
fn the_board_the_thread_and_a_task() {
    let scene = scene();
    scene.task("1", json!({ "subject": "write", "note": [1, 2] }));
    scene.task("2", json!({ "blockedBy": [1] }));
    scene.put(".tasks/task_3.json", "{\"subject\":");
    scene.run(&["add", "old"]).succeeded();
    scene.run(&["cancel", "4"]).succeeded();
    scene.run(&["archive", "4"]).succeeded();
    let mut client = at_desk(&scene, "alice");

    let listed = client.ask("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["uri"]).collect();
    assert_eq!(uris, ["crew://board", "crew://thread"]);
    let templates = client.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    let uris: Vec<&Value> = templates.as_array().unwrap().iter().map(|one| &one["uriTemplate"]).collect();
    assert_eq!(uris, ["crew://board?offset={offset}", "crew://thread?after={seq}", "crew://task/{id}"]);
    for one in listed.as_array().unwrap().iter().chain(templates.as_array().unwrap()) {
        assert!(one["mimeType"] == "application/json" && !one["description"].as_str().unwrap().is_empty(), "{one}");
    }

    // As `crew ls --json` has them, with what is no task.
    let lines = scene.run(&["ls", "--json"]).succeeded().out;
    let expected: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys = |tasks: &[Value]| tasks.iter().map(|task| json!([task["id"], task["ready"], task["why"], task["note"], task["file"]])).collect::<Vec<_>>();
    let board = client.read_json("crew://board");
    assert_eq!(keys(board.as_array().unwrap()), keys(&expected));
    assert_eq!(client.read_json("crew://board?offset=2").as_array().unwrap().len(), 1);
    assert_eq!(client.read_json("crew://board?offset=18446744073709551615"), json!([]));

    let shown: Value = serde_json::from_str(&scene.run(&["show", "1", "--json"]).succeeded().out).unwrap();
    assert_eq!(client.read_json("crew://task/1"), shown);
    let archived = client.read_json("crew://task/4");
    assert_eq!((&archived["subject"], &archived["why"]), (&json!("old"), &json!("it is archived")));

    assert_eq!(client.read_json("crew://thread"), json!([]));
    says(&scene, 3, |number| format!("post {number}"));
    let texts = |thread: &Value| thread.as_array().unwrap().iter().map(|post| post["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&client.read_json("crew://thread")), ["post 1", "post 2", "post 3"]);
    assert_eq!(texts(&client.read_json("crew://thread?after=1")), ["post 2", "post 3"]);
}

fn says(scene: &crate::scene::Scene, count: usize, text: impl Fn(usize) -> String) {
    let run = run(scene);
    let mut thread = run.thread.lock(std::time::Duration::from_secs(10)).unwrap();
    for number in 1..=count {
        let draft = ::board::thread::Draft { from: "bob".into(), text: text(number), ..::board::thread::Draft::default() };
        thread.append(draft).unwrap();
    }
}

#[test]
fn what_is_long_says_how_to_read_on() {
    let scene = scene();
    let long = "x".repeat(30 << 10);
    (1..=20).for_each(|id| scene.task(&id.to_string(), json!({ "description": long })));
    scene.task("21", json!({ "description": "y\n".repeat(300 << 10) }));
    says(&scene, 250, |number| format!("{number} {}", "x".repeat(2000)));
    let mut client = at_desk(&scene, "alice");

    let mut pages = |first: &str, key: &str| {
        let (mut uri, mut seen, mut count) = (first.to_owned(), Vec::new(), 0);
        loop {
            let parts = client.read(&uri).unwrap();
            let page: Vec<Value> = serde_json::from_str(parts[0]["text"].as_str().unwrap()).unwrap();
            assert!(parts[0]["text"].as_str().unwrap().len() <= (256 << 10) || page.len() == 1);
            seen.extend(page.iter().map(|one| one[key].as_u64().unwrap()));
            count += 1;
            let Some(more) = parts.get(1) else { return (seen, count) };
            assert_eq!(more["mimeType"], "text/plain");
            uri = more["text"].as_str().unwrap().strip_prefix("There is more: ").unwrap().to_owned();
        }
    };
    let (tasks, count) = pages("crew://board", "id");
    assert!(tasks == (1..=21).collect::<Vec<_>>() && count > 2, "{tasks:?} in {count}");
    let (posts, count) = pages("crew://thread?after=0", "seq");
    assert!(posts == (1..=250).collect::<Vec<_>>() && count > 1, "{posts:?} in {count}");

    let parts = client.read("crew://thread").unwrap();
    let last: Vec<Value> = serde_json::from_str(parts[0]["text"].as_str().unwrap()).unwrap();
    assert!(last.last().unwrap()["seq"] == 250 && last.len() < 200 && last.len() > 50, "{}", last.len());
    assert!(parts[1]["text"].as_str().unwrap().contains("crew://thread?after=0"), "{}", parts[1]);

    let parts = client.read("crew://task/21").unwrap();
    assert_eq!(parts[0]["mimeType"], "text/plain");
    assert!(parts[0]["text"].as_str().unwrap().len() <= 256 << 10);
    assert!(parts[1]["text"].as_str().unwrap().contains("`crew show 21`"), "{}", parts[1]);
}

#[test]
fn nothing_else_can_be_read() {
    let scene = scene();
    scene.put("secret.json", "{\"subject\":\"s3cr3t\"}");
    scene.put(".tasks/task_link.json", "");
    std::fs::remove_file(scene.tasks().join("task_link.json")).unwrap();
    std::os::unix::fs::symlink(scene.project().join("secret.json"), scene.tasks().join("task_link.json")).unwrap();
    let mut client = at_desk(&scene, "alice");
    for uri in [
        "crew://task/../../secret",
        "crew://task/..%2F..%2Fsecret",
        "crew://task/",
        "crew://task/9",
        "crew://task/a/b",
        "crew://task//etc/passwd",
        "crew://task/1?x=1",
        "crew://task/\u{0}",
        "crew://board/",
        "crew://board?offset=-1",
        "crew://board?after=1",
        "crew://thread?after=x",
        "crew://other",
        "file:///etc/passwd",
        "/etc/passwd",
        "",
        &format!("crew://task/{}", "x".repeat(100_000)),
    ] {
        let error = client.read(uri).expect_err(uri);
        assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!(uri)), "{error}");
    }
    let linked = client.read("crew://task/link").map_or_else(|error| error.to_string(), |parts| json!(parts).to_string());
    assert!(!linked.contains("s3cr3t") && !client.read_json("crew://board").to_string().contains("s3cr3t"), "{linked}");
    for id in ["../../secret", "..", "/etc/passwd", "a\nb", ""] {
        for (name, arguments) in [("task_get", json!({ "id": id })), ("claim_task", json!({ "id": id })), ("task_update", json!({ "id": id, "subject": "x" }))]
        {
            client.refused(name, arguments, "task id");
        }
    }
    for to in ["../bob", "user/..", "nobody"] {
        assert!(client.call("send_message", json!({ "to": to, "text": "x" })).is_err());
    }
}
