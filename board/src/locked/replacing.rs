//! Replacing a task's file: what is read under the lock, written beside and exchanged; and the edits that come between.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use super::LockedBoard;
use crate::board::Dirs;
use crate::clock;
use crate::crash;
use crate::disk::{self, Stamp};
use crate::document::Document;
use crate::error::{Error, Refusal, Result, Rule};
use crate::index::Entry;
use crate::journal::Op;
use crate::kept::Kept;
use crate::scan;
use crate::task::Task;
use crate::task_id::TaskId;
use crate::turn;

/// How long an edit in its middle is waited for.
const EDIT_PATIENCE: Duration = Duration::from_secs(2);
/// So many edits in a row, each between two exchanges, are taken over.
const EDITS: usize = 8;

/// What was read of a task under the lock.
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) task: Task,
}

impl LockedBoard<'_> {
    pub(super) fn find(&mut self, id: &TaskId) -> Result<Found> {
        let (bytes, stamp, task) = self.board.read_with_stamp(id)?;
        if self.board.index.get(id).is_none_or(|entry| entry.stamp != stamp) {
            let read = scan::understand(id, &bytes, stamp, self.board.dirs.coarse);
            self.board.absorb(id, Some(read));
            self.restore_suspects()?;
            // A restored claim is what the file says now.
            let (bytes, stamp, task) = self.board.read_with_stamp(id)?;
            return Ok(Found { bytes, stamp, task });
        }
        Ok(Found { bytes, stamp, task })
    }

    /// Replaces a task's file by what `change` makes of it: written beside, exchanged, and the displaced version
    /// looked at. Where that is not the one that was read, a person's edit came between: it wins, and the change is
    /// made anew on it.
    ///
    /// `durable`: what stands there then is put on disk before success is reported, without the lock ([`settle`](super::Unlocked::settle)).
    /// A power cut before that may leave it torn, which the displaced version heals (see the module `kept`).
    pub(super) fn replace(&mut self, id: &TaskId, found: &Found, durable: bool, change: &dyn Fn(&mut Document<'_>, &Task) -> Result<()>) -> Result<Stamp> {
        let dirs = Arc::clone(&self.board.dirs);
        let kept = self.kept()?;
        let mut document = parse(id, &found.bytes)?;
        change(&mut document, &found.task)?;
        let text = document.pretty();
        let (name, file) = kept.write(self.position(), id, text.as_bytes())?;
        crash::point("replace.written");
        exchange(&kept, &name, &dirs, id).inspect_err(|_| drop(kept.dir.remove(&name)))?;
        crash::point("replace.exchanged");
        // Of our own version, by its descriptor: under its name there may be somebody else's by now.
        let ours = disk::stamp(&file, dirs.tasks.path())?;
        let done = match displaced(&kept, &name, &found.bytes, Some(found.stamp), dirs.coarse) {
            Ok(None) => Ok((ours, file)),
            Ok(Some(theirs)) => match changed(id, &theirs, change) {
                Ok(next) => self.put(id, (kept, name), text, next),
                // No task, or one that the change is not for.
                Err(e) => self.give_back(id, (kept, name), text, &theirs).and(Err(e)),
            },
            // A link, or a file that must not be read.
            Err(e) => exchange(&kept, &name, &dirs, id).and(Err(e)),
        };
        match done {
            Ok((stamp, file)) => {
                if durable {
                    self.unsynced.push((file, dirs.tasks.join(&id.file_name())));
                }
                Ok(stamp)
            }
            Err(e) => {
                self.board.read_again(id);
                self.tell_changed(id);
                Err(e)
            }
        }
    }

    /// Puts an edit back that our `own` version has displaced.
    fn give_back(&mut self, id: &TaskId, edit: (Arc<Kept>, String), own: String, theirs: &[u8]) -> Result<()> {
        let dirs = Arc::clone(&self.board.dirs);
        exchange(&edit.0, &edit.1, &dirs, id)?;
        match displaced(&edit.0, &edit.1, own.as_bytes(), None, dirs.coarse)? {
            None => Ok(()),
            Some(newer) => {
                let next = merged(id, theirs, own.as_bytes(), &newer)?;
                let given_back = String::from_utf8_lossy(theirs).into_owned();
                self.put(id, edit, given_back, next).map(drop)
            }
        }
    }

    /// Puts `next` in the place of our `own` version; the edit that `own` has displaced lies `beside`. What is edited
    /// meanwhile is taken over from one version to the next, until nothing but our own last one is displaced.
    fn put(&mut self, id: &TaskId, beside: (Arc<Kept>, String), own: String, next: String) -> Result<(Stamp, File)> {
        let dirs = Arc::clone(&self.board.dirs);
        let kept = self.kept()?;
        let (mut beside, mut own, mut next) = (beside, own, next);
        for _ in 0..EDITS {
            let name = Kept::prepared(&turn::fresh(), id);
            let file = match kept.dir.write_new(&name, next.as_bytes(), 0o666) {
                Ok(file) => file,
                // No room for both: the edit stands.
                Err(e) => return exchange(&beside.0, &beside.1, &dirs, id).and(Err(e)),
            };
            exchange(&kept, &name, &dirs, id)?;
            let newer = displaced(&kept, &name, own.as_bytes(), None, dirs.coarse);
            let merged = match newer.and_then(|newer| newer.map(|newer| merged(id, next.as_bytes(), own.as_bytes(), &newer)).transpose()) {
                Ok(None) => return Ok((disk::stamp(&file, dirs.tasks.path())?, file)),
                Ok(Some(merged)) => merged,
                // What somebody put there last is no task: it stands.
                Err(e) => return exchange(&kept, &name, &dirs, id).and(Err(e)),
            };
            (beside, own, next) = ((Arc::clone(&kept), name), next, merged);
        }
        exchange(&beside.0, &beside.1, &dirs, id)?;
        Err(Refusal::of(Rule::NotValid, id, "somebody else is writing its file all the time; try again"))
    }

    /// A change of one task that begins or ends no turn.
    pub(crate) fn change(&mut self, id: &TaskId, change: &dyn Fn(&mut Document<'_>, &Task) -> Result<()>) -> Result<()> {
        let found = self.find(id)?;
        let before = found.task.claim.as_ref().map(|claim| claim.turn.clone());
        self.names_changed = true;
        let durable = self.is_full();
        self.replace(id, &found, durable, change)?;
        self.board.read_again(id);
        let stamp = self.board.index.get(id).map(|entry| entry.stamp);
        let still = self.board.index.get(id).and_then(Entry::facts).and_then(|facts| facts.turn()).map(|(turn, _)| turn.to_owned());
        match before.filter(|turn| still.as_ref() != Some(turn)) {
            Some(turn) => {
                self.board.index.end_turn(id);
                self.board.index.turn_is_over(&turn);
                self.board.suspects.remove(id);
                self.tell(id, Op::End, Some(&turn), None, stamp);
            }
            None => self.tell(id, Op::Changed, None, None, stamp),
        }
        Ok(())
    }
}

pub(super) fn parse<'a>(id: &TaskId, bytes: &'a [u8]) -> Result<Document<'a>> {
    Document::parse(bytes).map_err(|problem| Error::NotATask { file: id.file_name(), problem })
}

