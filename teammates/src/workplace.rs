//! What the lanes of one process share: the board, the children, and how a turn is begun and ended.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use board::locked::{Claimed, Terms, Unlocked};
use board::name::Name;
use board::place::Place;
use board::presence::{Activity, Presence};
use board::ready::Claimant;
use board::task::{Outcome, Status};
use board::task_id::TaskId;
use board::transition::{By, Ending};
use board::{Board, Error, Result, Rule, clock};
use tokio::sync::watch;

use crate::children::Children;
use crate::cleaning::{self, Returned};
use crate::environment;
use crate::group_sync::GroupSync;

/// How long the board's lock is waited for before a turn's begin or end is given up for now.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often, and with what pause, the end of a turn is tried again while a person is writing the task's file.
const END_TRIES: u32 = 50;
const END_PAUSE: Duration = Duration::from_millis(100);

/// A record of process groups longer than this begins anew when none of them runs.
const LONGEST_RECORD: u64 = 64 << 10;

/// The board and the children of this process. Clones are handles to the same.
#[derive(Clone)]
pub struct Workplace {
    board: Arc<Mutex<Board>>,
    place: Place,
    children: Children,
    sync: GroupSync,
    looked: Arc<watch::Sender<()>>,
}

/// A teammate of this process: its name, held for as long as this lives, and where its children record themselves.
pub struct Seat {
    name: Name,
    presence: Mutex<Presence>,
    groups: File,
}

