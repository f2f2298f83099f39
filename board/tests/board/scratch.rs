//! A board in a directory of its own, and the words in which tests speak of it.

use std::path::{Path, PathBuf};

use board::add::Draft;
use board::alive::Process;
use board::locked::{Claimed, Terms};
use board::name::Name;
use board::place::{Place, Surroundings};
use board::presence::Presence;
use board::ready::Claimant;
use board::task::{Outcome, Status, Task};
use board::task_id::TaskId;
use board::transition::{By, Ending};
use board::{Board, Durability, Error, Rule};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use board::lock::PATIENCE;

/// A project with a board.
pub(crate) struct Scratch {
    temp: TempDir,
}

/// What decides where a board lies, without the environment of whoever runs the tests.
pub(crate) fn surroundings(project: &Path) -> Surroundings {
    Surroundings { crewboard_home: Some(project.join("home").into()), ..Surroundings::default() }
}

/// Opens the board of a project.
pub(crate) fn open(project: &Path) -> Board {
    Board::open(Place::at(&project.join(".tasks"), &surroundings(project)).unwrap()).unwrap()
}

/// A directory where writing costs little, for tests to which syncing means nothing.
pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl Scratch {
    pub(crate) fn new(durability: Durability) -> Scratch {
        Scratch::made_in(temporary(), durability)
    }

    /// On the filesystem of temporary files, whatever it is.
    pub(crate) fn on_disk(durability: Durability) -> Scratch {
        Scratch::made_in(tempfile::tempdir().unwrap(), durability)
    }

    fn made_in(temp: TempDir, durability: Durability) -> Scratch {
        Board::init(temp.path(), durability, &surroundings(temp.path())).unwrap();
        Scratch { temp }
    }

    pub(crate) fn path(&self) -> &Path {
        self.temp.path()
    }

    /// What another process would see: the board, opened anew.
    pub(crate) fn board(&self) -> Board {
        open(self.path())
    }

    /// The same, looked at.
    pub(crate) fn seen(&self) -> Board {
        let mut board = self.board();
        board.look().unwrap();
        board
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(".tasks").join(format!("task_{name}.json"))
    }

    pub(crate) fn ours(&self, name: &str) -> PathBuf {
        self.path().join(".tasks/.board").join(name)
    }

    /// Drops a task there as people do.
    pub(crate) fn drop(&self, name: &str, json: &str) {
        std::fs::write(self.file(name), json).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// A task's file as any other program reads it.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    pub(crate) fn task(&self, name: &str) -> Task {
        self.board().read_task(&id(name)).unwrap().1
    }

    pub(crate) fn status(&self, name: &str) -> Status {
        self.task(name).status
    }
}

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn draft(json: &str) -> Draft {
    Draft { text: json.to_owned(), origin: "a test".into() }
}

/// Adds tasks and returns their ids.
pub(crate) fn add(board: &mut Board, drafts: &[&str]) -> Vec<String> {
    let drafts: Vec<Draft> = drafts.iter().map(|json| draft(json)).collect();
    board.add(&drafts, PATIENCE).unwrap().iter().map(TaskId::to_string).collect()
}

/// The terms of a claim by this process.
pub(crate) fn terms() -> Terms {
    Terms { process: Some(Process::current().clone()), ..Terms::default() }
}

/// Claims whatever is ready, or the wanted task.
pub(crate) fn claim(board: &mut Board, mut presence: Option<&mut Presence>, who: &str, wanted: Option<&str>) -> Result<Option<Claimed>, Error> {
    let mut locked = board.lock(PATIENCE)?;
    let claimed = locked.claim(presence.take(), &Claimant::shell(who), wanted.map(id).as_ref(), &terms());
    locked.unlock()?.settle()?;
    claimed
}

/// Claims the wanted task, which is ready.
pub(crate) fn take(board: &mut Board, presence: Option<&mut Presence>, who: &str, wanted: &str) -> Claimed {
    claim(board, presence, who, Some(wanted)).unwrap().unwrap()
}

/// Ends a turn as its holder.
pub(crate) fn end(board: &mut Board, task: &str, by: &By<'_>, ending: &Ending) -> Result<Status, Error> {
    let mut locked = board.lock(PATIENCE)?;
    let status = locked.end(&id(task), by, ending)?;
    locked.unlock()?.settle()?;
    Ok(status)
}

/// Finishes a turn as its holder.
pub(crate) fn finish(board: &mut Board, who: &str, claimed: &Claimed) -> Result<Status, Error> {
    let by = By::Holder { name: who, turn: Some(&claimed.turn) };
    end(board, claimed.task.id.as_str(), &by, &Ending::of(Outcome::Done))
}

/// The rule that refused.
pub(crate) fn rule<T: std::fmt::Debug>(result: Result<T, Error>) -> Rule {
    match result.expect_err("this was to be refused") {
        Error::Refused(refusal) => refusal.rule,
        other => panic!("no refusal: {other}"),
    }
}

/// Returns every claim whose holder is dead, as teammates and the daemon do. Returns the tasks.
pub(crate) fn clean(board: &mut Board) -> Vec<String> {
    board.look().unwrap();
    board.sweep().unwrap();
    let mut cleaned = Vec::new();
    for stale in board.stale_claims(jiff::Timestamp::now()).unwrap() {
        let by = By::Cleaner { turn: &stale.claim.turn };
        match end(board, stale.task.as_str(), &by, &Ending::because(Outcome::Lost, "its holder died")) {
            Ok(_) => cleaned.push(stale.task.to_string()),
            // Somebody else cleaned it first.
            Err(e) => assert!(e.is_refusal(), "{e}"),
        }
    }
    cleaned
}
