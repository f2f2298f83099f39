//! What is kept of a run: its state, the turn that is open, who has seen what, and what waits for a person.
//!
//! All of it lies in the project's state directory, beside the thread. The thread is what is true; what can be made
//! again from it is only kept for speed, and what cannot is written before it counts.

mod asks;
mod cursors;
mod deciding;
mod limits;
mod open_turn;
mod sessions;
mod state;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Dir;
use crate::error::Result;
use crate::inbox::Inbox;
use crate::place::Place;
use crate::record::{Durable, Record};
use crate::thread::Thread;

pub use asks::{Answer, Ask, AskKind, Asks};
pub use cursors::{Cursor, Cursors};
pub use limits::{Lasts, Limit, Limits, May};
pub use open_turn::{Begun, Ended, Move, OnlyWork, OpenTurn};
pub use sessions::{Counted, Session, Sessions};
pub use state::{Audit, Reason, RunState, Silent, State};

/// The records of a project's run.
#[derive(Debug)]
pub struct Run {
    dir: Arc<Dir>,
    /// What everybody says.
    pub thread: Thread,
    /// How the run stands.
    pub state: Record<State>,
    /// What each teammate has seen of the thread.
    pub cursors: Record<Cursors>,
    /// What waits for a person.
    pub asks: Asks,
    /// Which models are not to be called now.
    pub limits: Limits,
    /// The conversations that coding CLIs keep.
    pub sessions: Sessions,
}

impl Run {
    /// Opens them, making the state directory where it is missing.
    pub fn of(place: &Place) -> Result<Run> {
        Ok(Run::in_dir(Arc::new(Dir::make(place.state(), 0o700)?)))
    }

    /// Opens them for looking; `None`: nothing was ever kept for this project.
    pub fn existing(place: &Place) -> Result<Option<Run>> {
        match Dir::open(place.state()) {
            Ok(dir) => Ok(Some(Run::in_dir(Arc::new(dir)))),
            // What is no directory keeps nothing either; whoever writes there is told.
            Err(e) if matches!(e.io_kind(), Some(ErrorKind::NotFound | ErrorKind::NotADirectory)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Those that lie in a state directory which is there.
    pub fn at(state: &Path) -> Result<Run> {
        Ok(Run::in_dir(Arc::new(Dir::open(state)?)))
    }

    fn in_dir(dir: Arc<Dir>) -> Run {
        Run {
            thread: Thread::of_run(Arc::clone(&dir)),
            state: Record::of(Arc::clone(&dir), "state.json", Durable::Yes),
            cursors: Record::of(Arc::clone(&dir), "cursors.json", Durable::No),
            asks: Asks::of(Arc::clone(&dir)),
            limits: Limits::of(Arc::clone(&dir)),
            sessions: Sessions::of(Arc::clone(&dir)),
            dir,
        }
    }

    /// Refused where a newer crewboard wrote any of its records: then they are only read.
    pub fn check_formats(&self) -> Result<()> {
        self.state.check_format()?;
        self.cursors.check_format()?;
        self.asks.check_format()
    }

    /// Refused where any of its records cannot be read, or is a newer crewboard's: for whoever writes into one what the
    /// others have to follow. Nothing is changed.
    pub fn check(&self) -> Result<()> {
        self.check_formats()?;
        self.open_turn()?;
        self.thread.last(1).map(drop)
    }

    /// How the run stands. A daemon may end between the reading of its state and the look whether it lives: what it wrote last
    /// is read then.
    pub fn standing(&self) -> Result<State> {
        let state = self.state.read()?;
        if state.state.is_active() && !state.is_alive() { self.state.read() } else { Ok(state) }
    }

    /// The directory of the records.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// The turn that is open; `None`: there is none.
    pub fn open_turn(&self) -> Result<Option<OpenTurn>> {
        open_turn::read(&self.dir)
    }

    /// The file that says whose turn it is: whoever waits for one watches it.
    pub fn turn_file(&self) -> PathBuf {
        self.dir.join(open_turn::FILE)
    }

    /// What the user has said to the run, and the thread does not have yet.
    pub fn inbox(&self) -> Result<Inbox> {
        Inbox::of_user(Arc::new(Dir::make(&self.dir.join("inbox"), 0o700)?))
    }
}
