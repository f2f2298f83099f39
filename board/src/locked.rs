//! The locked board: the only writer of tasks. Every write re-reads its file under the lock first.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::alive::{self, Process};
use crate::board::{Board, Dirs, Durability};
use crate::clock;
use crate::crash;
use crate::disk::{self, Stamp};
use crate::document::Document;
use crate::error::{Error, Refusal, Result, Rule};
use crate::index::Entry;
use crate::journal::{self, Journal, Line, Op};
use crate::kept::{self, Closed, Kept};
use crate::lock::{Held, LockFile, Mode};
use crate::presence::{self, Presence};
use crate::ready::{self, Claimant};
use crate::scan;
use crate::task::{Claim, Outcome, Status, Task};
use crate::task_id::TaskId;
use crate::transition::{self, By, Ending, Moment};
use crate::turn;

/// The board's lock, held. Dropped or unlocked, the board is free again.
pub struct LockedBoard<'b> {
    pub(crate) board: &'b mut Board,
    lines: Vec<u8>,
    /// Versions that are in their place and that success depends on.
    unsynced: Vec<(File, PathBuf)>,
    /// A name in `.tasks/` that success depends on has changed.
    pub(crate) names_changed: bool,
    /// Generations of another boot were needed and are no longer.
    recovered: bool,
    _held: Held,
}

/// What is left to do when the board is free again: putting on disk what was reported, and closing a generation.
#[derive(Debug)]
#[must_use = "a success may be reported only after `settle`"]
pub struct Unlocked {
    dirs: Arc<Dirs>,
    unsynced: Vec<(File, PathBuf)>,
    sync_names: bool,
    closed: Option<Closed>,
}

/// On what terms a task is claimed.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The holder's process; `None`: a shell that names none.
    pub process: Option<Process>,
    /// When the claim runs out.
    pub lease: Option<Timestamp>,
    /// The lead's epoch.
    pub epoch: Option<u64>,
}

/// A task that was claimed.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// As it was read under the lock, before the claim.
    pub task: Task,
    /// The turn that holds it now.
    pub turn: String,
    /// The number of this attempt, from 1.
    pub attempt: usize,
}

/// What was read of a task under the lock.
struct Found {
    bytes: Vec<u8>,
    stamp: Stamp,
    task: Task,
}

impl Unlocked {
    /// Puts on disk what must be there before success is reported. Outside the lock.
    pub fn settle(self) -> Result<()> {
        Unlocked::settle_all(vec![self])
    }

    /// The same for several changes of one board: together they cost little more than one of them does.
    pub fn settle_all(all: Vec<Unlocked>) -> Result<()> {
        let Some(dirs) = all.first().map(|first| Arc::clone(&first.dirs)) else { return Ok(()) };
        let unsynced = || all.iter().flat_map(|one| &one.unsynced);
        if unsynced().count() >= disk::MANY_FILES {
            dirs.tasks.sync_filesystem()?;
        } else {
            unsynced().try_for_each(|(file, path)| disk::sync_file(file, path))?;
            if all.iter().any(|one| one.sync_names) {
                dirs.tasks.sync()?;
            }
        }
        let closed = all.into_iter().filter_map(|one| one.closed).max_by_key(Closed::upto);
        match (closed, dirs.ours()) {
            (Some(closed), Some(ours)) => closed.settle(&ours.kept),
            _ => Ok(()),
        }
    }

    /// Whether there is anything to wait for.
    pub fn is_settled(&self) -> bool {
        self.unsynced.is_empty() && !self.sync_names && self.closed.is_none()
    }
}

