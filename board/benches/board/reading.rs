//! The raw limit of listing a board: reading and parsing every task's file, and nothing else, in a whole process.

use std::path::Path;

use serde::Deserialize;

use crate::measure::Outcome;
use crate::raw::RawDir;

/// What a list of ready tasks needs of a task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lean {
    #[allow(dead_code)] // Read like the rest of it.
    subject: String,
    status: String,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    blocked_by: Vec<serde_json::Value>,
}

/// `DIRECTORY THREADS`: prints how many tasks are pending, without owner and unblocked.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let [directory, threads] = arguments else { return Err("a reader wants a directory and a number of threads".into()) };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".json")));
    }
    let share = names.len().div_ceil(threads.parse::<usize>()?).max(1);
    let ready: usize = std::thread::scope(|scope| {
        let readers: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || count_ready(Path::new(directory), names).unwrap_or(0))).collect();
        readers.into_iter().map(|reader| reader.join().unwrap_or(0)).sum()
    });
    println!("{ready}");
    Ok(())
}

fn count_ready(directory: &Path, names: &[String]) -> Outcome<usize> {
    let dir = RawDir::open(directory)?;
    let (mut bytes, mut ready) = (Vec::new(), 0);
    for name in names {
        dir.read(name, &mut bytes)?;
        let task: Lean = serde_json::from_slice(&bytes)?;
        ready += usize::from(task.status == "pending" && task.owner.is_none() && task.blocked_by.is_empty());
    }
    Ok(ready)
}
