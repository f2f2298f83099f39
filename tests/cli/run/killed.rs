//! Processes that are killed: at random moments, at named points, and again and again.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::scene::{is_stopped, signal, until};

/// What each step of a whole run is, by the number of posts that teammates have made: whoever is killed before its post
/// has made none, and the step is the next one's.
const STEPS: &str = "\
n=$(\"$CREW\" thread --json | grep -c '\"turn\":.*}$')
post() { \"$CREW\" post \"$@\" && exit 0; exit 1; }
case $n in
  1) echo \"$n\" > worked; post --kind work_done \"step $n\" ;;
  3) \"$CREW\" notice --tell \"notice $n\"; post --kind say \"step $n\" ;;
  4) post --kind gate \"step $n\" ;;
  5) echo \"$n\" >> worked; post --kind work_done \"step $n\" ;;
  6) post --kind handoff --handoff alice \"step $n\" ;;
  8) echo \"$n\" >> worked; post --kind work_done \"step $n\" ;;
  0|2|7|9|10) post --kind say \"step $n\" ;;
  *) post --kind done \"step $n\" ;;
esac
";

/// A team that goes through all steps by itself, with tasks beside them and words of the user.
fn whole_run() -> Stage {
    let stage = Stage::with(&["alice", "bob"], "gateMode = \"auto\"\nmaxLost = 50\nmaxAcceptChecks = 50\n");
    stage.scene.put("tools/speak", STEPS);
    stage.scene.put(".crew/goal.md", "---\nchecks: test -e worked\n---\nEverything is as it should be.\n");
    for id in ["1", "2"] {
        stage.scene.task(id, json!({ "run": "echo \"$CREW_TURN\" >> .stage/effects" }));
    }
    stage
}

