//! From a file's dropping to its claim by another process that waits.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use board::board::Durability;
use board::watch::Watch;

use crate::ground::{Ground, Project, Teammate, task_text};
use crate::measure::{Outcome, median, micros, monotonic, quantile, tell_bound};

const DROPS: usize = 400;

/// Drops files, every other one by a move, the others by writing them in their place as `cp` does.
pub(crate) fn dropped_to_claimed(ground: &Ground) -> Outcome<()> {
    let project = ground.project(0, Durability::Relaxed)?;
    for number in 1..=10_000 {
        std::fs::write(project.tasks().join(format!("task_{number}.json")), task_text(number).replace("\"pending\"", "\"completed\""))?;
    }
    let mut waiter = Command::new(std::env::current_exe()?).arg("waiter").arg(&project.root).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut answers = BufReader::new(waiter.stdout.take().ok_or("no stdout")?).lines();
    let mut answer = || answers.next().ok_or("the waiting process ended")?.map_err(Box::<dyn std::error::Error>::from);
    if answer()? != "ready" {
        return Err("the waiting process did not begin".into());
    }
    let (mut moved, mut written) = (Vec::new(), Vec::new());
    for number in 20_001..=20_000 + DROPS {
        // The waiting process must be asleep again, and not in step with any clock.
        std::thread::sleep(Duration::from_micros(4_000 + (number as u64 * 7_919) % 3_000));
        let (beside, path) = (project.root.join("beside"), project.tasks().join(format!("task_{number}.json")));
        let by_move = number % 2 == 0;
        if by_move {
            std::fs::write(&beside, task_text(number))?;
        }
        let dropped = monotonic();
        match by_move {
            true => std::fs::rename(&beside, &path)?,
            false => std::fs::write(&path, task_text(number))?,
        }
        let line = answer()?;
        let (id, at) = line.split_once(' ').ok_or("no time")?;
        if id != number.to_string() {
            return Err(format!("the waiting process claimed {id} instead of {number}").into());
        }
        let took = Duration::from_nanos(at.parse()?).saturating_sub(dropped).as_secs_f64();
        if by_move { moved.push(took) } else { written.push(took) }
    }
    drop(waiter.stdin.take());
    waiter.kill()?;
    waiter.wait()?;
    for (how, times) in [("moved there", &moved), ("written there", &written)] {
        let (half, most) = (median(times), quantile(times, 0.99));
        tell_bound(&format!("file {how} → claimed, median"), &micros(half), "≤ 1 ms", half <= 1e-3, "a waiting process, 10,000 tasks");
        tell_bound(&format!("file {how} → claimed, p99"), &micros(most), "≤ 10 ms", most <= 10e-3, "");
    }
    project.remove()
}

/// The waiting process: claims what it is woken for and says when it had it.
pub(crate) fn wait_for_tasks(arguments: &[&str]) -> Outcome<()> {
    let [root] = arguments else { return Err("a waiting process wants a directory".into()) };
    let project = Project { root: root.into() };
    let mut board = project.open()?;
    let mut teammate = Teammate::enter(&board, "waiting")?;
    let (wake, woken) = mpsc::channel();
    let watch = Watch::begin(&project.tasks(), &[], move || {
        // The receiver lives as long as this process wants to be woken.
        let _ = wake.send(());
    })?;
    teammate.claim(&mut board)?;
    let mut answers = std::io::stdout();
    writeln!(answers, "ready")?;
    while woken.recv().is_ok() {
        let happened = watch.take();
        board.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
        board.look()?;
        if board.index().open().next().is_some()
            && let Some(claimed) = teammate.claim(&mut board)?
        {
            writeln!(answers, "{} {}", claimed.task.id, monotonic().as_nanos())?;
        }
    }
    Ok(())
}
