//! What the door to the disk does, told as it does it: for the simulated disk and the staged accidents of the tests.
//! Built only with `simulate`.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::path::PathBuf;

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
    /// A point of the module `crash` was passed.
    Passed(&'static str),
}

type Observer = Box<dyn FnMut(&Op)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// Somebody is told of this thread's operations; no longer when this is dropped.
#[must_use]
pub struct Observing {
    /// It ends in the thread in which it began.
    _here: PhantomData<*const ()>,
}

/// Tells somebody of every operation of this thread. What the observer itself does is told to nobody.
pub fn observe(observer: impl FnMut(&Op) + 'static) -> Observing {
    OBSERVER.with_borrow_mut(|told| *told = Some(Box::new(observer)));
    Observing { _here: PhantomData }
}

impl Drop for Observing {
    fn drop(&mut self) {
        let _ = OBSERVER.try_with(|told| told.borrow_mut().take());
    }
}

/// Tells of an operation, where somebody wants to know.
pub fn note(op: impl FnOnce() -> Op) {
    let Ok(Some(mut observer)) = OBSERVER.try_with(|told| told.borrow_mut().take()) else { return };
    observer(&op());
    let _ = OBSERVER.try_with(|told| *told.borrow_mut() = Some(observer));
}
