//! A board: opened once, looked at often, locked to be changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alive;
use crate::clock;
use crate::disk::{self, Dir, Stamp};
use crate::document::{Document, Problem};
use crate::error::{Error, Refusal, Result, Rule};
use crate::facts::Phase;
use crate::index::{Entry, Index};
use crate::journal::{self, Journal, Line, Op, Tail};
use crate::kept::Kept;
use crate::lock::{LockFile, Mode};
use crate::locked::LockedBoard;
use crate::name::Name;
use crate::place::{OURS, Place, Surroundings, TASKS};
use crate::presence::{self, Presence};
use crate::ready::{Claimant, NotReady};
use crate::scan::{self, How, Read};
use crate::task::{Claim, Status, Task};
use crate::task_id::TaskId;
use crate::transition::MAX_LOST;

/// The newest format of `.tasks/.board/` that is known here.
pub const FORMAT: u64 = 1;

/// What a reported success survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A power cut costs nothing that was reported as added or finished.
    #[default]
    Full,
    /// A power cut may cost the progress of the last seconds, never a task.
    Relaxed,
}

impl Durability {
    /// The word in `board.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Durability::Full => "full",
            Durability::Relaxed => "relaxed",
        }
    }
}

/// `board.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: u64,
    #[serde(default)]
    durability: Durability,
}

/// The directories of a board, open.
#[derive(Debug)]
pub(crate) struct Dirs {
    pub(crate) tasks: Dir,
    ours: OnceLock<Ours>,
    /// Whether stamps are too coarse to be trusted for two seconds.
    pub(crate) coarse: bool,
}

/// What is ours in `.tasks/.board/`.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) dir: Dir,
    pub(crate) teammates: Dir,
    pub(crate) kept: Dir,
    pub(crate) groups: Dir,
    pub(crate) archive: Dir,
}

impl Dirs {
    /// What is ours, where some writer has made it.
    pub(crate) fn ours(&self) -> Option<&Ours> {
        if self.ours.get().is_none()
            && let Ok(dir) = Dir::open(&self.tasks.join(OURS))
            && let Ok(ours) = Ours::below(dir, false)
        {
            let _ = self.ours.set(ours);
        }
        self.ours.get()
    }

    /// What is ours, made where it is missing.
    pub(crate) fn make_ours(&self) -> Result<&Ours> {
        if self.ours.get().is_none() {
            let dir = self.tasks.make_dir(OURS)?;
            let _ = self.ours.set(Ours::below(dir, true)?);
        }
        self.ours.get().ok_or_else(|| Error::io("open", self.tasks.join(OURS), std::io::Error::other("it could not be made")))
    }
}

impl Ours {
    fn below(dir: Dir, make: bool) -> Result<Ours> {
        let sub = |name: &str| if make { dir.make_dir(name) } else { Dir::open(&dir.join(name)) };
        Ok(Ours { teammates: sub("teammates")?, kept: sub("kept")?, groups: sub("groups")?, archive: sub("archive")?, dir })
    }
}

/// A board of this process. Reading it needs no lock and makes nothing; every write goes through [`Board::lock`].
#[derive(Debug)]
pub struct Board {
    place: Place,
    pub(crate) dirs: Arc<Dirs>,
    pub(crate) index: Index,
    pub(crate) journal: Option<Journal>,
    pub(crate) lock: Option<Arc<LockFile>>,
    pub(crate) kept: Option<Arc<Kept>>,
    pub(crate) durability: Durability,
    pub(crate) max_lost: usize,
    /// Whether the whole directory has been seen once.
    pub(crate) seen: bool,
    /// The directory's stamp when its names were last listed: while it stays, no name came or went.
    listed: Option<Stamp>,
    /// Whether tasks that another boot left torn have been looked for.
    pub(crate) recovered: bool,
    /// Tasks of which a file was read that no longer says what a living teammate holds.
    pub(crate) suspects: BTreeMap<TaskId, (String, String)>,
    pub(crate) threads: usize,
    buffer: Vec<u8>,
}

