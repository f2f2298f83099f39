//! The one door to the disk: every file that this crate writes goes through here, in one of three ways.
//!
//! * **Replace a document**: the new version is written beside ([`Dir::write_new`]), then the two names are
//!   exchanged ([`exchange`]), so that the displaced version is still there afterwards; or a new name is taken
//!   without ever replacing one ([`rename_new`]).
//! * **Append a line**, or write a record in place ([`Dir::open_append`], [`Dir::open_record`], [`write_at`]).
//! * **Hold a lock** (the module `lock`).
//!
//! What people write is read through the module [`written`].
//!
//! What survives a power cut is said by three calls and by nothing else: [`sync_file`], [`Dir::sync`] and
//! [`Dir::sync_filesystem`]. The module `kept` says how a board uses them.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};

pub(crate) mod below;
#[cfg(feature = "simulate")]
pub mod trace;
pub mod written;

/// Notes an operation for the simulated disk; nothing at all in ordinary builds.
macro_rules! note {
    ($($op:tt)*) => {
        #[cfg(feature = "simulate")]
        trace::note(|| trace::Op::$($op)*);
    };
}

/// What tells two states of a file apart. All five are needed: an edit whose mtime was put back keeps size and
/// mtime, an edit in place keeps the inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// The inode.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since the epoch at which the content last changed.
    pub mtime: i64,
    /// Nanoseconds since the epoch at which anything of it last changed.
    pub ctime: i64,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

