//! Working through a board in the foreground: so many command teammates side by side, until nothing can go on.

use std::sync::Arc;
use std::time::Duration;

use board::locked::Claimed;
use board::name::Name;
use board::ready::{Claimant, Takes};
use board::task::{Parked, Status};
use board::task_id::TaskId;
use board::transition::Ending;
use board::watch::Watch;
use board::{Error, Result, clock};
use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::attempt::{Plan, Work};
use crate::cleaning::{self, Returned};
use crate::consent::{self, Consent};
use crate::lane::{self, Told, Worked};
use crate::telling::{Settled, Telling};
use crate::waits::Waits;
use crate::workplace::{Seat, Workplace};
use crate::worktree::Worktree;

/// How often the board is looked at while commands run, besides on events and ends.
const POLL: Duration = Duration::from_secs(5);
/// How long the board's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// So many ends may be on their way to the disk before no further task is claimed.
const MOST_SETTLING: usize = 32;

/// What a batch does.
#[derive(Debug, Clone)]
pub struct Batch {
    /// How many commands run at once; at least 1.
    pub jobs: usize,
    /// Wall clock for tasks that name none.
    pub timeout: Option<Duration>,
    /// When commands that ask to be tried later are.
    pub waits: Waits,
    /// Whether change events are to be relied on.
    pub events: bool,
}

/// What happened, for whoever shows progress.
#[derive(Debug)]
pub enum Event<'a> {
    /// A dead holder's task went back to the board.
    Returned(&'a Returned),
    /// An attempt began.
    Began {
        /// The task.
        task: &'a TaskId,
        /// Its subject.
        subject: &'a str,
        /// The number of the attempt.
        attempt: usize,
    },
    /// An attempt ended, and that is on the board (and, if the board is `full`, on disk).
    Ended {
        /// The task.
        task: &'a TaskId,
        /// Its subject.
        subject: &'a str,
        /// How the attempt ended.
        ending: &'a Ending,
        /// What the task is now; `None`: it was taken away meanwhile.
        status: Option<&'a Status>,
    },
}

/// How many attempts ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Tasks that were completed.
    pub completed: usize,
    /// Tasks that failed for good.
    pub failed: usize,
    /// Attempts after which the task is to be tried again.
    pub again: usize,
    /// Attempts whose task was taken away meanwhile.
    pub taken_away: usize,
}

impl Count {
    /// What dead holders left: lost too often, a task has failed.
    fn returned(&mut self, returned: &[Returned], show: &mut dyn FnMut(Event<'_>)) {
        self.failed += returned.iter().filter(|returned| returned.status == Status::Failed).count();
        returned.iter().for_each(|returned| show(Event::Returned(returned)));
    }
}

/// Works through the board until nothing can go on, or until `stop` says so. To be called within a
/// [`tokio::task::LocalSet`].
///
/// An error stops all: what runs is ended, and its tasks go back.
pub async fn run(
    workplace: &Workplace,
    batch: &Batch,
    consent: &dyn Consent,
    stop: &watch::Sender<Option<String>>,
    show: &mut dyn FnMut(Event<'_>),
) -> Result<Count> {
    // Before seats are taken, whose names may be those of dead holders: so that what they lost is told.
    let returned = cleaning::return_stale_claims(&mut workplace.board())?;
    let mut run = Run::open(workplace, batch, consent, stop)?;
    run.count.returned(&returned, show);
    let worked = run.work(show).await;
    if worked.is_err() {
        stop.send_replace(Some("the batch ended with an error".into()));
    }
    // What still runs is ended by what it was told; its tasks go back.
    let drained = run.drain(show).await;
    let closed = workplace.close();
    worked.and(drained).and(closed).map(|()| run.count)
}

struct Run<'a> {
    workplace: &'a Workplace,
    batch: &'a Batch,
    consent: &'a dyn Consent,
    told: Told,
    free: Vec<Arc<Seat>>,
    lanes: JoinSet<(Arc<Seat>, Claimed, Result<Ending>)>,
    settling: JoinSet<Result<Settled>>,
    telling: Telling,
    watch: Option<Watch>,
    wake: Arc<Notify>,
    count: Count,
}

impl<'a> Run<'a> {
    fn open(workplace: &'a Workplace, batch: &'a Batch, consent: &'a dyn Consent, stop: &watch::Sender<Option<String>>) -> Result<Self> {
        let free = take_seats(workplace, batch.jobs.max(1))?;
        let (lanes, settling) = (JoinSet::new(), JoinSet::new());
        let wake = Arc::new(Notify::new());
        let (telling, count) = (Telling::default(), Count::default());
        Ok(Run { workplace, batch, consent, told: stop.subscribe(), free, lanes, settling, telling, watch: None, wake, count })
    }

