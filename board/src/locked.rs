//! The locked board: the only writer of tasks. Every write re-reads its file under the lock first.

mod generations;
mod replacing;
mod restoring;
mod sweeping;
mod turns;
mod unlocked;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::alive;
use crate::board::{Board, Durability};
use crate::clock;
use crate::crash;
use crate::disk::Stamp;
use crate::error::Result;
use crate::journal::{self, Journal, Line, Op};
use crate::lock::{Held, LockFile, Mode};
use crate::task_id::TaskId;
use crate::transition::Moment;

pub use turns::{Claimed, Terms};
pub use unlocked::Unlocked;

/// The board's lock, held. Dropped or unlocked, the board is free again.
pub struct LockedBoard<'b> {
    pub(crate) board: &'b mut Board,
    lines: Vec<u8>,
    /// Versions that are in their place and that success depends on.
    unsynced: Vec<(File, PathBuf)>,
    /// A name in `.tasks/` that success depends on has changed.
    pub(crate) names_changed: bool,
    /// Generations of another boot were needed and are no longer.
    recovered: bool,
    _held: Held,
}

impl Board {
    /// Locks the board for changing it, waiting at most `patience`.
    pub fn lock(&mut self, patience: Duration) -> Result<LockedBoard<'_>> {
        LockedBoard::lock(self, patience)
    }
}

impl<'b> LockedBoard<'b> {
    fn lock(board: &'b mut Board, patience: Duration) -> Result<Self> {
        let dirs = Arc::clone(&board.dirs);
        if board.lock.is_none() {
            board.check_format()?;
        }
        let ours = dirs.make_ours()?;
        let held = loop {
            let lock = match &board.lock {
                Some(lock) => Arc::clone(lock),
                None => Arc::clone(board.lock.insert(LockFile::open(&ours.dir, "lock")?)),
            };
            // What others did is read under the lock only: whoever reads while it waits takes the holder's processor
            // away (measured with 32 processes on two cores: half the claims).
            let held = lock.lock(Mode::Exclusive, patience)?;
            // Somebody may have removed the file: then others lock another one.
            if lock.is_current(&ours.dir)? {
                break held;
            }
            board.lock = None;
        };
        let boot = alive::boot();
        let known = board.journal.is_some();
        let usable = match &mut board.journal {
            Some(journal) => journal.began_in(boot) && journal.stands(&ours.dir)? && journal.be_writable(&ours.dir)?,
            None => false,
        };
        if !usable {
            let mut journal = Journal::open_for_writing(&ours.dir, boot, clock::now())?;
            if known {
                // Somebody deleted it or cut it: nobody may read on from where he stood.
                journal.begin_anew()?;
            }
            board.journal = Some(journal);
            board.seen = false;
        }
        board.follow_journal(true)?;
        let mut locked = LockedBoard { board, lines: Vec::new(), unsynced: Vec::new(), names_changed: false, recovered: false, _held: held };
        locked.open_generation()?;
        locked.recover()?;
        crash::point("claim.locked");
        locked.restore_suspects()?;
        Ok(locked)
    }

    /// The board, for looking at it under the lock.
    pub fn board(&self) -> &Board {
        self.board
    }

    /// Sees the whole directory where this process has not yet, and puts edges right.
    pub fn see(&mut self) -> Result<()> {
        if !self.board.seen {
            self.board.sweep()?;
            self.restore_suspects()?;
        }
        self.tidy();
        Ok(())
    }

    /// Frees the board. What is left to do before success may be reported is the caller's, outside the lock.
    pub fn unlock(mut self) -> Result<Unlocked> {
        self.flush()?;
        let closed = self.close_generation(self.recovered)?;
        let sync_names = self.names_changed && self.board.durability == Durability::Full;
        Ok(Unlocked { dirs: Arc::clone(&self.board.dirs), unsynced: std::mem::take(&mut self.unsynced), sync_names, closed })
    }

    /// The same at a process's end: closes the generation whatever its age.
    pub fn unlock_for_good(mut self) -> Result<Unlocked> {
        self.flush()?;
        let closed = self.close_generation(true)?;
        let unsynced = std::mem::take(&mut self.unsynced);
        Ok(Unlocked { dirs: Arc::clone(&self.board.dirs), unsynced, sync_names: self.names_changed, closed })
    }

    fn flush(&mut self) -> Result<()> {
        crash::point("commit.journal");
        let lines = std::mem::take(&mut self.lines);
        match &mut self.board.journal {
            Some(journal) if !lines.is_empty() => journal.append(&lines),
            _ => Ok(()),
        }
    }

    fn position(&self) -> (u64, u64) {
        let (generation, offset) = self.board.journal.as_ref().map_or((0, 0), Journal::position);
        (generation, offset + self.lines.len() as u64)
    }

    fn tell(&mut self, id: &TaskId, op: Op, turn: Option<&str>, by: Option<&str>, stamp: Option<Stamp>) {
        let stamp = stamp.map(|stamp| (stamp.inode, stamp.size, stamp.mtime, stamp.ctime));
        let line = Line { task: id.as_str().into(), op, turn: turn.map(Into::into), by: by.map(Into::into), at: clock::now(), stamp };
        journal::write_line(&mut self.lines, &line);
    }

    pub(crate) fn tell_changed(&mut self, id: &TaskId) {
        let stamp = self.board.index.get(id).map(|entry| entry.stamp);
        let op = if stamp.is_some() { Op::Changed } else { Op::Gone };
        self.tell(id, op, None, None, stamp);
    }

    /// Tells of a task that has just appeared.
    pub(crate) fn tell_new(&mut self, id: &TaskId) {
        // Nobody has read it, so nobody needs its stamp to see that he need not.
        self.tell(id, Op::Changed, None, None, None);
    }

    fn is_full(&self) -> bool {
        self.board.durability == Durability::Full
    }

    pub(crate) fn moment(&self) -> Moment<'static> {
        Moment { now: clock::now(), boot: alive::boot(), max_lost: self.board.max_lost }
    }
}

impl Drop for LockedBoard<'_> {
    fn drop(&mut self) {
        // Without `unlock` something failed on the way: what was done is told all the same.
        let _ = self.flush();
    }
}
