//! How a board sees the whole directory: at first, and where nobody tells what changed.

use super::{Board, held};
use crate::document::Document;
use crate::error::Result;
use crate::index::Entry;
use crate::journal::Journal;
use crate::presence;
use crate::scan::{self, How, Read};
use crate::task::{Status, Task};
use crate::task_id::TaskId;

/// What a look at the whole directory brought.
struct Swept<T> {
    /// The ids of what is not as it was known.
    changed: Vec<TaskId>,
    /// Of every task that was read what the caller wanted, by id.
    digests: Vec<(TaskId, T)>,
}

impl Board {
    /// Looks at every name in the directory and reads what changed; returns the ids that did.
    pub fn sweep(&mut self) -> Result<Vec<TaskId>> {
        self.sweep_with(false, &|_, _| ()).map(|swept| swept.changed)
    }

    /// Sees the whole directory and has `digest` say what the caller wants of each task's document, so that no file
    /// is read twice. For commands that show the whole board and end: what is known of a file afterwards has no stamp,
    /// so that it would be read again. In natural order; files that are no task are in the index only.
    pub fn survey<T: Send>(&mut self, digest: impl Fn(&mut Document<'_>, &Task) -> T + Sync) -> Result<Vec<(TaskId, T)>> {
        self.sweep_with(true, &digest).map(|swept| swept.digests)
    }

    /// Reads what changed, or `all`.
    fn sweep_with<T: Send>(&mut self, all: bool, digest: &(impl Fn(&mut Document<'_>, &Task) -> T + Sync)) -> Result<Swept<T>> {
        if self.journal.is_none()
            && let Some(ours) = self.dirs.ours()
        {
            self.journal = Journal::open(&ours.dir)?;
        }
        let stamp = scan::names_stamp(&self.dirs.tasks, self.dirs.coarse)?;
        let mut changed = match all {
            true => self.index.entries().map(|(id, _)| (id.clone(), How::Careful)).collect(),
            false => scan::changed(&self.dirs.tasks, &self.index),
        };
        if stamp.is_none() || stamp != self.listed {
            let listed = scan::list(&self.dirs.tasks)?;
            let fresh = listed.ids.into_iter().filter(|(id, _)| self.index.get(id).is_none());
            changed.extend(fresh.map(|(id, how)| (id, if all && how == How::Regular { How::Unstamped } else { how })));
            changed.sort_unstable();
            self.index.set_nameless(listed.nameless);
            self.listed = stamp;
        }
        let read = scan::read_many(&self.dirs.tasks, &mut changed, self.dirs.coarse, self.threads, digest);
        if !self.seen && self.index.is_blank() && self.suspects.is_empty() {
            return self.fill(changed, read, !all);
        }
        let (mut told, mut digests) = (Vec::new(), Vec::with_capacity(changed.len()));
        for ((id, _), read) in changed.into_iter().zip(read.into_iter().flatten()) {
            let before = self.index.get(&id);
            let same = match (before, &read) {
                (Some(before), Some(read)) => before.stamp == read.entry.stamp && before.state == read.entry.state,
                (None, None) => true,
                _ => false,
            };
            match read {
                Some(Read { entry, ended, digest }) => {
                    self.take_in(&id, entry, &ended);
                    digests.extend(digest.map(|digest| (id.clone(), digest)));
                }
                None => self.take_out(&id),
            }
            if !same {
                told.push(id);
            }
        }
        self.seen_all()?;
        Ok(Swept { changed: told, digests })
    }

    /// Takes everything in at once: a first look. `tell`: whether the caller wants to know what there is.
    fn fill<T>(&mut self, ids: Vec<scan::Named>, read: Vec<Vec<Option<Read<T>>>>, tell: bool) -> Result<Swept<T>> {
        let (mut entries, mut digests, mut turns) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()), Vec::new());
        for ((id, _), read) in ids.into_iter().zip(read.into_iter().flatten()) {
            let Some(Read { entry, digest, .. }) = read else { continue };
            turns.extend(held(&entry).map(|(turn, by)| (id.clone(), turn.to_owned(), by.to_owned())));
            digests.extend(digest.map(|digest| (id.clone(), digest)));
            entries.push((id, entry));
        }
        let told = if tell { entries.iter().map(|(id, _)| id.clone()).collect() } else { Vec::new() };
        self.index.fill(entries);
        turns.iter().for_each(|(id, turn, by)| self.index.begin_turn(id, turn, by));
        self.seen_all()?;
        Ok(Swept { changed: told, digests })
    }

    /// The whole directory has been read.
    fn seen_all(&mut self) -> Result<()> {
        if !self.seen {
            self.suspect_overwritten()?;
            self.seen = true;
        }
        self.look_up_archived();
        Ok(())
    }

    /// At a first look: turns that living teammates hold and of which their task's file says nothing.
    fn suspect_overwritten(&mut self) -> Result<()> {
        let Some(ours) = self.dirs.ours() else { return Ok(()) };
        for (name, _, hold) in presence::living_holds(&ours.teammates)? {
            let in_file = self.index.get(&hold.task).and_then(Entry::facts).and_then(|facts| facts.turn());
            let stands = in_file.is_some_and(|(turn, _)| turn == hold.turn || !self.is_over(turn));
            if stands || self.is_over(&hold.turn) {
                continue;
            }
            // Known from now on: a file that is away or broken at this moment may come back as it was.
            self.index.begin_turn(&hold.task, &hold.turn, name.as_str());
            if self.index.get(&hold.task).is_some() {
                self.suspects.insert(hold.task, (hold.turn, name.to_string()));
            }
        }
        Ok(())
    }

    /// Whether ids that tasks name and that are not here are those of archived, completed tasks.
    pub(crate) fn look_up_archived(&mut self) {
        self.look_up(self.index.unknown_blockers());
    }

    pub(super) fn look_up(&mut self, absent: Vec<TaskId>) {
        for id in absent {
            if let Some((_, task)) = self.read_archived(&id) {
                self.index.set_archived(id, task.status == Status::Completed);
            }
        }
    }
}
