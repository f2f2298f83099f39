//! What the door to the disk did, in order: for the simulated disk of the tests. Built only with `simulate`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// One operation, after it succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A directory was made.
    MakeDir(PathBuf),
    /// A file's name was made (or was there, for records that are opened).
    Create(PathBuf),
    /// A file that was just created was written whole.
    Write(PathBuf, Vec<u8>),
    /// A file was written in place at an offset.
    WriteAt(PathBuf, u64, Vec<u8>),
    /// A file was cut to a length.
    Truncate(PathBuf, u64),
    /// A name became another, replacing what bore it.
    Rename(PathBuf, PathBuf),
    /// Two names were exchanged.
    Exchange(PathBuf, PathBuf),
    /// A name was removed.
    Remove(PathBuf),
    /// An empty directory was removed.
    RemoveDir(PathBuf),
    /// A file's content is on disk.
    SyncFile(PathBuf),
    /// A directory's names are on disk.
    SyncDir(PathBuf),
    /// A sync of the filesystem begins: what was done before it will be on disk at its end.
    SyncBegin,
    /// A sync of the filesystem has ended.
    SyncAll,
    /// Success was reported (noted by a test).
    Reported(String),
}

static RECORDING: Mutex<Option<Vec<Op>>> = Mutex::new(None);

/// Begins to record, of all threads of this process.
pub fn begin() {
    *RECORDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// Ends the recording and returns it.
pub fn end() -> Vec<Op> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

/// Notes an operation, if a recording is under way.
pub fn note(op: impl FnOnce() -> Op) {
    if let Some(ops) = RECORDING.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        ops.push(op());
    }
}