/// What a look at the whole directory brought.
struct Swept<T> {
    /// The ids of what is not as it was known.
    changed: Vec<TaskId>,
    /// Of every task that was read what the caller wanted, by id.
    digests: Vec<(TaskId, T)>,
}

/// A claim whose holder is gone for certain.
#[derive(Debug, Clone, PartialEq)]
pub struct Stale {
    /// The task.
    pub task: TaskId,
    /// The claim.
    pub claim: Claim,
}

impl Board {
    /// Makes `.tasks/` (and `board.json`) in a project, or opens what is there. `relaxed` is kept for all who open it.
    pub fn init(project: &Path, durability: Durability, surroundings: &Surroundings) -> Result<Board> {
        let tasks = project.join(TASKS);
        Dir::make(&tasks, 0o777)?;
        let mut board = Board::open(Place::at(&tasks, surroundings)?)?;
        board.check_format()?;
        let ours = board.dirs.make_ours()?;
        let head = Head { format: FORMAT, durability };
        let text = serde_json::to_vec(&head).map_err(|e| Error::io("write", ours.dir.join(HEAD), std::io::Error::from(e)))?;
        // On disk at once in `relaxed` too: a board whose head is torn is refused until a person removes that.
        ours.dir.replace(HEAD, &text, 0o666, true)?;
        board.durability = durability;
        Ok(board)
    }

