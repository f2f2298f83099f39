//! Claims from a shell: one holder at a time, one completion, and what a name may do.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{ids, objects, ready};
use crate::scene::{Scene, until};

#[test]
fn eight_shells_finish_every_task_once() {
    const TASKS: usize = 240;
    let scene = Scene::new();
    scene.run(&["init", "--relaxed"]).succeeded();
    let drafts: String = (1..=TASKS).map(|n| format!("{{\"subject\":\"task {n}\",\"priority\":{}}}\n", n % 3)).collect();
    super::fed(&scene, &["add", "--jsonl", "-"], drafts).succeeded();

    let script = r#"while id=$("$CREW" claim --as "$1"); do "$CREW" finish "$id" --as "$1" && echo "$id"; done"#;
    let shells: Vec<_> = (0..8)
        .map(|n| {
            let mut shell = scene.program("sh");
            shell.args(["-c", script, "sh", &format!("w{n}")]);
            scene.start(shell)
        })
        .collect();
    let mut finished: Vec<usize> = Vec::new();
    for shell in shells {
        // The loop ends with the exit code of its last claim: nothing is left.
        let ran = shell.ended().succeeded();
        finished.extend(ran.out.lines().map(|id| id.parse::<usize>().unwrap()));
    }
    finished.sort_unstable();
    assert_eq!(finished, (1..=TASKS).collect::<Vec<_>>(), "each once, none left out");
    for id in 1..=TASKS {
        let task = scene.read(&id.to_string());
        let attempts = task["attempts"].as_array().unwrap();
        assert_eq!((task["status"].as_str(), attempts.len()), (Some("completed"), 1), "{task}");
        assert_eq!((&attempts[0]["outcome"], &attempts[0]["by"]), (&json!("done"), &task["owner"]), "finished by its claimer");
    }
}

#[test]
fn a_name_holds_one_at_a_time() {
    let scene = Scene::new();
    for id in ["1", "2", "3"] {
        scene.task(id, json!({}));
    }
    let first = &objects(&scene.run(&["claim", "--as", "me", "--json"]).succeeded())[0];
    assert_eq!((&first["id"], &first["attempt"]), (&json!(1), &json!(1)));
    let refused = scene.run(&["claim", "--as", "me"]).ended_with(4);
    assert!(refused.err.contains("me holds task 1 already") && refused.err.contains("--resume") && refused.out.is_empty(), "{refused:?}");
    let again = &objects(&scene.run(&["claim", "--as", "me", "--resume", "--json"]).succeeded())[0];
    assert_eq!(again, first, "the same turn, printed again");
    assert_eq!(scene.run(&["claim", "--as", "me", "--another"]).succeeded().out, "2\n");
    assert_eq!(scene.run(&["claim", "--as", "you"]).succeeded().out, "3\n");
    let nothing = scene.run(&["claim", "--as", "them"]).ended_with(6);
    assert!(nothing.out.is_empty(), "{nothing:?}");
    scene.run(&["next", "--as", "them"]).ended_with(6);
}

#[test]
fn of_eight_claims_of_one_name_at_once_one_is_granted() {
    let scene = Scene::new();
    (1..=8).for_each(|id| scene.task(&id.to_string(), json!({})));
    for _ in 0..5 {
        let claims: Vec<_> = (0..8).map(|_| scene.start(scene.crew(&["claim", "--as", "me"]))).collect();
        let mut codes: Vec<_> = claims.into_iter().map(|claim| claim.ended().code()).collect();
        codes.sort();
        assert_eq!(codes, [[Some(0)].as_slice(), &[Some(4); 7]].concat());
        let held = ids(&objects(&scene.run(&["ls", "--json", "--status", "in_progress"]).succeeded()));
        scene.run(&["release", &held[0], "--as", "me"]).succeeded();
    }
}

#[test]
fn a_claim_is_resumed_for_its_holder_only() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    scene.task("2", json!({}));
    let holder = || scene.program("cat").stdin(Stdio::piped()).spawn().unwrap();
    let (mut one, mut other) = (holder(), holder());
    let claim = |pid: u32, resume: &[&str]| scene.run(&[&["claim", "--as", "me", "--holder", &pid.to_string()], resume].concat());
    assert_eq!(claim(one.id(), &[]).succeeded().out, "1\n");
    assert_eq!(claim(one.id(), &["--resume"]).succeeded().out, "1\n");
    let refused = claim(other.id(), &["--resume"]).ended_with(4);
    assert!(refused.err.contains("task 1"), "{refused:?}");

    // The holder is gone: whoever claims next puts its task back and may have it.
    one.kill().unwrap();
    one.wait().unwrap();
    assert_eq!(scene.run(&["claim", "1", "--as", "you"]).succeeded().out, "1\n");
    assert_eq!(scene.outcomes("1"), ["lost"]);
    let late = scene.run(&["finish", "1", "--as", "me"]).ended_with(4);
    assert!(late.err.contains("[one-holder]"), "{late:?}");
    other.kill().unwrap();
    other.wait().unwrap();
    let gone = scene.run(&["claim", "--as", "me", "--holder", &one.id().to_string()]).ended_with(2);
    assert!(gone.err.contains("no process"), "{gone:?}");
}

