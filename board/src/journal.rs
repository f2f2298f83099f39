//! The journal: one line a transition, so that a look reads its tail and nobody re-reads what others took.
//!
//! It is a cache; the tasks' files are the truth. Its first line names a generation. A generation that is not
//! the one last seen, a shrink or a torn tail costs one full look, and nothing else.

use std::borrow::Cow;
use std::fs::File;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::{self, Dir, Stamp};
use crate::error::Result;

/// The journal's name in `.board/`.
const NAME: &str = "journal.jsonl";
/// The first line has a fixed length, so that it can be written in place.
const HEADER: usize = 160;
/// A journal longer than this begins anew: whoever reads it whole should not read for long.
const LONGEST: u64 = 16 << 20;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// The journal's generation.
    journal: u64,
    /// The boot under which it was begun.
    boot: String,
    /// The generation of `kept/` that is written into now; 0: none yet.
    pub(crate) kept: u64,
    /// When that one was opened, in seconds since the epoch.
    pub(crate) kept_since: i64,
}

/// One transition, as the index needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line<'a> {
    /// The task's id.
    #[serde(borrow)]
    pub(crate) task: Cow<'a, str>,
    /// What happened to it.
    pub(crate) op: Op,
    /// The turn that began or ended.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<Cow<'a, str>>,
    /// The holder of a claim.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Cow<'a, str>>,
    /// When: for people who read the journal.
    #[serde(skip_deserializing)]
    pub(crate) at: Timestamp,
    /// The file afterwards: inode, size, mtime, ctime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stamp: Option<(u64, u64, i64, i64)>,
}

/// What happened to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Op {
    /// It was claimed: nothing else of it changed, so that readers need not open it.
    Claim,
    /// Its turn ended with its completion.
    Done,
    /// Its turn ended otherwise; the file says how.
    End,
    /// Its file changed, appeared, or was found changed by the sweeper.
    Changed,
    /// Its file is gone.
    Gone,
}

impl Line<'_> {
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.stamp.map(|(inode, size, mtime, ctime)| Stamp { inode, size, mtime, ctime })
    }
}

/// What reading on brought.
pub(crate) enum Tail {
    /// New lines (perhaps none); the text is in the buffer.
    Lines,
    /// Another generation, or a journal that cannot be read: the index is to be made anew.
    Lost,
}

/// An open journal and how far it has been read.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    inode: u64,
    /// Whether the file is open for writing too: who only looked opened it for reading.
    writable: bool,
    raw_header: [u8; HEADER],
    pub(crate) header: Header,
    read_to: u64,
}

impl Journal {
    /// Opens the journal and stands at its end. `None`: there is none that can be read yet.
    pub(crate) fn open(ours: &Dir) -> Result<Option<Journal>> {
        match ours.open_file(NAME)? {
            Some(file) => Journal::stand_at_end(file, ours.join(NAME), false),
            None => Ok(None),
        }
    }

    /// Opens the journal for writing, begun anew where there is none of this boot. Under the board's lock.
    pub(crate) fn open_for_writing(ours: &Dir, boot: &str, now: Timestamp) -> Result<Journal> {
        let path = ours.join(NAME);
        let file = ours.open_record(NAME, 0o666)?;
        let inode = disk::stamp(&file, &path)?.inode;
        match Journal::stand_at_end(file.try_clone().map_err(|e| crate::Error::io("open", &path, e))?, path.clone(), true)? {
            Some(journal) if journal.header.boot == boot => Ok(journal),
            earlier => {
                // A journal that somebody deleted must not begin with a generation that some process has seen.
                let journal = earlier.map_or_else(|| u64::try_from(now.as_second()).unwrap_or(1), |earlier| earlier.header.journal);
                let header = Header { journal, boot: boot.to_owned(), kept: 0, kept_since: 0 };
                let mut journal = Journal { file, path, inode, writable: true, raw_header: [0; HEADER], header, read_to: 0 };
                journal.begin_anew()?;
                Ok(journal)
            }
        }
    }

