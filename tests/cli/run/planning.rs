//! A run that begins with a plan: proposed, edited, approved or denied, and what survives of it.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::scene::until;

const PROPOSE: &str = "plan = \"propose\"\n";
/// Two tasks, one after the other, that nobody on the team takes up.
const TWO: &str = "\"$CREW\" add 'write it' --owner carol; \"$CREW\" add 'test it' --blocked-by 1 --owner carol";

fn planned() -> Stage {
    let stage = Stage::with(&["alice", "bob"], PROPOSE);
    stage.start();
    stage
}

/// Alice proposes these; the answer is her post.
#[track_caller]
fn proposes(stage: &Stage, adds: &str) -> u64 {
    let (code, said) = stage.turn_of("alice").tries(adds);
    assert_eq!(code, 0, "{said}");
    stage.says("alice", "--kind say 'in two steps'")["seq"].as_u64().unwrap()
}

fn asks(stage: &Stage) -> Vec<Value> {
    stage.document("asks.json")["asks"].as_array().cloned().unwrap_or_default()
}

/// The tasks by their status, in the order of their ids.
fn statuses(stage: &Stage, ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| stage.scene.status(id)).collect()
}

#[test]
fn it_is_proposed_edited_and_approved() {
    let stage = planned();
    let cue = stage.turn_of("alice");
    assert_eq!(stage.word(), "planning");
    let (code, said) = cue.tries(&format!("cp \"$CREW_OPENING\" .stage/opening; {TWO}; \"$CREW\" add 'make it' --run 'touch .stage/made'"));
    assert!(code == 0 && said.contains("part of the proposal"), "{said}");
    let opening: Value = serde_json::from_str(&stage.scene.file(".stage/opening")).unwrap();
    assert_eq!(opening["planning"], true);
    // Also where it hides whose turn it is.
    let (code, said) = stage.turn_of("alice").tries("env -u CREW_TURN -u CREW_AS \"$CREW\" add 'and more' --owner carol");
    assert!(code == 0 && said.contains("part of the proposal"), "{said}");
    // Nor by taking it out and putting it back.
    let (code, said) = stage.turn_of("alice").tries("\"$CREW\" add 'and that' && \"$CREW\" cancel 5; env -u CREW_TURN \"$CREW\" reopen 5");
    assert!(code == 4 && said.contains("[planning]") && stage.scene.status("5") == "cancelled", "{said}");
    for id in ["1", "2", "3", "4"] {
        assert_eq!((&stage.scene.read(id)["status"], &stage.scene.read(id)["parked"]["on"]), (&json!("in_progress"), &json!("ask")));
    }
    let proposal = stage.says("alice", "--kind say 'in some steps'")["seq"].as_u64().unwrap();
    stage.ends_as("proposed");
    let ask = &asks(&stage)[0];
    assert_eq!((&ask["id"], &ask["kind"], &ask["from"]), (&json!(proposal), &json!("proposal"), &json!("alice")));
    let text = "4 tasks: in some steps\n  1  write it [carol]\n  2 ← 1  test it [carol]\n  3  make it `touch .stage/made`\n  4  and more [carol]";
    assert_eq!(ask["text"], text);
    let needs: Value = serde_json::from_str(&stage.crew(&["needs", "--json"]).succeeded().out).unwrap();
    assert_eq!(needs["commands"], json!([format!("crew approve {proposal}"), format!("crew deny {proposal}")]));
    assert!(stage.crew(&["status"]).succeeded().out.contains(&format!("crew approve {proposal}")));
    stage.crew(&["doctor"]).succeeded();
    // Nobody takes one up, not even by its name; a person edits them, and takes one out.
    assert!(stage.crew(&["claim", "3", "--as", "me"]).ended_with(4).err.contains("parked"));
    stage.crew(&["edit", "1", "--subject", "write it well"]).succeeded();
    stage.crew(&["block", "4", "--by", "2"]).succeeded();
    stage.crew(&["cancel", "2"]).succeeded();
    // To begin it again changes nothing.
    stage.start();
    stage.ends_as("proposed");
    stage.crew(&["approve"]).succeeded();
    until("it was made", || stage.scene.status("3") == "completed");
    assert!(stage.scene.has(".stage/made"));
    assert_eq!(statuses(&stage, &["1", "2", "4"]), ["pending", "cancelled", "pending"]);
    let task = stage.scene.read("1");
    assert_eq!((&task["subject"], &task["owner"], &task["parked"]), (&json!("write it well"), &json!("carol"), &Value::Null));
    // It goes on as any other, and is planned no more.
    stage.says("bob", "--kind say hello");
    let (_, said) = stage.turn_of("alice").tries("\"$CREW\" add later --owner carol");
    assert!(!said.contains("proposal") && stage.word() == "running", "{said}");
    assert_eq!(stage.scene.status("6"), "pending");
    assert!(stage.crew(&["deny", &proposal.to_string()]).ended_with(4).err.contains("was approved at"));
    assert_eq!(stage.scene.status("1"), "pending");
    stage.stops();
    stage.is_sound();
}

