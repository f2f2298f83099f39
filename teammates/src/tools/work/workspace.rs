//! A directory, held open, and nothing outside of it: paths are looked up by the kernel below the handle, and no check of
//! their text keeps them inside. What leads out (`..`, an absolute path, a link) is not found there.
//!
//! Reading follows links that stay inside. Writing follows none: each directory on the way is opened by itself, so that
//! what is written is known to lie where it seems to, and not in the board's own directories. A file is replaced, never
//! written into: another name of it, outside, keeps its content.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};

/// Directories at the top that belong to the board and to the person, in lower case. What stands in git's own may be run by
/// whoever uses git there next.
const KEPT_FROM: [&str; 3] = [board::place::TASKS, ".crew", ".git"];

/// A workspace.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    /// What was read, as it was then.
    read: Mutex<HashMap<PathBuf, Stamp>>,
}

/// Why something of a workspace cannot be read or written. The words are for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// It leads out.
    #[error("{0} is not in the workspace: name a path below {1}, relative to it")]
    Outside(String, String),
    /// It belongs to the board.
    #[error("{0} is not written: .tasks/ and .crew/ belong to the board and its people (use the tools for tasks and memory), .git/ to git")]
    Kept(String),
    /// It is something else than a file.
    #[error("{0} is {1}, no regular file")]
    NoFile(String, &'static str),
    /// A link lies on the way.
    #[error("{0} is reached by a symbolic link ({1}), and links are not written through: name the place itself")]
    Link(String, String),
    /// It was not read before.
    #[error("{0} is there already and was not read: read it first, so that nothing is lost that nobody has seen")]
    Unread(String),
    /// Somebody else changed it.
    #[error("{0} was changed since it was read: read it again, then change what it says now")]
    Changed(String),
    /// The system said no.
    #[error("cannot {1} {0}: {2}")]
    System(String, &'static str, io::Error),
}

/// What tells two states of a file apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

type Result<T> = std::result::Result<T, WorkspaceError>;

impl Workspace {
    /// Opens a directory that is there.
    pub fn open(path: &Path) -> io::Result<Workspace> {
        let path = path.canonicalize()?;
        Ok(Workspace { dir: Dir::open_ambient_dir(&path, ambient_authority())?, path, read: Mutex::default() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path as it was given, relative to the workspace. `.` and an empty one are the workspace itself.
    pub(super) fn relative(&self, given: &str) -> Result<PathBuf> {
        let outside = || WorkspaceError::Outside(given.to_owned(), self.path.display().to_string());
        let mut relative = PathBuf::new();
        for component in Path::new(given).components() {
            match component {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        Ok(relative)
    }

    /// A directory in it.
    pub(super) fn directory(&self, given: &str) -> Result<(Dir, PathBuf)> {
        let path = self.relative(given)?;
        let open = if path.as_os_str().is_empty() { self.dir.try_clone() } else { self.dir.open_dir(&path) };
        Ok((open.map_err(|e| self.failed(given, "open", e))?, path))
    }

    /// Opens a regular file for reading, and notes how it is now. Never waits on a FIFO, never opens a device.
    pub(super) fn open_file(&self, given: &str) -> Result<File> {
        let path = self.relative(given)?;
        let file = regular(&self.dir, &path).map_err(|e| self.refused(given, e))?;
        let metadata = file.metadata().map_err(|e| self.failed(given, "look at", e))?;
        self.seen().insert(path, Stamp::of(&metadata));
        Ok(file)
    }

    /// Opens a file that is to be changed, as it was read: without taking this for another reading of it.
    pub(super) fn open_as_read(&self, given: &str) -> Result<std::fs::File> {
        let path = self.relative(given)?;
        let file = regular(&self.dir, &path).map_err(|e| self.refused(given, e))?;
        let metadata = file.metadata().map_err(|e| self.failed(given, "look at", e))?;
        match self.seen().get(&path) {
            None => Err(WorkspaceError::Unread(given.to_owned())),
            Some(stamp) if *stamp != Stamp::of(&metadata) => Err(WorkspaceError::Changed(given.to_owned())),
            Some(_) => Ok(file.into_std()),
        }
    }

    /// Puts a file there, whole or not at all; directories on the way are made. One that is there must be as it was read.
    /// Returns whether it was there.
    pub(super) fn put(&self, given: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.relative(given)?;
        let Some(name) = path.file_name().map(PathBuf::from) else {
            return Err(WorkspaceError::NoFile(given.to_owned(), "the workspace"));
        };
        let failed = |e| self.failed(given, "write", e);
        let parent = self.parent(given, &path)?;
        let mode = self.as_it_was_read(given, &path, &parent, &name)?;
        let unfinished = format!(".crew-unfinished-{}-{:016x}", std::process::id(), fresh());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o666);
        let write = || {
            let mut file = parent.open_with(&unfinished, &options)?;
            io::Write::write_all(&mut file, bytes)?;
            if let Some(mode) = mode {
                file.set_permissions(cap_std::fs::Permissions::from_mode(mode & 0o7777))?;
            }
            io::Result::Ok(())
        };
        let undo = |e| {
            let _ = parent.remove_file(&unfinished);
            e
        };
        write().map_err(|e| undo(failed(e)))?;
        // What came there meanwhile is somebody else's.
        self.as_it_was_read(given, &path, &parent, &name).map_err(undo)?;
        parent.rename(&unfinished, &parent, &name).map_err(|e| undo(failed(e)))?;
        let now = parent.symlink_metadata(&name).map_err(failed)?;
        self.seen().insert(path, Stamp::of(&now));
        Ok(mode.is_some())
    }

    /// The mode of what is there, which must be a file as it was read; `None`: nothing is there.
    fn as_it_was_read(&self, given: &str, path: &Path, parent: &Dir, name: &Path) -> Result<Option<u32>> {
        let there = match parent.symlink_metadata(name) {
            Ok(there) => there,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(self.failed(given, "look at", e)),
        };
        if there.is_symlink() {
            return Err(WorkspaceError::Link(given.to_owned(), path.display().to_string()));
        }
        if !there.is_file() {
            return Err(WorkspaceError::NoFile(given.to_owned(), kind(&there)));
        }
        match self.seen().get(path) {
            None => Err(WorkspaceError::Unread(given.to_owned())),
            Some(stamp) if *stamp != Stamp::of(&there) => Err(WorkspaceError::Changed(given.to_owned())),
            Some(_) => Ok(Some(there.mode())),
        }
    }

    /// The directory that a path to be written lies in, opened step by step without following a link.
    fn parent(&self, given: &str, path: &Path) -> Result<Dir> {
        let first = path.components().next().map(|first| first.as_os_str().to_string_lossy().to_lowercase());
        if first.is_some_and(|first| KEPT_FROM.contains(&&*first)) {
            return Err(WorkspaceError::Kept(given.to_owned()));
        }
        let failed = |e| self.failed(given, "write", e);
        let mut here = self.dir.try_clone().map_err(failed)?;
        let mut walked = PathBuf::new();
        for part in path.parent().unwrap_or(Path::new("")) {
            walked.push(part);
            let step = match step(&here, part.as_ref()) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => here.create_dir(part).or_else(was_there).and_then(|()| step(&here, part.as_ref())),
                step => step,
            };
            let next = step.map_err(failed)?.ok_or_else(|| WorkspaceError::Link(given.to_owned(), walked.display().to_string()))?;
            // Another name of them, such as one in other letters, is theirs too.
            if walked.components().count() == 1 && self.is_kept_from(&next).map_err(failed)? {
                return Err(WorkspaceError::Kept(given.to_owned()));
            }
            here = next;
        }
        Ok(here)
    }

    fn is_kept_from(&self, dir: &Dir) -> io::Result<bool> {
        let same = |one: &Metadata, other: &Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        let this = dir.dir_metadata()?;
        Ok(KEPT_FROM.iter().any(|kept| self.dir.symlink_metadata(kept).is_ok_and(|kept| same(&kept, &this))))
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<PathBuf, Stamp>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, given: &str, refused: Refused) -> WorkspaceError {
        match refused {
            Refused::Kind(kind) => WorkspaceError::NoFile(given.to_owned(), kind),
            Refused::System(e) => self.failed(given, "read", e),
        }
    }

    fn failed(&self, given: &str, action: &'static str, error: io::Error) -> WorkspaceError {
        // This is how a path is refused that leads out by a link.
        let leads_out = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        match leads_out || error.raw_os_error() == Some(libc::EXDEV) {
            true => WorkspaceError::Outside(given.to_owned(), self.path.display().to_string()),
            false => WorkspaceError::System(given.to_owned(), action, error),
        }
    }
}

fn was_there(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

/// Opens a directory in another. `None`: the name is a link's.
fn step(here: &Dir, name: &Path) -> io::Result<Option<Dir>> {
    use cap_std::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK);
    if here.symlink_metadata(name)?.is_symlink() {
        return Ok(None);
    }
    // A link that came there since is a name inside at the worst: it is opened below the handle, and looked at again.
    let next = Dir::from_std_file(here.open_with(name, &options)?.into_std());
    let (opened, named) = (next.dir_metadata()?, here.symlink_metadata(name)?);
    Ok(((opened.dev(), opened.ino()) == (named.dev(), named.ino())).then_some(next))
}

/// Why a file was not opened.
pub(super) enum Refused {
    Kind(&'static str),
    System(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::System(error)
    }
}

/// Opens a regular file below a directory.
pub(super) fn regular(dir: &Dir, path: &Path) -> std::result::Result<File, Refused> {
    let before = dir.metadata(path)?;
    if !before.is_file() {
        return Err(Refused::Kind(kind(&before)));
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = dir.open_with(path, &options)?;
    // What was opened may be another than what was looked at.
    let opened = file.metadata()?;
    if opened.is_file() { Ok(file) } else { Err(Refused::Kind(kind(&opened))) }
}

fn kind(metadata: &Metadata) -> &'static str {
    match metadata.file_type() {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        _ => "a FIFO, a socket or a device",
    }
}

/// A number that no other file of this process has.
fn fresh() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
