//! What may happen to a board, and how often each of it does.

use board::task::{Outcome, Tier};
use proptest::prelude::*;

/// One thing that happens. Numbers choose among what there is at that moment.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Add(Vec<Spec>),
    Claim { who: usize, wanted: Option<usize> },
    End { task: usize, by: By, outcome: Outcome, to: Option<usize> },
    Change { task: usize, change: Change },
    Hand(Edit),
}

/// A new task.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) named: Option<usize>,
    pub(crate) owner: Option<usize>,
    pub(crate) blocked_by: Vec<usize>,
    pub(crate) blocks: Vec<usize>,
    pub(crate) priority: i64,
    pub(crate) tier: Option<Tier>,
    pub(crate) role: Option<&'static str>,
    pub(crate) needs: Vec<&'static str>,
    pub(crate) runs: bool,
    pub(crate) retries: u32,
}

/// Who ends a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum By {
    /// Its holder, with the turn that holds it.
    Turn,
    /// Its holder's name and the last turn that is over.
    Old,
    /// Its holder by name alone.
    Name,
    /// Somebody who does not hold it.
    Stranger,
    Cleaner,
    Force,
}

/// A change of a task that begins no turn.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Retry,
    Cancel,
    Reopen(bool),
    Unpark(bool),
    Priority(i64),
    Block(Vec<usize>),
    Unblock(Vec<usize>),
    Archive,
}

/// What a parked task waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Time {
    Past,
    Future,
}

/// What a person does to the files.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Drop { name: usize, spec: Spec, spelled: bool },
    SaveOld { task: usize, version: usize, in_place: bool },
    Delete(usize),
    Break { task: usize, kind: usize },
    SetKeys { task: usize, priority: i64, blocked_by: Vec<usize>, status: Option<&'static str> },
}

fn choice() -> impl Strategy<Value = usize> {
    0..64usize
}

fn few(at_most: usize) -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(choice(), 1..=at_most)]
}

fn seldom<T: Clone + std::fmt::Debug + 'static>(among: Vec<T>) -> impl Strategy<Value = Option<T>> {
    prop_oneof![5 => Just(None), 1 => prop::sample::select(among).prop_map(Some)]
}

fn spec() -> impl Strategy<Value = Spec> {
    let what = (few(2), few(2), 0..3i64, any::<bool>(), 0..2u32);
    let whom = (seldom((0..4).collect::<Vec<usize>>()), seldom((0..4).collect::<Vec<usize>>()));
    let fit = (seldom(vec![Tier::Cheap, Tier::Mid, Tier::Top]), seldom(vec!["coder", "tester"]), seldom(vec!["write", "browser"]));
    (what, whom, fit).prop_map(|((blocked_by, blocks, priority, runs, retries), (named, owner), (tier, role, need))| Spec {
        named,
        owner,
        blocked_by,
        blocks,
        priority,
        tier,
        role,
        needs: need.into_iter().collect(),
        runs,
        retries,
    })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let by = prop_oneof![6 => Just(By::Turn), 1 => Just(By::Old), 2 => Just(By::Name), 1 => Just(By::Stranger), 1 => Just(By::Cleaner), 1 => Just(By::Force)];
    let outcome = prop_oneof![
        5 => Just(Outcome::Done),
        2 => Just(Outcome::Failed),
        1 => Just(Outcome::Timeout),
        1 => Just(Outcome::Lost),
        1 => Just(Outcome::Released),
        2 => Just(Outcome::Handoff),
        2 => Just(Outcome::Parked),
    ];
    let change = prop_oneof![
        2 => Just(Change::Retry),
        2 => Just(Change::Cancel),
        2 => any::<bool>().prop_map(Change::Reopen),
        2 => any::<bool>().prop_map(Change::Unpark),
        1 => (0..3i64).prop_map(Change::Priority),
        3 => prop::collection::vec(choice(), 1..3).prop_map(Change::Block),
        2 => prop::collection::vec(choice(), 0..3).prop_map(Change::Unblock),
        3 => Just(Change::Archive),
    ];
    let status = seldom(vec!["pending", "completed", "failed", "cancelled", "wip"]);
    let edit = prop_oneof![
        3 => (0..6usize, spec(), any::<bool>()).prop_map(|(name, spec, spelled)| Edit::Drop { name, spec, spelled }),
        4 => (choice(), choice(), any::<bool>()).prop_map(|(task, version, in_place)| Edit::SaveOld { task, version, in_place }),
        2 => choice().prop_map(Edit::Delete),
        1 => (choice(), 0..3usize).prop_map(|(task, kind)| Edit::Break { task, kind }),
        2 => (choice(), 0..3i64, few(2), status).prop_map(|(task, priority, blocked_by, status)| Edit::SetKeys { task, priority, blocked_by, status }),
    ];
    prop_oneof![
        4 => prop::collection::vec(spec(), 1..3).prop_map(Step::Add),
        6 => (choice(), prop_oneof![2 => Just(None), 1 => choice().prop_map(Some)]).prop_map(|(who, wanted)| Step::Claim { who, wanted }),
        6 => (choice(), by, outcome, prop::option::of(choice())).prop_map(|(task, by, outcome, to)| Step::End { task, by, outcome, to }),
        5 => (choice(), change).prop_map(|(task, change)| Step::Change { task, change }),
        4 => edit.prop_map(Step::Hand),
    ]
}