fn kind_of(stat: &rustix::fs::Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)] // the fields' widths differ between systems
fn stamp_of(stat: &rustix::fs::Stat) -> Stamp {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Stamp {
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        mtime: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

/// An open directory; names are looked up in it and nowhere else.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens a directory that is there.
    pub fn open(path: &Path) -> Result<Dir> {
        let fd = rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
            .map_err(|e| Error::io("open the directory", path, e))?;
        Ok(Dir { fd, path: path.to_path_buf() })
    }

    /// Opens a directory, making it (and what is missing above it) where it is not there. `mode` is for new ones.
    pub fn make(path: &Path, mode: u32) -> Result<Dir> {
        match Dir::open(path) {
            Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => {}
            other => return other,
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Dir::make(parent, mode)?;
        }
        match rustix::fs::mkdir(path, Mode::from_raw_mode(mode as _)) {
            Ok(()) => {
                note!(MakeDir(path.to_path_buf()));
            }
            Err(Errno::EXIST) => {}
            Err(e) => return Err(Error::io("make the directory", path, e)),
        }
        Dir::open(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its own stamp, which changes with its names.
    pub fn stamp(&self) -> Result<Stamp> {
        stamp(&self.fd, &self.path)
    }

    /// The path of a name in it, for messages.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The names in it, in no order. Names that are not UTF-8 come with replacement characters and `false`.
    pub fn names(&self) -> Result<Vec<(String, bool)>> {
        let mut names = Vec::new();
        self.each_name(|name, utf8, _| names.push((name.to_owned(), utf8)))?;
        Ok(names)
    }

    /// Tells each name in it, whether that is UTF-8, and whether it is known without a look at it to be a regular file.
    pub(crate) fn each_name(&self, mut tell: impl FnMut(&str, bool, bool)) -> Result<()> {
        let fail = |e: Errno| Error::io("list", &self.path, e);
        for entry in rustix::fs::Dir::read_from(&self.fd).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let regular = entry.file_type() == FileType::RegularFile;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => tell(name, true, regular),
                Err(_) => tell(&entry.file_name().to_string_lossy(), false, regular),
            }
        }
        Ok(())
    }

    /// What a name stands for and its stamp; links are not followed. `None`: there is no such name.
    pub fn stat(&self, name: &str) -> Result<Option<(Kind, Stamp)>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some((kind_of(&stat), stamp_of(&stat)))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(Error::io("look at", self.join(name), e)),
        }
    }

    /// Reads a regular file whole into `bytes`. Never follows a link, never waits on a FIFO.
    pub fn read_into(&self, name: &str, bytes: &mut Vec<u8>) -> Result<Stamp> {
        bytes.clear();
        let fail = |e: io::Error| Error::io("read", self.join(name), e);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|e| fail(e.into()))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| fail(e.into()))?;
        if kind_of(&stat) != Kind::File {
            return Err(fail(io::Error::other("it is no regular file")));
        }
        let stamp = stamp_of(&stat);
        read_whole(&fd, usize::try_from(stamp.size).unwrap_or(0), bytes).map_err(|e| fail(e.into()))?;
        Ok(stamp)
    }

    /// Reads what is known to be a regular file whole into `bytes`, without asking for its stamp.
    pub(crate) fn read_unstamped(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        bytes.reserve(MOST_FILES);
        Ok(read_whole(&fd, 0, bytes)?)
    }

    /// Reads a regular file whole; `None`: there is no such name.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        match self.read_into(name, &mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Creates a file that must not exist yet and writes it whole. On failure nothing of it is left.
    pub fn write_new(&self, name: &str, bytes: &[u8], mode: u32) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode as _)).map_err(|e| Error::io("create", self.join(name), e))?;
        let mut file = File::from(fd);
        note!(Create(self.join(name)));
        if let Err(e) = full_disk().and_then(|()| file.write_all(bytes)) {
            let _ = self.remove(name);
            return Err(Error::io("write", self.join(name), e));
        }
        note!(Write(self.join(name), bytes.to_vec()));
        Ok(file)
    }

    /// Replaces a small file of ours that no person edits: written beside, then renamed over.
    pub fn replace(&self, name: &str, bytes: &[u8], mode: u32, sync: bool) -> Result<()> {
        let beside = format!(".{name}.{}", std::process::id());
        let _ = self.remove(&beside);
        let file = self.write_new(&beside, bytes, mode)?;
        if sync {
            sync_file(&file, &self.join(&beside))?;
        }
        rustix::fs::renameat(&self.fd, beside.as_str(), &self.fd, name).map_err(|e| Error::io("replace", self.join(name), e))?;
        note!(Rename(self.join(&beside), self.join(name)));
        if sync {
            self.sync()?;
        }
        Ok(())
    }

    /// Removes a name; that it was not there is no error.
    pub fn remove(&self, name: &str) -> Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) => {
                note!(Remove(self.join(name)));
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(Error::io("remove", self.join(name), e)),
        }
    }

    /// Makes a directory in it; that it was there is no error.
    pub fn make_dir(&self, name: &str) -> Result<Dir> {
        Dir::make(&self.join(name), 0o777)
    }

    /// Removes a directory in it with the files inside (no directories below that). One into which somebody writes
    /// at this moment stays.
    pub fn remove_dir(&self, name: &str) -> Result<()> {
        let inside = match Dir::open(&self.join(name)) {
            Ok(dir) => dir,
            Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => return Ok(()),
            Err(e) => return Err(e),
        };
        for (file, utf8) in inside.names()? {
            if utf8 {
                inside.remove(&file)?;
            }
        }
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) => {
                note!(RemoveDir(self.join(name)));
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(e) => Err(Error::io("remove the directory", self.join(name), e)),
        }
    }

    /// Opens a file for reading and writing in place, making it where it is missing.
    pub fn open_record(&self, name: &str, mode: u32) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode as _)).map_err(|e| Error::io("open", self.join(name), e))?;
        note!(Create(self.join(name)));
        Ok(File::from(fd))
    }

    /// Opens a file for appending, making it where it is missing: the kernel keeps its writers apart.
    pub fn open_append(&self, name: &str, mode: u32) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode as _)).map_err(|e| Error::io("open", self.join(name), e))?;
        note!(Create(self.join(name)));
        Ok(File::from(fd))
    }

    /// Opens a file for reading; `None`: there is no such name.
    pub fn open_file(&self, name: &str) -> Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(Error::io("open", self.join(name), e)),
        }
    }

    /// Puts the names of this directory on disk.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.fd).map_err(|e| Error::io("sync", &self.path, e))?;
        note!(SyncDir(self.path.clone()));
        Ok(())
    }

    /// Puts everything of this directory's filesystem on disk.
    pub fn sync_filesystem(&self) -> Result<()> {
        note!(SyncBegin);
        sync_filesystem(&self.fd).map_err(|e| Error::io("sync the filesystem of", &self.path, e))?;
        note!(SyncAll);
        Ok(())
    }
}

/// From this many files on one sync of the filesystem costs less than one a file.
pub const MANY_FILES: usize = 16;

/// Room for what most files have, in bytes.
const MOST_FILES: usize = 16 << 10;

