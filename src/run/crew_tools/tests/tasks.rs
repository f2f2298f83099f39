use super::*;

#[test]
fn a_task_that_a_model_makes_is_one_as_of_anybody() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    let first = bench.add(json!({}));
    let input = json!({
        "subject": "write the parser\nnow", "description": "See notes.md", "blockedBy": [first], "priority": 5, "tier": "mid",
        "role": "coder", "owner": "bob", "needs": ["write"],
    });
    assert_eq!(bench.done(&at, "task_create", input), "It is task 2.");
    let task = bench.task("2");
    for (key, value) in [
        ("subject", json!("write the parser now")),
        ("description", json!("See notes.md")),
        ("blockedBy", json!([1])),
        ("priority", json!(5)),
        ("tier", json!("mid")),
        ("role", json!("coder")),
        ("owner", json!("bob")),
        ("needs", json!(["write"])),
        ("status", json!("pending")),
    ] {
        assert!(task[key] == value || (key == "blockedBy" && task[key] == json!(["1"])), "{key}: {task}");
    }
    assert!(task["run"].is_null() && task["check"].is_null() && task["claim"].is_null(), "{task}");
}

#[test]
fn what_is_no_task_is_refused() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    for (input, because) in [
        (json!({ "subject": " \n" }), "give it a `subject`"),
        (json!({ "subject": "x", "owner": "carol" }), "nobody is called carol"),
        (json!({ "subject": "x", "owner": "user" }), "reserved"),
        (json!({ "subject": "x", "tier": "best" }), "tier"),
        (json!({ "subject": "x", "blockedBy": ["9"] }), "there is no task 9"),
        (json!({ "subject": "x", "blockedBy": ["../1"] }), "path separator"),
        (json!({ "subject": "x", "status": "completed" }), "unknown field `status`"),
        (json!({ "subject": "x", "claim": {} }), "unknown field `claim`"),
        (json!({ "subject": "x", "id": "7" }), "unknown field `id`"),
    ] {
        bench.refused(&at, "task_create", input, because);
    }
}

#[test]
fn only_who_may_run_makes_commands() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    let id = bench.add(json!({}));
    for key in ["run", "check"] {
        bench.refused(&at, "task_create", json!({ "subject": "x", (key): "rm -rf ." }), &format!("unknown field `{key}`"));
        bench.refused(&at, "task_update", json!({ "id": id, (key): "rm -rf ." }), &format!("unknown field `{key}`"));
        // Also where the tool has the key, for whatever reason.
        let crew = CrewTools::of(bench.workplace.clone(), &bench.profile).of_turn(&at);
        let create = serde_json::from_value(json!({ "subject": "x", (key): "true" })).unwrap();
        let update = serde_json::from_value(json!({ "id": id, (key): "true" })).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(crew.task_create(create)).unwrap_err().contains("mayRun"));
        assert!(runtime.block_on(crew.task_update(update)).unwrap_err().contains("mayRun"));
    }
    assert_eq!(bench.tasks().len(), 1);

    let may = Bench::with("mayRun: true\n");
    let at = may.thread_turn("alice");
    may.done(&at, "task_create", json!({ "subject": "x", "run": "true", "check": "test -e out" }));
    assert_eq!((&may.task("1")["run"], &may.task("1")["check"]), (&json!("true"), &json!("test -e out")));
    may.done(&at, "task_update", json!({ "id": "1", "check": "true" }));
    assert_eq!(may.task("1")["check"], "true");
}

#[test]
fn a_task_is_changed_whole_or_not_at_all() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    for _ in 0..3 {
        bench.add(json!({}));
    }
    bench.done(&at, "task_update", json!({ "id": "2", "subject": "new", "priority": 7, "owner": "alice", "blockOn": ["1"] }));
    let task = bench.task("2");
    assert_eq!((&task["subject"], &task["priority"], &task["owner"]), (&json!("new"), &json!(7), &json!("alice")));
    assert_eq!(task["blockedBy"].as_array().unwrap().len(), 1);
    bench.done(&at, "task_update", json!({ "id": "2", "blockOn": ["3"], "unblockFrom": ["1"] }));
    assert_eq!(bench.task("2")["blockedBy"].to_string().replace('"', ""), "[3]");
    for (input, because) in [
        (json!({ "id": "2" }), "say what is to change"),
        (json!({ "id": "9", "subject": "x" }), "9"),
        (json!({ "id": "3", "subject": "x", "blockOn": ["2"] }), "wait for each other: 3 → 2"),
        (json!({ "id": "3", "subject": "x", "blockOn": ["3"] }), "itself"),
        (json!({ "id": "3", "subject": "x", "blockOn": ["9"] }), "there is no task 9"),
        (json!({ "id": "3", "subject": "x", "unblockFrom": ["1"] }), "does not wait for 1"),
        (json!({ "id": "3", "subject": "x", "tier": "best" }), "tier"),
        (json!({ "id": "3", "owner": "carol" }), "nobody is called carol"),
        (json!({ "id": "3", "status": "completed" }), "unknown field `status`"),
        (json!({ "id": "3", "parked": null }), "unknown field `parked`"),
    ] {
        bench.refused(&at, "task_update", input, because);
    }
}

