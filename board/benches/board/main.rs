//! What the board costs, as ratios against the raw limits of the same machine, measured in one run.
//!
//! `cargo bench -p board [-- NAME …]` runs the measurements whose names contain one of the given words. Each line
//! says what was measured, ours, the raw limit, their ratio, the target and whether it is met. Absolute times
//! differ tenfold between filesystems; the ratios are what counts. Ours and the limit are measured in short turns,
//! one after the other, on the same filesystem, and the median of the pairs' ratios is told.
//!
//! `CREW_BENCH_DIR` names the directory (and so the filesystem) to measure in; without it a temporary one.
//!
//! Processes that take part are this program again, with a first argument that says what they do.

#![allow(clippy::disallowed_methods)] // The raw limits are raw calls: they do not go through the board's door.

mod adds;
mod crowd;
mod drops;
mod ground;
mod looks;
mod measure;
mod raw;
mod reading;
mod single;
mod sqlite;
mod threads;
mod worker;

use std::process::ExitCode;

use ground::Ground;
use measure::Outcome;

/// A measurement and the name by which it is chosen.
type Measurement = (&'static str, fn(&Ground) -> Outcome<()>);

const MEASUREMENTS: [Measurement; 12] = [
    ("claim-one", single::one_claim),
    ("claim-growth", single::growth),
    ("claim-crowd", crowd::crowd),
    ("claim-control", crowd::control),
    ("claim-sqlite", crowd::against_sqlite),
    ("claim-sqlite-full", crowd::against_sqlite_full),
    ("look-events", looks::events_on),
    ("look-follow", looks::follow),
    ("look-sweep", looks::sweep),
    ("drop", drops::dropped_to_claimed),
    ("add", adds::add),
    ("thread", threads::growth),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["worker", rest @ ..] => worker::run(rest),
        ["waiter", rest @ ..] => drops::wait_for_tasks(rest),
        ["read-all", rest @ ..] => reading::run(rest),
        _ if words.contains(&"--bench") => measure_all(&words),
        // `cargo test --all-targets` runs this too; nothing is measured then.
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("the measurement failed: {e}");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(words: &[&str]) -> Outcome<()> {
    let wanted: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let ground = Ground::new()?;
    measure::print_head(&ground)?;
    for (name, measurement) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(**word)) {
            measurement(&ground)?;
        }
    }
    Ok(())
}
