//! Claims of many processes at once: against one process, against SQLite, and without a lock.

use std::collections::HashMap;
use std::time::Duration;

use board::board::Durability;

use crate::ground::{Ground, Project};
use crate::measure::{Outcome, Pairs, Target, rate, tell_bound};
use crate::sqlite;
use crate::worker::{Burst, Crowd, Kind};

const TASKS: usize = 10_000;
const ROUNDS: usize = 12;
/// Short, so that a round never runs out of tasks where a replacement costs microseconds.
const BURST: Duration = Duration::from_millis(80);

/// The claims of a round, of which none may have been given twice.
#[derive(Default)]
struct Given {
    times: HashMap<String, usize>,
}

impl Given {
    fn add(&mut self, burst: Burst) -> f64 {
        burst.ids.into_iter().for_each(|id| *self.times.entry(id).or_default() += 1);
        burst.rate
    }

    fn twice(&self) -> usize {
        self.times.values().filter(|times| **times > 1).count()
    }

    fn check(&self) -> Outcome<()> {
        match self.twice() {
            0 => Ok(()),
            twice => Err(format!("{twice} tasks were claimed by two processes").into()),
        }
    }
}

/// 8 and 32 processes together against one.
pub(crate) fn crowd(ground: &Ground) -> Outcome<()> {
    let (mut eight, mut many) = (Pairs::default(), Pairs::default());
    let mut claims = 0;
    for _ in 0..ROUNDS {
        for (pairs, count) in [(&mut eight, 8), (&mut many, 32)] {
            let project = ground.project(TASKS, Durability::Relaxed)?;
            let mut crowd = Crowd::start(Kind::Board, &project.root, count)?;
            ground.settle()?;
            let mut given = Given::default();
            let one = given.add(crowd.burst(1, BURST)?);
            pairs.add(given.add(crowd.burst(count, BURST)?), one);
            crowd.end()?;
            given.check()?;
            claims += given.times.len();
            project.remove()?;
        }
    }
    eight.tell("claims of 8 processes together : of one", rate, Target::AtLeast(0.75));
    many.tell("claims of 32 processes together : of one", rate, Target::AtLeast(0.65));
    tell_bound("  tasks that were claimed twice", "0", "0", true, &format!("of {claims}"));
    Ok(())
}

/// The control: without the lock the same measurement must find tasks that were claimed twice.
pub(crate) fn control(ground: &Ground) -> Outcome<()> {
    let project = ground.project(TASKS, Durability::Relaxed)?;
    let mut crowd = Crowd::start(Kind::Lockless, &project.root, 8)?;
    let mut given = Given::default();
    given.add(crowd.burst(8, 5 * BURST)?);
    crowd.end()?;
    let twice = given.twice();
    tell_bound("control without a lock: tasks claimed twice", &twice.to_string(), "> 0", twice > 0, &format!("of {}", given.times.len()));
    project.remove()
}

/// 1 and 8 processes against as many on SQLite, its log synced at checkpoints only.
pub(crate) fn against_sqlite(ground: &Ground) -> Outcome<()> {
    let (mut one, mut eight) = (Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS {
        let project = both(ground, Durability::Relaxed)?;
        let mut ours = Crowd::start(Kind::Board, &project.root, 8)?;
        let mut theirs = Crowd::start(Kind::SqliteNormal, &project.root, 8)?;
        ground.settle()?;
        for (pairs, count) in [(&mut one, 1), (&mut eight, 8)] {
            let rate = ours.burst(count, BURST)?.rate;
            pairs.add(rate, theirs.burst(count, BURST)?.rate);
        }
        ours.end()?;
        theirs.end()?;
        project.remove()?;
    }
    one.tell("claims of 1 process : SQLite WAL NORMAL", rate, Target::AtLeast(0.45));
    eight.tell("claims of 8 processes : SQLite WAL NORMAL", rate, Target::AtLeast(0.33));
    Ok(())
}

/// 8 processes on a board that is `full` against as many on SQLite, its log synced at every commit.
pub(crate) fn against_sqlite_full(ground: &Ground) -> Outcome<()> {
    let (mut claims, mut whole) = (Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS {
        for (pairs, kind, other) in [(&mut claims, Kind::Board, Kind::SqliteFull), (&mut whole, Kind::BoardWhole, Kind::SqliteFullWhole)] {
            let project = both(ground, Durability::Full)?;
            let mut ours = Crowd::start(kind, &project.root, 8)?;
            let mut theirs = Crowd::start(other, &project.root, 8)?;
            ground.settle()?;
            let rate = ours.burst(8, 2 * BURST)?.rate;
            pairs.add(rate, theirs.burst(8, 2 * BURST)?.rate);
            ours.end()?;
            theirs.end()?;
            project.remove()?;
        }
    }
    // Where there is no disk, SQLite syncs nothing, and there is nothing to compare.
    let target = if ground.filesystem()? == "tmpfs" { Target::Untold } else { Target::AtLeast(1.0) };
    claims.tell("claims of 8 processes, full : SQLite WAL FULL", rate, target);
    whole.tell("  claimed and finished, full : SQLite WAL FULL", rate, Target::Untold);
    Ok(())
}

fn both(ground: &Ground, durability: Durability) -> Outcome<Project> {
    let project = ground.project(TASKS, durability)?;
    sqlite::fill(&project.root, TASKS)?;
    Ok(project)
}