/// Reads a regular file, thought to have `size` bytes, to its end. Std's reading asks for the size and the place once more, and reads once more to
/// see the end: of a small file that is half of all calls.
fn read_whole(fd: &OwnedFd, size: usize, bytes: &mut Vec<u8>) -> Result<(), Errno> {
    bytes.reserve(size + 1);
    loop {
        let room = bytes.capacity() - bytes.len();
        match rustix::io::read(fd, rustix::buffer::spare_capacity(bytes)) {
            // Less than there was room for, and all that there was: a regular file has no more.
            Ok(count) if count == 0 || (count < room && bytes.len() >= size) => return Ok(()),
            Ok(_) => bytes.reserve(bytes.len().max(64)),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(target_os = "linux")]
fn sync_filesystem(fd: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fd)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_filesystem(_fd: &OwnedFd) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Exchanges two names in one step: afterwards each stands for what the other stood for.
pub fn exchange(one: &Dir, name: &str, other: &Dir, other_name: &str) -> Result<()> {
    rustix::fs::renameat_with(&one.fd, name, &other.fd, other_name, RenameFlags::EXCHANGE).map_err(|e| Error::io("replace", other.join(other_name), e))?;
    note!(Exchange(one.join(name), other.join(other_name)));
    Ok(())
}

/// Gives a file a name that nothing bears yet. `false`: the name is taken, and both are as they were.
pub fn rename_new(from: &Dir, name: &str, to: &Dir, to_name: &str) -> Result<bool> {
    match rustix::fs::renameat_with(&from.fd, name, &to.fd, to_name, RenameFlags::NOREPLACE) {
        Ok(()) => {
            note!(Rename(from.join(name), to.join(to_name)));
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(false),
        Err(e) => Err(Error::io("create", to.join(to_name), e)),
    }
}

/// Puts a file's content on disk (not its name).
pub fn sync_file(file: &File, path: &Path) -> Result<()> {
    file.sync_data().map_err(|e| Error::io("sync", path, e))?;
    note!(SyncFile(path.to_path_buf()));
    Ok(())
}

/// Writes at an offset of an open file, in place.
pub fn write_at(file: &File, path: &Path, bytes: &[u8], offset: u64) -> Result<()> {
    full_disk().and_then(|()| file.write_all_at(bytes, offset)).map_err(|e| Error::io("write", path, e))?;
    note!(WriteAt(path.to_path_buf(), offset, bytes.to_vec()));
    Ok(())
}

/// Reads up to `bytes.len()` bytes at an offset; returns how many there were.
pub fn read_at(file: &File, path: &Path, bytes: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read", path, e)),
        }
    }
    Ok(filled)
}

/// Cuts a file to a length.
pub fn truncate(file: &File, path: &Path, length: u64) -> Result<()> {
    file.set_len(length).map_err(|e| Error::io("shorten", path, e))?;
    note!(Truncate(path.to_path_buf(), length));
    Ok(())
}

/// Gives an open file the permissions of another, whatever the umask says.
pub fn permit_like(file: &File, path: &Path, other: &File) -> Result<()> {
    let permitted = other.metadata().and_then(|metadata| file.set_permissions(metadata.permissions()));
    permitted.map_err(|e| Error::io("set the permissions of", path, e))
}

/// The stamp of an open file.
pub fn stamp(file: impl AsFd, path: &Path) -> Result<Stamp> {
    rustix::fs::fstat(file).map(|stat| stamp_of(&stat)).map_err(|e| Error::io("look at", path, e))
}

/// Stands in for a full disk in tests of debug builds: `CREW_DISK_FULL` names a file whose presence means ENOSPC.
fn full_disk() -> io::Result<()> {
    #[cfg(debug_assertions)]
    {
        static FLAG: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
        if let Some(flag) = FLAG.get_or_init(|| std::env::var_os("CREW_DISK_FULL").map(PathBuf::from))
            && flag.exists()
        {
            return Err(Errno::NOSPC.into());
        }
    }
    Ok(())
}

/// Filesystems on which neither change events nor fine time stamps can be relied on.
#[cfg(target_os = "linux")]
pub fn is_local(dir: &Dir) -> bool {
    const LOCAL: [u64; 9] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // xfs
        0x9123_683E, // btrfs
        0x0102_1994, // tmpfs
        0xF2F5_2010, // f2fs
        0x2FC1_2FC1, // zfs
        0x794C_7630, // overlayfs
        0xCA45_1A4E, // bcachefs
        0x3434,      // nilfs
    ];
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    rustix::fs::fstatfs(&dir.fd).is_ok_and(|fs| LOCAL.contains(&(fs.f_type as u64)))
}

/// Elsewhere (untested) events are tried and the sweep comes often enough anyway.
#[cfg(not(target_os = "linux"))]
pub fn is_local(_dir: &Dir) -> bool {
    true
}
