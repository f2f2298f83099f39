//! One claim of one process.

use std::hint::black_box;

use board::board::Durability;

use crate::ground::{Ground, Teammate, task_text};
use crate::measure::{Outcome, Pairs, Target, micros, timed};
use crate::raw::RawDir;

/// Claims in one turn of a pair.
const BATCH: usize = 20;

/// A claim on a board of 10,000 tasks against a bare replacement of a file of the same size beside as many others.
pub(crate) fn one_claim(ground: &Ground) -> Outcome<()> {
    let project = ground.project(10_000, Durability::Relaxed)?;
    let beside = ground.directory()?;
    let dir = RawDir::open(&beside)?;
    for number in 1..=10_000 {
        dir.create(&format!("task_{number}.json"), task_text(number).as_bytes())?;
    }
    let mut board = project.open()?;
    let mut teammate = Teammate::enter(&board, "alice")?;
    let first = teammate.claim(&mut board)?.ok_or("there was nothing to claim")?;
    let claimed = std::fs::read(project.tasks().join(first.task.id.file_name()))?;
    ground.settle()?;

    let (mut pairs, mut copies, mut number) = (Pairs::default(), Pairs::default(), 0);
    let bare = |number: &mut usize| {
        timed(|| {
            for _ in 0..BATCH {
                *number = *number % 10_000 + 1;
                dir.replace(&format!("task_{number}.json"), black_box(&claimed))?;
            }
            Ok(())
        })
    };
    for _ in 0..200 {
        let ours = timed(|| claim_batch(&mut teammate, &mut board))?;
        let limit = bare(&mut number)?;
        pairs.add(ours / BATCH as f64, limit / BATCH as f64);
        copies.add(bare(&mut number)? / BATCH as f64, limit / BATCH as f64);
    }
    pairs.tell("one claim, relaxed, 10,000 tasks : bare temp + rename", micros, Target::AtMost(1.7));
    pairs.tell_total("  with the closing of generations", micros);
    copies.tell("  the limit against itself", micros, Target::Untold);
    drop(teammate);
    std::fs::remove_dir_all(beside)?;
    project.remove()
}

/// A claim of a long-lived process on a board of 100 tasks and on one of 100,000.
pub(crate) fn growth(ground: &Ground) -> Outcome<()> {
    let large = ground.project(100_000, Durability::Relaxed)?;
    let mut large_board = large.open()?;
    let mut bob = Teammate::enter(&large_board, "bob")?;
    bob.claim(&mut large_board)?;
    ground.settle()?;
    let mut pairs = Pairs::default();
    for _ in 0..40 {
        let small = ground.project(100, Durability::Relaxed)?;
        let mut small_board = small.open()?;
        let mut alice = Teammate::enter(&small_board, "alice")?;
        alice.claim(&mut small_board)?;
        ground.settle()?;
        for _ in 0..4 {
            let of_few = timed(|| claim_batch(&mut alice, &mut small_board))?;
            let of_many = timed(|| claim_batch(&mut bob, &mut large_board))?;
            pairs.add(of_many / BATCH as f64, of_few / BATCH as f64);
        }
        drop(alice);
        small.remove()?;
    }
    pairs.tell("one claim, 100,000 tasks : 100 tasks", micros, Target::AtMost(1.3));
    drop(bob);
    large.remove()
}

fn claim_batch(teammate: &mut Teammate, board: &mut board::Board) -> Outcome<()> {
    for _ in 0..BATCH {
        teammate.claim(board)?.ok_or("there was nothing left to claim")?;
    }
    Ok(())
}
