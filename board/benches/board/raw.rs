//! The raw limits: what the filesystem charges for the calls alone.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};

use crate::ground::{Ground, task_text};
use crate::measure::{Outcome, median, timed};

/// An open directory for raw calls.
pub(crate) struct RawDir {
    fd: OwnedFd,
}

impl RawDir {
    pub(crate) fn open(path: &Path) -> Outcome<RawDir> {
        Ok(RawDir { fd: rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())? })
    }

    /// Creates a file and writes it.
    pub(crate) fn create(&self, name: &str, bytes: &[u8]) -> Outcome<()> {
        let file = rustix::fs::openat(&self.fd, name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))?;
        rustix::io::write(&file, bytes)?;
        Ok(())
    }

    /// Replaces a file in the usual way: a temporary one beside it, renamed over it.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> Outcome<()> {
        self.replace_as(".temporary", name, bytes)
    }

    /// The same with a name for the temporary file that is this process's alone.
    pub(crate) fn replace_as(&self, temporary: &str, name: &str, bytes: &[u8]) -> Outcome<()> {
        self.create(temporary, bytes)?;
        rustix::fs::renameat(&self.fd, temporary, &self.fd, name)?;
        Ok(())
    }

    pub(crate) fn read(&self, name: &str, bytes: &mut Vec<u8>) -> Outcome<()> {
        let file = rustix::fs::openat(&self.fd, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        bytes.resize(1 << 14, 0);
        let count = rustix::io::read(&file, &mut bytes[..])?;
        bytes.truncate(count);
        Ok(())
    }

    /// Looks at every one of these names.
    pub(crate) fn statx_all(&self, names: &[CString]) -> Outcome<()> {
        for name in names {
            rustix::fs::statx(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
        }
        Ok(())
    }

    /// Puts the whole filesystem on disk.
    pub(crate) fn sync_filesystem(&self) -> Outcome<()> {
        Ok(rustix::fs::syncfs(&self.fd)?)
    }
}

/// What a replacement costs here, in seconds: in a directory of 10,000 files.
pub(crate) fn typical_rename(ground: &Ground) -> Outcome<f64> {
    let path = ground.directory()?;
    let dir = RawDir::open(&path)?;
    for number in 1..=10_000 {
        dir.create(&format!("task_{number}.json"), task_text(number).as_bytes())?;
    }
    ground.settle()?;
    let mut times = Vec::new();
    for number in 1..=1_000 {
        let (name, text) = (format!("task_{number}.json"), task_text(number));
        times.push(timed(|| dir.replace(&name, text.as_bytes()))?);
    }
    std::fs::remove_dir_all(&path)?;
    Ok(median(&times))
}
