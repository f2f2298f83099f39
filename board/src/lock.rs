//! Advisory file locks (fs4: `flock`), waited for with a bound. Lock files are never unlinked.
//!
//! Order where several are taken: board, thread, inbox.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use crate::disk::{self, Dir};
use crate::error::{Error, Result};

/// How long a lock is waited for before the caller is told.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Shared or exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Any number at once.
    Shared,
    /// One at a time.
    Exclusive,
}

/// A lock file that this process has open.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
    name: String,
    inode: u64,
}

/// A held lock; dropped, it is free. The kernel frees it too when the process dies, however it dies.
#[derive(Debug)]
pub struct Held {
    lock: Arc<LockFile>,
}

impl LockFile {
    /// Opens (or makes) a lock file.
    pub fn open(dir: &Dir, name: &str) -> Result<Arc<LockFile>> {
        LockFile::of(dir.open_record(name, 0o666)?, dir, name)
    }

    /// Opens a lock file where it is there.
    pub fn open_existing(dir: &Dir, name: &str) -> Result<Option<Arc<LockFile>>> {
        dir.open_file(name)?.map(|file| LockFile::of(file, dir, name)).transpose()
    }

    fn of(file: File, dir: &Dir, name: &str) -> Result<Arc<LockFile>> {
        let path = dir.join(name);
        let inode = disk::stamp(&file, &path)?.inode;
        Ok(Arc::new(LockFile { file, path, name: name.to_owned(), inode }))
    }

    /// Tries once. `None`: somebody else holds it.
    pub fn try_lock(self: &Arc<Self>, mode: Mode) -> Result<Option<Held>> {
        let tried = match mode {
            Mode::Shared => FileExt::try_lock_shared(&self.file),
            Mode::Exclusive => FileExt::try_lock(&self.file),
        };
        match tried {
            Ok(()) => Ok(Some(Held { lock: Arc::clone(self) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::io("lock", &self.path, e)),
        }
    }

    /// Waits for it, at most `patience`. The pauses are short at first, since boards are locked for microseconds, and grow
    /// to milliseconds: a crowd that looks more often takes the processor from whoever holds it.
    pub fn lock(self: &Arc<Self>, mode: Mode, patience: Duration) -> Result<Held> {
        if let Some(held) = self.try_lock(mode)? {
            return Ok(held);
        }
        let since = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            std::thread::sleep(pause);
            if let Some(held) = self.try_lock(mode)? {
                return Ok(held);
            }
            let waited = since.elapsed();
            if waited >= patience {
                return Err(Error::LockTimeout { path: self.path.clone(), waited, holder: None });
            }
            pause = (pause * 2).min(Duration::from_millis(5)).max(waited / 50).min(Duration::from_millis(20));
        }
    }

    /// Whether the open file is still the one that bears its name (somebody may have removed it).
    pub fn is_current(&self, dir: &Dir) -> Result<bool> {
        Ok(dir.stat(&self.name)?.is_some_and(|(_, named)| named.inode == self.inode))
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = FileExt::unlock(&self.lock.file);
    }
}