impl Workplace {
    /// Takes a board to work on. Once a process: see [`Children::new`].
    pub fn open(board: Board) -> std::io::Result<Workplace> {
        let children = Children::new(environment::of_children(board.place()))?;
        Ok(Workplace { place: board.place().clone(), board: Arc::new(Mutex::new(board)), children, sync: GroupSync::default(), looked: Arc::default() })
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The children of this process.
    pub fn children(&self) -> &Children {
        &self.children
    }

    /// The board, alone. Never held over an `await`.
    pub fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the lanes that the board was looked at, so that they ask whether they still hold their tasks.
    pub fn say_looked(&self) {
        self.looked.send_replace(());
    }

    /// Changes whenever the board was looked at.
    pub(crate) fn looked(&self) -> watch::Receiver<()> {
        self.looked.subscribe()
    }

    /// Takes a teammate's name for this process, and returns what dead holders left to the board.
    pub fn enter(&self, name: &Name, runner: &str) -> Result<Seat> {
        let presence = self.board().enter(name, runner)?;
        // Before the record of a dead namesake's groups is begun anew.
        cleaning::return_stale_claims(&mut self.board())?.iter().for_each(Returned::log);
        let groups = self.board().group_record(name)?;
        Ok(Seat { name: name.clone(), presence: Mutex::new(presence), groups })
    }

    /// Claims a task for a teammate: the best that is ready for it. `None`: there is nothing.
    pub fn claim(&self, seat: &Seat, claimant: &Claimant, wanted: Option<&TaskId>) -> Result<Option<Claimed>> {
        let terms = Terms { process: Some(board::alive::Process::current().clone()), ..Terms::default() };
        let mut board = self.board();
        let mut presence = seat.presence();
        let mut locked = board.lock(PATIENCE)?;
        let claimed = locked.claim(Some(&mut presence), claimant, wanted, &terms)?;
        let unlocked = locked.unlock()?;
        drop((presence, board));
        self.settle_aside(unlocked);
        Ok(claimed)
    }

    /// A claim need not be on disk: what is left to do for it is done beside the work.
    fn settle_aside(&self, unlocked: Unlocked) {
        if !unlocked.is_settled() {
            let sync = self.sync.clone();
            tokio::spawn(async move {
                if let Err(e) = sync.settle(unlocked).await {
                    tracing::warn!("{e}");
                }
            });
        }
    }

    /// Ends a turn. What it returns is to be settled before success is reported ([`Settling::settle`]).
    ///
    /// While a person is writing the task's file the end is tried again, for some seconds.
    pub async fn end(&self, seat: &Seat, claimed: &Claimed, ending: Ending) -> Result<Settling> {
        let mut ending = ending;
        let mut tries = 0;
        loop {
            match self.end_once(seat, claimed, &ending) {
                // What it depends on is not done any more, so neither is this; nobody is to go on holding it.
                Err(Error::Refused(refusal)) if refusal.rule == Rule::Blocked && ending.outcome == Outcome::Done => {
                    ending = Ending::because(Outcome::Released, format!("it was done too early: {}", refusal.message));
                }
                Err(Error::NotATask { .. } | Error::LockTimeout { .. }) if tries < END_TRIES => {
                    tries += 1;
                    tokio::time::sleep(END_PAUSE).await;
                }
                ended => {
                    // What could not be written is still held: the task goes back when this process ends.
                    if ended.as_ref().err().is_none_or(Error::is_refusal) {
                        self.leave(seat, &claimed.turn)?;
                    }
                    return ended;
                }
            }
        }
    }

    /// Forgets a turn that is over, and now and then what its children recorded.
    fn leave(&self, seat: &Seat, turn: &str) -> Result<()> {
        let mut presence = seat.presence();
        presence.forget(turn);
        let idle = presence.holds().is_empty();
        drop(presence);
        let recorded = seat.groups.metadata().map_or(0, |record| record.len());
        if idle && recorded > LONGEST_RECORD {
            self.board().group_record(&seat.name)?;
        }
        Ok(())
    }

    fn end_once(&self, seat: &Seat, claimed: &Claimed, ending: &Ending) -> Result<Settling> {
        let id = &claimed.task.id;
        let mut board = self.board();
        let mut locked = board.lock(PATIENCE)?;
        let by = By::Holder { name: seat.name.as_str(), turn: Some(&claimed.turn) };
        let status = locked.end(id, &by, ending)?;
        Ok(Settling { status, unlocked: locked.unlock()?, sync: self.sync.clone() })
    }

    /// Closes what this process wrote, at its end.
    pub fn close(&self) -> Result<()> {
        let mut board = self.board();
        let unlocked = board.lock(PATIENCE)?.unlock_for_good()?;
        drop(board);
        unlocked.settle()
    }

    /// The results of the tasks that a task depended on, by id.
    pub fn results_for(&self, claimed: &Claimed) -> HashMap<String, serde_json::Value> {
        let board = self.board();
        let result = |id: &TaskId| {
            let (_, task) = board.read_task(id).ok().or_else(|| board.read_archived(id))?;
            let value = serde_json::json!({ "subject": task.subject, "status": task.status, "result": task.result });
            Some((id.to_string(), value))
        };
        claimed.task.edges().filter_map(result).collect()
    }
}

/// A turn that has ended on the board; on disk when it is settled.
#[must_use = "success may be reported only after `settle`"]
pub struct Settling {
    /// The status that the task has now.
    pub status: Status,
    unlocked: Unlocked,
    sync: GroupSync,
}

impl Settling {
    /// Waits until the end is on disk, as far as the board's durability asks for it.
    pub async fn settle(self) -> Result<Status> {
        if !self.unlocked.is_settled() {
            self.sync.settle(self.unlocked).await?;
        }
        Ok(self.status)
    }
}

impl Seat {
    /// The teammate's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Where its children record their process groups.
    pub fn groups(&self) -> &File {
        &self.groups
    }

    /// Its presence.
    pub fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what it does now.
    pub fn set_activity(&self, activity: Activity) -> Result<()> {
        self.presence().set_activity(activity, clock::now())
    }

    /// Whether variables of this kind are set for its children: who they act as.
    pub(crate) fn identity(&self) -> [(OsString, OsString); 1] {
        [("CREW_AS".into(), self.name.as_str().into())]
    }
}
