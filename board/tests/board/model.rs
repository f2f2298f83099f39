//! The board against a plain model in memory: whatever happens, in whatever order, two processes that look at one
//! directory agree with each other, with one that begins just now, with the files and with the model.

mod once;
mod plain;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use board::add::Draft;
use board::alive::Process;
use board::facts::{Facts, Phase};
use board::index::State;
use board::locked::LockedBoard;
use board::presence::Presence;
use board::ready::Claimant;
use board::task::{Outcome, Parked, Task};
use board::task_id::TaskId;
use board::transition::{By as Ender, Ending};
use board::{Board, Durability, Error, Result};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use serde_json::{Value, json};

use crate::scratch::{PATIENCE, Scratch, end, name};
use plain::{Answer, Doc, File, PRESENT, Plain, WHO, claimant};
use step::{By, Change, Edit, Spec, Step, Time};

impl ReferenceStateMachine for Plain {
    type State = Plain;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Plain> {
        Just(Plain::new()).boxed()
    }

    fn transitions(_: &Plain) -> BoxedStrategy<Step> {
        step::step().boxed()
    }

    fn apply(mut plain: Plain, step: &Step) -> Plain {
        plain.step(step);
        plain
    }
}

/// Two processes at one board.
struct Pair<const FULL: bool> {
    scratch: Scratch,
    boards: [Board; 2],
    present: BTreeMap<&'static str, Presence>,
    /// The ids of the model's turns.
    turns: Vec<String>,
    steps: usize,
    /// What happened, for whoever has to understand a failure.
    story: Vec<String>,
}

impl<const FULL: bool> Pair<FULL> {
    fn turn(&self, turn: usize) -> String {
        self.turns.get(turn).cloned().unwrap_or_else(|| format!("no-turn-{turn}"))
    }

    fn logical(&self, turn: &str) -> usize {
        self.turns.iter().position(|known| known == turn).unwrap_or(usize::MAX)
    }

