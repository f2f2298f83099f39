//! `crew work` and `crew exec`: what an attempt is given, how it ends, and what comes of the task.

mod armed;
mod ended;
mod exec;
mod shown;
mod taken;
mod worktrees;

use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{Scene, runs, signal, until};

/// One command of a task, worked to its end.
fn worked(id: &str, task: Value) -> Scene {
    let scene = Scene::new();
    scene.task(id, task);
    scene.run(&["work", "--jobs", "2"]).succeeded();
    assert_eq!((scene.status(id), scene.outcomes(id)), ("completed".to_owned(), vec!["done".to_owned()]));
    scene.nothing_runs();
    scene
}

fn json_file(scene: &Scene, name: &str) -> Value {
    serde_json::from_str(&scene.file(name)).unwrap()
}

#[test]
fn dependencies_first_and_their_results_handed_on() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo 1 >> order; cp \"$CREW_RESULTS\" results.json", "blockedBy": [2, "3"] }));
    scene.task("2", json!({ "run": "echo 2 >> order; echo found 42", "blockedBy": ["3"] }));
    scene.task("3", json!({ "run": "echo 3 >> order; test -z \"$CREW_RESULTS\" && echo three says hello", "subject": "the third" }));
    scene.task("4", json!({ "run": "cp \"$CREW_RESULTS\" last.json", "blockedBy": ["1"] }));
    scene.run(&["work", "--jobs", "4"]).succeeded();
    assert_eq!(scene.lines("order"), ["3", "2", "1"]);
    let results = json_file(&scene, "results.json");
    assert_eq!(results["3"]["subject"], "the third");
    assert_eq!(results["3"]["status"], "completed");
    assert_eq!(results["3"]["result"]["summary"], "three says hello");
    assert_eq!(results["2"]["result"]["summary"], "found 42");
    assert_eq!(json_file(&scene, "last.json").as_object().unwrap().keys().collect::<Vec<_>>(), ["1"]);
}

#[test]
fn a_result_is_handed_on_after_its_task_was_archived() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo kept for later" }));
    scene.run(&["work"]).succeeded();
    scene.run(&["archive", "1"]).succeeded();
    scene.task("2", json!({ "run": "cp \"$CREW_RESULTS\" results.json", "blockedBy": ["1"] }));
    scene.run(&["work"]).succeeded();
    assert_eq!(json_file(&scene, "results.json")["1"]["result"]["summary"], "kept for later");
}

#[test]
fn what_waits_for_a_failed_task_stays() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "exit 3" }));
    scene.task("2", json!({ "run": "touch made", "blockedBy": ["1"] }));
    let ran = scene.run(&["work"]).ended_with(1);
    assert_eq!((scene.status("1"), scene.status("2"), scene.has("made")), ("failed".into(), "pending".into(), false));
    assert!(ran.err.contains("1 task waits for tasks that are not done; `crew ls` says which: 2"), "{ran:#?}");
}

#[test]
fn a_check_decides() {
    let scene = Scene::new();
    scene.task("bad", json!({ "run": "echo did it", "check": "echo looked; exit 4" }));
    scene.task("good", json!({ "run": "echo did it", "check": ["test", "-d", ".tasks"] }));
    scene.task("unchecked", json!({ "run": "exit 1", "check": "touch checked" }));
    let ran = scene.run(&["work"]).ended_with(1);
    assert!(ran.err.contains("1 completed, 2 failed"), "{ran:#?}");
    assert_eq!((scene.status("bad"), scene.outcomes("bad")), ("failed".into(), vec!["failed".into()]));
    assert_eq!(scene.reason("bad"), "the check ended with exit code 4");
    assert_eq!(scene.read("bad")["attempts"][0]["exit"], 4);
    assert_eq!(scene.summary("bad"), "the check ended with exit code 4\ndid it\nlooked");
    assert_eq!(scene.status("good"), "completed");
    assert_eq!((scene.status("unchecked"), scene.has("checked")), ("failed".into(), false));
}

