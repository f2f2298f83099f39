//! Whether locks of this filesystem exclude: tried with two processes, since one process may lock twice what two
//! may not.

#![allow(clippy::disallowed_methods)] // The other process is this program again, waited for at once: no turn's child.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use board::disk::Dir;
use board::lock::{LockFile, Mode};

use crate::exit::{Exit, Failure};
use crate::machine;

/// Names the trial's directory to the other process, and so its part in it. No option: it is for nobody to type.
const TRIAL: &str = "CREW_LOCK_TRIAL";
/// The lock file's name in that directory.
const NAME: &str = "lock";

/// Locks a file in `dir` and has another process of this program try it, before and after it is freed.
///
/// `Err`: what was not as it should be.
pub(super) fn two_processes(dir: &Dir) -> Result<(), String> {
    let lock = LockFile::open(dir, NAME).map_err(|e| e.to_string())?;
    let held = lock.try_lock(Mode::Exclusive).map_err(|e| e.to_string())?.ok_or("a fresh lock is held by somebody")?;
    if other_process_gets_it(dir.path())? {
        return Err("two processes held one lock at the same time: tasks would be claimed twice. Put the board on a local disk".into());
    }
    drop(held);
    match other_process_gets_it(dir.path())? {
        true => Ok(()),
        false => Err("a lock that was freed could not be had by another process".into()),
    }
}

fn other_process_gets_it(dir: &Path) -> Result<bool, String> {
    let cannot = |e: std::io::Error| format!("a second process could not be started: {e}");
    let program = machine::program().map_err(cannot)?;
    let mut child = Command::new(program);
    child.arg("doctor").env(TRIAL, dir).stdin(Stdio::null()).stdout(Stdio::null());
    let status = child.status().map_err(cannot)?;
    Ok(status.success())
}

/// The other process's part, where this is that one: tries the lock once.
pub(crate) fn as_the_other() -> Option<Result<Exit, Failure>> {
    let dir = PathBuf::from(std::env::var_os(TRIAL)?);
    Some(try_once(&dir))
}

fn try_once(dir: &Path) -> Result<Exit, Failure> {
    let lock = LockFile::open(&Dir::open(dir)?, NAME)?;
    Ok(if lock.try_lock(Mode::Exclusive)?.is_some() { Exit::DONE } else { Exit::LOCKED })
}