    /// A task's file as a person's editor would save it.
    fn render(&self, doc: &Doc) -> String {
        let mut json = json!({ "subject": "x", "note": 1.5, "priority": doc.priority, "blockedBy": doc.blocked_by, "blocks": doc.blocks });
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                json[key] = value;
            }
        };
        let at = "2026-01-02T03:04:05Z";
        set("status", doc.status.as_ref().map(|status| json!(status)));
        set("owner", doc.owner.map(|owner| json!(owner)));
        set("dependsOn", doc.depends_on.as_ref().map(|full| json!(full)));
        set("tier", doc.tier.map(|tier| json!(tier)));
        set("role", doc.role.map(|role| json!(role)));
        set("needs", (!doc.needs.is_empty()).then(|| json!(doc.needs)));
        set("run", doc.runs.then(|| json!("true")));
        set("retries", (doc.retries > 0).then(|| json!(doc.retries)));
        set("retriedAfter", (doc.retried_after > 0).then(|| json!(doc.retried_after)));
        set("parked", doc.parked.map(|time| json!(parked(time))));
        set(
            "claim",
            doc.claim
                .as_ref()
                .map(|held| json!({ "turn": self.turn(held.turn), "by": held.by, "at": at, "process": Process::current(), "dispatched": held.dispatched })),
        );
        set("reopened", doc.reopened.then(|| json!([{ "at": at, "because": "it is not done" }])));
        let attempt = |tried: &plain::Tried| {
            let boot = (tried.outcome == Outcome::Lost).then(|| Process::current().boot.clone());
            json!({
                "turn": self.turn(tried.turn), "by": tried.by, "started": at, "ended": at, "outcome": tried.outcome,
                "to": tried.to, "dispatched": tried.dispatched, "boot": boot,
            })
        };
        set("attempts", (!doc.attempts.is_empty()).then(|| doc.attempts.iter().map(attempt).collect()));
        serde_json::to_string_pretty(&json).unwrap()
    }

    fn answer<T>(&self, result: Result<T>, answer: impl FnOnce(T) -> Answer) -> Answer {
        match result {
            Ok(value) => answer(value),
            Err(Error::Refused(refusal)) => Answer::Refused(refusal.rule),
            Err(Error::NoSuchTask(_)) => Answer::NoSuchTask,
            Err(Error::NotATask { .. }) => Answer::NotATask,
            Err(Error::Io { .. }) => Answer::Io,
            Err(other) => panic!("{other}"),
        }
    }

    fn locked<T>(&mut self, via: usize, verb: impl FnOnce(&mut LockedBoard<'_>) -> Result<T>) -> Result<T> {
        let mut locked = self.boards[via].lock(PATIENCE)?;
        let done = verb(&mut locked);
        locked.unlock()?.settle()?;
        done
    }

    /// Makes a step on the real board.
    fn make(&mut self, via: usize, step: &Step, model: &Plain) -> Answer {
        let (task, turn) = (model.meant.0.clone(), self.turn(model.meant.1));
        match step {
            Step::Add(specs) => {
                let drafts: Vec<Draft> = specs.iter().zip(&model.drafted).map(|(spec, doc)| self.draft(spec, doc)).collect();
                let added = self.boards[via].add(&drafts, PATIENCE);
                self.answer(added, Answer::Ids)
            }
            Step::Claim { who, wanted } => {
                let who = WHO[who % WHO.len()];
                let wanted = wanted.map(|_| task);
                let claimed = self.locked_claim(via, who, wanted.as_ref());
                match claimed {
                    Ok(Some(claimed)) => {
                        self.turns.push(claimed.turn);
                        Answer::Claimed(claimed.task.id, self.turns.len() - 1)
                    }
                    other => self.answer(other.map(drop), |()| Answer::NothingToClaim),
                }
            }
            Step::End { by, outcome, to, .. } => {
                let holder = model.holder_before.unwrap_or("ann");
                let ender = match by {
                    By::Turn | By::Old => Ender::Holder { name: holder, turn: Some(&turn) },
                    By::Name => Ender::Holder { name: holder, turn: None },
                    By::Stranger => Ender::Holder { name: "eve", turn: None },
                    By::Cleaner => Ender::Cleaner { turn: &turn },
                    By::Force => Ender::Force,
                };
                let to = to.map(|who| WHO[who % WHO.len()].to_owned()).filter(|_| *outcome == Outcome::Handoff);
                let time = if model.meant.1.is_multiple_of(2) { Time::Past } else { Time::Future };
                let parked = (*outcome == Outcome::Parked).then(|| parked(time));
                let ended = end(&mut self.boards[via], task.as_str(), &ender, &Ending { to, parked, ..Ending::of(*outcome) });
                if ended.is_ok()
                    && matches!(by, By::Turn | By::Old | By::Name)
                    && let Some(presence) = self.present.get_mut(holder)
                {
                    presence.let_go(&turn).unwrap();
                }
                self.answer(ended, Answer::Ended)
            }
            Step::Change { change, .. } => {
                let others = model.others.clone();
                let done = match change {
                    Change::Cancel => {
                        let waiting = self.locked(via, |board| board.cancel(&task));
                        return self.answer(waiting, |waiting| Answer::Waiting(waiting.into_iter().collect()));
                    }
                    Change::Retry => self.locked(via, |board| board.retry(&task)),
                    Change::Reopen(because) => self.locked(via, |board| board.reopen(&task, because.then_some("it is not done"))),
                    Change::Unpark(keep) => self.locked(via, |board| board.unpark(&task, *keep)),
                    Change::Priority(priority) => self.locked(via, |board| board.edit(&task, &[("priority".into(), Some(priority.to_string()))])),
                    Change::Block(_) => self.locked(via, |board| board.block(&task, &others)),
                    Change::Unblock(_) => self.locked(via, |board| board.unblock(&task, &others)),
                    Change::Archive => self.locked(via, |board| board.archive(&task)),
                };
                self.answer(done, |()| Answer::Done)
            }
            Step::Hand(edit) => {
                self.by_hand(edit, &task, model);
                self.boards[via].sweep_for_all(Duration::ZERO).unwrap();
                Answer::Done
            }
        }
    }

    fn locked_claim(&mut self, via: usize, who: &'static str, wanted: Option<&TaskId>) -> Result<Option<board::locked::Claimed>> {
        let mut locked = self.boards[via].lock(PATIENCE)?;
        let terms = crate::scratch::terms();
        let claimed = locked.claim(self.present.get_mut(who), &claimant(who), wanted, &terms);
        locked.unlock()?.settle()?;
        claimed
    }

    fn draft(&self, spec: &Spec, doc: &Doc) -> Draft {
        let mut json: Value = serde_json::from_str(&self.render(&Doc { depends_on: None, ..doc.clone() })).unwrap();
        if let Some(n) = spec.named {
            json["id"] = json!(format!("n{n}"));
        }
        Draft { text: json.to_string(), origin: "a draft".into() }
    }

    fn by_hand(&self, edit: &Edit, task: &TaskId, model: &Plain) {
        let path = self.scratch.file(task.as_str());
        let Some(written) = model.written.as_ref() else {
            if matches!(edit, Edit::Delete(_)) {
                let _ = std::fs::remove_file(&path);
            }
            return;
        };
        match written {
            File::Task(doc) => {
                let text = self.render(doc);
                match edit {
                    Edit::SaveOld { in_place: false, .. } => {
                        let beside = self.scratch.path().join("beside");
                        std::fs::write(&beside, text).unwrap();
                        std::fs::rename(&beside, &path).unwrap();
                    }
                    // In place, and with the old time put back where there was one.
                    _ => {
                        let before = std::fs::metadata(&path).ok();
                        std::fs::write(&path, text).unwrap();
                        if let Some(before) = before {
                            set_mtime(&path, before.mtime(), before.mtime_nsec());
                        }
                    }
                }
            }
            File::Broken(kind) => {
                let text = [r#"{"subject": 7}"#, r#"{"subject": "x", "sta"#, ""][*kind];
                std::fs::write(&path, text).unwrap();
                // Long ago, so that nobody waits for the rest of it.
                set_mtime(&path, 1_000_000_000, 0);
            }
        }
    }

    // ---- comparing --------------------------------------------------------------------------------------------

    fn compare(&self, board: &Board, whose: &str, model: &Plain) {
        let index = board.index();
        let ids: Vec<&TaskId> = index.entries().map(|(id, _)| id).collect();
        assert_eq!(ids, model.files.keys().collect::<Vec<_>>(), "{whose}: the ids");
        for (id, entry) in index.entries() {
            match (&entry.state, &model.files[id]) {
                (State::Task(facts), File::Task(doc)) => self.compare_facts(&format!("{whose}: task {id}"), facts, doc),
                (State::Invalid(_), File::Broken(_)) => {}
                (seen, expected) => panic!("{whose}: task {id} is seen as {seen:?}, and is {expected:?}"),
            }
        }
        assert_eq!(index.open().cloned().collect::<Vec<_>>(), model.open(), "{whose}: what stands open, in order");
        for who in WHO {
            let claimant = claimant(who);
            assert_eq!(index.ready_for(&claimant).cloned().collect::<Vec<_>>(), model.ready_for(who), "{whose}: what is ready for {who}");
            for id in model.files.keys() {
                assert_eq!(index.why_not(id, &claimant).map_err(|no| no.rule), model.why_not(id, who), "{whose}: why {id} is not ready for {who}");
            }
        }
    }

    fn compare_facts(&self, of: &str, facts: &Facts, doc: &Doc) {
        assert_eq!(facts.status, Phase::from(&doc.status()), "{of}");
        assert_eq!(facts.owner.as_deref(), doc.owner, "{of}: owner");
        assert_eq!(facts.priority, doc.priority, "{of}: priority");
        assert_eq!(sorted(&facts.blocked_by), sorted(&doc.blocked_by), "{of}: blockedBy");
        let turn = facts.turn().map(|(turn, by)| (self.logical(turn), by));
        assert_eq!(turn, doc.claim.as_ref().map(|held| (held.turn, held.by)), "{of}: who holds it");
        assert_eq!(facts.parked().cloned(), doc.parked.map(parked), "{of}: parked");
    }

    fn compare_file(&self, task: &Task, doc: &Doc) {
        let of = format!("the file of {}", task.id);
        self.compare_facts(&of, &Facts::of(task), doc);
        assert_eq!(task.depends_on.as_deref().map(sorted), doc.depends_on.as_deref().map(sorted), "{of}: dependsOn");
        assert_eq!(task.retried_after, doc.retried_after, "{of}: retriedAfter");
        assert_eq!(task.claim.as_ref().map(|claim| claim.dispatched), doc.claim.as_ref().map(|held| held.dispatched), "{of}: dispatched");
        let seen = task.attempts.iter().map(|a| (self.logical(&a.turn), a.by.as_str(), a.outcome, a.to.as_deref(), a.dispatched));
        let expected = doc.attempts.iter().map(|a| (a.turn, a.by, a.outcome, a.to, a.dispatched));
        assert_eq!(seen.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{of}: attempts");
    }

    /// Where every file is sound and spells its status out (most of the time): another program with the lesson's three
    /// filters takes the same tasks as a shell, but for those handed off.
    fn compare_with_outsider(&self, board: &Board, model: &Plain) {
        let spelled = model.files.values().all(|file| matches!(file, File::Task(doc) if doc.status.is_some()));
        if !spelled || !model.is_tidy() {
            return;
        }
        let taken = |id: &&TaskId| {
            let task = self.scratch.json(id.as_str());
            let empty = |key: &str| task.get(key).is_none_or(|value| value.is_null() || *value == json!([]) || *value == json!(""));
            task["status"] == "pending" && empty("owner") && empty("blockedBy")
        };
        let outsider: BTreeSet<&TaskId> = model.files.keys().filter(taken).collect();
        let anybody = Claimant::shell("anybody");
        let ready: BTreeSet<&TaskId> = board.index().ready_for(&anybody).collect();
        assert_eq!(outsider, ready, "what another program's three filters take, and what is ready");
    }
}

fn sorted(ids: &[TaskId]) -> Vec<&TaskId> {
    let mut ids: Vec<&TaskId> = ids.iter().collect();
    ids.sort();
    ids
}

fn parked(time: Time) -> Parked {
    let until = match time {
        Time::Past => "2001-01-01T00:00:00Z",
        Time::Future => "2999-01-01T00:00:00Z",
    };
    Parked::Until { until: Some(until.parse().unwrap()) }
}

fn set_mtime(path: &std::path::Path, seconds: i64, nanos: i64) {
    let time = std::time::UNIX_EPOCH + Duration::new(seconds as u64, nanos as u32);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

impl<const FULL: bool> Drop for Pair<FULL> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what happened:\n{}", self.story.join("\n"));
        }
    }
}