#[test]
fn retries_are_spent_and_then_it_has_failed() {
    let scene = Scene::new();
    scene.task("hopeless", json!({ "run": "echo $CREW_ATTEMPT >> hopeless; exit 3", "retries": 2 }));
    scene.task("unsteady", json!({ "run": "echo $CREW_ATTEMPT >> unsteady; test $CREW_ATTEMPT = 3", "retries": 2 }));
    let ran = scene.run(&["work", "--jobs", "2"]).ended_with(1);
    assert_eq!((scene.lines("hopeless"), scene.lines("unsteady")), (["1", "2", "3"].map(String::from).to_vec(), ["1", "2", "3"].map(String::from).to_vec()));
    assert_eq!((scene.status("hopeless"), scene.outcomes("hopeless")), ("failed".into(), vec!["failed".into(); 3]));
    assert_eq!(scene.summary("hopeless"), "the command ended with exit code 3");
    assert_eq!((scene.status("unsteady"), scene.outcomes("unsteady")), ("completed".into(), ["failed", "failed", "done"].map(String::from).to_vec()));
    assert!(ran.err.contains("1 completed, 1 failed, 4 attempts did not settle it"), "{ran:#?}");
    assert!(ran.err.contains("crew retry"), "the way on is said: {ran:#?}");

    // And it begins anew when somebody says so.
    scene.run(&["retry", "hopeless"]).succeeded();
    scene.run(&["work"]).ended_with(1);
    assert_eq!(scene.lines("hopeless").len(), 6);
}

#[test]
fn time_is_limited_by_the_task_or_else_by_the_batch() {
    let scene = Scene::new();
    scene.task("own", json!({ "run": "echo began; sleep 1000", "timeout": "50ms" }));
    scene.task("other", json!({ "run": "echo began; sleep 1000" }));
    scene.task("within", json!({ "run": "true", "timeout": "10m" }));
    scene.task("check", json!({ "run": "true", "check": "sleep 1000" }));
    scene.run(&["work", "--jobs", "4", "--timeout", "300ms"]).ended_with(1);
    for (id, reason) in [
        ("own", "the command took longer than its 50ms"),
        ("other", "the command took longer than its 300ms"),
        ("check", "the check took longer than its 300ms"),
    ] {
        assert_eq!((scene.status(id), scene.outcomes(id)), ("failed".into(), vec!["timeout".into()]), "{id}");
        assert_eq!(scene.reason(id), reason);
    }
    assert_eq!(scene.status("within"), "completed");
    scene.nothing_runs();
}

#[test]
fn exit_75_waits_while_others_go_on_and_spends_nothing() {
    let scene = Scene::new();
    scene.put(".crew/config.toml", "waitBaseSec = 1\n");
    scene.task("1", json!({ "run": "echo first $CREW_ATTEMPT >> order; test $CREW_ATTEMPT = 2 || exit 75" }));
    scene.task("2", json!({ "run": "echo second >> order", "check": "exit 0" }));
    let ran = scene.run(&["work", "--jobs", "1"]).succeeded();
    assert_eq!(scene.lines("order"), ["first 1", "second", "first 2"]);
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["parked".into(), "done".into()]));
    assert!(ran.err.contains("2 completed, 0 failed"), "{ran:#?}");

    let read = scene.read("1");
    let [first, again] = [0, 1].map(|nth| read["attempts"][nth]["started"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap());
    assert!(again.duration_since(first).as_secs() >= 1, "it was not waited for");
    assert!(read.get("parked").is_none());
}

#[test]
fn what_somebody_has_parked_who_has_gone_goes_on_in_a_batch() {
    let scene = Scene::new();
    scene.put(".crew/config.toml", "waitBaseSec = 1\n");
    scene.task("1", json!({ "run": "true" }));
    scene.run(&["exec", "--as", "me", "--", "sh", "-c", "exit 75"]).succeeded();
    scene.run(&["work", "--jobs", "1"]).succeeded();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["parked".into(), "done".into()]));
    assert_eq!(scene.read("1")["attempts"][1]["by"], "worker-1");
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch made" }));
    scene.put(".crew/config.toml", "maxLost = 3\nwaitBaseSecs = 1\n");
    let before = scene.everything();
    for verb in [&["work"][..], &["exec", "--as", "me", "--", "true"], &["spawn", "alice"]] {
        let ran = scene.run(verb).ended_with(4);
        assert!(ran.err.contains("config.toml:2: unknown key `waitBaseSecs`: did you mean `waitBaseSec`?"), "{ran:#?}");
        assert_eq!(scene.everything(), before);
    }
}

