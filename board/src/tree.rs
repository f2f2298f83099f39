//! The working tree's SHA: the judge of whether anything has changed.
//!
//! It is the tree that `git add --all` and `git write-tree` would give, without `.tasks/` and `.crew/`. It is made in an
//! index in memory: HEAD, the user's index and every file stay as they are. The objects that it needs are put into the
//! repository, where git itself puts them.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Index, IndexAddOption, IndexEntry, IndexTime, Oid, Repository};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::place::Place;

/// What is never part of a tree: the tasks, and what people write for their team.
const LEFT_OUT: [&str; 2] = [".tasks", ".crew"];

/// The SHA of the working tree that a board's project is in; `None`: there is none (no repository, or a bare one).
///
/// An error names the repository and what git says.
pub fn sha(place: &Place) -> Result<Option<String>> {
    let Ok(repository) = Repository::discover(place.project()) else { return Ok(None) };
    let Some(root) = repository.workdir().map(Path::to_owned) else { return Ok(None) };
    let failed = |e: git2::Error| Error::Io { action: "take the tree of", path: root.clone(), source: io::Error::other(e.message().to_owned()) };
    let project = root.canonicalize().ok().and_then(|root| place.project().strip_prefix(root).ok().map(Path::to_owned)).unwrap_or_default();
    let out: Vec<PathBuf> = LEFT_OUT.iter().map(|name| project.join(name)).collect();
    of(&repository, &out).map(Some).map_err(failed)
}

/// What credit is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The commit that HEAD names; `None`: there is none yet.
    #[serde(default)]
    pub head: Option<String>,
    /// Its tree, without `.tasks/` and `.crew/`.
    #[serde(default)]
    pub head_tree: Option<String>,
    /// The working tree's.
    pub tree: String,
}

/// How HEAD and the working tree stand.
pub fn state(place: &Place) -> Result<Option<State>> {
    Ok(sha(place)?.map(|tree| State { head: None, head_tree: None, tree }))
}

fn of(repository: &Repository, out: &[PathBuf]) -> std::result::Result<String, git2::Error> {
    let is_out = |path: &Path| out.iter().any(|out| path.starts_with(out));
    let mut index = Index::new()?;
    // What the user's index knows of the files spares reading those that have not changed.
    let known = repository.index()?;
    let written = known.path().and_then(|path| std::fs::metadata(path).ok()).map(|metadata| written_at(&metadata));
    for mut entry in known.iter() {
        if stage(&entry) != 0 || is_out(Path::new(std::ffi::OsStr::from_bytes(&entry.path))) {
            continue;
        }
        if written.is_none_or(|written| !is_older(entry.mtime, written)) {
            // It may have been written once more in the very moment in which its stamp was taken.
            (entry.mtime, entry.file_size) = (IndexTime::new(0, 0), 0);
        }
        index.add(&entry)?;
    }
    repository.set_index(&mut index)?;
    let root = repository.workdir().unwrap_or(Path::new("")).to_owned();
    let mut inner = Vec::new();
    let mut leave = |path: &Path, _: &[u8]| {
        // Another repository inside, which this one does not know yet, ends with a slash.
        let is_inner = path.as_os_str().as_bytes().ends_with(b"/") && root.join(path).join(".git").exists();
        if is_inner {
            inner.push(path.components().collect::<PathBuf>());
        }
        i32::from(is_inner || is_out(path))
    };
    index.add_all(["*"], IndexAddOption::DEFAULT, Some(&mut leave))?;
    for path in inner.iter().filter(|path| !is_out(path)) {
        // It counts as the commit that it stands on; without one git does not take it either.
        if let Some(id) = Repository::open(root.join(path)).ok().and_then(|inner| inner.head().ok()?.target()) {
            index.add(&link(path, id))?;
        }
    }
    Ok(index.write_tree_to(repository)?.to_string())
}

fn link(path: &Path, id: Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    let path = path.as_os_str().as_bytes().to_vec();
    IndexEntry { ctime: never, mtime: never, dev: 0, ino: 0, mode: 0o160_000, uid: 0, gid: 0, file_size: 0, id, flags: 0, flags_extended: 0, path }
}

/// Which side of a conflict an entry is; 0: there is none.
fn stage(entry: &IndexEntry) -> u16 {
    (entry.flags >> 12) & 3
}

fn written_at(metadata: &std::fs::Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.mtime(), metadata.mtime_nsec())
}

fn is_older(stamp: IndexTime, written: (i64, i64)) -> bool {
    // An index counts seconds in 32 bits. Where nanoseconds are not kept, the whole second is uncertain.
    (i64::from(stamp.seconds()), if stamp.nanoseconds() == 0 { i64::MAX } else { i64::from(stamp.nanoseconds()) }) < written
}
