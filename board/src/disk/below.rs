//! The files of a working tree: below one directory, names are any bytes, and no link on the way is ever followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Kind, full_disk, kind_of};
use crate::error::{Error, Result};

/// What a file is called until it is whole. Nobody else has such a file, and a crash leaves at most one.
const UNFINISHED: &str = ".crew-unfinished";

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// A directory in which files are put and removed by their relative paths.
#[derive(Debug)]
pub(crate) struct Below {
    fd: OwnedFd,
    path: PathBuf,
}

impl Below {
    /// Opens a directory that is there.
    pub(crate) fn open(path: &Path) -> Result<Below> {
        let fd = rustix::fs::open(path, DIRECTORY, Mode::empty()).map_err(|e| Error::io("open the directory", path, e))?;
        Ok(Below { fd, path: path.to_owned() })
    }

    /// What a path stands for; `None`: nothing, also where something on the way to it is no directory.
    pub(crate) fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        self.at(path, false, |parent, name| rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW))
            .map(|stat| stat.map(|stat| kind_of(&stat)))
            .map_err(|e| self.failed("look at", path, e))
    }

    /// The names in a directory of it.
    pub(crate) fn names(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let list = |parent: BorrowedFd<'_>, name: &OsStr| {
            let fd = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?;
            let mut names = Vec::new();
            for entry in rustix::fs::Dir::new(fd)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if !matches!(name, b"." | b"..") {
                    names.push(path.join(OsStr::from_bytes(name)));
                }
            }
            Ok(names)
        };
        self.at(path, false, list).map(Option::unwrap_or_default).map_err(|e| self.failed("list", path, e))
    }

    /// Puts a file there, whole or not at all, over a file or a link that bears the name. Directories on the way are
    /// made. One that is replaced keeps its permissions, but for whether it can be executed.
    pub(crate) fn put_file(&self, path: &Path, bytes: &[u8], executable: bool) -> Result<()> {
        let put = |parent: BorrowedFd<'_>, name: &OsStr| {
            let mode = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if kind_of(&stat) == Kind::File => Some(executable_or_not(stat.st_mode as _, executable)),
                _ => None,
            };
            let new = if executable { 0o777 } else { 0o666 };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            remove_any(parent, UNFINISHED.as_ref())?;
            let mut file = File::from(rustix::fs::openat(parent, UNFINISHED, flags, Mode::from_raw_mode(new))?);
            let written = full_disk().and_then(|()| file.write_all(bytes)).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO));
            let permitted = written.and_then(|()| mode.map_or(Ok(()), |mode| rustix::fs::fchmod(&file, Mode::from_raw_mode(mode as _))));
            permitted.and_then(|()| rustix::fs::renameat(parent, UNFINISHED, parent, name)).inspect_err(|_| {
                let _ = remove_any(parent, UNFINISHED.as_ref());
            })
        };
        self.at(path, true, put).map(drop).map_err(|e| self.failed("put back", path, e))
    }

    /// Puts a symbolic link there, as [`Below::put_file`] does a file.
    pub(crate) fn put_link(&self, path: &Path, to: &[u8]) -> Result<()> {
        let put = |parent: BorrowedFd<'_>, name: &OsStr| {
            remove_any(parent, UNFINISHED.as_ref())?;
            rustix::fs::symlinkat(to, parent, UNFINISHED)?;
            rustix::fs::renameat(parent, UNFINISHED, parent, name)
        };
        self.at(path, true, put).map(drop).map_err(|e| self.failed("put back", path, e))
    }

    /// Removes a file or a link; that it was not there is no error.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        self.at(path, false, remove_any).map(drop).map_err(|e| self.failed("remove", path, e))
    }

    /// Removes a directory in which nothing is. `false`: something is, or it is no directory.
    pub(crate) fn remove_empty(&self, path: &Path) -> Result<bool> {
        match self.at(path, false, |parent, name| rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)) {
            Ok(removed) => Ok(removed.is_some()),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(e) => Err(self.failed("remove the directory", path, e)),
        }
    }

    /// Removes whatever bears the name, with everything below it; that it was not there is no error.
    pub(crate) fn remove_all(&self, path: &Path) -> Result<()> {
        match self.kind(path)? {
            None => Ok(()),
            Some(Kind::Directory) => {
                self.names(path)?.iter().try_for_each(|inside| self.remove_all(inside))?;
                match self.remove_empty(path)? {
                    true => Ok(()),
                    false => Err(self.failed("remove the directory", path, Errno::NOTEMPTY)),
                }
            }
            Some(_) => self.remove(path),
        }
    }

    /// Does something to a name in its directory; `None`: it, or a directory on the way, is not there.
    fn at<T>(&self, path: &Path, make: bool, act: impl FnOnce(BorrowedFd<'_>, &OsStr) -> Result<T, Errno>) -> Result<Option<T>, Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
        let mut open: Option<OwnedFd> = None;
        for part in parent {
            let here = open.as_ref().map_or(self.fd.as_fd(), |fd| fd.as_fd());
            if make {
                match rustix::fs::mkdirat(here, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(e),
                }
            }
            match rustix::fs::openat(here, part, DIRECTORY, Mode::empty()) {
                Ok(fd) => open = Some(fd),
                // A link that is not followed is "no directory", too, or one level too many.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !make => return Ok(None),
                Err(e) => return Err(e),
            }
        }
        match act(open.as_ref().map_or(self.fd.as_fd(), |fd| fd.as_fd()), name) {
            Err(Errno::NOENT) if !make => Ok(None),
            done => done.map(Some),
        }
    }

    fn failed(&self, action: &'static str, path: &Path, error: Errno) -> Error {
        Error::io(action, self.path.join(path), io::Error::from(error))
    }
}

fn remove_any(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}

/// Whoever may read a program may run it.
fn executable_or_not(mode: u32, executable: bool) -> u32 {
    let mode = mode & 0o7777;
    if executable { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 }
}
