//! Starting, stopping, pausing and beginning anew.

use rustix::process::Signal;
use serde_json::json;

use super::stage::Stage;
use crate::scene::{is_stopped, runs, signal, until};

#[test]
fn two_starts_at_once_are_one_run() {
    let stage = Stage::new(&["alice", "bob"]);
    let starts: Vec<_> = (0..4).map(|_| stage.scene.start(stage.scene.crew(&["start", "--yes"]))).collect();
    let said: String = starts.into_iter().map(|start| start.ended().succeeded().err).collect();
    assert!(said.contains("started"), "{said}");
    stage.turn_of("alice");
    // Those that come too late look for a moment whether they do.
    until("one supervisor is left", || stage.processes_of("--supervisor").len() == 1);
    assert_eq!((stage.processes_of("--daemon").len(), stage.teammates().len()), (1, 1));
    assert_eq!(stage.document("state.json")["starts"], 1);
    let again = stage.start();
    assert!(again.err.contains("at work already (running)"), "{again:#?}");
    assert_eq!(stage.events("turn").len(), 1);
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_turn_that_hangs_is_ended_by_stop() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    // The script ignores SIGTERM, and so does what it runs.
    stage.turn_of("alice").does("trap '' TERM; touch .stage/hangs; while :; do sleep 100; done");
    until("it hangs", || stage.scene.has(".stage/hangs"));
    stage.crew(&["stop"]).succeeded();
    assert_eq!((stage.word().as_str(), stage.reason().as_str()), ("stopped", "stop"));
    until("nothing runs", || stage.scene.processes().is_empty());
    assert!(stage.document("turn.json").is_null() && stage.thread().is_empty());
    // Bare `crew` begins nothing that a person has stopped.
    let shown = stage.crew(&[]).succeeded();
    assert!(shown.out.contains("stopped") && shown.out.contains("crew start"), "{shown:#?}");
    stage.start();
    stage.says("alice", "--kind say 'here I am again'");
    stage.stops();
}

#[test]
fn a_teammate_that_is_stopped_is_ended_by_stop() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let _cue = stage.turn_of("alice");
    let teammate = stage.teammates()[0];
    signal(teammate, Signal::STOP);
    until("it is stopped", || is_stopped(teammate));
    stage.crew(&["stop"]).succeeded();
    until("nothing runs", || stage.scene.processes().is_empty());
    assert_eq!((stage.word().as_str(), stage.document("turn.json")), ("stopped", json!(null)));
}

#[test]
fn stop_ends_what_a_dead_run_has_left() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let _cue = stage.turn_of("alice");
    stage.kill(&[stage.supervisor(), stage.daemon()]);
    assert!(!stage.teammates().is_empty());
    let shown = stage.crew(&["status", "--json"]).succeeded();
    assert!(shown.out.contains("\"alive\":false") && shown.out.contains("\"state\":\"running\""), "{shown:#?}");
    stage.crew(&["stop"]).succeeded();
    until("nothing runs", || stage.scene.processes().is_empty());
    assert_eq!(stage.word(), "stopped");
}

#[test]
fn a_teammate_of_a_daemon_that_died_is_ended_by_stop() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say hello");
    let _cue = stage.turn_of("bob");
    let starts = stage.document("state.json")["starts"].as_u64().unwrap();
    stage.kill(&[stage.daemon()]);
    until("another daemon is at work", || stage.document("state.json")["starts"].as_u64().unwrap() > starts);
    // Neither of them is a child of that one.
    assert_eq!(stage.teammates().len(), 2);
    stage.stops();
}

#[test]
fn pause_waits_for_the_boundary_and_resume_takes_it_back() {
    let stage = Stage::new(&["alice", "bob"]);
    assert!(stage.crew(&["pause"]).ended_with(4).err.contains("[no-run]"));
    stage.start();
    let cue = stage.turn_of("alice");
    let ran = stage.crew(&["pause", "--timeout", "50ms"]).ended_with(1);
    assert!(ran.err.contains("the turn of alice (pid"), "{ran:#?}");
    stage.crew(&["resume"]).succeeded();
    drop(cue);
    stage.says("alice", "--kind say 'one'");
    let cue = stage.turn_of("bob");
    let pause = stage.scene.start(stage.scene.crew(&["pause", "--timeout", "30s"]));
    until("it was asked for", || stage.state.join("pause.request").exists());
    cue.does("\"$CREW\" post --kind say two; exit");
    pause.ended().succeeded();
    assert_eq!((stage.word().as_str(), stage.reason().as_str(), stage.thread().len()), ("paused", "pause", 2));
    assert!(!stage.state.join("pause.request").exists() && stage.document("turn.json").is_null());
    // Bare `crew` begins it only after `crew resume`, which begins nothing by itself.
    stage.crew(&[]).succeeded();
    assert_eq!(stage.word(), "paused");
    stage.crew(&["resume"]).succeeded();
    assert!(stage.processes_of("--daemon").is_empty());
    stage.crew(&[]).succeeded();
    stage.says("alice", "--kind say three");
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_left_pause_request_stops_no_start() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    let _cue = stage.turn_of("alice");
    stage.crew(&["pause", "--timeout", "10ms"]).ended_with(1);
    stage.kill(&[stage.supervisor(), stage.daemon()]);
    stage.kill(&stage.teammates());
    stage.start();
    stage.says("alice", "--kind say 'here I am'");
    stage.stops();
}