    fn stand_at_end(file: File, path: PathBuf, writable: bool) -> Result<Option<Journal>> {
        let mut raw_header = [0; HEADER];
        disk::read_at(&file, &path, &mut raw_header, 0)?;
        let Some(header) = parse_header(&raw_header) else { return Ok(None) };
        let Stamp { size, inode, .. } = disk::stamp(&file, &path)?;
        let mut journal = Journal { file, path, inode, writable, raw_header, header, read_to: size };
        // A torn last line is not passed over: what follows it would be read from its middle.
        let mut last = [0];
        while journal.read_to > HEADER as u64 && disk::read_at(&journal.file, &journal.path, &mut last, journal.read_to - 1)? == 1 && last != *b"\n" {
            journal.read_to -= 1;
        }
        Ok(Some(journal))
    }

    /// Reads on from where it stood. Only whole lines count; with the lock held there can be no other.
    pub(crate) fn read_on(&mut self, locked: bool, buffer: &mut Vec<u8>) -> Result<Tail> {
        buffer.clear();
        let mut raw = [0; HEADER];
        disk::read_at(&self.file, &self.path, &mut raw, 0)?;
        if raw != self.raw_header {
            let Some(header) = parse_header(&raw) else {
                if locked {
                    self.begin_anew()?;
                }
                return Ok(Tail::Lost);
            };
            let same = header.journal == self.header.journal && header.boot == self.header.boot;
            self.raw_header = raw;
            self.header = header;
            if !same {
                self.read_to = HEADER as u64;
                return Ok(Tail::Lost);
            }
        }
        let mut chunk = [0; 4096];
        loop {
            let count = disk::read_at(&self.file, &self.path, &mut chunk, self.read_to + buffer.len() as u64)?;
            buffer.extend_from_slice(&chunk[..count]);
            if count < chunk.len() {
                break;
            }
        }
        let whole = buffer.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
        let torn = whole < buffer.len();
        buffer.truncate(whole);
        self.read_to += whole as u64;
        if locked && torn {
            self.begin_anew()?;
            return Ok(Tail::Lost);
        }
        Ok(Tail::Lines)
    }

    /// Whether the open file still bears the journal's name, and nobody has cut it.
    pub(crate) fn stands(&self, ours: &Dir) -> Result<bool> {
        Ok(ours.stat(NAME)?.is_some_and(|(_, named)| named.inode == self.inode && named.size >= self.read_to))
    }

    /// Opens a journal for writing that was read so far. `false`: another file bears its name by now.
    pub(crate) fn be_writable(&mut self, ours: &Dir) -> Result<bool> {
        if !self.writable {
            let file = ours.open_record(NAME, 0o666)?;
            self.writable = disk::stamp(&file, &self.path)?.inode == self.inode;
            self.file = file;
        }
        Ok(self.writable)
    }

    /// Whether it was begun in that boot.
    pub(crate) fn began_in(&self, boot: &str) -> bool {
        self.header.boot == boot
    }

    /// Where the next line will stand: a number that only grows within a generation.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.header.journal, self.read_to)
    }

    /// Appends whole lines. Under the board's lock, with everything read. On failure the journal begins anew, so
    /// that nobody misses what was not written.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<()> {
        if self.read_to > LONGEST {
            self.begin_anew()?;
        }
        match disk::write_at(&self.file, &self.path, lines, self.read_to) {
            Ok(()) => {
                self.read_to += lines.len() as u64;
                Ok(())
            }
            // The transition itself is done: the journal is a cache. Beginning anew needs no room on the disk.
            Err(_) => self.begin_anew(),
        }
    }

    /// Says which generation of `kept/` is written into. Under the board's lock.
    pub(crate) fn set_kept(&mut self, kept: u64, since: Timestamp) -> Result<()> {
        self.header.kept = kept;
        self.header.kept_since = since.as_second();
        self.write_header()
    }

    /// Begins it anew, with another generation. Under the board's lock.
    pub(crate) fn begin_anew(&mut self) -> Result<()> {
        self.header.journal += 1;
        self.read_to = HEADER as u64;
        // The header first: from then on readers take nothing of the old lines for new ones.
        self.write_header()?;
        disk::truncate(&self.file, &self.path, HEADER as u64)
    }

    fn write_header(&mut self) -> Result<()> {
        let mut raw = serde_json::to_vec(&self.header).unwrap_or_default();
        raw.resize(HEADER - 1, b' ');
        raw.push(b'\n');
        disk::write_at(&self.file, &self.path, &raw, 0)?;
        self.raw_header.copy_from_slice(&raw);
        Ok(())
    }

    /// Whether some line says that this turn has ended. Reads the journal whole: for rare doubts only.
    pub(crate) fn has_ended(&self, turn: &str) -> Result<bool> {
        let mut bytes = vec![0; usize::try_from(self.read_to).unwrap_or(0)];
        let count = disk::read_at(&self.file, &self.path, &mut bytes, 0)?;
        Ok(lines(&bytes[..count]).any(|line| line.turn.as_deref() == Some(turn) && matches!(line.op, Op::Done | Op::End)))
    }
}