    async fn work(&mut self, show: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        self.look(true, show)?;
        loop {
            self.fill(show).await?;
            let due = self.next_due();
            if self.lanes.is_empty() && self.settling.is_empty() && (due.is_none() || self.is_told()) {
                return Ok(());
            }
            let pause = due.map_or(POLL, |due| pause_until(due).min(POLL));
            tokio::select! {
                biased;
                Some(ended) = self.lanes.join_next() => self.ended(ended)?,
                Some(settled) = self.settling.join_next() => self.settled(settled, show)?,
                _ = lane::told_to_end(self.told.clone()), if !self.is_told() => {}
                () = self.wake.notified() => self.look(false, show)?,
                () = tokio::time::sleep(pause) => self.look(true, show)?,
            }
        }
    }

    /// Waits for the lanes that are still at work and for what is not on disk yet.
    async fn drain(&mut self, show: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let mut first_error = Ok(());
        while let Some(ended) = self.lanes.join_next().await {
            let ended = self.ended(ended);
            first_error = first_error.and(ended);
        }
        while let Some(settled) = self.settling.join_next().await {
            let settled = self.settled(settled, show);
            first_error = first_error.and(settled);
        }
        first_error
    }

    fn is_told(&self) -> bool {
        self.told.borrow().is_some()
    }

    /// Gives every free seat a task, while there are any.
    async fn fill(&mut self, show: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        while !self.is_told()
            && self.settling.len() < MOST_SETTLING
            && let Some(seat) = self.free.pop()
        {
            let claimant = Claimant { takes: Takes::Commands, ..Claimant::shell(seat.name().as_str()) };
            let claimed = match consent::claim(self.workplace, &seat, &claimant, self.consent).await {
                Ok(Some(claimed)) => claimed,
                other => {
                    self.free.push(seat);
                    other?;
                    match self.begin_to_watch()? {
                        true => continue,
                        false => return Ok(()),
                    }
                }
            };
            let Some(command) = claimed.task.run.clone() else { continue };
            self.telling.began(&claimed, show);
            // A batch's worker does the same again, whatever is said to it.
            let worktree = if claimed.task.worktree == Some(true) { Worktree::OfNobody } else { Worktree::Shared };
            let timeout = claimed.task.timeout.or(self.batch.timeout);
            let plan = Plan { work: Work::Command(command), timeout, task_on_stdin: false, waits: self.batch.waits, env: Vec::new(), worktree };
            let (workplace, told) = (self.workplace.clone(), self.told.clone());
            self.lanes.spawn_local(async move {
                let ending = lane::attempt(&workplace, &seat, &claimed, &plan, told).await;
                (seat, claimed, ending)
            });
        }
        Ok(())
    }

    /// Begins to watch, at the first time that there is nothing to claim: before, events would only tell of our own
    /// writes. `true`: it has begun, and what came meanwhile has been seen.
    fn begin_to_watch(&mut self) -> Result<bool> {
        if self.watch.is_some() || self.lanes.is_empty() || !self.batch.events || !self.workplace.board().is_local() {
            return Ok(false);
        }
        let wake = Arc::clone(&self.wake);
        self.watch = Watch::begin(self.workplace.place().tasks(), &[], move || wake.notify_one()).ok();
        self.workplace.board().sweep()?;
        Ok(self.watch.is_some())
    }