#[test]
fn what_is_said_to_it_comes_once_though_the_daemon_dies() {
    let stage = Stage::new(&["alice", "bob"]);
    // Between the append and the inbox, six times.
    stage.crew(&["send", "first"]).succeeded();
    stage.start_with_crash_at("inbox.appended");
    stage.ends_as("error");
    assert_eq!((stage.reason().as_str(), stage.events("supervisor.giveup").len()), ("giveup", 1));
    assert_eq!(stage.thread().len(), 1);
    // Between the post and anything that is known of it: the next daemon finds it there.
    let mut crew = stage.scene.crew(&["send", "second"]);
    crew.env("CREW_CRASH_AT", "post.appended");
    stage.scene.start(crew).ended().succeeded();
    stage.turn_of("alice");
    assert_eq!(stage.events("supervisor.restart").len(), 6);
    let texts: Vec<_> = stage.thread().into_iter().map(|post| post["text"].clone()).collect();
    assert_eq!(texts, ["first", "second"]);
    assert!(stage.bytes("inbox/user.jsonl").is_empty());
    stage.stops();
    stage.is_sound();
}

#[test]
fn new_run_puts_everything_away_though_it_is_killed() {
    for point in ["archive.memory", "archive.based", "archive.thread", "archive.copied", "archive.emptied"] {
        let stage = Stage::new(&["alice", "bob"]);
        stage.start();
        assert!(stage.crew(&["new-run"]).ended_with(4).err.contains("crew stop"));
        stage.says("alice", "--kind say one");
        stage.says("bob", "--kind say two");
        stage.stops();
        stage.crew(&["memory", "remember", "tabs, not spaces"]).succeeded();
        let thread = stage.bytes("thread.jsonl");
        let mut crew = stage.scene.crew(&["new-run"]);
        crew.env("CREW_CRASH_AT", point);
        assert_eq!(stage.scene.start(crew).ended().code(), None, "{point}");
        stage.crew(&["new-run"]).succeeded();
        // Whatever was there is in one of them, and nothing is left.
        let kept = |name: &str| -> String { (1..=2).map(|run| String::from_utf8(stage.bytes(&format!("runs/{run}/{name}"))).unwrap()).collect() };
        assert_eq!(kept("thread.jsonl").as_bytes(), thread, "{point}");
        assert!(kept("memory.md").contains("tabs, not spaces"), "{point}: {}", kept("memory.md"));
        assert!(kept("state.json").contains("\"stopped\""), "{point}: {}", kept("state.json"));
        assert!(kept("cursors.json").contains("alice"), "{point}");
        assert!(stage.thread().is_empty() && !stage.scene.file(".crew/memory.md").contains("tabs"), "{point}");
        assert_eq!(stage.word(), "idle", "{point}");
        stage.start();
        let post = stage.says("alice", "--kind say three");
        assert_eq!(post["seq"], 3, "{point}");
        stage.stops();
    }
}

/// A process that has nothing to do with the scene.
struct Stranger(std::process::Child);

impl Stranger {
    fn new() -> Stranger {
        let null = std::process::Stdio::null;
        let mut sleep = std::process::Command::new("sleep");
        Stranger(sleep.arg("1000").env_clear().stdin(null()).stdout(null()).stderr(null()).spawn().unwrap())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_pid_that_is_somebody_elses_now() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    let _cue = stage.turn_of("alice");
    stage.kill(&[stage.supervisor(), stage.daemon()]);
    stage.kill(&stage.teammates());
    // Strangers with the pids of the daemon and of the teammate.
    let stranger = Stranger::new();
    let pid = stranger.0.id();
    for (file, pointer) in [("state.json", "/daemon/pid"), ("turn.json", "/begun/process/pid")] {
        let mut document = stage.document(file);
        *document.pointer_mut(pointer).unwrap() = json!(pid);
        stage.put(file, document.to_string().as_bytes());
    }
    let shown = stage.crew(&["status", "--json"]).succeeded();
    assert!(shown.out.contains("\"alive\":false"), "{shown:#?}");
    assert!(stage.crew(&[]).succeeded().err.contains("goes on where it was"));
    stage.says("alice", "--kind say 'here I am'");
    stage.stops();
    assert!(runs(pid.try_into().unwrap()), "the stranger was ended");
    stage.is_sound();
}

#[test]
fn after_a_reboot_bare_crew_goes_on() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say one");
    let _cue = stage.turn_of("bob");
    stage.kill(&[stage.supervisor(), stage.daemon()]);
    stage.kill(&stage.teammates());
    stage.kill(&stage.scene.processes());
    // The pids of before are living processes of the new boot.
    let me = std::process::id();
    for (file, pointer) in [("state.json", "/daemon/pid"), ("turn.json", "/begun/process/pid")] {
        let mut document = stage.document(file);
        *document.pointer_mut(pointer).unwrap() = json!(me);
        stage.put(file, document.to_string().as_bytes());
    }
    let crew = |arguments: &[&str]| {
        let mut crew = stage.scene.crew(arguments);
        crew.env("CREW_BOOT_ID", "the next boot");
        stage.scene.start(crew).ended().succeeded()
    };
    let shown = crew(&["status", "--json"]);
    assert!(shown.out.contains("\"alive\":false"), "{shown:#?}");
    assert!(crew(&[]).err.contains("goes on where it was"));
    stage.says("bob", "--kind say two");
    crew(&["stop"]);
    until("nothing runs", || stage.scene.processes().is_empty());
    stage.is_sound();
}
