//! Whose teammate's process this one runs below.
//!
//! What a teammate starts stays below its process, whatever it does with its environment, its session and its parents:
//! orphans come back to the teammate ([`crate::children`]). So the tree of processes tells who acts where variables, which
//! anybody sets, do not. It does not reach what another service starts for somebody (a session of `ssh` or `systemd`), nor
//! over the border of a container; outside Linux nothing is known.

use board::alive::Process;
use board::name::Name;
use board::presence::Record;
use board::{Board, Result, alive};

use crate::proc_fs::{self, Stat};

/// Longer than any line of ancestors.
const MOST: usize = 4096;

/// The teammates of a board below whose processes this one runs, with what they say of themselves, the nearest process
/// first. Several may be of one process.
pub fn teammates(board: &Board) -> Result<Vec<(Name, Record)>> {
    let ancestors = ancestors();
    if ancestors.is_empty() {
        return Ok(Vec::new());
    }
    // That it is above says that it lives.
    let place_of = |process: &Process| ancestors.iter().position(|ancestor| process.boot == alive::boot() && *ancestor == (process.pid, process.start));
    let mut above: Vec<_> = board.records()?.into_iter().filter_map(|(name, record)| Some((place_of(&record.process)?, (name, record)))).collect();
    above.sort_by_key(|(place, _)| *place);
    Ok(above.into_iter().map(|(_, teammate)| teammate).collect())
}

/// Pid and start of every process above this one, the parent first, as the `/proc` that is mounted here has them.
fn ancestors() -> Vec<(u32, u64)> {
    let mut line = Vec::new();
    let mut next = proc_fs::this().map(|this| this.parent);
    while let Some(pid) = next.filter(|pid| *pid > 0 && line.len() < MOST) {
        let Some(Stat { parent, start, .. }) = proc_fs::stat(pid) else { break };
        line.extend(u32::try_from(pid).ok().map(|pid| (pid, start)));
        next = Some(parent);
    }
    line
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_the_first_and_the_first_process_of_all_the_last() {
        let line = ancestors();
        let parent = Process::of(std::os::unix::process::parent_id()).unwrap();
        assert_eq!(line.first(), Some(&(parent.pid, parent.start)));
        assert!(line.iter().all(|(pid, _)| *pid != std::process::id()), "{line:?}");
        assert_eq!(line.last().map(|(pid, _)| *pid), Some(1), "{line:?}");
    }
}