/// The lines of a text that can be read.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    text.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// Adds a line to a text that will be appended.
pub(crate) fn write_line(text: &mut Vec<u8>, line: &Line<'_>) {
    if serde_json::to_writer(&mut *text, line).is_ok() {
        text.push(b'\n');
    }
}

fn parse_header(raw: &[u8; HEADER]) -> Option<Header> {
    serde_json::from_slice(raw).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &mut Vec<u8>, task: &'static str) {
        let line =
            Line { task: task.into(), op: Op::Claim, turn: Some("t".into()), by: Some("bob".into()), at: crate::clock::now(), stamp: Some((1, 2, 3, 4)) };
        write_line(text, &line);
    }

    fn read(journal: &mut Journal) -> Option<Vec<String>> {
        let mut buffer = Vec::new();
        match journal.read_on(false, &mut buffer).unwrap() {
            Tail::Lines => Some(lines(&buffer).map(|line| line.task.into_owned()).collect()),
            Tail::Lost => None,
        }
    }

    #[test]
    fn readers_follow_and_notice_what_they_cannot_follow() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        assert!(Journal::open(&dir).unwrap().is_none());
        let mut writer = Journal::open_for_writing(&dir, "boot", crate::clock::now()).unwrap();
        let mut reader = Journal::open(&dir).unwrap().unwrap();
        let mut text = Vec::new();
        line(&mut text, "1");
        line(&mut text, "2");
        writer.append(&text).unwrap();
        assert_eq!(read(&mut reader).unwrap(), ["1", "2"]);
        assert_eq!(read(&mut reader).unwrap(), Vec::<String>::new());
        assert_eq!(read(&mut Journal::open(&dir).unwrap().unwrap()).unwrap(), Vec::<String>::new(), "a newcomer begins at the end");

        writer.set_kept(5, crate::clock::now()).unwrap();
        assert_eq!(read(&mut reader).unwrap(), Vec::<String>::new(), "only the generation of kept/ changed");
        assert_eq!(reader.header.kept, 5);

        // A writer that died in mid-append.
        let (path, half) = (dir.join(NAME), &text[..10]);
        let length = std::fs::metadata(&path).unwrap().len();
        disk::write_at(&writer.file, &path, half, length).unwrap();
        assert_eq!(read(&mut reader).unwrap(), Vec::<String>::new(), "half a line is no line");
        let mut newcomer = Journal::open(&dir).unwrap().unwrap();
        assert!(matches!(writer.read_on(true, &mut Vec::new()).unwrap(), Tail::Lost));
        assert!(read(&mut reader).is_none());
        assert!(read(&mut newcomer).is_none());
        writer.append(&text).unwrap();
        assert_eq!(read(&mut reader).unwrap(), ["1", "2"]);

        // Another boot begins anew.
        let mut after = Journal::open_for_writing(&dir, "later", crate::clock::now()).unwrap();
        assert!(read(&mut reader).is_none());
        after.append(&text).unwrap();
        assert_eq!(read(&mut reader).unwrap(), ["1", "2"]);
        assert!(!after.has_ended("t").unwrap());
    }
}