/// What a whole run has to have come to, whoever was killed meanwhile, and however often.
#[track_caller]
fn came_to_its_end(stage: &Stage, sent: usize) {
    let thread = stage.thread();
    let of_teammates: Vec<&Value> = thread.iter().filter(|post| post["turn"].is_string()).collect();
    let texts: Vec<&str> = of_teammates.iter().map(|post| post["text"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..texts.len()).map(|step| format!("step {step}")).collect();
    assert_eq!(texts, expected, "{thread:#?}");
    assert!(texts.len() >= 12, "{texts:?}");
    let words: Vec<&Value> = thread.iter().filter(|post| post["from"] == "user").map(|post| &post["text"]).collect();
    assert_eq!(words, (0..sent).map(|word| json!(format!("word {word}"))).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    let decided: Vec<&Value> = thread.iter().filter(|post| post["decision"].is_string() && post["from"] == "system").collect();
    assert_eq!(decided.len(), 1, "{decided:#?}");
    for done in of_teammates.iter().filter(|post| post["kind"] == "done") {
        let verdicts = thread.iter().filter(|post| post["from"] == "audit" && post["re"] == done["seq"]).count();
        // What the user said before it was audited is new scope, and then there is nothing to audit.
        let next = thread.iter().find(|post| post["seq"].as_u64() > done["seq"].as_u64() && post["from"] != "system");
        let spoken_over = next.is_some_and(|post| post["from"] == "user");
        assert!(verdicts == 1 || (verdicts == 0 && spoken_over), "{done}: {verdicts}");
    }
    assert!(stage.document("asks.json")["asks"].as_array().unwrap().iter().any(|ask| ask["kind"] == "notice"));
    // A claim is one attempt: none has two ends, and a task is completed once.
    for id in ["1", "2"] {
        assert_eq!(stage.scene.status(id), "completed");
        assert_eq!(stage.scene.outcomes(id).iter().filter(|outcome| *outcome == "done").count(), 1, "{}", stage.scene.read(id));
    }
    // Nothing of what was credited is missing from the record.
    let made = stage.document("checkpoints.json")["checkpoints"].as_array().unwrap().clone();
    for credited in of_teammates.iter().filter(|post| post["credited"] == true) {
        assert!(made.iter().any(|one| one["seq"] == credited["seq"] || one["why"] == "baseline before run"), "{credited}: {made:#?}");
    }
    let cursors = stage.document("cursors.json");
    for name in ["alice", "bob"] {
        let last = of_teammates.iter().rfind(|post| post["from"] == name).map(|post| post["seq"].clone());
        assert_eq!(cursors["teammates"][name]["spoke"], last.unwrap_or(json!(0)), "{cursors}");
    }
    stage.is_sound();
}

/// Lets the run come to its end, however often it has to be begun again.
#[track_caller]
fn let_it_end(stage: &Stage) {
    until("the run is completed", || {
        match stage.word().as_str() {
            "completed" => return true,
            // It was killed too often, or three turns in a row of one teammate: a person lets it go on.
            "error" | "paused" => drop(stage.start()),
            _ if stage.processes_of("--supervisor").is_empty() => drop(stage.crew(&[]).succeeded()),
            _ => {}
        }
        false
    });
    stage.stops();
}

/// Numbers that look like chance, and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn at_random_moments(seed: u64) {
    let stage = whole_run();
    let mut dice = Dice(seed);
    stage.start();
    for kill in 0..8 {
        // Chance decides when, which is no wait for anything.
        std::thread::sleep(Duration::from_millis(dice.roll(90)));
        if kill % 3 == 0 {
            let word = kill / 3;
            stage.crew(&["send", &format!("word {word}")]).succeeded();
        }
        let (supervisor, daemon, teammates) = (stage.processes_of("--supervisor"), stage.processes_of("--daemon"), stage.teammates());
        match dice.roll(4) {
            0 => stage.kill(&daemon),
            1 => stage.kill(&supervisor),
            2 => stage.kill(&teammates),
            _ => stage.kill(&[supervisor, daemon, teammates].concat()),
        }
        if stage.processes_of("--supervisor").is_empty() && stage.word() != "completed" {
            stage.crew(&[]).succeeded();
        }
    }
    let_it_end(&stage);
    came_to_its_end(&stage, 3);
}

#[test]
fn at_random_moments_first() {
    at_random_moments(0x5eed_0001);
}

#[test]
fn at_random_moments_second() {
    at_random_moments(0x0dd_ba11);
}

#[test]
fn at_random_moments_third() {
    at_random_moments(0xc0ff_ee00);
}

/// The daemon dies each time that it passes the point, until it is given up; without that, it goes on.
fn at_a_point(points: &[&str]) {
    for point in points {
        let stage = whole_run();
        stage.crew(&["send", "word 0"]).succeeded();
        stage.start_with_crash_at(point);
        until("it was begun again too often, or is over", || matches!(stage.word().as_str(), "error" | "completed" | "paused"));
        let_it_end(&stage);
        assert!(!stage.events("supervisor.restart").is_empty(), "{point} was never passed");
        came_to_its_end(&stage, 1);
    }
}

#[test]
fn between_post_and_cursor() {
    at_a_point(&["turn.cursor", "inbox.appended"]);
}

#[test]
fn between_gate_and_decision() {
    at_a_point(&["gate.raised", "gate.decided"]);
}

#[test]
fn between_checkpoint_and_list() {
    at_a_point(&["checkpoint.ref", "checkpoint.ref:2"]);
}

/// `crew post` and `crew notice` die in the middle, in the hands of the teammate.
#[test]
fn a_post_that_is_cut_short_is_there_or_not() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let mut texts = Vec::new();
    for (who, point) in [("alice", "post.appended"), ("bob", "post.effects")] {
        stage.turn_of(who).does(&format!("CREW_CRASH_AT={point} \"$CREW\" post --kind say {point}; exit 1"));
        until("it is there", || stage.thread().iter().any(|post| post["text"] == point));
        texts.push(point);
    }
    // A notice that stands in the thread alone is one all the same.
    stage.turn_of("alice").does("CREW_CRASH_AT=notice.appended \"$CREW\" notice --tell 'the disk is nearly full'; \"$CREW\" post --kind say told; exit");
    stage.says("bob", "--kind say last");
    let asks = stage.document("asks.json");
    assert_eq!((asks["asks"].as_array().map(Vec::len), &asks["asks"][0]["kind"], &asks["asks"][0]["from"]), (Some(1), &json!("notice"), &json!("alice")));
    assert!(stage.document("state.json")["silent"].is_null() && stage.events("turn.silent").is_empty());
    stage.stops();
    stage.is_sound();
}

