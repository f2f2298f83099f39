use std::sync::Barrier;

use board::place::Surroundings;
use board::post::{Decision, Kind};
use board::run::{Ask, AskKind};
use board::thread::Draft;
use board::{Board, Durability};

use super::*;

const PUSH: &str = "git push origin main";

struct Desk {
    _temp: tempfile::TempDir,
    place: Place,
}

impl Desk {
    fn new() -> Desk {
        let temp = tempfile::tempdir().unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("home").into()), ..Surroundings::default() };
        let project = temp.path().join("project");
        std::fs::create_dir_all(project.join(".crew")).unwrap();
        let place = Board::init(&project, Durability::Relaxed, &surroundings).unwrap().place().clone();
        Desk { _temp: temp, place }
    }

    fn configured(text: &str) -> Desk {
        let desk = Desk::new();
        std::fs::write(config::path(&desk.place), text).unwrap();
        desk
    }

    /// A gate as a teammate's post raises it; its number.
    fn gate(&self, from: &str, text: &str) -> u64 {
        let run = Run::of(&self.place).unwrap();
        let draft = Draft { from: from.into(), kind: Some(Kind::Gate), text: text.into(), ..Draft::default() };
        let post = run.thread.lock(std::time::Duration::from_secs(10)).unwrap().append(draft).unwrap().post;
        run.asks.raise(Ask::of(AskKind::Gate, &post, from.into(), text.into())).unwrap();
        post.seq
    }

    fn approved(&self, from: &str, text: &str) -> u64 {
        let number = self.gate(from, text);
        Run::of(&self.place).unwrap().decide(number, Decision::Approved, None).unwrap();
        number
    }

    fn asks(&self, name: &str, command: &str) -> Verdict {
        Gates::of(self.place.clone(), Name::new(name).unwrap()).may_run(command)
    }
}

fn is_asked(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Ask(_))
}

fn quoting(command: &str) -> String {
    format!("It is ready. May I run `{command}` now?")
}

#[test]
fn what_no_list_names_runs_also_where_there_is_no_run() {
    let desk = Desk::new();
    assert_eq!(desk.asks("alice", "cargo test"), Verdict::Run);
    assert_eq!(desk.asks("alice", PUSH), Verdict::Ask("git push".into()));
}

#[test]
fn an_approved_gate_lets_its_command_run_once() {
    let desk = Desk::new();
    desk.approved("alice", &quoting(PUSH));
    assert_eq!(desk.asks("alice", &format!(" {PUSH}\n")), Verdict::Run);
    assert!(is_asked(&desk.asks("alice", PUSH)), "a gate is used once");
    desk.approved("alice", &quoting(PUSH));
    assert_eq!(desk.asks("alice", PUSH), Verdict::Run, "the next one is another permission");
    let used: Vec<Vec<String>> = Run::of(&desk.place).unwrap().asks.all().unwrap().into_iter().map(|ask| ask.used).collect();
    assert_eq!(used, [[PUSH], [PUSH]]);
}

#[test]
fn one_gate_lets_each_command_run_that_it_quotes() {
    let desk = Desk::new();
    desk.approved("alice", "These two:\n  git push origin main\n  git push origin v1.0\n");
    for command in [PUSH, "git push origin v1.0"] {
        assert_eq!(desk.asks("alice", command), Verdict::Run, "{command}");
        assert!(is_asked(&desk.asks("alice", command)), "{command}");
    }
}

#[test]
fn no_other_gate_lets_it_run() {
    let desk = Desk::new();
    desk.gate("alice", &quoting(PUSH));
    assert!(is_asked(&desk.asks("alice", PUSH)), "one that waits");
    let denied = desk.gate("alice", &quoting(PUSH));
    Run::of(&desk.place).unwrap().decide(denied, Decision::Denied, None).unwrap();
    assert!(is_asked(&desk.asks("alice", PUSH)), "one that was denied");
    desk.approved("bob", &quoting(PUSH));
    assert!(is_asked(&desk.asks("alice", PUSH)), "one of another teammate");
    desk.approved("alice", &quoting("git push --dry-run"));
    desk.approved("alice", "May I push?");
    assert!(is_asked(&desk.asks("alice", PUSH)), "one that quotes another command, or none");
    let question = desk.approved("alice", &quoting(PUSH));
    Run::of(&desk.place).unwrap().asks.change(question, |ask| ask.kind = AskKind::Proposal).unwrap();
    assert!(is_asked(&desk.asks("alice", PUSH)), "what is no gate");
    assert_eq!(desk.asks("bob", PUSH), Verdict::Run);
}

#[test]
fn a_denied_pattern_never_runs_whatever_was_approved() {
    let desk = Desk::configured("gateAutoDeny = ['push\\b.*--force']\n");
    let forced = "git push --force";
    desk.approved("alice", &quoting(forced));
    for command in [forced, "git 'push' --fo\"rce\""] {
        assert!(
            matches!(desk.asks("alice", command), Verdict::Denied(why) if why.contains("push\\\\b.*--force") && why.contains("gateAutoDeny")),
            "{command}"
        );
    }
    assert!(is_asked(&desk.asks("alice", PUSH)));
}

#[test]
fn the_config_names_what_asks() {
    let desk = Desk::configured("gateAsk = ['make release']\n");
    assert_eq!(desk.asks("alice", PUSH), Verdict::Run);
    assert!(is_asked(&desk.asks("alice", "make release")));
}

#[test]
fn what_cannot_be_read_allows_nothing() {
    for text in ["gateAutoDeny = ['(']", "gateAsk = ['(']", "gateaskk = 1", "= ="] {
        let desk = Desk::configured(text);
        assert!(matches!(desk.asks("alice", "ls"), Verdict::Denied(why) if why.contains("cannot be told")), "{text}");
    }
    let desk = Desk::new();
    desk.approved("alice", &quoting(PUSH));
    let asks = Run::of(&desk.place).unwrap().dir().join("asks.json");
    let written = std::fs::read_to_string(&asks).unwrap();
    for broken in ["{".to_owned(), written.replace("\"format\": 1", "\"format\": 2")] {
        std::fs::write(&asks, broken).unwrap();
        assert!(matches!(desk.asks("alice", PUSH), Verdict::Denied(_)));
    }
    std::fs::write(&asks, written).unwrap();
    assert_eq!(desk.asks("alice", PUSH), Verdict::Run, "nothing was spent meanwhile");
}

#[test]
fn of_two_that_race_for_a_gate_one_runs() {
    let desk = Desk::new();
    for round in 1..=20 {
        desk.approved("alice", &quoting(PUSH));
        let start = Barrier::new(2);
        let race = || {
            start.wait();
            desk.asks("alice", PUSH)
        };
        let both = std::thread::scope(|scope| [scope.spawn(race), scope.spawn(race)].map(|racer| racer.join().unwrap()));
        assert_eq!(both.iter().filter(|verdict| **verdict == Verdict::Run).count(), 1, "round {round}: {both:?}");
    }
}
