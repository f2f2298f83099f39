//! A completed task that is reopened stands in the way again.

use board::ready::Claimant;
use board::task::{Outcome, Status};
use board::transition::{By, Ending};
use board::{Board, Durability, Result, Rule};
use serde_json::json;

use crate::crash::die_after;
use crate::scratch::{PATIENCE, Scratch, add, claim, end, finish, id, open, rule, take};
use crate::worker::{self, Told};

fn complete(board: &mut Board, task: &str) {
    let claimed = take(board, None, "somebody", task);
    finish(board, "somebody", &claimed).unwrap();
}

fn reopen(board: &mut Board, task: &str) -> Result<()> {
    let mut locked = board.lock(PATIENCE)?;
    let done = locked.reopen(&id(task), Some("it is not done"));
    locked.unlock()?.settle()?;
    done
}

fn ready(board: &Board) -> Vec<String> {
    board.index().ready_for(&Claimant::shell("anybody")).map(ToString::to_string).collect()
}

#[test]
fn what_depends_on_it_waits_again() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#, r#"{"subject":"third","blockedBy":[1,2]}"#]);
    let mut onlooker = scratch.seen();
    complete(&mut board, "1");
    onlooker.look().unwrap();
    assert_eq!(ready(&onlooker), ["2"]);

    reopen(&mut board, "1").unwrap();

    onlooker.look().unwrap();
    for (board, whose) in [(&board, "who did it"), (&onlooker, "who looked on"), (&scratch.seen(), "a newcomer")] {
        assert_eq!(ready(board), ["1"], "{whose}");
    }
    assert_eq!(scratch.json("2")["blockedBy"], json!([1]));
    assert_eq!(scratch.json("3")["blockedBy"], json!([2, 1]));
    assert_eq!(scratch.json("3")["dependsOn"], json!([1, 2]));
    assert_eq!(rule(claim(&mut onlooker, None, "somebody", Some("2"))), Rule::Blocked);
    for task in ["1", "2", "3"] {
        complete(&mut board, task);
    }
}

/// What was begun on its completion is not completed before it.
#[test]
fn what_is_worked_on_meanwhile_is_completed_after_it() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#]);
    complete(&mut board, "1");
    let claimed = take(&mut board, None, "somebody", "2");
    reopen(&mut board, "1").unwrap();
    assert_eq!(scratch.task("2").claim.unwrap().turn, claimed.turn, "its holder keeps it");
    assert_eq!(rule(finish(&mut board, "somebody", &claimed)), Rule::Blocked);
    complete(&mut board, "1");
    assert_eq!(finish(&mut board, "somebody", &claimed).unwrap(), Status::Completed);
}

/// Whatever can be worked on once more is blocked then; what is completed is left alone.
#[test]
fn what_is_completed_keeps_its_edges() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"done","blockedBy":[1]}"#, r#"{"subject":"failed","blockedBy":[1]}"#]);
    complete(&mut board, "1");
    complete(&mut board, "2");
    take(&mut board, None, "somebody", "3");
    end(&mut board, "3", &By::Force, &Ending::of(Outcome::Failed)).unwrap();
    let done = scratch.text("2");

    reopen(&mut board, "1").unwrap();

    assert_eq!(scratch.text("2"), done);
    assert_eq!(scratch.json("3")["blockedBy"], json!([1]));
}

/// A chain stands as it did, whichever end is reopened first.
#[test]
fn of_several_the_order_does_not_matter() {
    for order in [["1", "2"], ["2", "1"]] {
        let scratch = Scratch::new(Durability::Relaxed);
        let mut board = scratch.board();
        add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#]);
        complete(&mut board, "1");
        complete(&mut board, "2");
        order.iter().for_each(|task| reopen(&mut board, task).unwrap());
        assert_eq!(scratch.json("2")["blockedBy"], json!([1]), "{order:?}");
        assert_eq!(ready(&scratch.seen()), ["1"], "{order:?}");
    }
}

/// Not even the one that it was taken off from: only what was reopened comes back into its way.
#[test]
fn it_does_not_wait_itself_for_what_it_was_unblocked_from() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#]);
    let mut locked = board.lock(PATIENCE).unwrap();
    locked.unblock(&id("2"), &[]).unwrap();
    locked.unlock().unwrap().settle().unwrap();
    complete(&mut board, "2");
    reopen(&mut board, "2").unwrap();
    assert_eq!(ready(&scratch.seen()), ["1", "2"]);
}

#[test]
fn an_edge_that_would_close_a_cycle_stays_out() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#]);
    complete(&mut board, "1");
    // The first waits for this one as soon as it is not completed.
    add(&mut board, &[r#"{"subject":"third","blockedBy":[2],"blocks":[1]}"#]);
    reopen(&mut board, "1").unwrap();
    assert_eq!(ready(&scratch.seen()), ["2"]);
    for task in ["2", "3", "1"] {
        complete(&mut board, task);
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut board = scratch.board();
    add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#]);
    complete(&mut board, "1");
    let before = (scratch.text("1"), scratch.text("2"));
    let mut locked = board.lock(PATIENCE).unwrap();
    assert_eq!(rule(locked.reopen(&id("1"), None)), Rule::ReasonNeeded);
    assert_eq!(rule(locked.reopen(&id("2"), Some("why not"))), Rule::IllegalTransition);
    locked.unlock().unwrap().settle().unwrap();
    assert_eq!((scratch.text("1"), scratch.text("2")), before);
}

/// One that may die at it.
pub(crate) fn reopen_and_die(told: &Told) {
    let _dying = die_after(told.number("after"));
    reopen(&mut open(&told.project), "1").unwrap();
}

/// However far it came: what depends on it is free where it is completed, and waits where it is not.
#[test]
fn one_that_is_killed_leaves_all_or_nothing() {
    let mut after = 1;
    let mut left = Vec::new();
    loop {
        let scratch = Scratch::new(Durability::Relaxed);
        let mut board = scratch.board();
        add(&mut board, &[r#"{"subject":"first"}"#, r#"{"subject":"second","blockedBy":[1]}"#, r#"{"subject":"third","blockedBy":[1]}"#]);
        complete(&mut board, "1");
        let killed = worker::was_killed(worker::command("reopen", scratch.path(), &json!({ "after": after })).status().unwrap());
        let mut later = scratch.board();
        let mut locked = later.lock(PATIENCE).unwrap();
        locked.see().unwrap();
        locked.unlock().unwrap().settle().unwrap();
        let status = scratch.status("1");
        let expected = if status == Status::Completed { json!([]) } else { json!([1]) };
        for dependant in ["2", "3"] {
            assert_eq!(scratch.json(dependant)["blockedBy"], expected, "{dependant}, killed after operation {after}");
        }
        left.push(status);
        if !killed {
            break;
        }
        after += 1;
    }
    assert!(left.contains(&Status::Completed) && left.contains(&Status::Pending), "it was killed before and after: {left:?}");
}
