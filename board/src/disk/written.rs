//! Small files that people write and this crate does not: read whole, wherever a link leads, but only where it leads to a
//! regular file, and no further than a limit. Nothing here waits, whatever bears the name.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Kind, kind_of};
use crate::error::{Error, Refusal, Result, Rule};

/// The longest file of `.crew/` that is read, in bytes.
pub const LONGEST: usize = 1 << 20;

/// So much is read at a time, in bytes.
const PIECE: usize = 64 << 10;

/// Reads a text; `None`: there is no such file. Refused, with the file and the rule, is what is no regular file, what is
/// longer than [`LONGEST`], and what is no UTF-8.
pub fn read_text(path: &Path) -> Result<Option<String>> {
    let Some(fd) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    in_pieces(&fd, path, |piece| {
        bytes.extend_from_slice(piece);
        match bytes.len() {
            ..=LONGEST => Ok(true),
            _ => Err(too_long(path)),
        }
    })?;
    text(path, bytes).map(Some)
}

/// Reads a regular file of any length piece by piece, while `tell` says `true`. `false`: there is none of that name, or
/// it is none.
pub fn read_pieces(path: &Path, mut tell: impl FnMut(&[u8]) -> bool) -> Result<bool> {
    match open(path) {
        Ok(Some(fd)) => in_pieces(&fd, path, |piece| Ok(tell(piece))).map(|()| true),
        Ok(None) | Err(Error::Refused(_)) => Ok(false),
        Err(e) => Err(e),
    }
}

/// What the bytes of a file say, where it is no longer than it may be.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String> {
    if bytes.len() > LONGEST {
        return Err(too_long(path));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        refused(format!("{}:{line}: it is no text in UTF-8: save it as UTF-8", path.display()))
    })
}

pub(crate) fn too_long(path: &Path) -> Error {
    refused(format!("{} is longer than {} KiB, which is more than is read of it: shorten it", path.display(), LONGEST >> 10))
}

fn refused(message: String) -> Error {
    Refusal::board(Rule::NotValid, message)
}

fn open(path: &Path) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let special = || refused(format!("{} is no regular file: move it away", path.display()));
    let fd = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        // What a socket answers, and a device that is not there.
        Err(Errno::NXIO | Errno::NODEV) => return Err(special()),
        Err(e) => return Err(Error::io("read", path, e)),
    };
    let stat = rustix::fs::fstat(&fd).map_err(|e| Error::io("look at", path, e))?;
    match kind_of(&stat) {
        Kind::File => Ok(Some(fd)),
        _ => Err(special()),
    }
}

fn in_pieces(fd: &OwnedFd, path: &Path, mut tell: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let count = match rustix::io::read(fd, &mut piece) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(e) => return Err(Error::io("read", path, io::Error::from(e))),
        };
        if count == 0 || !tell(&piece[..count])? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_read_wherever_a_link_leads() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        let refused = || read_text(&file).unwrap_err().to_string();
        assert_eq!(read_text(&file).unwrap(), None);
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert_eq!(read_text(&file).unwrap(), None);
        std::fs::write(temp.path().join("nowhere"), "here\n").unwrap();
        assert_eq!(read_text(&file).unwrap().as_deref(), Some("here\n"));
        for special in ["/dev/zero", "/dev/null", "/", "fifo"] {
            let _ = rustix::fs::mkfifoat(rustix::fs::CWD, temp.path().join("fifo"), Mode::RUSR | Mode::WUSR);
            std::fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink(special, &file).unwrap();
            assert!(refused().contains("file is no regular file: move it away"), "{special}: {}", refused());
            assert!(!read_pieces(&file, |_| panic!("{special} is read")).unwrap());
        }
        std::fs::remove_file(&file).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
        assert!(refused().contains("no regular file"), "{}", refused());
    }

    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        let refused = || read_text(&file).unwrap_err().to_string();
        std::fs::write(&file, "x".repeat(LONGEST)).unwrap();
        assert_eq!(read_text(&file).unwrap().unwrap().len(), LONGEST);
        std::fs::write(&file, "x".repeat(LONGEST + 1)).unwrap();
        assert!(refused().contains("file is longer than 1024 KiB"), "{}", refused());
        let mut count = 0;
        let counted = read_pieces(&file, |piece| {
            count += piece.len();
            true
        });
        assert!(counted.unwrap());
        assert_eq!(count, LONGEST + 1);
        // As if it had no end.
        std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert!(refused().contains("longer than"), "{}", refused());
        std::fs::write(&file, b"one\ntwo\n\xff\n").unwrap();
        assert!(refused().contains("file:3: it is no text in UTF-8"), "{}", refused());
    }
}