#[test]
fn what_a_command_is_told() {
    let scene = Scene::new();
    scene.task("a b", json!({ "run": "env -0 > variables; pwd > place; ls -l /proc/self/fd > descriptors" }));
    let mut work = scene.crew(&["work", "--jobs", "1"]);
    // As from within another task, with secrets around.
    work.env("CREW_TURN", "outer").env("CREW_TASK_ID", "outer").env("CREW_RESULTS", "/outer").env("CREW_AS", "outer");
    work.env("GITHUB_TOKEN", "secret").env("DB_PASSWORD", "secret").env("NPM_TOKEN", "passed").env("PLAIN", "as it is").env("CREW_PASS_ENV", "NPM_TOKEN");
    scene.start(work).ended().succeeded();

    let written = scene.file("variables");
    let variable = |name: &str| written.split('\0').find_map(|one| one.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned);
    let attempt = scene.read("a b")["attempts"][0].clone();
    let log = attempt["log"].as_str().unwrap().to_owned();
    let tasks = scene.tasks().display().to_string();
    for (name, value) in [
        ("CREW_BOARD", tasks.clone()),
        ("CREW_AS", "worker-1".into()),
        ("CREW_TASK_ID", "a b".into()),
        ("CREW_TASK_FILE", format!("{tasks}/task_a b.json")),
        ("CREW_ATTEMPT", "1".into()),
        ("CREW_TURN", attempt["turn"].as_str().unwrap().into()),
        ("CREW_LOG_DIR", log.rsplit_once('/').unwrap().0.into()),
        ("PLAIN", "as it is".into()),
        ("NPM_TOKEN", "passed".into()),
    ] {
        assert_eq!(variable(name), Some(value), "{name}");
    }
    for name in ["GITHUB_TOKEN", "DB_PASSWORD", "CREW_RESULTS"] {
        assert_eq!(variable(name), None, "{name}");
    }
    assert_eq!(scene.lines("place"), [scene.project().display().to_string()]);
    assert!(log.starts_with(&scene.home().display().to_string()) && std::path::Path::new(&log).is_file(), "{log}");
    let descriptors = scene.lines("descriptors");
    let leaked: Vec<_> = descriptors.iter().filter(|line| line.contains(".tasks/.board")).collect();
    assert!(leaked.is_empty(), "the board's files are open in the command: {leaked:?}");
}

#[test]
fn a_command_reads_nothing() {
    let scene = worked("1", json!({ "run": "cat; echo \"ended: $?\"" }));
    assert_eq!(scene.summary("1"), "ended: 0");
}

#[test]
fn a_list_is_executed_as_it_is() {
    let scene = worked("1", json!({ "run": ["printf", "%s|", "a b", "$HOME", "*", "", "'"] }));
    assert_eq!(scene.summary("1"), "a b|$HOME|*||'|");
}

#[test]
fn a_program_that_is_not_there() {
    let scene = Scene::new();
    scene.task("list", json!({ "run": ["no-such-program", "x"] }));
    scene.task("line", json!({ "run": "no-such-program x" }));
    scene.task("directory", json!({ "run": ["/"] }));
    scene.run(&["work"]).ended_with(1);
    assert!(scene.reason("list").contains("no-such-program") && scene.reason("list").contains("No such file"), "{}", scene.reason("list"));
    assert_eq!(scene.reason("line"), "the command ended with exit code 127");
    assert!(scene.reason("directory").contains("Permission denied"), "{}", scene.reason("directory"));
}

