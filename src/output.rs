//! Much output: a list of ten thousand tasks is megabytes. It is kept in few places, since ten thousand small ones that
//! several threads make at once cost more than reading the tasks, and is written from where it lies.

use std::borrow::Cow;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many pieces are given to the system at once; it takes no more than 1024.
const PIECES: usize = 512;

/// Address space for a page; what is not written to costs no memory.
const PAGE: usize = 4 << 20;

/// Texts that several threads put down, as many pages as there are threads that do so at a time.
#[derive(Debug, Default)]
pub(crate) struct Pages(Mutex<Free>);

/// Pages that nobody writes on at the moment, with their numbers, and how many there are in all.
#[derive(Debug, Default)]
struct Free {
    pages: Vec<(usize, String)>,
    count: usize,
}

/// Where a text was put.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) page: usize,
    pub(crate) range: Range<usize>,
}

impl Pages {
    /// Puts a text down.
    pub(crate) fn put(&self, text: &str) -> Line {
        let free = self.free().pages.pop();
        let (page, mut on_it) = free.unwrap_or_else(|| (self.next_number(), String::with_capacity(PAGE)));
        let begin = on_it.len();
        on_it.push_str(text);
        let range = begin..on_it.len();
        self.free().pages.push((page, on_it));
        Line { page, range }
    }

    /// The pages, in the order of their numbers.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let mut free = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        free.pages.sort_unstable_by_key(|(number, _)| *number);
        free.pages.into_iter().map(|(_, text)| text).collect()
    }

    fn next_number(&self) -> usize {
        let mut free = self.free();
        free.count += 1;
        free.count - 1
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes pieces to stdout, one after the other.
pub(crate) fn write_pieces<'a>(pieces: impl IntoIterator<Item = Cow<'a, str>>) -> io::Result<()> {
    let mut pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
    let mut batch = Vec::with_capacity(PIECES);
    loop {
        batch.extend(pieces.by_ref().take(PIECES));
        if batch.is_empty() {
            return Ok(());
        }
        write_batch(&mut batch.iter().map(|piece| IoSlice::new(piece.as_bytes())).collect::<Vec<_>>())?;
        batch.clear();
    }
}

fn write_batch(mut left: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !left.is_empty() {
        match rustix::io::writev(rustix::stdio::stdout(), left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
