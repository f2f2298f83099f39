//! Reading the directory: which names are tasks, which of them changed, and what those say.

use std::collections::BTreeMap;

use crate::clock;
use crate::disk::{Dir, Kind, Stamp};
use crate::document::{Document, Problem};
use crate::error::Result;
use crate::facts::Facts;
use crate::index::{Entry, Index, State};
use crate::side_by_side::in_shares;
use crate::task::Task;
use crate::task_id::TaskId;

/// An empty or truncated file may be in the middle of its writing for so long after its mtime.
const SETTLING_NANOS: i128 = 2_000_000_000;
/// Within so long of a file's last change another change may leave the same stamp.
const CLOCK_GRAIN_NANOS: i128 = 20_000_000;
/// The same on filesystems with coarse time stamps.
const COARSE_GRAIN_NANOS: i128 = 2_000_000_000;
/// How long after a file's last change another one may leave the same stamp, in nanoseconds.
pub(crate) fn grain(coarse: bool) -> i128 {
    if coarse { COARSE_GRAIN_NANOS } else { CLOCK_GRAIN_NANOS }
}

/// What is to be read: a task's file, and how.
pub(crate) type Named = (TaskId, How);

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// With a look at what it is first.
    Careful,
    /// At once: the directory said that it is a regular file.
    Regular,
    /// At once and without its stamp, which nobody is going to ask for.
    Unstamped,
}

/// What a name in the directory is.
pub(crate) struct Listed {
    pub(crate) ids: Vec<Named>,
    pub(crate) nameless: BTreeMap<String, Problem>,
}

/// The names in the directory that are tasks by their name.
pub(crate) fn list(tasks: &Dir) -> Result<Listed> {
    let mut listed = Listed { ids: Vec::new(), nameless: BTreeMap::new() };
    tasks.each_name(|name, utf8, regular| match TaskId::of_file(name) {
        None => {}
        Some(_) if !utf8 => {
            listed.nameless.insert(name.to_owned(), Problem::whole("the file's name is not UTF-8"));
        }
        Some(Ok(id)) => listed.ids.push((id, if regular { How::Regular } else { How::Careful })),
        Some(Err(e)) => {
            listed.nameless.insert(name.to_owned(), Problem::whole(e.to_string()));
        }
    })?;
    Ok(listed)
}

/// The stamp of the directory itself: while it stays, no name in it has come, gone or been exchanged. `None`: it
/// changed so lately that another change may leave the same, or stamps are not to be relied on here.
pub(crate) fn names_stamp(tasks: &Dir, coarse: bool) -> Result<Option<Stamp>> {
    let stamp = tasks.stamp()?;
    let settled = (clock::nanos() - i128::from(stamp.ctime)).abs() >= grain(coarse);
    Ok(Some(stamp).filter(|_| settled && !coarse))
}

/// The known tasks whose files no longer bear the stamp that was seen, or may have changed all the same.
pub(crate) fn changed(tasks: &Dir, index: &Index) -> Vec<Named> {
    let mut name = String::new();
    let mut is_same = |id: &TaskId, entry: &Entry| {
        name.clear();
        id.write_file_name(&mut name);
        let settled = !entry.doubtful && !matches!(entry.state, State::Unsettled(_));
        settled && tasks.stat(&name).ok().flatten().is_some_and(|(_, stamp)| stamp == entry.stamp)
    };
    index.entries().filter(|(id, entry)| !is_same(id, entry)).map(|(id, _)| (id.clone(), How::Careful)).collect()
}

/// A file that was read. Not the whole task: there may be a hundred thousand of these at a time.
pub(crate) struct Read<T = ()> {
    /// What the index keeps.
    pub(crate) entry: Entry,
    /// The turns that it says have ended.
    pub(crate) ended: Vec<String>,
    /// Where it is a task, what a caller wanted of it.
    pub(crate) digest: Option<T>,
}

/// Reads one file. `None`: it is gone.
pub(crate) fn read(tasks: &Dir, id: &TaskId, coarse: bool, bytes: &mut Vec<u8>) -> Option<Read> {
    read_with(tasks, id, How::Careful, coarse, bytes, &|_, _| ())
}