#[test]
fn where_no_command_can_run_no_task_fails() {
    let scene = Scene::new();
    let ids = ["1", "2", "3"];
    ids.iter().for_each(|id| scene.task(id, json!({ "run": "touch made" })));
    // There is no room for logs where there is no directory for them.
    scene.put("home", "a file");
    for verb in [&["work", "--jobs", "2"][..], &["exec", "--as", "me", "--", "touch", "made"], &["spawn", "alice", "--foreground"]] {
        let mut crew = scene.crew(verb);
        crew.env("CREWBOARD_HOME", scene.project().join("home"));
        let ran = scene.start(crew).ended().ended_with(1);
        assert!(ran.err.contains("place/home") && ran.err.contains("Not a directory"), "{ran:#?}");
        for id in ids {
            assert_eq!(scene.status(id), "pending");
            assert!(scene.outcomes(id).iter().all(|outcome| outcome == "released"), "{:?}", scene.outcomes(id));
        }
    }
    assert!(scene.reason("1").starts_with("the attempt could not begin: cannot "), "{}", scene.reason("1"));
    assert!(!scene.has("made"));
    scene.run(&["work"]).succeeded();
}

#[test]
fn ids_that_must_be_quoted() {
    let ids = ["with space", "ünï 🐢 漢", "it's \"quoted\" $(touch harm) `x` & ; *", "-rf", "%s%n"];
    let scene = Scene::new();
    for id in ids {
        scene.task(id, json!({ "run": "printf %s \"$CREW_TASK_ID\" > \"./$CREW_TASK_ID.out\"; echo \"I am $CREW_TASK_ID\"" }));
    }
    let ran = scene.run(&["work", "--jobs", "2"]).succeeded();
    for id in ids {
        assert_eq!((scene.status(id), scene.file(&format!("{id}.out"))), ("completed".into(), id.into()));
        assert!(ran.err.contains(&format!("{id}: done → completed")), "{ran:#?}");
        assert_eq!(scene.run(&["logs", "--", id]).succeeded().out, format!("I am {id}\n"));
    }
    assert!(!scene.has("harm"));
}

#[test]
fn much_output_leaves_its_end() {
    let scene = worked(
        "1",
        json!({ "run": "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i + 1)); done; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo the end" }),
    );
    let summary = scene.summary("1");
    assert!(summary.ends_with("the end") && summary.len() <= 2100, "{} bytes: {summary}", summary.len());
    let log = scene.read("1")["attempts"][0]["log"].as_str().unwrap().to_owned();
    assert!(std::fs::metadata(log).unwrap().len() > 20_000_000);
    assert!(scene.read("1").to_string().len() < 10_000, "the task's file stays small");
}

#[test]
fn a_last_line_that_is_too_long_leaves_its_end_too() {
    let scene = worked("1", json!({ "run": "head -c 5000 /dev/zero | tr '\\0' x; echo ' and the end'" }));
    let summary = scene.summary("1");
    assert!(summary.ends_with("x and the end") && summary.len() <= 2100, "{summary:?}");
}

#[test]
fn output_that_is_no_text_stays_in_the_log() {
    let scene = Scene::new();
    let run = "printf 'plain\\n\\033[31mred\\033[0m \\007bell \\302\\233C1 \\342\\200\\256rtl\\n\\377\\376 no utf-8 \\000nul\\n'; exit 3";
    scene.task("1", json!({ "run": run, "subject": "\u{1b}[2Jcleared\u{202e}" }));
    let ran = scene.run(&["work"]).ended_with(1);
    let shown = [ran.err, scene.run(&["show", "1"]).succeeded().out, scene.run(&["ls"]).succeeded().out, scene.run(&["ls", "--json"]).succeeded().out];
    for text in &shown {
        let harmful = text.chars().find(|&c| (c.is_control() && c != '\n') || c == '\u{202e}' && !text.starts_with('{'));
        assert_eq!(harmful, None, "{text:?}");
    }
    // Byte for byte where it belongs.
    let log = scene.read("1")["attempts"][0]["log"].as_str().unwrap().to_owned();
    let bytes = std::fs::read(log).unwrap();
    assert!(bytes.starts_with(b"plain\n\x1b[31mred") && bytes.ends_with(b"\xff\xfe no utf-8 \0nul\n"), "{bytes:?}");
    assert!(scene.summary("1").starts_with("the command ended with exit code 3\nplain\n"), "{:?}", scene.summary("1"));
    assert!(scene.summary("1").contains("no utf-8"));
}

