//! How a board sees what changed: by the journal, by events, and file by file.

use super::{Board, held};
use crate::error::Result;
use crate::index::Entry;
use crate::journal::{self, Journal, Line, Op, Tail};
use crate::scan::{self, Read};
use crate::task_id::TaskId;

impl Board {
    /// Sees what changed since the last look: the journal's tail, or at first the whole directory.
    pub fn look(&mut self) -> Result<()> {
        match self.follow_journal(false)? {
            true => Ok(()),
            false => self.sweep().map(drop),
        }
    }

    /// Applies the journal's new lines. `false`: they do not lead on from what was seen.
    pub(crate) fn follow_journal(&mut self, locked: bool) -> Result<bool> {
        if let (false, Some(journal), Some(ours)) = (locked, &self.journal, self.dirs.ours())
            && !journal.stands(&ours.dir)?
        {
            // Somebody deleted or cut it: what it told meanwhile is to be seen in the files.
            (self.journal, self.seen) = (None, false);
        }
        if self.journal.is_none() {
            let Some(ours) = self.dirs.ours() else { return Ok(self.seen) };
            // A journal that has appeared may tell of what nobody saw here.
            self.journal = Journal::open(&ours.dir)?;
            if self.journal.is_some() {
                self.seen = false;
            }
        }
        let Some(journal) = &mut self.journal else { return Ok(self.seen) };
        let mut buffer = std::mem::take(&mut self.buffer);
        let tail = journal.read_on(locked, &mut buffer);
        let follows = match tail {
            Ok(Tail::Lines) if self.seen => {
                journal::lines(&buffer).for_each(|line| self.apply(&line));
                true
            }
            Ok(_) => false,
            Err(e) => return Err(e),
        };
        self.buffer = buffer;
        if !follows {
            self.seen = false;
        }
        Ok(follows)
    }

    fn apply(&mut self, line: &Line<'_>) {
        let Ok(id) = TaskId::new(&line.task) else { return };
        if let (Op::Done | Op::End, Some(turn)) = (line.op, &line.turn) {
            self.index.turn_is_over(turn);
        }
        let known = self.index.get(&id).is_some_and(|entry| entry.facts().is_some());
        match (line.op, line.stamp(), &line.turn, &line.by) {
            (Op::Claim, Some(stamp), Some(turn), Some(by)) if known => self.index.put_claim(&id, stamp, turn, by),
            (Op::Done, Some(stamp), _, _) if known => self.index.put_done(&id, stamp),
            (Op::Gone, ..) => self.take_out(&id),
            (op, stamp, turn, by) => {
                match (op, turn, by) {
                    // Whatever its file says at this moment, half written perhaps.
                    (Op::Claim, Some(turn), Some(by)) => self.index.begin_turn(&id, turn, by),
                    (Op::Done | Op::End, Some(turn), _) if self.index.turn(&id).is_some_and(|(known, _)| known == turn) => self.index.end_turn(&id),
                    _ => {}
                }
                let unchanged = self.index.get(&id).is_some_and(|entry| Some(entry.stamp) == stamp && !entry.doubtful);
                if !unchanged {
                    self.read_again(&id);
                }
            }
        }
    }

    /// Sees the files that events named. `moved`: the file was put there whole, so that an unchanged stamp says
    /// that it is known already.
    pub fn refresh<'a>(&mut self, names: impl IntoIterator<Item = (&'a str, bool)>) {
        for (name, moved) in names {
            let Some(Ok(id)) = TaskId::of_file(name) else { continue };
            let known = self.index.get(&id).filter(|entry| moved || !entry.doubtful).map(|entry| entry.stamp);
            let stamp = self.dirs.tasks.stat(name).ok().flatten().map(|(_, stamp)| stamp);
            if known.is_none() || known != stamp {
                self.read_again(&id);
            }
        }
        self.look_up_archived();
    }

    /// Reads one task's file and takes what it says.
    pub(crate) fn read_again(&mut self, id: &TaskId) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = scan::read(&self.dirs.tasks, id, self.dirs.coarse, &mut buffer);
        self.buffer = buffer;
        self.absorb(id, read);
    }

    /// Takes what a file says into the index, and suspects it where a turn has vanished from it.
    pub(crate) fn absorb(&mut self, id: &TaskId, read: Option<Read>) {
        match read {
            Some(Read { entry, ended, .. }) => self.take_in(id, entry, &ended),
            None => self.take_out(id),
        }
    }

    pub(super) fn take_out(&mut self, id: &TaskId) {
        self.suspects.remove(id);
        self.index.take_out(id);
        if self.seen && !self.index.dependants(id).is_empty() {
            self.look_up(vec![id.clone()]);
        }
    }

    /// `ended`: the turns that the file says have ended.
    pub(super) fn take_in(&mut self, id: &TaskId, entry: Entry, ended: &[String]) {
        let claim = held(&entry).map(|(turn, by)| (turn.to_owned(), by.to_owned()));
        let known = self.index.turn(id).map(|(turn, by)| (turn.to_owned(), by.to_owned()));
        if let Some((turn, by)) = known.filter(|(turn, _)| claim.as_ref().is_none_or(|(claimed, _)| claimed != turn)) {
            match ended.contains(&turn) {
                true => self.index.end_turn(id),
                false => {
                    self.suspects.insert(id.clone(), (turn, by));
                }
            }
        }
        // A claim that is over says only that the version is an old one.
        let is_old = claim.as_ref().is_some_and(|(turn, _)| self.index.is_over(turn) || (self.suspects.contains_key(id) && self.is_over(turn)));
        if let Some(claim) = claim.clone().filter(|_| is_old) {
            self.suspects.entry(id.clone()).or_insert(claim);
        }
        let stands = claim.filter(|_| !is_old);
        self.index.put(id, entry);
        if let Some((turn, by)) = stands {
            self.suspects.remove(id);
            self.index.begin_turn(id, &turn, &by);
        }
        // At a first look there are too many whose turn to be read just has not come.
        if self.seen {
            self.look_up(self.index.absent_blockers(id));
        }
    }

    /// Whether the journal says that a turn has ended.
    pub(crate) fn is_over(&self, turn: &str) -> bool {
        self.index.is_over(turn) || self.journal.as_ref().is_some_and(|journal| journal.has_ended(turn).unwrap_or(false))
    }
}
