//! Adding many tasks at once.

use board::Board;
use board::add::Draft;
use board::board::Durability;

use crate::ground::{Ground, PATIENCE, task_text};
use crate::measure::{Outcome, Pairs, Target, micros, timed};
use crate::raw::RawDir;

const TASKS: usize = 10_000;

/// Adding 10,000 drafts against the bare creation of as many files of their size (in `full` with one sync).
pub(crate) fn add(ground: &Ground) -> Outcome<()> {
    let drafts: Vec<Draft> = (1..=TASKS)
        .map(|number| Draft { text: task_text(number).replacen(&format!("\"id\": {number},\n  "), "", 1), origin: format!("line {number}") })
        .collect();
    let (mut relaxed, mut full) = (Pairs::default(), Pairs::default());
    for _ in 0..9 {
        for (pairs, durability) in [(&mut relaxed, Durability::Relaxed), (&mut full, Durability::Full)] {
            let project = ground.project(0, durability)?;
            ground.settle()?;
            let mut board = Board::init(&project.root, durability, &project.surroundings())?;
            // As `crew add` does.
            board.set_threads(std::thread::available_parallelism().map_or(1, usize::from));
            let ours = timed(|| Ok(board.add(&drafts, PATIENCE)?))?;
            let written = std::fs::read(project.tasks().join("task_1.json"))?;
            ground.settle()?;
            let bare = ground.directory()?;
            let dir = RawDir::open(&bare)?;
            let limit = timed(|| {
                for number in 1..=TASKS {
                    dir.create(&format!("task_{number}.json"), &written)?;
                }
                if durability == Durability::Full { dir.sync_filesystem() } else { Ok(()) }
            })?;
            pairs.add(ours, limit);
            std::fs::remove_dir_all(&bare)?;
            project.remove()?;
            ground.settle()?;
        }
    }
    relaxed.tell("add 10,000, relaxed : bare creation", micros, Target::AtMost(1.5));
    full.tell("add 10,000, full : bare creation + one sync", micros, Target::AtMost(1.5));
    Ok(())
}