/// What is no sound task at its first reading is read again with every care.
fn read_with<T>(tasks: &Dir, id: &TaskId, how: How, coarse: bool, bytes: &mut Vec<u8>, digest: &impl Fn(&mut Document<'_>, &Task) -> T) -> Option<Read<T>> {
    let name = id.file_name();
    let stamp = match how {
        How::Careful => None,
        How::Regular => tasks.read_into(&name, bytes).ok(),
        How::Unstamped => tasks.read_unstamped(&name, bytes).ok().map(|()| Stamp::default()),
    };
    if let Some(read) = stamp.map(|stamp| understand_with(id, bytes, stamp, coarse, digest)).filter(|read| read.digest.is_some()) {
        let doubtful = read.entry.doubtful || how == How::Unstamped;
        return Some(Read { entry: Entry { doubtful, ..read.entry }, ..read });
    }
    let invalid = |stamp, reason: String| Some(Read::no_task(Entry { stamp, doubtful: false, state: State::Invalid(Box::new(Problem::whole(reason))) }));
    let (kind, seen) = match tasks.stat(&name) {
        Ok(Some(found)) => found,
        Ok(None) => return None,
        Err(e) => return invalid(Stamp::default(), e.to_string()),
    };
    if let Some(reason) = why_not_opened(kind) {
        return invalid(seen, reason.into());
    }
    match tasks.read_into(&name, bytes) {
        Ok(stamp) => Some(understand_with(id, bytes, stamp, coarse, digest)),
        Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => None,
        Err(crate::Error::Io { source, .. }) => invalid(seen, format!("it cannot be read: {source}")),
        Err(e) => invalid(seen, e.to_string()),
    }
}

/// Why something that bears a task's name is not opened.
pub(crate) fn why_not_opened(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::File => None,
        Kind::Directory => Some("it is a directory"),
        Kind::Link => Some("it is a symbolic link, which is not followed"),
        Kind::Special => Some("it is no regular file (a FIFO, a socket or a device), so it is not opened"),
    }
}

/// What a file's bytes say.
pub(crate) fn understand(id: &TaskId, bytes: &[u8], stamp: Stamp, coarse: bool) -> Read {
    understand_with(id, bytes, stamp, coarse, &|_, _| ())
}

fn understand_with<T>(id: &TaskId, bytes: &[u8], stamp: Stamp, coarse: bool, digest: &impl Fn(&mut Document<'_>, &Task) -> T) -> Read<T> {
    let now = clock::nanos();
    let doubtful = (now - i128::from(stamp.ctime)).abs() < grain(coarse);
    let read = Document::parse(bytes).and_then(|mut document| {
        let task = Task::read(id, &document)?;
        let digest = digest(&mut document, &task);
        Ok((task, digest))
    });
    match read {
        Ok((task, digest)) => {
            let entry = Entry { stamp, doubtful, state: State::Task(Facts::of(&task)) };
            Read { entry, ended: task.attempts.into_iter().map(|attempt| attempt.turn).collect(), digest: Some(digest) }
        }
        Err(problem) if problem.truncated && is_settling(stamp, now) => Read::no_task(Entry { stamp, doubtful, state: State::Unsettled(Box::new(problem)) }),
        Err(problem) => Read::no_task(Entry { stamp, doubtful, state: State::Invalid(Box::new(problem)) }),
    }
}

impl<T> Read<T> {
    fn no_task(entry: Entry) -> Read<T> {
        Read { entry, ended: Vec::new(), digest: None }
    }
}

/// Whether a file's writer may still be at work. A file from the future is not waited for.
fn is_settling(stamp: Stamp, now: i128) -> bool {
    (0..SETTLING_NANOS).contains(&(now - i128::from(stamp.mtime)))
}

/// Reads many files, side by side where that pays. The answers come in shares (for who reads a hundred thousand does not
/// want to copy them into one list); their order is that of the ids.
pub(crate) fn read_many<T: Send>(
    tasks: &Dir,
    ids: &mut [Named],
    coarse: bool,
    threads: usize,
    digest: &(impl Fn(&mut Document<'_>, &Task) -> T + Sync),
) -> Vec<Vec<Option<Read<T>>>> {
    in_shares(ids, threads, |ids| {
        let mut bytes = Vec::new();
        ids.iter().map(|(id, how)| read_with(tasks, id, *how, coarse, &mut bytes, digest)).collect()
    })
}
