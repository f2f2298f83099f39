//! A board: opened once, looked at often, locked to be changed.

mod dirs;
mod head;
mod looking;
mod sweeping;
mod team;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::disk::{Dir, Stamp};
use crate::document::{Document, Problem};
use crate::error::{Error, Result, Rule};
use crate::facts::Phase;
use crate::index::{Entry, Index};
use crate::journal::Journal;
use crate::kept::Kept;
use crate::lock::LockFile;
use crate::name::Name;
use crate::place::{OURS, Place, Surroundings, TASKS};
use crate::presence;
use crate::ready::{Claimant, NotReady};
use crate::scan;
use crate::task::Task;
use crate::task_id::TaskId;
use crate::transition::MAX_LOST;
use head::{HEAD, Head, read_head};

pub(crate) use dirs::Dirs;
pub use head::{Durability, FORMAT};
pub use team::Stale;

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
        let dirs = Arc::new(Dirs::open(place.tasks())?);
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

    /// An archived task's file: its bytes, and the task. `None`: none of that id was archived.
    pub fn read_archived(&self, id: &TaskId) -> Option<(Vec<u8>, Task)> {
        let bytes = self.dirs.ours()?.archive.read(&id.file_name()).ok()??;
        let task = Document::parse(&bytes).and_then(|document| Task::read(id, &document)).ok()?;
        Some((bytes, task))
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
}

/// The turn that holds a task in progress, and whose it is.
fn held(entry: &Entry) -> Option<(&str, &str)> {
    entry.facts().filter(|facts| facts.status == Phase::InProgress).and_then(|facts| facts.turn())
}
