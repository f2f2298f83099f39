//! `crew add`: one task, a task a line, whole documents.

use serde_json::{Value, json};

use super::{fed, ids, objects};
use crate::scene::Scene;

#[test]
fn a_task_says_what_its_options_say() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["add", "write", "the", "parser"]).succeeded().out, "1\n");
    let options = [
        "add",
        "--subject",
        "all of it",
        "--description",
        "# A brief\nwith lines",
        "--run",
        "make \"it\"",
        "--check",
        "test -s it",
        "--blocked-by",
        "1",
        "--priority",
        "-2",
        "--owner",
        "alice",
        "--tier",
        "mid",
        "--role",
        "coder",
        "--needs",
        "write,browser",
        "--plan",
        "p",
        "--timeout",
        "90s",
        "--retries",
        "2",
        "--keep",
        "--worktree=false",
        "--id",
        "a b",
        "--json",
    ];
    let ran = scene.run(&options).succeeded();
    assert_eq!(objects(&ran), [json!({ "id": "a b" })]);
    let mut task = scene.read("a b");
    let object = task.as_object_mut().unwrap();
    for key in ["created", "updated"] {
        assert!(object.remove(key).unwrap().as_str().unwrap().ends_with('Z'));
    }
    let expected = json!({
        "id": "a b", "subject": "all of it", "description": "# A brief\nwith lines", "status": "pending", "owner": "alice", "blockedBy": [1], "dependsOn": [1],
        "priority": -2, "tier": "mid", "role": "coder", "needs": ["write", "browser"], "plan": "p", "run": "make \"it\"", "check": "test -s it", "timeout": "90s",
        "retries": 2, "keep": true, "worktree": false,
    });
    assert_eq!(task, expected);
    let text = scene.file(".tasks/task_1.json");
    assert!(text.starts_with("{\n  \"id\": 1,\n  \"subject\": \"write the parser\",\n  \"status\": \"pending\","), "as people read it: {text}");
    assert!(text.ends_with("}\n"), "{text}");
    // Without a subject the command says what it is.
    scene.run(&["add", "--run", "make test"]).succeeded();
    assert_eq!(scene.read("2")["subject"], "make test");
}

#[test]
fn ids_are_never_given_twice() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["add", "x"]).succeeded().out, "1\n");
    scene.task("7", json!({}));
    assert_eq!(scene.run(&["add", "x", "--id", "40"]).succeeded().out, "40\n");
    assert_eq!(scene.run(&["add", "x"]).succeeded().out, "41\n", "above every number");
    std::fs::remove_file(scene.tasks().join("task_41.json")).unwrap();
    assert_eq!(scene.run(&["add", "x"]).succeeded().out, "42\n", "a removed one too");
    scene.task("43", json!({}));
    assert_eq!(scene.run(&["add", "x"]).succeeded().out, "44\n", "nothing that was dropped is replaced");
}

/// Lines that a shell would read otherwise, were they not quoted.
const HOSTILE: [&str; 12] =
    ["plain", "with space", "it's", "\"double\"", "$(touch pwned)", "`touch pwned`", "; touch pwned", "-n", "a\\b", "*", "dir/sub dir/né", "$HOME && true"];

#[test]
fn a_line_is_one_word_of_the_command_and_plain_in_the_subject() {
    let scene = Scene::new();
    let input = format!("{}\n\n\n", HOSTILE.join("\n"));
    let ran = fed(&scene, &["add", "--run", "printf '<%s>' {} \"in {}\" 'in {/}' >> out", "--subject", "do {/} of {}"], input).succeeded();
    let expected: Vec<String> = (1..=HOSTILE.len()).map(|n| n.to_string()).collect();
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected, "one id for each line, none for the empty ones");
    assert_eq!(scene.read("3")["subject"], "do it's of it's");
    assert_eq!(scene.read("11")["subject"], "do né of dir/sub dir/né");
    for (id, line) in expected.iter().zip(HOSTILE) {
        let run = scene.read(id)["run"].as_str().unwrap().to_owned();
        let mut shell = scene.program("sh");
        shell.args(["-c", &run]);
        scene.start(shell).ended().succeeded();
        let base = line.rsplit('/').next().unwrap();
        assert_eq!(scene.file("out"), format!("<{line}><in {line}><in {base}>"), "{run}");
        std::fs::remove_file(scene.project().join("out")).unwrap();
    }
    assert!(!scene.has("pwned"));
}

#[test]
fn stdin_is_read_only_for_templates() {
    let scene = Scene::new();
    fed(&scene, &["add", "no place for a line", "--run", "cat"], "a line\n").succeeded();
    let literal = fed(&scene, &["add", "--run", "find . -exec rm {} +", "--literal"], "a line\n").succeeded();
    assert_eq!(literal.out, "2\n");
    assert_eq!(scene.read("2")["run"], "find . -exec rm {} +");
    let none = fed(&scene, &["add", "--run", "rm {}"], "").succeeded();
    assert!(none.out.is_empty() && none.err.contains("no line on stdin"), "{none:?}");
    let named = fed(&scene, &["add", "-0", "--subject", "pack {}", "--run", "gzip {}", "--id", "pack-{/}"], "a\nb.txt\0c.txt\0").ended_with(2);
    assert!(named.err.contains("control character"), "an id has no line breaks: {named:?}");
    let null = fed(&scene, &["add", "-0", "--subject", "pack {}", "--run", "gzip {}"], "a\nb\0c\0").succeeded();
    assert_eq!(null.out.lines().count(), 2);
    assert_eq!((&scene.read("3")["subject"], &scene.read("3")["run"]), (&json!("pack a b"), &json!("gzip 'a\nb'")));
    let bytes = fed(&scene, &["add", "--run", "rm {}"], b"fine\n\xff\n").ended_with(4);
    assert!(bytes.err.contains("stdin:2"), "{bytes:?}");
}

#[test]
fn whole_documents_keep_what_they_say() {
    let scene = Scene::new();
    let lines = [
        r#"{"subject":"first","id":"one","x":1.10}"#,
        "",
        r#"{"subject":"second","blockedBy":["one"],"run":["echo","a b"]}"#,
        r#"  {"status":"completed","subject":"third","id":9}  "#,
    ];
    let ran = fed(&scene, &["add", "--jsonl", "-"], lines.join("\n")).succeeded();
    assert_eq!(ran.out, "one\n1\n9\n");
    assert!(scene.file(".tasks/task_one.json").contains("\"x\": 1.10"));
    assert_eq!((&scene.read("1")["run"], &scene.read("1")["dependsOn"]), (&json!(["echo", "a b"]), &json!(["one"])));
    assert_eq!(scene.status("9"), "completed");
}

#[test]
fn two_thousand_at_once() {
    let scene = Scene::new();
    let lines: String = (0..2000).map(|n| format!("{{\"subject\":\"s{n}\"}}\n")).collect();
    let ran = fed(&scene, &["add", "--jsonl", "-"], lines).succeeded();
    let expected: Vec<String> = (1..=2000).map(|n| n.to_string()).collect();
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected);
    let list = objects(&scene.run(&["ls", "--json"]).succeeded());
    assert_eq!(ids(&list), expected, "in natural order");
    assert!(list.iter().enumerate().all(|(n, task)| task["subject"] == Value::String(format!("s{n}"))));
}