impl<'b> LockedBoard<'b> {
    pub(crate) fn lock(board: &'b mut Board, patience: Duration) -> Result<Self> {
        let dirs = Arc::clone(&board.dirs);
        if board.lock.is_none() {
            board.check_format()?;
        }
        let ours = dirs.make_ours()?;
        let held = loop {
            let lock = match &board.lock {
                Some(lock) => Arc::clone(lock),
                None => Arc::clone(board.lock.insert(LockFile::open(&ours.dir, "lock")?)),
            };
            // What others did is read under the lock only: whoever reads while it waits takes the holder's processor
            // away (measured with 32 processes on two cores: half the claims).
            let held = lock.lock(Mode::Exclusive, patience)?;
            // Somebody may have removed the file: then others lock another one.
            if lock.is_current(&ours.dir)? {
                break held;
            }
            board.lock = None;
        };
        let boot = alive::boot();
        let known = board.journal.is_some();
        let usable = match &mut board.journal {
            Some(journal) => journal.began_in(boot) && journal.stands(&ours.dir)? && journal.be_writable(&ours.dir)?,
            None => false,
        };
        if !usable {
            let mut journal = Journal::open_for_writing(&ours.dir, boot, clock::now())?;
            if known {
                // Somebody deleted it or cut it: nobody may read on from where he stood.
                journal.begin_anew()?;
            }
            board.journal = Some(journal);
            board.seen = false;
        }
        board.follow_journal(true)?;
        let mut locked = LockedBoard { board, lines: Vec::new(), unsynced: Vec::new(), names_changed: false, recovered: false, _held: held };
        locked.open_generation()?;
        locked.recover()?;
        crash::point("claim.locked");
        locked.restore_suspects()?;
        Ok(locked)
    }

    /// The board, for looking at it under the lock.
    pub fn board(&self) -> &Board {
        self.board
    }

    /// Sees the whole directory where this process has not yet, and puts edges right.
    pub fn see(&mut self) -> Result<()> {
        if !self.board.seen {
            self.board.sweep()?;
            self.restore_suspects()?;
        }
        self.tidy();
        Ok(())
    }

    /// Frees the board. What is left to do before success may be reported is the caller's, outside the lock.
    pub fn unlock(mut self) -> Result<Unlocked> {
        self.flush()?;
        let closed = self.close_generation(self.recovered)?;
        let sync_names = self.names_changed && self.board.durability == Durability::Full;
        Ok(Unlocked { dirs: Arc::clone(&self.board.dirs), unsynced: std::mem::take(&mut self.unsynced), sync_names, closed })
    }

    /// The same at a process's end: closes the generation whatever its age.
    pub fn unlock_for_good(mut self) -> Result<Unlocked> {
        self.flush()?;
        let closed = self.close_generation(true)?;
        let unsynced = std::mem::take(&mut self.unsynced);
        Ok(Unlocked { dirs: Arc::clone(&self.board.dirs), unsynced, sync_names: self.names_changed, closed })
    }

    fn flush(&mut self) -> Result<()> {
        crash::point("commit.journal");
        let lines = std::mem::take(&mut self.lines);
        match &mut self.board.journal {
            Some(journal) if !lines.is_empty() => journal.append(&lines),
            _ => Ok(()),
        }
    }

    // ---- generations of kept versions -------------------------------------------------------------------------

    fn open_generation(&mut self) -> Result<()> {
        let dirs = Arc::clone(&self.board.dirs);
        let (ours, boot) = (dirs.make_ours()?, alive::boot());
        let Some(journal) = &mut self.board.journal else { return Ok(()) };
        if journal.header.kept == 0 {
            journal.set_kept(kept::highest(&ours.kept)? + 1, clock::now())?;
        }
        let number = journal.header.kept;
        if self.board.kept.as_ref().is_none_or(|kept| kept.number != number) {
            self.board.kept = Some(Arc::new(Kept::open(&ours.kept, number, boot)?));
        }
        Ok(())
    }

    fn close_generation(&mut self, at_the_end: bool) -> Result<Option<Closed>> {
        let dirs = Arc::clone(&self.board.dirs);
        let (ours, now) = (dirs.make_ours()?, clock::now());
        let Some(journal) = &mut self.board.journal else { return Ok(None) };
        let age = now.as_second().saturating_sub(journal.header.kept_since);
        // A clock that was put back must not keep a generation for ever.
        if !at_the_end && (0..kept::GENERATION_SECONDS).contains(&age) {
            return Ok(None);
        }
        let number = journal.header.kept;
        let empty = !self.recovered && self.board.kept.as_ref().is_some_and(|kept| kept.dir.names().is_ok_and(|names| names.is_empty()));
        if empty {
            journal.set_kept(number, now)?;
            return Ok(None);
        }
        self.board.kept = Some(Arc::new(Kept::open(&ours.kept, number + 1, alive::boot())?));
        journal.set_kept(number + 1, now)?;
        Ok(Some(kept::close(number)))
    }

