//! What the verbs of people do, and what they say of it.

use serde_json::{Value, json};

use super::{ids, objects, ready};
use crate::scene::Scene;

#[test]
fn a_failure_spends_a_retry_and_a_person_gives_new_ones() {
    let scene = Scene::new();
    scene.task("1", json!({ "retries": 1 }));
    let fail = |words: &[&str]| {
        scene.run(&["claim", "1", "--as", "me"]).succeeded();
        scene.run(&[&["fail", "1", "--as", "me", "--json"], words].concat()).succeeded()
    };
    assert_eq!(objects(&fail(&["--reason", "broke", "--exit", "3"])), [json!({ "id": 1, "status": "pending" })]);
    assert_eq!(objects(&fail(&[])), [json!({ "id": 1, "status": "failed" })]);
    assert_eq!((&scene.read("1")["attempts"][0]["reason"], &scene.read("1")["attempts"][0]["exit"]), (&json!("broke"), &json!(3)));
    scene.run(&["claim", "--as", "me"]).ended_with(6);
    assert_eq!(objects(&scene.run(&["retry", "1", "1", "--json"]).succeeded()), [json!({ "id": 1, "status": "pending" })]);
    fail(&[]);
    assert_eq!(scene.status("1"), "pending", "the count began anew");
    scene.run(&["claim", "1", "--as", "me"]).succeeded();
    let done = scene.run(&["finish", "1", "--as", "me", "--summary", "at last", "--exit", "0"]).succeeded();
    assert!(done.out.is_empty() && done.err.is_empty(), "confirmations are for people: {done:?}");
    assert_eq!((scene.summary("1"), scene.outcomes("1").len()), ("at last".into(), 4));
}

#[test]
fn what_waits_for_a_cancelled_task_is_named_and_stays() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    scene.task("2", json!({ "blockedBy": ["1"] }));
    scene.task("3", json!({ "blockedBy": ["2"] }));
    scene.task("4", json!({ "status": "completed", "blockedBy": [] , "dependsOn": ["1"] }));
    let ran = scene.run(&["cancel", "1"]).succeeded();
    assert!(ran.err.contains("2; `crew unblock`") && !ran.err.contains("4"), "{ran:?}");
    assert_eq!(ready(&scene), Vec::<String>::new());
    scene.run(&["reopen", "1"]).succeeded();
    let ran = scene.run(&["cancel", "1", "--cascade", "--json"]).succeeded();
    assert_eq!(objects(&ran), [json!({ "cancelled": [1, 2, 3], "waiting": [] })]);
    scene.run(&["reopen", "2"]).succeeded();
    scene.run(&["unblock", "2"]).succeeded();
    assert_eq!(ready(&scene), ["2"]);
    assert_eq!(scene.read("2")["dependsOn"], json!([1]), "the graph keeps the edge");
}

#[test]
fn a_cancelled_task_is_taken_from_its_holder() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    scene.run(&["claim", "1", "--as", "me"]).succeeded();
    scene.run(&["cancel", "1"]).succeeded();
    let late = scene.run(&["finish", "1", "--as", "me"]).ended_with(4);
    assert!(late.err.contains("cancelled"), "{late:?}");
    assert_eq!(scene.outcomes("1"), ["released"]);
}

#[test]
fn edges_go_in_and_out() {
    let scene = Scene::new();
    for id in ["1", "2", "3"] {
        scene.task(id, json!({}));
    }
    scene.run(&["block", "3", "--by", "1,2"]).succeeded();
    assert_eq!(ready(&scene), ["1", "2"]);
    let cycle = scene.run(&["block", "1", "--by", "3"]).ended_with(4);
    assert!(cycle.err.contains("1 → 3 → 1"), "{cycle:?}");
    let ran = scene.run(&["unblock", "3", "--from", "1", "--json"]).succeeded();
    assert_eq!(objects(&ran), [json!({ "id": 3, "status": "pending", "blockedBy": [2] })]);
    scene.run(&["claim", "2", "--as", "me"]).succeeded();
    scene.run(&["finish", "2", "--as", "me"]).succeeded();
    assert_eq!(ready(&scene), ["1", "3"]);
}

