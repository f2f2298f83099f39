//! A file of lines that only grows: appended whole, read from its end.
//!
//! A line counts when its newline is there. What stands behind the last newline is what a writer left that died in the
//! middle of an append; the next append cuts it off and says what it was.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::disk::{self, Dir};
use crate::error::Result;

/// So much is read at a time, from the end backwards.
const BLOCK: u64 = 8 << 10;

/// The file, open.
#[derive(Debug)]
pub(crate) struct Lines {
    file: File,
    path: PathBuf,
}

/// Whole lines, the last one first; each without its newline.
pub(crate) struct Backwards<'a> {
    lines: &'a Lines,
    /// What is not read yet ends here.
    unread: u64,
    /// What was read and not given out yet.
    bytes: Vec<u8>,
}

impl Lines {
    /// Opens the file for appending, owner-only, and makes it where it is missing.
    pub(crate) fn open(dir: &Dir, name: &str) -> Result<Lines> {
        Ok(Lines { file: dir.open_record(name, 0o600)?, path: dir.join(name) })
    }

    /// Opens it for reading only; `None`: it is not there.
    pub(crate) fn open_existing(dir: &Dir, name: &str) -> Result<Option<Lines>> {
        Ok(dir.open_file(name)?.map(|file| Lines { file, path: dir.join(name) }))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its whole lines, the last one first. Costs what is taken.
    pub(crate) fn backwards(&self) -> Result<Backwards<'_>> {
        Ok(Backwards { lines: self, unread: self.whole()?.0, bytes: Vec::new() })
    }

    /// How many whole lines it has. Costs the whole file.
    pub(crate) fn count(&self) -> Result<u64> {
        let (mut from, end, mut count) = (0, self.size()?, 0);
        while from < end {
            let block = self.read(from, end.min(from + BLOCK))?;
            if block.is_empty() {
                break;
            }
            from += block.len() as u64;
            count += block.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        Ok(count)
    }

    /// The length of what consists of whole lines, and what is torn behind it.
    fn whole(&self) -> Result<(u64, Vec<u8>)> {
        let (mut from, mut tail) = (self.size()?, Vec::new());
        while from > 0 {
            let block = self.read(from.saturating_sub(BLOCK), from)?;
            from -= block.len() as u64;
            tail = [block, tail].concat();
            if let Some(newline) = tail.iter().rposition(|byte| *byte == b'\n') {
                let torn = tail.split_off(newline + 1);
                return Ok((from + tail.len() as u64, torn));
            }
        }
        Ok((0, tail))
    }

    /// Appends a line (without its newline), and puts it on disk. Returns what was torn there before and is cut off now.
    /// The caller holds the lock that keeps other writers away.
    pub(crate) fn append(&self, line: &[u8]) -> Result<Vec<u8>> {
        let torn = self.append_unsynced(line)?;
        disk::sync_file(&self.file, &self.path)?;
        Ok(torn)
    }

    /// As [`Lines::append`], but a power cut may take the line away.
    pub(crate) fn append_unsynced(&self, line: &[u8]) -> Result<Vec<u8>> {
        let (whole, torn) = self.whole()?;
        if !torn.is_empty() {
            disk::truncate(&self.file, &self.path, whole)?;
        }
        disk::write_at(&self.file, &self.path, &[line, b"\n"].concat(), whole)?;
        Ok(torn)
    }

    /// Its whole lines from a place on that begins one, and where the last of them ends.
    pub(crate) fn from(&self, from: u64) -> Result<(Vec<u8>, u64)> {
        let (whole, _) = self.whole()?;
        Ok((self.read(from.min(whole), whole)?, whole))
    }

    /// How long it is, in bytes.
    pub(crate) fn size(&self) -> Result<u64> {
        Ok(disk::stamp(&self.file, &self.path)?.size)
    }

    fn read(&self, from: u64, to: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(usize::MAX)];
        let count = disk::read_at(&self.file, &self.path, &mut bytes, from)?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

impl Iterator for Backwards<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        // What lies before the line's own newline ends with the newline of the line before.
        let begin = |bytes: &[u8]| bytes.split_last().and_then(|(_, line)| line.iter().rposition(|byte| *byte == b'\n')).map(|newline| newline + 1);
        loop {
            if let Some(begin) = begin(&self.bytes).or((self.unread == 0 && !self.bytes.is_empty()).then_some(0)) {
                let mut line = self.bytes.split_off(begin);
                line.pop();
                return Some(Ok(line));
            }
            if self.unread == 0 {
                return None;
            }
            // Longer lines are read in larger pieces, so that the cost stays in proportion.
            let from = self.unread.saturating_sub(BLOCK.max(self.bytes.len() as u64));
            match self.lines.read(from, self.unread) {
                Ok(block) => self.bytes = [block, std::mem::take(&mut self.bytes)].concat(),
                Err(e) => return Some(Err(e)),
            }
            self.unread = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &[u8]) -> (tempfile::TempDir, Lines) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("log"), text).unwrap();
        let lines = Lines::open(&Dir::open(temp.path()).unwrap(), "log").unwrap();
        (temp, lines)
    }

    fn backwards(lines: &Lines) -> Vec<Vec<u8>> {
        lines.backwards().unwrap().map(|line| line.unwrap()).collect()
    }

    #[test]
    fn whole_lines_come_last_first_whatever_their_length() {
        let long = "x".repeat(200_000);
        for parts in [vec![], vec!["a"], vec!["a", "", "b"], vec![long.as_str(), "b"], vec!["a", long.as_str(), long.as_str()]] {
            for torn in ["", "half", &long] {
                let text: String = parts.iter().map(|part| format!("{part}\n")).collect::<String>() + torn;
                let (_temp, lines) = lines_of(text.as_bytes());
                let expected: Vec<Vec<u8>> = parts.iter().rev().map(|part| part.as_bytes().to_vec()).collect();
                assert!(backwards(&lines) == expected, "{} lines, torn: {} bytes", parts.len(), torn.len());
            }
        }
    }

    #[test]
    fn what_is_torn_is_cut_off_by_the_next_append() {
        let (temp, lines) = lines_of(b"one\n{\"half");
        assert_eq!(lines.append(b"two").unwrap(), b"{\"half");
        assert_eq!(lines.append(b"three").unwrap(), b"");
        assert_eq!(std::fs::read(temp.path().join("log")).unwrap(), b"one\ntwo\nthree\n");
    }
}
