//! Generations of kept versions: opened and closed under the lock, and what another boot left torn.

use std::sync::Arc;

use super::LockedBoard;
use crate::alive;
use crate::clock;
use crate::error::{Error, Result};
use crate::kept::{self, Closed, Kept};

impl LockedBoard<'_> {
    pub(super) fn open_generation(&mut self) -> Result<()> {
        let dirs = Arc::clone(&self.board.dirs);
        let (ours, boot) = (dirs.make_ours()?, alive::boot());
        let Some(journal) = &mut self.board.journal else { return Ok(()) };
        if journal.header.kept == 0 {
            journal.set_kept(kept::highest(&ours.kept)? + 1, clock::now())?;
        }
        let number = journal.header.kept;
        if self.board.kept.as_ref().is_none_or(|kept| kept.number != number) {
            self.board.kept = Some(Arc::new(Kept::open(&ours.kept, number, boot)?));
        }
        Ok(())
    }

    pub(super) fn close_generation(&mut self, at_the_end: bool) -> Result<Option<Closed>> {
        let dirs = Arc::clone(&self.board.dirs);
        let (ours, now) = (dirs.make_ours()?, clock::now());
        let Some(journal) = &mut self.board.journal else { return Ok(None) };
        let age = now.as_second().saturating_sub(journal.header.kept_since);
        // A clock that was put back must not keep a generation for ever.
        if !at_the_end && (0..kept::GENERATION_SECONDS).contains(&age) {
            return Ok(None);
        }
        let number = journal.header.kept;
        let empty = !self.recovered && self.board.kept.as_ref().is_some_and(|kept| kept.dir.names().is_ok_and(|names| names.is_empty()));
        if empty {
            journal.set_kept(number, now)?;
            return Ok(None);
        }
        self.board.kept = Some(Arc::new(Kept::open(&ours.kept, number + 1, alive::boot())?));
        journal.set_kept(number + 1, now)?;
        Ok(Some(kept::close(number)))
    }

    /// At a process's first lock: gives tasks that another boot left torn their newest whole version.
    pub(super) fn recover(&mut self) -> Result<()> {
        if self.board.recovered {
            return Ok(());
        }
        let dirs = Arc::clone(&self.board.dirs);
        let ours = dirs.make_ours()?;
        let generations = kept::of_other_boots(&ours.kept, alive::boot())?;
        if let (false, Some(kept)) = (generations.is_empty(), self.board.kept.clone()) {
            for survivor in kept::survivors(&generations, &dirs.tasks)? {
                kept::put_back(&survivor, &kept, &ours.archive, &dirs.tasks)?;
                self.board.read_again(&survivor.id);
                self.tell_changed(&survivor.id);
            }
            self.recovered = true;
        }
        self.board.recovered = true;
        Ok(())
    }

    pub(crate) fn kept(&self) -> Result<Arc<Kept>> {
        self.board.kept.clone().ok_or_else(|| Error::io("open", self.board.dirs.tasks.path(), std::io::Error::other("no generation is open")))
    }
}