#[test]
fn an_edit_changes_its_keys_and_no_other() {
    let scene = Scene::new();
    scene.put(".tasks/task_1.json", r#"{"x":1.10,"subject":"old","description":"brief","zeta":[1e2]}"#);
    scene
        .run(&["edit", "1", "--subject", "new", "--priority", "4", "--timeout", "90s", "--set", "own={\"a\": 1.50}", "--unset", "description,absent"])
        .succeeded();
    let text = scene.file(".tasks/task_1.json");
    let order: Vec<usize> = ["\"x\": 1.10", "\"subject\": \"new\"", "\"zeta\"", "1e2", "\"priority\": 4", "\"timeout\": \"90s\"", "1.50"]
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(order.is_sorted() && !text.contains("description"), "{text}");
    let wrong = scene.run(&["edit", "1", "--set", "own=text"]).ended_with(2);
    assert!(wrong.err.contains("own='\"…\"'"), "{wrong:?}");
    let ran = scene.run(&["edit", "1", "--keep=false", "--json"]).succeeded();
    assert_eq!(objects(&ran), [json!({ "id": 1, "changed": ["keep"] })]);
}

#[test]
fn the_archive_keeps_what_is_done() {
    let scene = Scene::new();
    scene.task("1", json!({ "status": "completed", "updated": "2026-01-02T03:04:05Z" }));
    scene.task("2", json!({ "blockedBy": ["1"], "dependsOn": ["1"] }));
    scene.task("3", json!({ "status": "cancelled" }));
    scene.task("4", json!({ "blockedBy": ["3"] }));
    scene.task("5", json!({ "status": "completed" }));
    scene.task("6", json!({ "status": "failed" }));
    let old = scene.run(&["archive", "--older-than", "1h", "--json"]).succeeded();
    assert_eq!(objects(&old), [json!({ "archived": [1] })], "5 was written just now");
    let all = scene.run(&["archive", "--all-finished", "--json"]).succeeded();
    assert_eq!(objects(&all), [json!({ "archived": [5] })], "somebody waits for 3");
    assert_eq!(ids(&objects(&scene.run(&["ls", "--json"]).succeeded())), ["2", "3", "4", "6"]);
    assert_eq!(ready(&scene), ["2"], "what waited for a completed one is not blocked by its going");
    let shown = scene.run(&["show", "1"]).succeeded();
    assert!(shown.out.contains(".board/archive/task_1.json") && shown.out.contains("completed"), "{shown:?}");
    let shown: Value = serde_json::from_str(&scene.run(&["show", "1", "--json"]).succeeded().out).unwrap();
    assert_eq!((&shown["ready"], &shown["why"]), (&json!(false), &json!("it is archived")));
    assert_eq!(scene.run(&["add", "x"]).succeeded().out, "7\n", "its number is not given again");
    scene.run(&["add", "x", "--id", "5"]).ended_with(4);
    assert!(scene.run(&["graph", "--json"]).succeeded().out.lines().any(|line| line.contains("\"id\":2") && line.contains("\"waitsFor\":[]")));
}

#[test]
fn a_board_is_made_where_one_stands_or_where_it_is_said() {
    let scene = Scene::new();
    assert!(scene.file(".tasks/.board/board.json").contains("full"));
    let again = scene.run(&["init", "--relaxed", "--json"]).succeeded();
    assert_eq!(objects(&again), [json!({ "board": scene.tasks(), "durability": "relaxed", "made": false })]);
    assert!(scene.file(".tasks/.board/board.json").contains("relaxed"));
    scene.run(&["add", "x"]).succeeded();
    // From below, by -C, and by CREW_BOARD it is the same board.
    std::fs::create_dir_all(scene.project().join("deep/down")).unwrap();
    std::fs::create_dir_all(scene.home().join("elsewhere")).unwrap();
    let listed = |mut command: std::process::Command| {
        command.current_dir(scene.home());
        ids(&objects(&scene.start(command).ended().succeeded()))
    };
    let deep = scene.project().join("deep/down");
    assert_eq!(listed(scene.crew(&["-C", deep.to_str().unwrap(), "ls", "--json"])), ["1"]);
    let mut named = scene.crew(&["ls", "--json"]);
    named.env("CREW_BOARD", scene.tasks());
    assert_eq!(listed(named), ["1"]);
    let mut made = scene.crew(&["init"]);
    made.env("CREW_BOARD", scene.home().join("elsewhere/.tasks"));
    scene.start(made).ended().succeeded();
    assert!(scene.home().join("elsewhere/.tasks/.board").is_dir());
    let mut wrong = scene.crew(&["init"]);
    wrong.env("CREW_BOARD", scene.home().join("elsewhere/tasks"));
    scene.start(wrong).ended().ended_with(2);
    let nowhere = scene.run(&["-C", "nowhere", "ls"]).ended_with(2);
    assert!(nowhere.err.contains("nowhere"), "{nowhere:?}");
}
