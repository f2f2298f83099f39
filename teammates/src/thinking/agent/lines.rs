//! What a child prints, line by line, as it comes.

use std::fs::File;
use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;

/// The longest line that is looked at, in bytes: an event with a tool's whole output.
const LONGEST: usize = 16 << 20;

/// The reading end of a pipe.
pub(super) struct Lines {
    reader: BufReader<Receiver>,
    /// What has come of a line, so that nothing is lost where nobody waited for its end.
    begun: Vec<u8>,
    /// The rest of a line that is too long is passed over.
    passing: bool,
}

/// Both ends: what a child is given to write to, and what it wrote.
pub(super) fn pipe() -> io::Result<(File, Lines)> {
    let (read, write) = io::pipe()?;
    let reader = BufReader::with_capacity(64 << 10, Receiver::from_owned_fd(read.into())?);
    Ok((File::from(std::os::fd::OwnedFd::from(write)), Lines { reader, begun: Vec::new(), passing: false }))
}

impl Lines {
    /// The next line, without its end; `None`: there is none any more. Dropped before it is ready, it loses nothing.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let room = (LONGEST + 1).saturating_sub(self.begun.len()) as u64;
            let read = (&mut self.reader).take(room).read_until(b'\n', &mut self.begun).await;
            let whole = self.begun.last() == Some(&b'\n');
            match read {
                Err(_) => return None,
                Ok(_) if whole => {
                    self.begun.pop();
                    let line = std::mem::take(&mut self.begun);
                    if std::mem::take(&mut self.passing) {
                        continue;
                    }
                    return Some(line);
                }
                Ok(_) if self.begun.len() > LONGEST => {
                    self.begun.clear();
                    self.passing = true;
                }
                // That was all.
                Ok(_) if self.begun.is_empty() || self.passing => return None,
                Ok(_) => return Some(std::mem::take(&mut self.begun)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[tokio::test]
    async fn lines_come_whole_and_one_that_is_too_long_is_passed_over() {
        let (mut write, mut lines) = pipe().unwrap();
        write.write_all(b"one\ntw").unwrap();
        assert_eq!(lines.next().await.unwrap(), b"one");
        // Nobody waits for the end of what has begun, and it is not lost.
        let early = tokio::time::timeout(std::time::Duration::from_millis(5), lines.next()).await;
        assert!(early.is_err());
        write.write_all(b"o\n\n").unwrap();
        assert_eq!(lines.next().await.unwrap(), b"two");
        assert_eq!(lines.next().await.unwrap(), b"");
        let writer = std::thread::spawn(move || {
            write.write_all(&vec![b'x'; LONGEST + 10]).unwrap();
            write.write_all(b"\nlast").unwrap();
        });
        assert_eq!(lines.next().await.unwrap(), b"last", "also where its end is missing");
        assert_eq!(lines.next().await, None);
        writer.join().unwrap();
    }
}
