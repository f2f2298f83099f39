//! One process looks at the whole directory for all.

use std::time::Duration;

use crate::board::Board;
use crate::clock;
use crate::disk;
use crate::error::Result;
use crate::lock::{LockFile, Mode};

impl Board {
    /// Looks at the whole directory, unless some process of this board did within `every`; journals what it finds.
    ///
    /// Returns whether this process looked.
    pub fn sweep_for_all(&mut self, every: Duration) -> Result<bool> {
        self.check_format()?;
        let Some(ours) = self.dirs.ours() else { return self.sweep().map(|_| true) };
        let lock = LockFile::open(&ours.dir, "sweep.lock")?;
        let Some(_held) = lock.try_lock(Mode::Exclusive)? else { return Ok(false) };
        let mut text = [0; 32];
        let count = disk::read_at(lock.file(), lock.path(), &mut text, 0)?;
        let last: i128 = std::str::from_utf8(&text[..count]).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let now = clock::nanos();
        // A clock that was put back must not keep everybody from looking.
        if (0..i128::try_from(every.as_nanos()).unwrap_or(i128::MAX)).contains(&(now - last)) {
            return Ok(false);
        }
        self.look()?;
        let changed = self.sweep()?;
        disk::write_at(lock.file(), lock.path(), format!("{now:>31}\n").as_bytes(), 0)?;
        if !changed.is_empty() {
            let mut locked = self.lock(Duration::from_secs(2))?;
            changed.iter().for_each(|id| locked.tell_changed(id));
            locked.unlock()?.settle()?;
        }
        Ok(true)
    }
}