#[test]
fn what_is_denied_is_planned_anew_by_who_proposed_it() {
    let stage = planned();
    let first = proposes(&stage, TWO);
    stage.ends_as("proposed");
    stage.crew(&["deny", &first.to_string(), "--because", "smaller steps"]).succeeded();
    let (_, said) = stage.turn_of("alice").tries("cat \"$CREW_OPENING\"; echo");
    assert!(said.contains("denied: smaller steps") && said.contains("\"planning\":true"), "{said}");
    assert_eq!(statuses(&stage, &["1", "2"]), ["cancelled", "cancelled"]);
    let second = proposes(&stage, "\"$CREW\" add 'a small step' --owner carol");
    stage.ends_as("proposed");
    assert_eq!(asks(&stage)[1]["text"], "1 task: in two steps\n  3  a small step [carol]");
    stage.crew(&["deny", "--stay"]).succeeded();
    assert_eq!((stage.scene.status("3"), stage.word()), ("cancelled".into(), "proposed".into()));
    stage.start();
    let third = proposes(&stage, "\"$CREW\" add 'a smaller step' --owner carol");
    stage.ends_as("proposed");
    stage.crew(&["approve", &third.to_string()]).succeeded();
    stage.says("bob", "--kind say hello");
    assert_eq!(statuses(&stage, &["1", "2", "3", "4"]), ["cancelled", "cancelled", "cancelled", "pending"]);
    assert!(first < second && second < third);
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_question_comes_before_the_plan_and_who_plans_nothing_ends_it() {
    let stage = planned();
    let (code, said) = stage.turn_of("alice").tries("\"$CREW\" add 'write it' --owner carol");
    assert_eq!(code, 0, "{said}");
    stage.says("alice", "--kind say --handoff user 'in which language?'");
    stage.ends_as("awaiting_user");
    stage.crew(&["answer", "in any"]).succeeded();
    // What was made so far waits for the rest.
    stage.turn_of("alice");
    assert_eq!((stage.word(), stage.scene.status("1")), ("planning".into(), "in_progress".into()));
    stage.crew(&["cancel", "1"]).succeeded();
    stage.says("alice", "--kind handoff --handoff bob 'you know better'");
    stage.turn_of("bob");
    assert_eq!(stage.word(), "planning");
    stage.says("bob", "--kind say 'there is nothing to plan'");
    stage.turn_of("alice");
    assert_eq!((stage.word(), asks(&stage).iter().filter(|ask| ask["kind"] == "proposal").count()), ("running".into(), 0));
    stage.stops();
    // That stays so, until a run is begun anew.
    stage.start();
    stage.turn_of("alice");
    assert_eq!(stage.word(), "running");
    stage.stops();
    stage.crew(&["new-run"]).succeeded();
    stage.start();
    stage.turn_of("alice");
    assert_eq!(stage.word(), "planning");
    stage.stops();
    stage.is_sound();
}

#[test]
fn what_comes_after_the_proposal_is_not_part_of_it() {
    let stage = planned();
    let (code, said) = stage.turn_of("alice").tries(TWO);
    assert_eq!(code, 0, "{said}");
    let raised = format!("grep -q proposal '{}'", stage.state.join("asks.json").display());
    stage.turn_of("alice").does(&format!(
        "\"$CREW\" post --kind say plan; while ! {raised}; do :; done; env -u CREW_TURN \"$CREW\" add late --owner carol; \"$CREW\" add 'later still' --owner carol; touch .stage/added; exit"
    ));
    until("it was added", || stage.scene.has(".stage/added"));
    stage.ends_as("proposed");
    assert_eq!(statuses(&stage, &["1", "2", "3", "4"]), ["in_progress"; 4]);
    stage.crew(&["approve"]).succeeded();
    assert_eq!(statuses(&stage, &["1", "2", "3", "4"]), ["pending", "pending", "cancelled", "cancelled"]);
    stage.stops();
    stage.is_sound();
}

#[test]
fn a_planning_turn_that_is_lost_is_given_again_with_what_it_made() {
    let stage = planned();
    let (code, said) = stage.turn_of("alice").tries(TWO);
    assert_eq!(code, 0, "{said}");
    let lost = stage.document("turn.json")["turn"].clone();
    stage.kill(&[stage.teammates(), stage.processes_of("--daemon"), stage.processes_of("--supervisor")].concat());
    stage.crew(&[]).succeeded();
    until("another turn was given", || stage.document("turn.json")["turn"] != lost && !stage.document("turn.json")["begun"].is_null());
    assert_eq!((stage.word(), stage.document("turn.json")["planning"].clone()), ("planning".into(), json!(true)));
    proposes(&stage, "\"$CREW\" add third --owner carol");
    stage.ends_as("proposed");
    stage.crew(&["approve"]).succeeded();
    assert_eq!(statuses(&stage, &["1", "2", "3"]), ["pending"; 3]);
    stage.stops();
    stage.is_sound();
}

/// Lets the daemon die at a point each time that it passes it, until it is given up; without that, it goes on.
#[track_caller]
fn dies_at(stage: &Stage, point: &str, until_word: &str) {
    until("it has been begun again", || match stage.word().as_str() {
        "error" => {
            stage.start();
            false
        }
        word => word == until_word && stage.document("state.json")["daemon"].is_null(),
    });
    assert!(!stage.events("supervisor.restart").is_empty(), "{point} was never passed");
}

#[test]
fn killed_while_it_is_raised_it_is_raised_once() {
    for point in ["turn.cursor", "proposal.numbered", "proposal.complete", "proposal.raised"] {
        let stage = Stage::with(&["alice", "bob"], PROPOSE);
        stage.start_with_crash_at(point).succeeded();
        let number = proposes(&stage, TWO);
        dies_at(&stage, point, "proposed");
        let asks = asks(&stage);
        assert_eq!((asks.len(), &asks[0]["id"], &asks[0]["kind"]), (1, &json!(number), &json!("proposal")), "{point}");
        assert_eq!(asks[0]["text"], "2 tasks: in two steps\n  1  write it [carol]\n  2 ← 1  test it [carol]", "{point}");
        stage.crew(&["approve"]).succeeded();
        assert_eq!(statuses(&stage, &["1", "2"]), ["pending"; 2], "{point}");
        stage.says("bob", "--kind say hello");
        stage.stops();
        stage.is_sound();
    }
}

/// A person's answer dies in the middle; whoever comes next does the rest: the same command, or the run.
#[test]
fn killed_while_it_is_answered_it_is_answered_once_and_whole() {
    for (verb, status) in [("approve", "pending"), ("deny", "cancelled")] {
        for point in ["gate.decided", "proposal.settling", "proposal.settling:2"] {
            for again in [true, false] {
                let stage = planned();
                let number = proposes(&stage, TWO).to_string();
                stage.ends_as("proposed");
                let mut crew = stage.scene.crew(&[verb, &number]);
                crew.env("CREW_CRASH_AT", point);
                assert_eq!(stage.scene.start(crew).ended().code(), None, "{point}");
                if again {
                    // The other answer comes too late, and does what the first says.
                    let other = if verb == "approve" { "deny" } else { "approve" };
                    assert!(stage.crew(&[other, &number]).ended_with(4).err.contains("there is one answer"), "{point}");
                    assert_eq!(statuses(&stage, &["1", "2"]), [status; 2], "{verb} {point}");
                }
                stage.start();
                stage.turn_of(if verb == "approve" { "bob" } else { "alice" });
                assert_eq!(statuses(&stage, &["1", "2"]), [status; 2], "{verb} {point}");
                assert_eq!(stage.thread().iter().filter(|post| !post["decision"].is_null()).count(), 1);
                stage.stops();
                stage.is_sound();
            }
        }
    }
}

/// The daemon that finds an answer dies in the middle of what that brings about; what is planned meanwhile is another
/// proposal's.
#[test]
fn killed_while_it_repairs_an_answer_it_repairs_it() {
    let stage = planned();
    proposes(&stage, TWO);
    stage.ends_as("proposed");
    let mut crew = stage.scene.crew(&["deny"]);
    crew.env("CREW_CRASH_AT", "gate.decided");
    assert_eq!(stage.scene.start(crew).ended().code(), None);
    assert_eq!(statuses(&stage, &["1", "2"]), ["in_progress"; 2]);
    stage.start_with_crash_at("proposal.settling").succeeded();
    let (code, said) = stage.turn_of("alice").tries("\"$CREW\" add third --owner carol");
    assert!(code == 0 && said.contains("proposal"), "{said}");
    stage.kill(&[stage.processes_of("--daemon"), stage.processes_of("--supervisor")].concat());
    stage.crew(&[]).succeeded();
    stage.turn_of("alice");
    assert_eq!(statuses(&stage, &["1", "2", "3"]), ["cancelled", "cancelled", "in_progress"]);
    assert!(!stage.events("supervisor.restart").is_empty());
    stage.stops();
    stage.is_sound();
}
