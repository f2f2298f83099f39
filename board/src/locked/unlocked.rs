//! What is left to do when the board is free again: putting on disk what is to be reported.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::board::Dirs;
use crate::disk;
use crate::error::Result;
use crate::kept::Closed;

/// What is left to do when the board is free again: putting on disk what was reported, and closing a generation.
#[derive(Debug)]
#[must_use = "a success may be reported only after `settle`"]
pub struct Unlocked {
    pub(super) dirs: Arc<Dirs>,
    pub(super) unsynced: Vec<(File, PathBuf)>,
    pub(super) sync_names: bool,
    pub(super) closed: Option<Closed>,
}

impl Unlocked {
    /// Puts on disk what must be there before success is reported. Outside the lock.
    pub fn settle(self) -> Result<()> {
        Unlocked::settle_all(vec![self])
    }

    /// The same for several changes of one board: together they cost little more than one of them does.
    pub fn settle_all(all: Vec<Unlocked>) -> Result<()> {
        let Some(dirs) = all.first().map(|first| Arc::clone(&first.dirs)) else { return Ok(()) };
        let unsynced = || all.iter().flat_map(|one| &one.unsynced);
        if unsynced().count() >= disk::MANY_FILES {
            dirs.tasks.sync_filesystem()?;
        } else {
            unsynced().try_for_each(|(file, path)| disk::sync_file(file, path))?;
            if all.iter().any(|one| one.sync_names) {
                dirs.tasks.sync()?;
            }
        }
        let closed = all.into_iter().filter_map(|one| one.closed).max_by_key(Closed::upto);
        match (closed, dirs.ours()) {
            (Some(closed), Some(ours)) => closed.settle(&ours.kept),
            _ => Ok(()),
        }
    }

    /// Whether there is anything to wait for.
    pub fn is_settled(&self) -> bool {
        self.unsynced.is_empty() && !self.sync_names && self.closed.is_none()
    }
}