/// The text that a change makes of a file.
fn changed(id: &TaskId, bytes: &[u8], change: &dyn Fn(&mut Document<'_>, &Task) -> Result<()>) -> Result<String> {
    let mut document = parse(id, bytes)?;
    let task = Task::read(id, &document).map_err(|problem| Error::NotATask { file: id.file_name(), problem })?;
    change(&mut document, &task)?;
    Ok(document.pretty())
}

/// Exchanges a version that was written beside with a task's file.
fn exchange(kept: &Kept, name: &str, dirs: &Dirs, id: &TaskId) -> Result<()> {
    disk::exchange(&kept.dir, name, &dirs.tasks, &id.file_name()).map_err(|e| match e.io_kind() {
        Some(std::io::ErrorKind::NotFound) => Error::NoSuchTask(id.clone()),
        _ => e,
    })
}

/// A version with what somebody changed between two others.
fn merged(id: &TaskId, version: &[u8], before: &[u8], after: &[u8]) -> Result<String> {
    let mut merged = parse(id, version)?;
    merged.take_edits(&parse(id, before)?, &parse(id, after)?);
    Ok(merged.pretty())
}

/// What an exchange displaced, where that is not the version that was read (or put there).
fn displaced(kept: &Kept, name: &str, base: &[u8], read: Option<Stamp>, coarse: bool) -> Result<Option<Vec<u8>>> {
    let seen = kept.dir.stat(name)?.map(|(_, stamp)| stamp).unwrap_or_default();
    let same = |read: Stamp| seen.inode == read.inode && seen.size == read.size && seen.mtime == read.mtime;
    // So soon after its last change another one may have left the same stamp: then the bytes decide.
    if read.is_some_and(|read| same(read) && clock::nanos() - i128::from(read.mtime) > scan::grain(coarse)) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let since = std::time::Instant::now();
    loop {
        kept.dir.read_into(name, &mut bytes)?;
        if bytes == base {
            return Ok(None);
        }
        match Document::parse(&bytes) {
            Err(problem) if problem.truncated && since.elapsed() < EDIT_PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            _ => return Ok(Some(bytes)),
        }
    }
}