    /// A lane is free again; the end of what it did goes to the board, and to the disk, beside the next attempt.
    fn ended(&mut self, ended: std::result::Result<(Arc<Seat>, Claimed, Result<Ending>), tokio::task::JoinError>) -> Result<()> {
        let (seat, claimed, ending) = ended.map_err(|e| died(self.workplace, e))?;
        self.free.push(Arc::clone(&seat));
        self.telling.ends(&claimed);
        let (workplace, ending) = (self.workplace.clone(), ending?);
        self.settling.spawn_local(async move {
            let Worked { claimed, ending, on_board } = lane::end(&workplace, &seat, claimed, ending).await?;
            let status = match on_board {
                Ok(settling) => Some(settling.settle().await?),
                Err(_) => None,
            };
            Ok(Settled { claimed, ending, status })
        });
        Ok(())
    }

    fn settled(&mut self, settled: std::result::Result<Result<Settled>, tokio::task::JoinError>, show: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let settled = settled.map_err(|e| died(self.workplace, e))??;
        match &settled.status {
            Some(Status::Completed) => self.count.completed += 1,
            Some(Status::Failed) => self.count.failed += 1,
            Some(_) => self.count.again += 1,
            None => self.count.taken_away += 1,
        }
        self.telling.ended(settled, show);
        Ok(())
    }

    /// Sees what changed. By the clock also: what dead holders left, and tasks whose time has come.
    fn look(&mut self, by_the_clock: bool, show: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let happened = self.watch.as_ref().map(Watch::take).unwrap_or_default();
        let mut board = self.workplace.board();
        board.look()?;
        board.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
        if happened.overflow || (by_the_clock && self.watch.is_none()) {
            board.sweep()?;
        }
        self.workplace.say_looked();
        if by_the_clock {
            let returned = cleaning::return_stale_claims(&mut board)?;
            self.count.returned(&returned, show);
            let due: Vec<TaskId> = board.index().due(clock::now()).into_iter().filter(|id| self.is_ours(&board, id)).collect();
            if !due.is_empty() {
                let mut locked = board.lock(PATIENCE)?;
                for id in due {
                    match locked.unpark(&id, false) {
                        Err(e) if !e.is_refusal() => return Err(e),
                        _ => {}
                    }
                }
                locked.unlock()?.settle()?;
            }
        }
        Ok(())
    }

    /// Whether a parked task is one that a batch parked: with a command, and of no other living teammate.
    fn is_ours(&self, board: &board::Board, id: &TaskId) -> bool {
        let Some(facts) = board.index().get(id).and_then(|entry| entry.facts()) else { return false };
        let owner = facts.owner.as_deref().and_then(|owner| Name::new(owner).ok());
        let of_another = |owner: &Name| board.lives(owner) && !self.is_seat(owner);
        facts.runs && owner.is_none_or(|owner| !of_another(&owner))
    }

    fn is_seat(&self, name: &Name) -> bool {
        name.as_str().starts_with(SEAT)
    }

    /// When the next of our parked tasks goes on.
    fn next_due(&self) -> Option<Timestamp> {
        let board = self.workplace.board();
        let until = |id: &TaskId| match board.index().get(id)?.facts()?.parked()? {
            Parked::Until { until: Some(until) } if self.is_ours(&board, id) => Some(*until),
            _ => None,
        };
        board.index().in_progress().filter_map(until).min()
    }
}

/// What the teammates of batches are called, with a number.
pub const SEAT: &str = "worker-";

/// Takes the first names that no living batch has.
fn take_seats(workplace: &Workplace, jobs: usize) -> Result<Vec<Arc<Seat>>> {
    let mut seats = Vec::with_capacity(jobs);
    let mut number = 0;
    while seats.len() < jobs {
        number += 1;
        let name = Name::new(&format!("{SEAT}{number}"))?;
        if workplace.board().lives(&name) {
            continue;
        }
        match workplace.enter(&name, "command") {
            Ok(seat) => seats.push(Arc::new(seat)),
            // Somebody else took it at this moment.
            Err(Error::NameTaken { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    // The first is taken from the end.
    seats.reverse();
    Ok(seats)
}

fn pause_until(due: Timestamp) -> Duration {
    Duration::try_from(due.duration_since(clock::now())).unwrap_or_default()
}

fn died(workplace: &Workplace, e: tokio::task::JoinError) -> Error {
    Error::Io { action: "work on", path: workplace.place().tasks().into(), source: e.into() }
}
