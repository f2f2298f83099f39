//! The working tree that a board's project is in, and an index in memory of what lies in it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Commit, ErrorCode, Index, IndexAddOption, IndexEntry, IndexTime, Oid, Repository, Tree};

use crate::disk::Dir;
use crate::error::{Error, Refusal, Result, Rule};
use crate::place::Place;

/// What is never part of a tree: the tasks, and what people write for their team.
const LEFT_OUT: [&str; 2] = [".tasks", ".crew"];

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

/// `flags` of an entry whose file is not to be looked at.
const SAID_UNCHANGED: u16 = 1 << 15;
/// `flags_extended` of an entry whose file is left out of a sparse checkout.
const NOT_HERE: u16 = 1 << 14;

type Git<T> = std::result::Result<T, git2::Error>;

/// A repository with files.
pub(crate) struct WorkTree {
    /// The repository. Its index is the user's.
    pub(crate) repository: Repository,
    /// Where its files are.
    pub(crate) root: PathBuf,
    /// Where the project is in it; empty where it is the whole.
    pub(crate) project: PathBuf,
    left_out: Vec<PathBuf>,
}

impl WorkTree {
    /// The one that a board's project is in; `None`: there is no repository, or a bare one.
    pub(crate) fn of(place: &Place) -> Result<Option<WorkTree>> {
        let failed = |e: git2::Error| failed("open the repository of", place.project(), &e);
        let repository = match Repository::discover(place.project()) {
            Err(e) if e.code() == ErrorCode::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let Some(root) = repository.workdir().map(Path::to_owned) else { return Ok(None) };
        let root = root.canonicalize().map_err(|e| Error::io("find", &root, e))?;
        let project = place.project().strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
        let mut left_out: Vec<PathBuf> = LEFT_OUT.iter().map(|name| project.join(name)).collect();
        // What is kept of this very board is no work, wherever somebody has it kept.
        left_out.extend(place.state().strip_prefix(&root).ok().filter(|state| !state.as_os_str().is_empty()).map(Path::to_owned));
        Ok(Some(WorkTree { repository, root, project, left_out }))
    }

    /// The same for what cannot be done without one.
    pub(crate) fn needed(place: &Place) -> Result<WorkTree> {
        let missing = || Refusal::board(Rule::NoRepository, format!("{} is in no git working tree; `git init` makes one", place.project().display()));
        WorkTree::of(place)?.ok_or_else(missing)
    }

    /// Another working tree of the same repository, in which the project is at the same place.
    pub(crate) fn linked(&self, root: &Path) -> Result<WorkTree> {
        let repository = Repository::open(root).map_err(|e| failed("open the working tree", root, &e))?;
        Ok(WorkTree { repository, root: root.to_owned(), project: self.project.clone(), left_out: self.left_out.clone() })
    }

    /// Turns what git says into an error that names this repository.
    pub(crate) fn failed(&self, action: &'static str) -> impl Fn(git2::Error) -> Error + use<> {
        let root = self.root.clone();
        move |e| failed(action, &root, &e)
    }

    /// Puts the repository's objects and references on disk: by itself git's library leaves that to the system, and a
    /// power cut could cost what something else already counts on.
    pub(crate) fn sync(&self) -> Result<()> {
        Dir::open(self.repository.commondir())?.sync_filesystem()
    }

    /// Whether a path is left out of every tree.
    pub(crate) fn is_left_out(&self, path: &Path) -> bool {
        self.left_out.iter().any(|out| path.starts_with(out))
    }

    /// The commit that HEAD is; `None`: there is none yet.
    pub(crate) fn head(&self) -> Git<Option<Commit<'_>>> {
        match self.repository.head() {
            Ok(head) => head.peel_to_commit().map(Some),
            Err(e) if matches!(e.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// A committed tree without what is left out.
    pub(crate) fn without_left_out(&self, tree: &Tree<'_>) -> Git<Oid> {
        if self.left_out.iter().all(|out| tree.get_path(out).is_err()) {
            return Ok(tree.id());
        }
        let mut index = Index::new()?;
        index.read_tree(tree)?;
        let out: Vec<PathBuf> = index.iter().map(|entry| path_of(&entry).to_owned()).filter(|path| self.is_left_out(path)).collect();
        out.iter().try_for_each(|path| index.remove(path, 0))?;
        index.write_tree_to(&self.repository)
    }

    /// Everything that git would add, in an index in memory. Directories that are ignored are not looked into.
    pub(crate) fn taken(&self) -> Git<Index> {
        // A repository of its own, since it takes the index in memory for the user's.
        let repository = Repository::open(&self.root)?;
        let mut index = Index::new()?;
        // What the user's index knows of the files spares reading those that have not changed.
        let known = repository.index()?;
        let written = known.path().and_then(|path| std::fs::metadata(path).ok()).map(|metadata| written_at(&metadata));
        for mut entry in known.iter() {
            if stage(&entry) != 0 || self.is_left_out(path_of(&entry)) {
                continue;
            }
            if written.is_none_or(|written| !is_older(entry.mtime, written)) {
                // It may have been written once more in the very moment in which its stamp was taken.
                (entry.mtime, entry.file_size) = (IndexTime::new(0, 0), 0);
            }
            index.add(&entry)?;
        }
        repository.set_index(&mut index)?;
        let mut inner = Vec::new();
        let mut leave = |path: &Path, _: &[u8]| {
            // Another repository inside, which this one does not know yet, ends with a slash.
            let is_inner = path.as_os_str().as_bytes().ends_with(b"/") && self.root.join(path).join(".git").exists();
            if is_inner {
                inner.push(path.components().collect::<PathBuf>());
            }
            i32::from(is_inner || self.is_left_out(path))
        };
        index.add_all(["*"], IndexAddOption::DEFAULT, Some(&mut leave))?;
        for path in inner.iter().filter(|path| !self.is_left_out(path)) {
            // It counts as the commit that it stands on; without one git does not take it either.
            if let Some(id) = Repository::open(self.root.join(path)).ok().and_then(|inner| inner.head().ok()?.target()) {
                index.add(&link_to_commit(path, id))?;
            }
        }
        // What git does not look for, or not at: sparse checkouts, files said to be unchanged.
        let is_not_looked_at = |entry: &IndexEntry| {
            entry.flags & SAID_UNCHANGED != 0 || (entry.flags_extended & NOT_HERE != 0 && self.root.join(path_of(entry)).symlink_metadata().is_err())
        };
        known
            .iter()
            .filter(|entry| stage(entry) == 0 && !self.is_left_out(path_of(entry)) && is_not_looked_at(entry))
            .try_for_each(|entry| index.add(&entry))?;
        self.take_modes_from(&known, &mut index)?;
        Ok(index)
    }

    /// Where the disk is not trusted with modes, git takes them from its index.
    fn take_modes_from(&self, known: &Index, index: &mut Index) -> Git<()> {
        let config = self.repository.config()?;
        let [modes, links] = ["core.filemode", "core.symlinks"].map(|key| config.get_bool(key).unwrap_or(true));
        if modes && links {
            return Ok(());
        }
        let is_file = |mode: u32| mode & 0o170_000 == FILE & 0o170_000;
        let mut changed = Vec::new();
        for mut entry in index.iter().filter(|entry| is_file(entry.mode)) {
            let mode = match known.get_path(path_of(&entry), 0).map(|known| known.mode) {
                Some(LINK) if !links => LINK,
                Some(mode) if !modes && is_file(mode) => mode,
                _ if !modes && entry.mode == PROGRAM => FILE,
                _ => entry.mode,
            };
            if mode != entry.mode {
                entry.mode = mode;
                changed.push(entry);
            }
        }
        changed.iter().try_for_each(|entry| index.add(entry))
    }
}

fn failed(action: &'static str, path: &Path, error: &git2::Error) -> Error {
    Error::Io { action, path: path.to_owned(), source: io::Error::other(error.message().to_owned()) }
}

/// The path of an entry, relative to the root.
pub(crate) fn path_of(entry: &IndexEntry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}

/// The entry of another repository inside.
fn link_to_commit(path: &Path, id: Oid) -> IndexEntry {
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
