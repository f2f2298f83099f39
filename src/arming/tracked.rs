//! Which task files git tracks.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::PathBuf;

use board::place::Place;
use board::task_id::TaskId;

/// The index of the repository that a board is in.
pub(super) struct Tracked {
    index: RefCell<git2::Index>,
    /// There while git writes: files first, its index in the end.
    lock: PathBuf,
    /// The board, relative to the working tree.
    tasks: PathBuf,
}

impl Tracked {
    /// That of the repository around a board; `None`: there is none.
    pub(super) fn find(place: &Place) -> Option<Tracked> {
        let repository = git2::Repository::discover(place.project()).ok()?;
        let root = repository.workdir()?.canonicalize().ok()?;
        let tasks = place.tasks().strip_prefix(&root).ok()?.to_owned();
        Some(Tracked { index: RefCell::new(repository.index().ok()?), lock: repository.path().join("index.lock"), tasks })
    }

    /// The names of the tasks' files that are tracked now.
    pub(super) fn names(&self) -> HashSet<String> {
        let prefix = self.tasks.as_os_str().as_encoded_bytes();
        let inside = |path: &[u8]| path.strip_prefix(prefix)?.strip_prefix(b"/").map(|name| String::from_utf8_lossy(name).into_owned());
        self.index.borrow().iter().filter_map(|entry| inside(&entry.path)).collect()
    }

    /// Whether a task's file is tracked now, or may be in a moment: while git writes, what is new may be git's.
    pub(super) fn may_be(&self, id: &TaskId) -> bool {
        // Asked first: git lets go of it when its index is in place.
        let git_writes = self.lock.exists();
        let mut index = self.index.borrow_mut();
        // An index that cannot be read says nothing, so what is new stays where it is.
        let read = index.read(false).is_ok();
        !read || git_writes || index.get_path(&self.tasks.join(id.file_name()), 0).is_some()
    }
}