#[test]
fn what_is_not_for_a_batch_is_left_and_told() {
    let scene = Scene::new();
    scene.task("think", json!({ "description": "no command" }));
    scene.task("bobs", json!({ "run": "touch harm", "owner": "bob" }));
    scene.task("asked", json!({ "run": "touch harm", "status": "in_progress", "owner": "bob", "parked": { "on": "ask", "ask": 1 } }));
    scene.task("theirs", json!({ "run": "touch harm", "status": "in_progress", "owner": "another program" }));
    scene.task("off", json!({ "run": "touch harm", "status": "cancelled" }));
    scene.task("strange", json!({ "run": "touch harm", "status": "someday" }));
    scene.put(".tasks/task_broken.json", "{\"subject\": ");
    let bytes = |id: &str| std::fs::read(scene.tasks().join(format!("task_{id}.json"))).unwrap();
    let ids = ["think", "bobs", "asked", "theirs", "off", "strange", "broken"];
    let before = ids.map(bytes);
    scene.task("easy", json!({ "run": "true" }));
    let ran = scene.run(&["work"]).succeeded();
    assert_eq!(scene.status("easy"), "completed");
    assert_eq!(ids.map(bytes), before);
    assert!(!scene.has("harm"));
    for told in [
        "1 task has no command and needs a teammate that thinks: think",
        "1 task waits for an answer: asked",
        "2 tasks are somebody else's: bobs, theirs",
        "1 task has a status that crew does not know: strange",
        "1 file is no valid task; `crew doctor` says why: task_broken.json",
    ] {
        assert!(ran.err.contains(told), "{told:?} is missing: {ran:#?}");
    }
}

#[test]
fn what_is_no_task_is_left_byte_for_byte() {
    let scene = Scene::new();
    let deep = "[".repeat(100_000);
    let harm = "\"run\": \"touch harm\"";
    let own_blocker = format!("{{\"subject\": \"own\", {harm}, \"blockedBy\": [\"own\"]}}");
    let absent_blocker = format!("{{\"subject\": \"absent\", {harm}, \"blockedBy\": [404]}}");
    let (two_subjects, wrong_type) = (format!("{{\"subject\": \"a\", \"subject\": \"b\", {harm}}}"), format!("{{\"subject\": 7, {harm}}}"));
    let files: [(&str, &[u8]); 13] = [
        ("task_half.json", b"{\"subject\": \"half wri"),
        ("task_empty.json", b""),
        ("task_list.json", b"[1,2,3]"),
        ("task_latin.json", b"{\"subject\": \"latin-1: \xe9\"}"),
        ("task_nothing.json", b"{}"),
        ("task_deep.json", deep.as_bytes()),
        ("task_twice.json", two_subjects.as_bytes()),
        ("task_type.json", wrong_type.as_bytes()),
        ("task_own.json", own_blocker.as_bytes()),
        ("task_absent.json", absent_blocker.as_bytes()),
        ("task_1.json~", b"{\"subject\": \"backup\"}"),
        (".task_1.json.swp", b"b0VIM 8.2"),
        ("#task_1.json#", b"{\"subject\": \"emacs\"}"),
    ];
    for (name, bytes) in files {
        std::fs::write(scene.tasks().join(name), bytes).unwrap();
    }
    std::fs::create_dir(scene.tasks().join("task_directory.json")).unwrap();
    std::os::unix::fs::symlink("task_real.json", scene.tasks().join("task_link.json")).unwrap();
    scene.program("mkfifo").arg(scene.tasks().join("task_fifo.json")).status().unwrap();
    std::fs::write(scene.tasks().join("task_bom.json"), "\u{feff}{\"subject\": \"with a BOM\", \"run\": \"echo bom >> ran\"}\r\n").unwrap();
    scene.task("real", json!({ "run": "echo real >> ran" }));

    let ran = scene.run(&["work", "--jobs", "1"]).succeeded();
    for (name, bytes) in files {
        assert!(std::fs::read(scene.tasks().join(name)).unwrap() == bytes, "{name} was changed");
    }
    assert_eq!(std::fs::read_link(scene.tasks().join("task_link.json")).unwrap().to_str(), Some("task_real.json"));
    assert_eq!((scene.lines("ran"), scene.has("harm")), (vec!["bom".into(), "real".into()], false));
    assert!(ran.err.contains("2 tasks wait for tasks that are not done; `crew ls` says which: absent, own"), "{ran:#?}");
    assert!(ran.err.contains("11 files are no valid tasks; `crew doctor` says why"), "{ran:#?}");
}

