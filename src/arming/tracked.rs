//! Which task files git tracks.
//!
//! Every repository around the board counts, also one within another and one whose working tree the board's directory
//! itself is. A repository that cannot be read may track anything, so then everything counts as tracked.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use board::Board;
use board::place::Place;
use board::task_id::TaskId;
use git2::ErrorCode;

/// What the repositories around a board say.
pub(super) struct Tracked {
    /// `None`: one of them cannot be read.
    indexes: Option<Vec<Tracker>>,
}

/// The index of one repository.
struct Tracker {
    index: RefCell<git2::Index>,
    /// There while git writes: files first, its index in the end.
    lock: PathBuf,
    /// The board's directory, relative to the working tree.
    tasks: PathBuf,
}

impl Tracked {
    /// Those around a board; `None`: there are none.
    pub(super) fn find(place: &Place) -> Option<Tracked> {
        let Ok(tasks) = place.tasks().canonicalize() else { return Some(Tracked { indexes: None }) };
        let around = tasks.ancestors().filter(|directory| directory.join(".git").symlink_metadata().is_ok());
        let found: Result<Vec<Tracker>, git2::Error> = around.filter_map(|root| Tracker::open(root, &tasks).transpose()).collect();
        match found {
            Ok(found) if found.is_empty() => None,
            found => Some(Tracked { indexes: found.ok() }),
        }
    }

    /// The tasks on the board whose files are tracked now.
    pub(super) fn on(&self, board: &Board) -> HashSet<TaskId> {
        let all = board.index().entries().map(|(id, _)| id);
        match &self.indexes {
            None => all.cloned().collect(),
            Some(indexes) => {
                let names: HashSet<String> = indexes.iter().flat_map(Tracker::names).collect();
                all.filter(|id| names.contains(&id.file_name())).cloned().collect()
            }
        }
    }

    /// Whether a task's file is tracked now, or may be in a moment: while git writes, what is new may be git's.
    pub(super) fn may_be(&self, id: &TaskId) -> bool {
        self.indexes.as_ref().is_none_or(|indexes| indexes.iter().any(|tracker| tracker.may_be(id)))
    }
}

impl Tracker {
    /// `None`: what bears the name is no repository.
    fn open(root: &Path, tasks: &Path) -> Result<Option<Tracker>, git2::Error> {
        let repository = match git2::Repository::open(root) {
            Err(e) if e.code() == ErrorCode::NotFound => return Ok(None),
            opened => opened?,
        };
        let tasks = tasks.strip_prefix(root).unwrap_or(tasks).to_owned();
        Ok(Some(Tracker { index: RefCell::new(repository.index()?), lock: repository.path().join("index.lock"), tasks }))
    }

    /// The names of the files in the board's directory that it tracks, conflicts included.
    fn names(&self) -> Vec<String> {
        let prefix = self.tasks.as_os_str().as_encoded_bytes();
        let inside = |path: &[u8]| match prefix {
            b"" => Some(String::from_utf8_lossy(path).into_owned()),
            _ => path.strip_prefix(prefix)?.strip_prefix(b"/").map(|name| String::from_utf8_lossy(name).into_owned()),
        };
        self.index.borrow().iter().filter_map(|entry| inside(&entry.path)).collect()
    }

    fn may_be(&self, id: &TaskId) -> bool {
        // Asked first: git lets go of it when its index is in place.
        let git_writes = self.lock.exists();
        let mut index = self.index.borrow_mut();
        // An index that cannot be read says nothing, so what is new stays where it is.
        let read = index.read(false).is_ok();
        let file = self.tasks.join(id.file_name());
        !read || git_writes || (0..=3).any(|stage| index.get_path(&file, stage).is_some())
    }
}