#[test]
fn what_somebody_works_on_is_not_changed_under_its_hands() {
    let bench = Bench::with("mayRun: true\n");
    let thread = bench.thread_turn("alice");
    let (own, of_bob) = (bench.add(json!({})), bench.add(json!({})));
    let done = bench.add(json!({ "status": "completed" }));
    let at = bench.task_turn("alice", &own);
    bench.claim("bob", &of_bob);
    for at in [&thread, &at] {
        bench.refused(at, "task_update", json!({ "id": of_bob, "description": "do this instead" }), "bob works on task 2");
        bench.refused(at, "task_update", json!({ "id": of_bob, "blockOn": [own] }), "bob works on task 2");
        bench.refused(at, "task_update", json!({ "id": done, "description": "it was this" }), "is completed");
    }
    // Not even its own terms.
    for (key, value) in [("check", "true"), ("run", "true"), ("owner", "bob"), ("role", "x"), ("tier", "top")] {
        bench.refused(&at, "task_update", json!({ "id": own, (key): value }), "while you work on it");
    }
    bench.done(&at, "task_update", json!({ "id": own, "description": "what it turned out to be" }));
    // Its other turns hold nothing.
    bench.refused(&thread, "task_update", json!({ "id": own, "description": "x" }), "alice works on task 1");
}

#[test]
fn a_claimed_task_is_given_next() {
    let bench = Bench::with("tier: mid\n");
    let at = bench.thread_turn("alice");
    bench.add(json!({ "priority": 9 }));
    bench.add(json!({}));
    let said = bench.done(&at, "claim_task", json!({ "id": "2" }));
    assert!(said.contains("when this turn has ended"), "{said}");
    let task = bench.task("2");
    assert_eq!((&task["owner"], &task["status"], &task["claim"]), (&json!("alice"), &json!("pending"), &Value::Null));
    bench.done(&at, "claim_task", json!({ "id": "2" }));
    assert!(bench.done(&at, "claim_task", json!({})).contains("Task 2"), "its own comes first");
    for (document, because) in [
        (json!({ "owner": "bob" }), "dispatched to bob"),
        (json!({ "role": "tester" }), "it wants role tester"),
        (json!({ "tier": "top" }), "tier top"),
        (json!({ "needs": ["browser"] }), "`browser`"),
        (json!({ "run": "true" }), "it has a command"),
        (json!({ "blockedBy": ["1"] }), "blocked by 1"),
        (json!({ "status": "completed" }), "completed"),
        (json!({ "status": "in_progress", "parked": { "on": "ask" } }), "parked"),
    ] {
        let id = bench.add(document);
        bench.refused(&at, "claim_task", json!({ "id": id }), because);
    }
    bench.claim("bob", "1");
    bench.refused(&at, "claim_task", json!({ "id": "1" }), "bob holds it");
    bench.refused(&at, "claim_task", json!({ "id": "99" }), "99");
    let working = bench.task_turn("alice", "2");
    bench.refused(&working, "claim_task", json!({ "id": "2" }), "the one that you are working on");
    bench.refused(&working, "claim_task", json!({}), "no task that you could claim");
}

#[test]
fn what_is_made_in_a_planning_turn_is_a_proposal() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    let thread = bench.run.thread.lock(PATIENCE).unwrap();
    let open = thread.open_turn().unwrap().unwrap();
    thread.set_open_turn(Some(&OpenTurn { planning: true, ..open })).unwrap();
    drop(thread);
    assert!(bench.done(&at, "task_create", json!({ "subject": "first", "owner": "bob" })).contains("part of your proposal"));
    bench.done(&at, "task_create", json!({ "subject": "second" }));
    assert_eq!(
        (&bench.task("1")["status"], &bench.task("1")["parked"]["on"], &bench.task("1")["owner"]),
        (&json!("in_progress"), &json!("ask"), &json!("bob"))
    );
    bench.done(&at, "task_update", json!({ "id": "2", "blockOn": ["1"], "subject": "the second" }));
    assert_eq!(bench.task("2")["blockedBy"].as_array().unwrap().len(), 1);
    bench.refused(&at, "claim_task", json!({ "id": "1" }), "parked");
    bench.refused(&at, "task_update", json!({ "id": "1", "parked": {} }), "unknown field");
    // Another turn, of somebody else, makes tasks as ever.
    let working = bench.message_turn();
    let other = At { name: Bench::name("bob"), ..working };
    assert!(!bench.done(&other, "task_create", json!({ "subject": "x" })).contains("proposal"));
    assert_eq!(bench.task("3")["status"], "pending");
}

#[test]
fn what_it_has_claimed_is_what_it_takes_up_next() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    bench.add(json!({ "priority": 9 }));
    bench.add(json!({ "priority": 1 }));
    bench.done(&at, "claim_task", json!({ "id": "2" }));
    let claimant = teammate::claimant(&bench.profile);
    let mut board = bench.workplace.board();
    let mut locked = board.lock(PATIENCE).unwrap();
    let next = |locked: &mut board::locked::LockedBoard<'_>| locked.claim(None, &claimant, None, &Terms::default()).unwrap().unwrap().task.id.to_string();
    assert_eq!([next(&mut locked), next(&mut locked)], ["2", "1"]);
}
