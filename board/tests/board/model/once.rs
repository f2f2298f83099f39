//! What the model found once: each sequence by itself, so that it is not left to chance.

use board::task::Outcome;

use super::replay;
use super::step::{By, Change, Edit, Spec, Step};

fn spec() -> Spec {
    Spec {
        named: None,
        owner: None,
        blocked_by: Vec::new(),
        blocks: Vec::new(),
        priority: 0,
        tier: None,
        role: None,
        needs: Vec::new(),
        runs: false,
        retries: 0,
    }
}

fn add(count: usize) -> Step {
    Step::Add(vec![spec(); count])
}

/// Drops `d0`, or from 3 on the number that `add` would give next.
fn dropped(name: usize, spec: Spec) -> Step {
    Step::Hand(Edit::Drop { name, spec, spelled: true })
}

fn set_edges(task: usize, blocked_by: &[usize]) -> Step {
    Step::Hand(Edit::SetKeys { task, priority: 0, blocked_by: blocked_by.to_vec(), status: None })
}

fn saved_old(task: usize, version: usize) -> Step {
    Step::Hand(Edit::SaveOld { task, version, in_place: false })
}

const ANN: usize = 0;
const CYD: usize = 2;

fn claim(who: usize) -> Step {
    Step::Claim { who, wanted: None }
}

/// The only task that is held.
fn end(outcome: Outcome) -> Step {
    Step::End { task: 1, by: By::Turn, outcome, to: None }
}

/// The first task that the change is for.
fn change(change: Change) -> Step {
    Step::Change { task: 60, change: change.clone() }
}

fn check(steps: &[Step]) {
    replay::<false>(steps);
    replay::<true>(steps);
}

#[test]
fn an_edge_from_the_other_side_that_is_taken_back() {
    let blocks = Spec { blocks: vec![0], ..spec() };
    check(&[add(2), dropped(0, blocks), dropped(0, spec())]);
}

#[test]
fn an_edge_that_both_of_its_sides_tell_of() {
    let blocks = Spec { blocks: vec![0], ..spec() };
    // A claim of nothing puts the edge into the file of the first.
    let look = Step::Claim { who: CYD, wanted: Some(2) };
    check(&[add(1), dropped(0, blocks), look, dropped(0, spec()), Step::Claim { who: CYD, wanted: Some(1) }, end(Outcome::Done), claim(ANN)]);
}

#[test]
fn a_claim_that_is_restored_over_a_parked_version() {
    check(&[add(1), claim(ANN), end(Outcome::Parked), claim(ANN), saved_old(0, 2)]);
}

#[test]
fn an_edge_that_is_added_to_a_file_without_a_full_list() {
    check(&[add(3), set_edges(0, &[1]), change(Change::Block(vec![2])), Step::Claim { who: CYD, wanted: Some(1) }, end(Outcome::Done)]);
}

#[test]
fn a_cycle_beside_another_one() {
    check(&[add(2), set_edges(0, &[1]), set_edges(1, &[0]), Step::Add(vec![Spec { blocked_by: vec![0], blocks: vec![1], ..spec() }])]);
}

#[test]
fn a_number_that_only_the_archive_knows() {
    check(&[add(1), dropped(3, Spec { priority: 2, ..spec() }), claim(CYD), end(Outcome::Done), change(Change::Archive), add(2)]);
}

#[test]
fn a_blocker_that_was_archived() {
    check(&[add(1), claim(CYD), end(Outcome::Done), change(Change::Archive), Step::Add(vec![Spec { blocked_by: vec![0], ..spec() }]), claim(ANN)]);
}

#[test]
fn a_file_that_is_away_for_a_moment() {
    check(&[add(1), claim(ANN), Step::Hand(Edit::Delete(0)), saved_old(0, 0), claim(CYD)]);
    check(&[add(1), claim(ANN), Step::Hand(Edit::Break { task: 0, kind: 1 }), saved_old(0, 0), claim(CYD)]);
}

#[test]
fn an_old_claim_over_a_living_one() {
    check(&[add(1), claim(CYD), end(Outcome::Released), claim(ANN), saved_old(0, 1), end(Outcome::Done)]);
}

#[test]
fn a_failed_version_over_a_living_claim_that_is_retried() {
    check(&[add(1), claim(ANN), end(Outcome::Failed), change(Change::Retry), claim(ANN), saved_old(0, 2), change(Change::Retry), claim(CYD)]);
}

#[test]
fn a_parked_task_goes_back_with_and_without_its_owner() {
    for keep in [true, false] {
        check(&[add(1), claim(ANN), end(Outcome::Parked), change(Change::Unpark(keep)), claim(CYD), claim(ANN)]);
    }
}

/// One of the completed tasks.
fn reopen(task: usize) -> Step {
    Step::Change { task, change: Change::Reopen(true) }
}

#[test]
fn a_completed_task_that_is_reopened() {
    let waits = || Step::Add(vec![Spec { blocked_by: vec![0], ..spec() }]);
    check(&[add(1), waits(), claim(CYD), end(Outcome::Done), reopen(1), claim(CYD), end(Outcome::Done), claim(ANN)]);
    // With its dependant, which was completed too: the one that is reopened last finds the other one.
    let both = |first, second| [add(1), waits(), claim(CYD), end(Outcome::Done), claim(CYD), end(Outcome::Done), reopen(first), reopen(second), claim(ANN)];
    check(&both(2, 1));
    check(&both(1, 1));
}