    /// Opens a board. Nothing is made and nothing is read but `board.json`.
    pub fn open(place: Place) -> Result<Board> {
        let tasks = Dir::open(place.tasks())?;
        let coarse = !disk::is_local(&tasks);
        let dirs = Arc::new(Dirs { tasks, ours: OnceLock::new(), coarse });
        let durability = read_head(&dirs)?.map(|head| head.durability).unwrap_or_default();
        Ok(Board {
            place,
            dirs,
            index: Index::default(),
            journal: None,
            lock: None,
            kept: None,
            durability,
            max_lost: MAX_LOST,
            seen: false,
            listed: None,
            recovered: false,
            suspects: BTreeMap::new(),
            threads: 1,
            buffer: Vec::new(),
        })
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What a reported success survives.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Overrides the board's durability for this process.
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// How often a task may be lost within one boot before it fails (config `maxLost`).
    pub fn set_max_lost(&mut self, max_lost: usize) {
        self.max_lost = max_lost;
    }

    /// Reads and adds with so many threads where there is much of it: for commands that do one thing. Teammates, of which
    /// there may be a hundred, keep to one.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// The board as last seen.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Whether events and fine stamps can be relied on here.
    pub fn is_local(&self) -> bool {
        !self.dirs.coarse
    }

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

    fn take_out(&mut self, id: &TaskId) {
        self.suspects.remove(id);
        self.index.take_out(id);
        if self.seen && !self.index.dependants(id).is_empty() {
            self.look_up(vec![id.clone()]);
        }
    }

    /// `ended`: the turns that the file says have ended.
    fn take_in(&mut self, id: &TaskId, entry: Entry, ended: &[String]) {
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

    fn look_up(&mut self, absent: Vec<TaskId>) {
        for id in absent {
            if let Some((_, task)) = self.read_archived(&id) {
                self.index.set_archived(id, task.status == Status::Completed);
            }
        }
    }

    /// An archived task's file: its bytes, and the task. `None`: none of that id was archived.
    pub fn read_archived(&self, id: &TaskId) -> Option<(Vec<u8>, Task)> {
        let bytes = self.dirs.ours()?.archive.read(&id.file_name()).ok()??;
        let task = Document::parse(&bytes).and_then(|document| Task::read(id, &document)).ok()?;
        Some((bytes, task))
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

    /// Looks at the whole directory, unless some process of this board did within `every`; journals what it finds.
    ///
    /// Returns whether this process looked.
    pub fn sweep_for_all(&mut self, every: Duration) -> Result<bool> {
        self.check_format()?;
        let Some(ours) = self.dirs.ours() else { return self.sweep().map(|_| true) };
        let lock = LockFile::open(&ours.dir, "sweep.lock")?;
        let Some(_held) = lock.try_lock(Mode::Exclusive)? else { return Ok(false) };
        let mut text = [0; 32];
        let count = disk::read_at(lock.file(), lock.path(), &mut text, 0)?;
        let last: i128 = std::str::from_utf8(&text[..count]).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let now = clock::nanos();
        // A clock that was put back must not keep everybody from looking.
        if (0..i128::try_from(every.as_nanos()).unwrap_or(i128::MAX)).contains(&(now - last)) {
            return Ok(false);
        }
        self.look()?;
        let changed = self.sweep()?;
        disk::write_at(lock.file(), lock.path(), format!("{now:>31}\n").as_bytes(), 0)?;
        if !changed.is_empty() {
            let mut locked = self.lock(Duration::from_secs(2))?;
            changed.iter().for_each(|id| locked.tell_changed(id));
            locked.unlock()?.settle()?;
        }
        Ok(true)
    }

    /// A task's file: its bytes, and the task.
    pub fn read_task(&self, id: &TaskId) -> Result<(Vec<u8>, Task)> {
        let (bytes, _, task) = self.read_with_stamp(id)?;
        Ok((bytes, task))
    }

    pub(crate) fn read_with_stamp(&self, id: &TaskId) -> Result<(Vec<u8>, Stamp, Task)> {
        let mut bytes = Vec::new();
        let mut attempts = 0;
        // To open a FIFO is to change something: its writer goes on. What was a task a moment ago is none.
        if self.index.get(id).and_then(Entry::facts).is_none()
            && let Some((kind, _)) = self.dirs.tasks.stat(&id.file_name())?
            && let Some(reason) = scan::why_not_opened(kind)
        {
            return Err(Error::NotATask { file: id.file_name(), problem: Problem::whole(reason) });
        }
        loop {
            attempts += 1;
            let stamp = match self.dirs.tasks.read_into(&id.file_name(), &mut bytes) {
                Ok(stamp) => stamp,
                Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => return Err(Error::NoSuchTask(id.clone())),
                Err(Error::Io { source, .. }) => {
                    let problem = Problem::whole(format!("it cannot be read: {source}"));
                    return Err(Error::NotATask { file: id.file_name(), problem });
                }
                Err(e) => return Err(e),
            };
            let document = Document::parse(&bytes).and_then(|document| Task::read(id, &document));
            match document {
                Ok(task) => return Ok((bytes, stamp, task)),
                Err(problem) if problem.truncated && attempts < 3 => std::thread::sleep(Duration::from_millis(5)),
                Err(problem) => return Err(Error::NotATask { file: id.file_name(), problem }),
            }
        }
    }

    /// Takes a teammate's name for this process.
    pub fn enter(&self, name: &Name, runner: &str) -> Result<Presence> {
        self.check_format()?;
        Presence::enter(&self.dirs.make_ours()?.teammates, name, runner, clock::now())
    }

    /// Every teammate that ever was on this board.
    pub fn teammates(&self) -> Result<Vec<presence::Seen>> {
        self.dirs.ours().map_or_else(|| Ok(Vec::new()), |ours| presence::all(&ours.teammates))
    }

    /// Whether a teammate of that name lives.
    pub fn lives(&self, name: &Name) -> bool {
        self.dirs.ours().is_some_and(|ours| presence::lives(&ours.teammates, name))
    }

    /// The directory in which children record their process groups.
    pub fn groups(&self) -> Result<&Dir> {
        self.check_format()?;
        Ok(&self.dirs.make_ours()?.groups)
    }

    /// The file in which children of a teammate record their process groups, open for appending.
    pub fn group_record(&self, name: &Name) -> Result<File> {
        let (groups, file_name) = (self.groups()?, groups_name(name));
        let file = groups.open_record(&file_name, 0o600)?;
        let path = groups.join(&file_name);
        disk::truncate(&file, &path, 0)?;
        disk::write_at(&file, &path, format!("boot {}\n", alive::boot()).as_bytes(), 0)?;
        groups.open_append(&file_name, 0o600)
    }

    /// What children of a teammate recorded; `None`: nothing.
    pub fn groups_of(&self, name: &Name) -> Option<Vec<u8>> {
        self.dirs.ours()?.groups.read(&groups_name(name)).ok()?
    }

    /// Claims whose holders are gone for certain. Only looks.
    pub fn stale_claims(&mut self, now: Timestamp) -> Result<Vec<Stale>> {
        let teammates = self.dirs.ours().map(|ours| &ours.teammates);
        let mut stale = Vec::new();
        for id in self.index.in_progress() {
            // The index keeps turn and name; who holds it in full stands in the file.
            if self.index.get(id).and_then(Entry::facts).and_then(|facts| facts.turn()).is_none() {
                continue;
            }
            let Ok((_, _, task)) = self.read_with_stamp(id) else { continue };
            let claim = task.claim.filter(|_| task.status == Status::InProgress);
            if let Some(claim) = claim.filter(|claim| presence::is_stale(claim, teammates, self.dirs.coarse, now)) {
                stale.push(Stale { task: id.clone(), claim });
            }
        }
        Ok(stale)
    }

    /// Why a task is not ready for a claimant; also where a file that was saved over a claim says that it is.
    pub fn why_not(&self, id: &TaskId, claimant: &Claimant) -> std::result::Result<(), NotReady> {
        self.why_not_of(id, self.index.get(id), claimant)
    }

    /// The same of a task of which the entry is at hand.
    pub fn why_not_of(&self, id: &TaskId, entry: Option<&Entry>, claimant: &Claimant) -> std::result::Result<(), NotReady> {
        if let Some((turn, by)) = self.suspects.get(id)
            && let Some(ours) = self.dirs.ours()
            && let Ok(name) = Name::new(by)
            && presence::lives(&ours.teammates, &name)
            && presence::read(&ours.teammates, &name).is_some_and(|record| record.holds.iter().any(|hold| hold.task == *id && hold.turn == *turn))
        {
            let why = format!("{by} holds it; an old version was saved over its claim, which the next writer restores");
            return Err(NotReady::because(Rule::OneHolder, why));
        }
        self.index.why_not_of(id, entry, claimant)
    }

    /// Locks the board for changing it, waiting at most `patience`.
    pub fn lock(&mut self, patience: Duration) -> Result<LockedBoard<'_>> {
        LockedBoard::lock(self, patience)
    }

    /// Refuses a board that a newer crewboard wrote.
    pub fn check_format(&self) -> Result<()> {
        match read_head(&self.dirs)? {
            Some(head) if head.format > FORMAT => {
                let path = self.dirs.tasks.join(OURS).join(HEAD);
                Err(Error::NewerFormat { path, found: head.format, known: FORMAT })
            }
            _ => Ok(()),
        }
    }
}

/// The turn that holds a task in progress, and whose it is.
fn held(entry: &Entry) -> Option<(&str, &str)> {
    entry.facts().filter(|facts| facts.status == Phase::InProgress).and_then(|facts| facts.turn())
}

const HEAD: &str = "board.json";

fn groups_name(name: &Name) -> String {
    format!("{name}.groups")
}

fn read_head(dirs: &Dirs) -> Result<Option<Head>> {
    let Ok(dir) = Dir::open(&dirs.tasks.join(OURS)) else { return Ok(None) };
    let Some(bytes) = dir.read(HEAD)? else { return Ok(None) };
    match serde_json::from_slice(&bytes) {
        Ok(head) => Ok(Some(head)),
        // A newer format may look like anything but for its number.
        Err(_) => match serde_json::from_slice::<serde_json::Value>(&bytes).ok().and_then(|head| head.get("format")?.as_u64()) {
            Some(format) if format > FORMAT => Ok(Some(Head { format, durability: Durability::Full })),
            _ => Err(Refusal::board(Rule::NotValid, format!("{} cannot be read; remove it, and the next writer makes it anew", dir.join(HEAD).display()))),
        },
    }
}