#[test]
fn a_batch_fits_every_tier_role_and_need() {
    worked("1", json!({ "run": "true", "tier": "top", "role": "pilot", "needs": ["wings"] }));
}

#[test]
fn a_task_that_is_dropped_while_others_run_is_taken() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "touch began; until [ -e 2.done ]; do sleep 0.01; done" }));
    let work = scene.start(scene.crew(&["work", "--jobs", "2"]));
    until("the first is at work", || scene.has("began"));
    scene.task("2", json!({ "run": "touch 2.done" }));
    work.ended().succeeded();
    assert_eq!((scene.status("1"), scene.status("2")), ("completed".into(), "completed".into()));
}

#[test]
fn a_task_may_add_tasks_and_move_itself() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "\"$CREW\" add 'from within' --run 'echo added >> out' && \"$CREW\" finish \"$CREW_TASK_ID\" && echo after >> out" }));
    scene.run(&["work", "--jobs", "1"]).succeeded();
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("completed".into(), vec!["done".into()]));
    assert_eq!(scene.lines("out"), ["after", "added"]);
}

#[test]
fn a_task_that_was_taken_away_is_not_finished_by_its_old_holder() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo began >> out; until [ -e go ]; do sleep 0.01; done" }));
    let work = scene.start(scene.crew(&["work", "--jobs", "1"]));
    until("it is at work", || scene.has("out"));
    scene.run(&["cancel", "1"]).succeeded();
    scene.put("go", "");
    let ran = work.ended().succeeded();
    assert!(ran.err.contains("taken away meanwhile"), "{ran:#?}");
    assert_eq!((scene.status("1"), scene.outcomes("1")), ("cancelled".into(), vec!["released".into()]));
}

#[test]
fn a_command_that_dies_of_a_signal_has_failed() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "kill -SEGV $$" }));
    scene.run(&["work"]).ended_with(1);
    assert_eq!(scene.reason("1"), format!("the command was ended by signal {}", Signal::SEGV.as_raw()));
    // A status that is nobody's exit code.
    assert_eq!(scene.read("1")["attempts"][0].get("exit"), None);
    assert_eq!(std::process::ExitStatus::from_raw(Signal::SEGV.as_raw()).code(), None);
}

#[test]
fn what_a_task_is_to_keep_is_kept() {
    let scene = worked("1", json!({ "run": "true" }));
    scene.task("2", json!({ "run": "sleep 1000 & echo $! >> kept; setsid sh -c 'echo $$ >> kept; exec sleep 1000' & exit 0", "keep": true }));
    scene.run(&["work"]).succeeded();
    until("both have said who they are", || scene.lines("kept").len() == 2);
    // Whatever crew does afterwards.
    scene.task("3", json!({ "run": "sleep 1000 & exit 0" }));
    scene.run(&["work"]).succeeded();
    let kept: Vec<i32> = scene.lines("kept").iter().map(|pid| pid.parse().unwrap()).collect();
    assert!(kept.iter().all(|&pid| runs(pid)), "{kept:?}");
    assert_eq!(scene.processes().len(), 2);
    kept.into_iter().for_each(|pid| signal(pid, Signal::KILL));
}

#[test]
fn the_log_of_an_archived_task_is_still_there() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "echo it said this" }));
    scene.run(&["work"]).succeeded();
    scene.run(&["archive", "--all-finished"]).succeeded();
    assert_eq!(scene.run(&["logs", "1"]).succeeded().out, "it said this\n");
    scene.task("2", json!({}));
    assert!(scene.run(&["ls", "--status", "failed"]).succeeded().err.contains("no task is like that"));
}