#[test]
fn a_lease_runs_out() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let claimed = &objects(&scene.run(&["claim", "--as", "me", "--lease", "1ms", "--json"]).succeeded())[0];
    let turn = claimed["turn"].as_str().unwrap();
    until("it is another's", || scene.run(&["claim", "1", "--as", "you"]).code() == Some(0));
    let late = scene.run(&["finish", "1", "--as", "me", "--turn", turn]).ended_with(4);
    assert!(late.err.contains("[turn-over]"), "{late:?}");
    scene.run(&["release", "1", "--as", "you"]).succeeded();
    // An earlier turn of that name was lost: from now on it must say which one it means.
    let again = &objects(&scene.run(&["claim", "--as", "me", "--json"]).succeeded())[0];
    let nameless = scene.run(&["finish", "1", "--as", "me"]).ended_with(4);
    assert!(nameless.err.contains("[turn-needed]"), "{nameless:?}");
    scene.run(&["finish", "1", "--as", "me", "--turn", again["turn"].as_str().unwrap()]).succeeded();
    assert_eq!(scene.outcomes("1"), ["lost", "released", "done"]);
}

#[test]
fn the_turn_comes_from_the_environment_of_its_task() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let claimed = &objects(&scene.run(&["claim", "--as", "me", "--json"]).succeeded())[0];
    let turn = claimed["turn"].as_str().unwrap();
    let finish = |turn: &str, task: Option<&str>| {
        let mut command = scene.crew(&["finish", "1"]);
        command.env("CREW_AS", "me").env("CREW_TURN", turn).envs(task.map(|task| ("CREW_TASK_ID", task)));
        scene.start(command).ended()
    };
    let over = finish("an-earlier-one", Some("1")).ended_with(4);
    assert!(over.err.contains("[turn-over]"), "{over:?}");
    finish("an-earlier-one", None).ended_with(4);
    assert_eq!(scene.status("1"), "in_progress");
    // The turn of another task says nothing about this one.
    finish("of-another", Some("2")).succeeded();

    scene.run(&["reopen", "1", "--because", "again"]).succeeded();
    scene.run(&["claim", "1", "--as", "me"]).succeeded();
    let over = finish(turn, Some("1")).ended_with(4);
    assert!(over.err.contains("is over"), "{over:?}");
}

#[test]
fn a_turn_that_was_taken_away_cannot_finish() {
    let scene = Scene::new();
    scene.task("1", json!({}));
    let claimed = &objects(&scene.run(&["claim", "--as", "me", "--json"]).succeeded())[0];
    let turn = claimed["turn"].as_str().unwrap();
    scene.run(&["release", "1", "--force", "--reason", "it takes too long"]).succeeded();
    assert_eq!(scene.reason("1"), "it takes too long");
    scene.run(&["claim", "1", "--as", "you"]).succeeded();
    for verb in ["finish", "fail", "release"] {
        let late = scene.run(&[verb, "1", "--as", "me", "--turn", turn]).ended_with(4);
        assert!(late.err.contains("[turn-over]"), "{verb}: {late:?}");
    }
    assert_eq!(scene.read("1")["owner"], "you");
}

#[test]
fn a_dispatched_task_comes_first_and_goes_back_to_its_own() {
    let scene = Scene::new();
    scene.task("1", json!({ "priority": 9 }));
    scene.task("2", json!({ "owner": "bob" }));
    assert_eq!(ready(&scene), ["1"], "2 is for bob alone");
    assert_eq!(scene.run(&["next", "--as", "bob"]).succeeded().out, "2\n");
    assert_eq!(scene.run(&["claim", "--as", "bob"]).succeeded().out, "2\n");
    scene.run(&["release", "2", "--as", "bob"]).succeeded();
    assert_eq!(scene.read("2")["owner"], "bob");
    assert_eq!(scene.run(&["claim", "--as", "eve"]).succeeded().out, "1\n");
    scene.run(&["release", "1", "--as", "eve"]).succeeded();
    assert_eq!(scene.read("1")["owner"], Value::Null);
}

#[test]
fn a_teammate_with_a_profile_would_claim_what_fits_it() {
    let scene = Scene::new();
    scene.task("1", json!({ "tier": "top", "description": "think" }));
    scene.task("2", json!({ "run": "true" }));
    assert_eq!(scene.run(&["next", "--as", "cmd"]).succeeded().out, "1\n", "without a profile: a shell, which fits everything");
    scene.put(".crew/teammates/cmd.md", "---\nrunner: command\n---\n");
    assert_eq!(scene.run(&["next", "--as", "cmd"]).succeeded().out, "2\n", "a command teammate takes what has a command");
}