impl<const FULL: bool> StateMachineTest for Pair<FULL> {
    type SystemUnderTest = Pair<FULL>;
    type Reference = Plain;

    fn init_test(_: &Plain) -> Pair<FULL> {
        let scratch = Scratch::new(if FULL { Durability::Full } else { Durability::Relaxed });
        let boards = [scratch.seen(), scratch.seen()];
        let present = PRESENT.into_iter().map(|who| (who, boards[0].enter(&name(who), "test").unwrap())).collect();
        Pair { scratch, boards, present, turns: Vec::new(), steps: 0, story: Vec::new() }
    }

    fn apply(mut pair: Pair<FULL>, model: &Plain, step: Step) -> Pair<FULL> {
        pair.steps += 1;
        // Now and then one of the two begins anew.
        if pair.steps.is_multiple_of(11) {
            pair.boards[0] = pair.scratch.seen();
        }
        let via = pair.steps % 2;
        pair.story.push(format!("{via}: {step:?} means {:?} and is answered {:?}", model.meant, model.answer));
        let answer = pair.make(via, &step, model);
        assert_eq!(answer, model.answer, "the answer to {step:?}");
        pair.boards.iter_mut().for_each(|board| board.look().unwrap());
        for (id, doc) in model.docs() {
            pair.compare_file(&pair.scratch.task(id.as_str()), doc);
        }
        let newcomer = pair.scratch.seen();
        pair.compare(&newcomer, "a newcomer", model);
        pair.compare(&pair.boards[via], "who did it", model);
        pair.compare(&pair.boards[1 - via], "who looked on", model);
        pair.compare_with_outsider(&newcomer, model);
        pair
    }
}

fn config(cases: u32) -> ProptestConfig {
    // The same cases every time; PROPTEST_RNG_SEED and PROPTEST_CASES ask for others.
    let from_environment = ProptestConfig::default();
    let seed = if std::env::var_os("PROPTEST_RNG_SEED").is_some() { from_environment.rng_seed } else { RngSeed::Fixed(1) };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { from_environment.cases } else { cases };
    ProptestConfig { cases, rng_seed: seed, failure_persistence: None, max_shrink_iters: 20_000, ..from_environment }
}

/// Makes the steps one after the other, on the board and in the model.
fn replay<const FULL: bool>(steps: &[Step]) {
    let mut model = Plain::new();
    let mut pair = Pair::<FULL>::init_test(&model);
    for step in steps {
        model.step(step);
        pair = Pair::apply(pair, &model, step.clone());
    }
}

type Relaxed = Pair<false>;
type Full = Pair<true>;

prop_state_machine! {
    #![proptest_config(config(100))]
    #[test]
    fn the_board_and_the_model_agree(sequential 10..60 => Relaxed);
}

prop_state_machine! {
    #![proptest_config(config(40))]
    #[test]
    fn they_agree_on_a_board_that_syncs(sequential 10..60 => Full);
}
