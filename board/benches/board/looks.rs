//! A look with nothing changed.

use std::ffi::CString;
use std::time::Instant;

use board::board::Durability;
use board::watch::Watch;

use crate::ground::{Ground, Project, Teammate};
use crate::measure::{Outcome, Pairs, Target, median, micros, tell_bound, thread_time, timed};
use crate::raw::RawDir;

/// Where events come: the queue of events and the journal's tail.
pub(crate) fn events_on(ground: &Ground) -> Outcome<()> {
    let project = ground.project(10_000, Durability::Relaxed)?;
    let mut board = project.open()?;
    // A journal that is there, as after any claim.
    board.lock(crate::ground::PATIENCE)?.unlock()?.settle()?;
    let watch = Watch::begin(&project.tasks(), &[], || {})?;
    let mut times = Vec::new();
    for _ in 0..100 {
        let before = thread_time();
        for _ in 0..100 {
            let happened = watch.take();
            board.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
            board.look()?;
        }
        times.push((thread_time() - before).as_secs_f64() / 100.0);
    }
    let cost = median(&times);
    tell_bound("a look with nothing changed, events on (CPU)", &micros(cost), "≤ 50 µs", cost <= 50e-6, "10,000 tasks");
    project.remove()
}

/// What each process pays for each claim of another: a line of the journal, read and taken in.
pub(crate) fn follow(ground: &Ground) -> Outcome<()> {
    let project = ground.project(10_000, Durability::Relaxed)?;
    let (mut theirs, mut ours) = (project.open()?, project.open()?);
    let mut teammate = Teammate::enter(&theirs, "alice")?;
    teammate.claim(&mut theirs)?;
    ours.look()?;
    let mut times = Vec::new();
    for _ in 0..90 {
        for _ in 0..100 {
            teammate.claim(&mut theirs)?;
        }
        let before = thread_time();
        ours.look()?;
        times.push((thread_time() - before).as_secs_f64() / 100.0);
    }
    tell_bound("a claim of another process, followed (CPU)", &micros(median(&times)), "", true, "10,000 tasks");
    drop(teammate);
    project.remove()
}

/// Where they do not: every known name against a bare statx of as many.
pub(crate) fn sweep(ground: &Ground) -> Outcome<()> {
    for tasks in [10_000, 100_000] {
        let project = ground.project(tasks, Durability::Relaxed)?;
        std::thread::sleep(std::time::Duration::from_millis(50)); // out of the clock's grain, or all are read again
        let (pairs, reading) = sweeps(&project, tasks)?;
        pairs.tell(&format!("a look with nothing changed, events off, {tasks} tasks : statx"), micros, Target::AtMost(1.3));
        tell_bound("  reading them all at first", &micros(reading), "", true, "");
        project.remove()?;
    }
    Ok(())
}

fn sweeps(project: &Project, tasks: usize) -> Outcome<(Pairs, f64)> {
    let since = Instant::now();
    let mut board = project.open()?;
    let reading = since.elapsed().as_secs_f64();
    let dir = RawDir::open(&project.tasks())?;
    let names = (1..=tasks).map(|number| CString::new(format!("task_{number}.json"))).collect::<Result<Vec<_>, _>>()?;
    let mut pairs = Pairs::default();
    for _ in 0..31 {
        let ours = timed(|| Ok(board.sweep()?))?;
        pairs.add(ours, timed(|| dir.statx_all(&names))?);
    }
    Ok((pairs, reading))
}
