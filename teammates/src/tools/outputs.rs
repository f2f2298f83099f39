//! What commands printed and what was too long for a result, on the machine's side: outside the workspace, and read with
//! `read_file` under a name of its own, `output:<number>`.
//!
//! What the commands of a turn print goes to the turn's log, one behind the other; an output is a part of that file. What
//! runs in the background has a file of its own. The names hold for as long as the teammate's process lives.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use board::disk::Dir;

use super::page;

/// What the name of an output begins with.
const PREFIX: &str = "output:";

/// The outputs of one teammate.
#[derive(Debug)]
pub struct Outputs {
    book: Mutex<Book>,
}

#[derive(Debug)]
struct Book {
    dir: Arc<Dir>,
    turn: String,
    last: usize,
    kept: HashMap<String, Part>,
}

/// A part of a file; without an end, all from there on.
#[derive(Debug, Clone)]
struct Part {
    dir: Arc<Dir>,
    file: String,
    from: u64,
    to: Option<u64>,
}

/// An output that is being written.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) name: String,
    pub(super) file: File,
}

impl Outputs {
    /// In a directory, for a turn: its log is `<turn>.log`.
    pub fn new(dir: impl Into<Arc<Dir>>, turn: &str) -> Outputs {
        Outputs { book: Mutex::new(Book { dir: dir.into(), turn: turn.to_owned(), last: 0, kept: HashMap::new() }) }
    }

    /// From now on it is another turn's log that is written. What there was before is read as ever.
    pub fn begin_turn(&self, dir: impl Into<Arc<Dir>>, turn: &str) {
        let mut book = self.book();
        book.dir = dir.into();
        turn.clone_into(&mut book.turn);
    }

    /// The turn whose log is written.
    pub fn turn(&self) -> String {
        self.book().turn.clone()
    }

    /// Begins an output in the turn's log, behind a title that is no part of it.
    pub(super) fn in_log(&self, title: &str) -> io::Result<Writing> {
        let file = format!("{}.log", self.turn());
        self.begin(file, title)
    }

    /// Begins an output in a file of its own.
    pub(super) fn alone(&self) -> io::Result<Writing> {
        let file = format!("{}.output-{}.log", self.turn(), self.book().last + 1);
        self.begin(file, "")
    }

    fn begin(&self, file: String, title: &str) -> io::Result<Writing> {
        let dir = Arc::clone(&self.book().dir);
        let mut open = dir.open_append(&file, 0o600).map_err(io::Error::other)?;
        open.write_all(title.as_bytes())?;
        let from = open.metadata()?.len();
        let mut book = self.book();
        book.last += 1;
        let name = format!("{PREFIX}{}", book.last);
        book.kept.insert(name.clone(), Part { dir, file, from, to: None });
        Ok(Writing { name, file: open })
    }

    /// An output is whole: what is appended from now on is not of it.
    pub(super) fn end(&self, writing: &Writing) -> io::Result<()> {
        let length = writing.file.metadata()?.len();
        if let Some(part) = self.book().kept.get_mut(&writing.name) {
            part.to = Some(length);
        }
        Ok(())
    }

    /// Keeps a text, and returns the name under which it is read.
    pub(super) fn keep(&self, text: &str) -> io::Result<String> {
        let mut writing = self.alone()?;
        writing.file.write_all(text.as_bytes())?;
        Ok(writing.name)
    }

    /// The end of an output, of at most `most` bytes, and how long all of it is.
    pub(super) fn last(&self, name: &str, most: u64) -> io::Result<(String, u64)> {
        let (mut file, part) = self.open(name)?;
        let end = part.to.map_or_else(|| file.metadata().map(|metadata| metadata.len()), Ok)?;
        let length = end.saturating_sub(part.from);
        file.seek(SeekFrom::Start(end - length.min(most)))?;
        let mut bytes = Vec::new();
        file.take(length.min(most)).read_to_end(&mut bytes)?;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), length))
    }

    /// A page of an output, as `read_file` shows it. `None`: that is no output's name.
    pub(super) fn page(&self, name: &str, offset: usize, limit: Option<usize>) -> Option<io::Result<String>> {
        name.starts_with(PREFIX).then(|| {
            let (mut file, part) = self.open(name)?;
            file.seek(SeekFrom::Start(part.from))?;
            let length = part.to.map_or(u64::MAX, |to| to.saturating_sub(part.from));
            let page = page::read(BufReader::new(file.take(length)), offset, limit)?;
            Ok(super::work::shown(name, offset, limit, page))
        })
    }

    /// The file that an output is a part of.
    pub(super) fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        let part = self.part(name)?;
        Ok(part.dir.join(&part.file))
    }

    fn part(&self, name: &str) -> io::Result<Part> {
        let part = self.book().kept.get(name).cloned();
        part.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no {name}")))
    }

    fn open(&self, name: &str) -> io::Result<(File, Part)> {
        let part = self.part(name)?;
        let file = part.dir.open_file(&part.file).map_err(io::Error::other)?;
        Ok((file.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("the file of {name} is gone")))?, part))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