#[test]
fn an_approval_that_is_cut_short_counts() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind gate 'push'");
    stage.ends_as("gated");
    let mut crew = stage.scene.crew(&["approve"]);
    crew.env("CREW_CRASH_AT", "gate.decided");
    assert_eq!(stage.scene.start(crew).ended().code(), None);
    let again = stage.crew(&["approve", "1"]).ended_with(4);
    assert!(again.err.contains("was approved"), "{again:#?}");
    assert!(stage.crew(&["needs"]).succeeded().err.contains("nothing waits"));
    stage.start();
    stage.says("alice", "--kind say --handoff user 'and now?'");
    stage.ends_as("awaiting_user");
    let mut crew = stage.scene.crew(&["answer", "go home"]);
    crew.env("CREW_CRASH_AT", "answer.appended");
    assert_eq!(stage.scene.start(crew).ended().code(), None);
    stage.crew(&["answer", "3", "stay"]).ended_with(4);
    stage.start();
    stage.says("alice", "--kind say bye");
    assert_eq!(stage.thread().iter().filter(|post| post["from"] == "user").count(), 1);
    stage.stops();
    stage.is_sound();
}

#[test]
fn five_times_it_is_begun_again_and_then_given_up() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    for kill in 1..=6_u64 {
        until("a daemon is at work", || stage.document("state.json")["starts"] == kill && !stage.processes_of("--daemon").is_empty());
        stage.kill(&[stage.daemon()]);
    }
    stage.ends_as("error");
    until("the supervisor has ended", || stage.processes_of("--supervisor").is_empty());
    assert_eq!((stage.events("supervisor.restart").len(), stage.events("supervisor.giveup").len()), (5, 1));
    let shown = stage.crew(&["status"]).succeeded();
    assert!(shown.out.contains("the daemon died 6 times") && shown.out.contains("crew start"), "{shown:#?}");
    stage.crew(&[]).succeeded();
    assert_eq!(stage.word(), "error", "bare `crew` does not begin it");
    stage.start();
    stage.says("alice", "--kind say 'here I am'");
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_daemon_without_supervisor_gets_another() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    let cue = stage.turn_of("alice");
    let daemon = stage.daemon();
    stage.kill(&[stage.supervisor()]);
    assert!(stage.start().err.contains("at work already"));
    until("there is one", || stage.processes_of("--supervisor").len() == 1);
    stage.kill(&[daemon]);
    until("the daemon was begun again", || stage.document("state.json")["starts"] == 2);
    // The turn under way is whose it was.
    cue.does("\"$CREW\" post --kind say 'still here'; exit");
    stage.says("bob", "--kind say yes");
    assert_eq!(stage.thread()[0]["text"], "still here");
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_turn_is_lost_with_its_teammate_and_given_again() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say hello");
    let _cue = stage.turn_of("bob");
    let lost = stage.document("turn.json")["turn"].clone();
    let script: i32 = stage.scene.lines(".stage/turns").last().unwrap().rsplit_once(' ').unwrap().1.parse().unwrap();
    stage.kill(&stage.teammates());
    until("another turn was given", || stage.document("turn.json")["turn"] != lost && !stage.document("turn.json")["begun"].is_null());
    assert!(!crate::scene::runs(script), "what the lost turn ran goes on");
    assert_eq!(stage.document("turn.json")["again"], true);
    // Its cursor did not move: it is told again what is new.
    stage.turn_of("bob").does("cp \"$CREW_OPENING\" .stage/opening; \"$CREW\" post --kind say hi; exit");
    stage.turn_of("alice");
    assert!(stage.scene.file(".stage/opening").contains("hello"), "{}", stage.scene.file(".stage/opening"));
    assert_eq!(stage.thread().len(), 2);
    stage.stops();
    stage.is_sound();
}

#[test]
fn stopped_and_continued_it_goes_on_where_it_was() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.start();
    stage.says("alice", "--kind say one");
    let cue = stage.turn_of("bob");
    let all = stage.scene.processes();
    assert!(all.len() >= 5, "{all:?}");
    all.iter().for_each(|pid| signal(*pid, Signal::STOP));
    until("all are stopped", || all.iter().all(|pid| is_stopped(*pid)));
    let (state, turn) = (stage.document("state.json"), stage.document("turn.json"));
    // Nobody takes a run for dead that is stopped.
    assert!(stage.crew(&[]).succeeded().out.contains("bob"));
    assert!(stage.start().err.contains("at work already"));
    assert_eq!(stage.processes_of("--daemon").len(), 1);
    all.iter().for_each(|pid| signal(*pid, Signal::CONT));
    assert_eq!((stage.document("state.json"), stage.document("turn.json")), (state, turn));
    cue.does("\"$CREW\" post --kind say two; exit");
    stage.says("alice", "--kind say three");
    assert_eq!(stage.document("state.json")["starts"], 1);
    stage.stops();
    stage.is_sound();
}