    /// At a process's first lock: gives tasks that another boot left torn their newest whole version.
    fn recover(&mut self) -> Result<()> {
        if self.board.recovered {
            return Ok(());
        }
        let dirs = Arc::clone(&self.board.dirs);
        let ours = dirs.make_ours()?;
        let generations = kept::of_other_boots(&ours.kept, alive::boot())?;
        if let (false, Some(kept)) = (generations.is_empty(), self.board.kept.clone()) {
            for survivor in kept::survivors(&generations, &dirs.tasks)? {
                kept::put_back(&survivor, &kept, &ours.archive, &dirs.tasks)?;
                self.board.read_again(&survivor.id);
                self.tell_changed(&survivor.id);
            }
            self.recovered = true;
        }
        self.board.recovered = true;
        Ok(())
    }

    // ---- reading and replacing under the lock -----------------------------------------------------------------

    fn find(&mut self, id: &TaskId) -> Result<Found> {
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
    /// `durable`: what stands there then is put on disk before success is reported, without the lock ([`Unlocked::settle`]).
    /// A power cut before that may leave it torn, which the displaced version heals (see the module `kept`).
    fn replace(&mut self, id: &TaskId, found: &Found, durable: bool, change: &dyn Fn(&mut Document<'_>, &Task) -> Result<()>) -> Result<Stamp> {
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

    pub(crate) fn kept(&self) -> Result<Arc<Kept>> {
        self.board.kept.clone().ok_or_else(|| Error::io("open", self.board.dirs.tasks.path(), std::io::Error::other("no generation is open")))
    }

    fn position(&self) -> (u64, u64) {
        let (generation, offset) = self.board.journal.as_ref().map_or((0, 0), Journal::position);
        (generation, offset + self.lines.len() as u64)
    }

    fn tell(&mut self, id: &TaskId, op: Op, turn: Option<&str>, by: Option<&str>, stamp: Option<Stamp>) {
        let stamp = stamp.map(|stamp| (stamp.inode, stamp.size, stamp.mtime, stamp.ctime));
        let line = Line { task: id.as_str().into(), op, turn: turn.map(Into::into), by: by.map(Into::into), at: clock::now(), stamp };
        journal::write_line(&mut self.lines, &line);
    }

    pub(crate) fn tell_changed(&mut self, id: &TaskId) {
        let stamp = self.board.index.get(id).map(|entry| entry.stamp);
        let op = if stamp.is_some() { Op::Changed } else { Op::Gone };
        self.tell(id, op, None, None, stamp);
    }

    fn is_full(&self) -> bool {
        self.board.durability == Durability::Full
    }

    /// Tells of a task that has just appeared.
    pub(crate) fn tell_new(&mut self, id: &TaskId) {
        // Nobody has read it, so nobody needs its stamp to see that he need not.
        self.tell(id, Op::Changed, None, None, None);
    }

    pub(crate) fn moment(&self) -> Moment<'static> {
        Moment { now: clock::now(), boot: alive::boot(), max_lost: self.board.max_lost }
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

    // ---- what a look under the lock puts right ----------------------------------------------------------------

    /// Puts claims back that an editor's old version has overwritten, where their holders live and still hold them.
    fn restore_suspects(&mut self) -> Result<()> {
        while let Some((id, suspected)) = self.board.suspects.pop_first() {
            let dirs = Arc::clone(&self.board.dirs);
            // What cannot be read now is looked at again when it has changed: its turn stays known.
            let Ok((bytes, stamp, task)) = self.board.read_with_stamp(&id) else { continue };
            let claim = task.claim.as_ref().filter(|_| task.status == Status::InProgress);
            if let Some(claim) = claim.filter(|claim| !self.board.is_over(&claim.turn)) {
                self.board.index.begin_turn(&id, &claim.turn, &claim.by);
                continue;
            }
            let over = |turn: &str| task.attempts.iter().any(|attempt| attempt.turn == turn) || self.board.is_over(turn);
            let mut holds = presence::living_holds(&dirs.make_ours()?.teammates)?.into_iter();
            let Some((by, record, hold)) = holds.find(|(_, _, hold)| hold.task == id && !over(&hold.turn)) else {
                self.board.index.end_turn(&id);
                if let Some(turn) = claim.map(|claim| claim.turn.clone()) {
                    self.return_ended(&id, &turn, Found { bytes, stamp, task })?;
                }
                continue;
            };
            self.board.index.begin_turn(&id, &hold.turn, by.as_str());
            // A person said that nobody is to work on it: that stands, until it is to be worked on again.
            if !matches!(task.status, Status::Pending | Status::InProgress) {
                continue;
            }
            let (by, dispatched) = (by.to_string(), task.owner.as_deref() == Some(by.as_str()));
            let claim = Claim { turn: hold.turn, by, at: record.since, process: Some(record.process), lease: None, epoch: None, dispatched };
            let restore = |document: &mut Document<'_>, task: &Task| {
                transition::restore(document, task, &claim, clock::now());
                Ok(())
            };
            match self.replace(&id, &Found { bytes, stamp, task }, false, &restore) {
                Ok(stamp) => {
                    self.board.read_again(&id);
                    self.tell(&id, Op::Changed, None, None, Some(stamp));
                }
                // Gone or edited at this moment: its next reading tells.
                Err(e) if e.is_refusal() => self.board.read_again(&id),
                Err(e) => {
                    self.board.suspects.insert(id, suspected);
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Gives a task back that an old version says is held by a turn that is over: nobody works on it.
    fn return_ended(&mut self, id: &TaskId, turn: &str, found: Found) -> Result<()> {
        let ending = Ending::because(Outcome::Released, "an old version of its file was saved after this turn had ended");
        let at = self.moment();
        let end = |document: &mut Document<'_>, task: &Task| transition::end(document, task, &By::Cleaner { turn }, &ending, at).map(drop);
        match self.replace(id, &found, false, &end) {
            Ok(stamp) => {
                self.board.read_again(id);
                self.tell(id, Op::End, Some(turn), None, Some(stamp));
                Ok(())
            }
            Err(e) if e.is_refusal() => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Puts edges right: finished blockers out of the way, edges from the other side in. What cannot be written now
    /// is left to the next writer.
    pub(crate) fn tidy(&mut self) {
        let untidy: Vec<TaskId> = self.board.index.untidy().cloned().collect();
        for id in untidy {
            let Some(edges) = self.board.index.tidy_edges(&id) else { continue };
            let set = |document: &mut Document<'_>, task: &Task| {
                let mut full: Vec<&TaskId> = task.edges().collect();
                full.extend(edges.iter().filter(|edge| !task.edges().any(|known| known == *edge)));
                document.set("dependsOn", &full);
                document.set("blockedBy", &edges);
                Ok(())
            };
            let Ok((bytes, stamp, task)) = self.board.read_with_stamp(&id) else { continue };
            if let Ok(stamp) = self.replace(&id, &Found { bytes, stamp, task }, false, &set) {
                self.board.read_again(&id);
                self.tell(&id, Op::Changed, None, None, Some(stamp));
            }
        }
    }

    // ---- turns ------------------------------------------------------------------------------------------------

    /// Claims a task: the one that is wanted, else its own that was parked and whose time has come, else the best that
    /// is ready for the claimant.
    ///
    /// `None`: there is nothing to claim. A wanted task that cannot be claimed is refused with the rule. With a
    /// presence its record names the turn before the file does.
    pub fn claim(&mut self, presence: Option<&mut Presence>, claimant: &Claimant, wanted: Option<&TaskId>, terms: &Terms) -> Result<Option<Claimed>> {
        self.see()?;
        let mut passed_over: Vec<TaskId> = Vec::new();
        let mut presence = presence;
        loop {
            let id = match wanted {
                Some(id) => id.clone(),
                None => {
                    let index = &self.board.index;
                    let due = index.due(clock::now()).into_iter().find(|id| self.due_for(id, claimant) && !passed_over.contains(id));
                    match due.or_else(|| index.ready_for(claimant).find(|id| !passed_over.contains(id)).cloned()) {
                        Some(id) => id,
                        None => return Ok(None),
                    }
                }
            };
            match self.claim_one(presence.as_deref_mut(), claimant, &id, terms) {
                Ok(claimed) => return Ok(Some(claimed)),
                // Gone, edited or broken since it was seen: the next one.
                Err(e) if wanted.is_none() && e.is_refusal() => {
                    self.board.read_again(&id);
                    passed_over.push(id);
                }
                Err(e) => return Err(e),
            }
        }
    }

    fn claim_one(&mut self, mut presence: Option<&mut Presence>, claimant: &Claimant, id: &TaskId, terms: &Terms) -> Result<Claimed> {
        let found = self.find(id)?;
        self.board
            .index
            .why_not(id, claimant)
            .or_else(|no| self.due_for(id, claimant).then_some(()).ok_or(no))
            .map_err(|no| Refusal::of(no.rule, id, no.why))?;
        let now = clock::now();
        let turn = turn::fresh();
        let claim = Claim {
            turn: turn.clone(),
            by: claimant.name.clone(),
            at: now,
            process: terms.process.clone(),
            lease: terms.lease,
            epoch: terms.epoch,
            dispatched: found.task.owner.is_some(),
        };
        if let Some(presence) = presence.as_deref_mut() {
            presence.hold(id, &turn, now)?;
        }
        crash::point("claim.presence");
        let take = |document: &mut Document<'_>, task: &Task| transition::claim(document, task, &claim, now);
        // Somebody who saw the presence may have put the claim there: then it stands.
        let stamp = match self.replace(id, &found, false, &take).or_else(|e| self.claimed_by(id, &turn).ok_or(e)) {
            Ok(stamp) => stamp,
            Err(e) => {
                // A living teammate must not go on naming a turn that never began.
                if let Some(presence) = presence {
                    presence.let_go(&turn)?;
                }
                return Err(e);
            }
        };
        self.board.index.put_claim(id, stamp, &turn, &claim.by);
        self.tell(id, Op::Claim, Some(&turn), Some(&claim.by), Some(stamp));
        Ok(Claimed { attempt: found.task.next_attempt(), task: found.task, turn })
    }

    /// The stamp of a task's file, where it says that this turn holds it.
    fn claimed_by(&self, id: &TaskId, turn: &str) -> Option<Stamp> {
        let (_, stamp, task) = self.board.read_with_stamp(id).ok()?;
        let held = task.status == Status::InProgress && task.claim.is_some_and(|claim| claim.turn == turn);
        held.then_some(stamp)
    }

    /// Whether a parked task's time has come, for its owner.
    fn due_for(&self, id: &TaskId, claimant: &Claimant) -> bool {
        let facts = self.board.index.get(id).and_then(Entry::facts);
        facts.is_some_and(|facts| ready::is_due(facts, clock::now()) && facts.owner.as_deref() == Some(&claimant.name))
    }

    /// Ends the turn on a task and returns the status that the task has then. Dependants of a completed task are
    /// freed in the same step.
    pub fn end(&mut self, id: &TaskId, by: &By<'_>, ending: &Ending) -> Result<Status> {
        self.see()?;
        let found = self.find(id)?;
        let blockers = self.board.index.blockers(id);
        if ending.outcome == Outcome::Done && !blockers.is_empty() {
            let no = ready::blocked(&blockers);
            return Err(Refusal::of(no.rule, id, no.why));
        }
        let at = self.moment();
        let turn = found.task.claim.as_ref().map(|claim| claim.turn.clone());
        let end = |document: &mut Document<'_>, task: &Task| transition::end(document, task, by, ending, at).map(drop);
        let status = transition::end(&mut parse(id, &found.bytes)?, &found.task, by, ending, at)?;
        self.names_changed = true;
        crash::point("end.written");
        let durable = self.is_full();
        let stamp = self.replace(id, &found, durable, &end)?;
        crash::point("end.exchanged");
        turn.iter().for_each(|turn| self.board.index.turn_is_over(turn));
        self.board.index.end_turn(id);
        self.board.suspects.remove(id);
        match status {
            Status::Completed => {
                self.board.index.put_done(id, stamp);
                self.tell(id, Op::Done, turn.as_deref(), None, Some(stamp));
                self.tidy();
            }
            _ => {
                self.board.read_again(id);
                self.tell(id, Op::End, turn.as_deref(), None, Some(stamp));
            }
        }
        Ok(status)
    }
}

impl Drop for LockedBoard<'_> {
    fn drop(&mut self) {
        // Without `unlock` something failed on the way: what was done is told all the same.
        let _ = self.flush();
    }
}

fn parse<'a>(id: &TaskId, bytes: &'a [u8]) -> Result<Document<'a>> {
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

/// How long an edit in its middle is waited for.
const EDIT_PATIENCE: Duration = Duration::from_secs(2);
/// So many edits in a row, each between two exchanges, are taken over.
const EDITS: usize = 8;

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
