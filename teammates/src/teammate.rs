//! A teammate: the process around the lifecycle. It looks and acts; what it does next is [`lifecycle`]'s to say.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::inbox::{Inbox, Kind, Waiting};
use board::locked::Claimed;
use board::presence::Activity;
use board::ready::{Claimant, Fit, Takes};
use board::run::{Limit, Run};
use board::task::Command;
use board::task_id::TaskId;
use board::watch::Watch;
use board::{Result, clock};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::attempt::{Plan, Work as By};
use crate::cleaning::{self, Returned};
use crate::consent::{self, Consent};
use crate::lane::{self, Told, Worked};
use crate::lifecycle::{self, Action, Look, Pace, Seen, State, Work};
use crate::messages::{self, Delivered, Read};
use crate::models;
use crate::profile::{Profile, Runner, Stdin};
use crate::speaking;
use crate::thinking::{Thinker, Thinking};
use crate::tools::work::background_turn;
use crate::trial;
use crate::waits::Waits;
use crate::workplace::{Seat, Workplace};
use crate::worktree::Worktree;

/// When a command over messages that could not start is tried again.
const START_AGAIN: Duration = Duration::from_secs(30);
/// How often the whole directory is compared where events tell of changes.
const SWEEP_WITH_EVENTS: Duration = Duration::from_secs(60);
/// The most that jitter adds, in milliseconds.
const JITTER_MS: u64 = 3000;
/// Where they do not, a look within so long of another process's sweep leaves it at that one.
const SWEEP_WITHOUT_EVENTS: Duration = Duration::from_secs(1);

/// A teammate of this process, about to live.
pub struct Teammate {
    workplace: Workplace,
    seat: Arc<Seat>,
    profile: Profile,
    claimant: Claimant,
    waits: Waits,
    consent: Box<dyn Consent>,
    inbox: Arc<Inbox>,
    watch: Option<Watch>,
    wake: Arc<Notify>,
    /// It was told to end, or asked to: it claims nothing more.
    ending: bool,
    /// An attempt under way was given what waited in the inbox.
    delivered: bool,
    /// The records of the run, for a teammate that can take a turn in its thread.
    run: Option<Arc<Run>>,
    /// Such a turn is under way.
    speaking: bool,
    /// What its turns are performed with, where a model does that.
    thinker: Option<Rc<Thinker>>,
    /// Until then no command over messages is started: the last one could not.
    not_read_before: Instant,
    born: Instant,
    swept: Instant,
}

/// Who a profile is to the rules of readiness.
pub fn claimant(profile: &Profile) -> Claimant {
    let takes = match (&profile.runner, &profile.command) {
        (Runner::Command, None) => Takes::Commands,
        (Runner::Command, Some(_)) => Takes::Everything,
        _ => Takes::Briefs,
    };
    let mut capabilities = profile.capabilities.clone();
    if profile.writes {
        capabilities.push("write".into());
    }
    Claimant { name: profile.name.to_string(), takes, fit: Some(Fit { tier: profile.tier, role: profile.role.clone(), capabilities }) }
}

impl Teammate {
    /// Takes the teammate's name and begins to watch. `events`: whether change events are to be relied on.
    /// `thinking`: for one whose runner calls models itself.
    pub fn enter(
        workplace: Workplace,
        profile: Profile,
        waits: Waits,
        consent: Box<dyn Consent>,
        thinking: Option<Thinking>,
        events: bool,
    ) -> Result<Teammate> {
        let began = clock::now();
        let seat = Arc::new(workplace.enter(&profile.name, &profile.runner.to_string())?);
        let inboxes = Arc::new(workplace.place().inboxes()?);
        let inbox_file = inboxes.join(&format!("{}.jsonl", profile.name));
        let inbox = Arc::new(Inbox::open(inboxes, &profile.name)?);
        forget_requests(&inbox, began)?;
        let wake = Arc::new(Notify::new());
        let events = events && workplace.board().is_local();
        let run = profile.can_speak().then(|| Run::of(workplace.place())).transpose()?.map(Arc::new);
        let turn_file = run.iter().map(|run| run.turn_file());
        let files: Vec<PathBuf> = turn_file.chain([inbox_file]).collect();
        let watch = if events { begin_to_watch(&workplace, &files, &wake) } else { None };
        // What came between the first look, at entering, and the watch: no event tells of it.
        workplace.board().sweep()?;
        let claimant = claimant(&profile);
        let thinker = run.as_ref().zip(thinking).map(|(run, thinking)| {
            // What one of this name had left in the background when it died.
            trial::end_left(&background_turn(workplace.place(), &profile.name));
            let (run, inbox) = (Arc::clone(run), Arc::clone(&inbox));
            Rc::new(Thinker::new(workplace.clone(), Arc::clone(&seat), profile.clone(), run, inbox, thinking))
        });
        let now = Instant::now();
        Ok(Teammate {
            workplace,
            seat,
            profile,
            claimant,
            waits,
            consent,
            inbox,
            watch,
            wake,
            ending: false,
            delivered: false,
            run,
            speaking: false,
            thinker,
            not_read_before: now,
            born: now,
            swept: now,
        })
    }

    /// Lives until there is nothing to do, or until `told` is ready or a request comes to the inbox. To be called
    /// within a [`tokio::task::LocalSet`].
    ///
    /// An error is one of the board or the inbox that looking again does not mend.
    pub async fn live(mut self, told: impl Future<Output = ()> + 'static) -> Result<()> {
        let (stop, stopped) = watch::channel(None::<String>);
        let stop = Arc::new(stop);
        let (sender, name) = (Arc::clone(&stop), self.profile.name.clone());
        tokio::task::spawn_local(async move {
            told.await;
            sender.send_replace(Some(format!("{name} was told to end")));
        });
        let pace = Pace { poll: self.profile.poll, idle_timeout: self.profile.idle_timeout };
        let (mut state, mut action) = State::start(&pace, self.now());
        let mut woken = false;
        loop {
            let seen = match action {
                Action::Look => match self.look(woken)? {
                    Looked::Request(_) => Seen::ShutdownRequested,
                    Looked::Board(look) => Seen::Looked(look),
                },
                Action::Wait { until } => {
                    self.seat.set_activity(Activity::Idle)?;
                    if let (Some(thinker), limit) = (&self.thinker, self.limit()?) {
                        thinker.say_limit(limit.as_ref());
                    }
                    let pause = until.saturating_sub(self.now());
                    tokio::select! {
                        _ = lane::told_to_end(stopped.clone()) => Seen::ShutdownRequested,
                        () = self.wake.notified() => { woken = true; action = Action::Look; continue }
                        () = tokio::time::sleep(pause) => { woken = false; action = Action::Look; continue }
                    }
                }
                Action::Work(work) => self.work(work, &stop, &stopped).await?,
                Action::EndWork | Action::Continue => Seen::WorkEnded,
                Action::Exit => break,
            };
            (state, action) = lifecycle::step(&pace, &state, seen, self.now());
            if self.ending && state != State::Shutdown {
                (state, action) = lifecycle::step(&pace, &state, Seen::ShutdownRequested, self.now());
            }
        }
        if let Some(thinker) = &self.thinker {
            thinker.end().await;
        }
        self.seat.set_activity(Activity::Shutdown)?;
        self.workplace.close()
    }

    /// Says that a run has started it.
    pub fn say_hired(&self) -> Result<()> {
        self.seat.presence().set_hired()
    }

    fn now(&self) -> Duration {
        self.born.elapsed()
    }

    /// Sees what changed, and what of it is for this teammate.
    fn look(&mut self, woken: bool) -> Result<Looked> {
        let happened = self.watch.as_ref().map(Watch::take).unwrap_or_default();
        let mut board = self.workplace.board();
        board.look()?;
        let names = happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved));
        board.refresh(names);
        let every = if self.watch.is_some() { SWEEP_WITH_EVENTS } else { SWEEP_WITHOUT_EVENTS };
        if happened.overflow {
            board.sweep()?;
        } else if !woken && (self.watch.is_none() || self.swept.elapsed() >= every) {
            board.sweep_for_all(every)?;
            self.swept = Instant::now();
        }
        self.workplace.say_looked();
        if !woken {
            cleaning::return_stale_claims(&mut board)?.iter().for_each(Returned::log);
        }
        let own_task = board.index().due(clock::now()).into_iter().find(|id| {
            let facts = board.index().get(id).and_then(|entry| entry.facts());
            facts.is_some_and(|facts| facts.owner.as_deref() == Some(self.profile.name.as_str())) && self.consent.may_claim(id)
        });
        let claimable = consent::best(&board, &self.claimant, &*self.consent).cloned();
        let left = board.index().left_until(&self.claimant, clock::now()).is_some();
        drop(board);
        let waiting = if self.inbox.is_empty() { Waiting::default() } else { self.inbox.read(None)? };
        if let Some(request) = self.request(&waiting)? {
            return Ok(Looked::Request(request));
        }
        // One that only executes tasks reads its messages with its next task.
        let reads = self.performs_turns() && Instant::now() >= self.not_read_before;
        let message = reads && waiting.messages.iter().any(|message| message.kind == Kind::Say);
        let turn = !self.speaking && self.run.as_ref().is_some_and(|run| speaking::is_next(run, self.profile.name.as_str()));
        let look = Look { woken_by_event: woken, message, own_task, turn, claimable, later: left };
        Ok(Looked::Board(match self.limit()? {
            None => look,
            Some(limit) => {
                let is_there = look.message || look.turn || look.own_task.is_some() || look.claimable.is_some();
                Look { message: false, own_task: None, turn: false, claimable: None, later: left || is_there && limit.until.is_some(), ..look }
            }
        }))
    }

    /// Whether it can do more than what tasks bring with them.
    fn performs_turns(&self) -> bool {
        self.thinker.is_some() || self.profile.command.is_some()
    }

    /// What keeps its models from being called. Each of an account's teammates takes a limit for over a little later than
    /// the others, so that they do not come all at once.
    fn limit(&self) -> Result<Option<Limit>> {
        let Some(thinker) = &self.thinker else { return Ok(None) };
        let since = clock::now().checked_sub(jitter(self.profile.name.as_str())).unwrap_or(Timestamp::MIN);
        thinker.limit(since)
    }

    /// A request to end that came to the inbox, and the grace that it gives. It is answered by being consumed.
    fn request(&self, waiting: &Waiting) -> Result<Option<Duration>> {
        let Some(request) = waiting.messages.iter().find(|message| message.kind == Kind::Shutdown) else { return Ok(None) };
        self.inbox.consume(std::slice::from_ref(&request.id))?;
        Ok(Some(board::duration::parse(&request.text).unwrap_or_default()))
    }

    /// Works until every lane is free again. Free lanes take what else is ready meanwhile.
    async fn work(&mut self, work: Work<TaskId>, stop: &watch::Sender<Option<String>>, stopped: &Told) -> Result<Seen<TaskId>> {
        let mut lanes = Lanes::new();
        let begun = match work {
            Work::OwnTask(id) => self.begin_task(&mut lanes, Some(&id), stopped).await?,
            Work::Claim(_) => self.begin_task(&mut lanes, None, stopped).await?,
            Work::Message => self.begin_reading(&mut lanes, stopped)?,
            Work::Turn => self.begin_speaking(&mut lanes, stopped)?,
        };
        if !begun {
            return Ok(Seen::ClaimLost);
        }
        let mut grace_over = pin!(None::<tokio::time::Sleep>);
        // A command over messages that cannot start is no work: the minute with nothing to do goes on.
        let mut worked = false;
        loop {
            tokio::select! {
                ended = lanes.join_next() => match ended {
                    Some(Ok(lane)) => worked |= self.lane_ended(lane?).await?,
                    Some(Err(e)) => return Err(board::Error::Io { action: "work on", path: self.workplace.place().tasks().into(), source: e.into() }),
                    None if worked => return Ok(Seen::WorkEnded),
                    None => return Ok(Seen::ClaimLost),
                },
                () = async { match grace_over.as_mut().as_pin_mut() { Some(sleep) => sleep.await, None => std::future::pending().await } } => {
                    grace_over.set(None);
                    stop.send_replace(Some(format!("{} was asked to shut down", self.profile.name)));
                }
                () = self.wake.notified() => {}
                () = tokio::time::sleep(self.profile.poll) => {}
            }
            if stopped.borrow().is_some() {
                self.ending = true;
            } else if !self.ending {
                match self.look(true)? {
                    Looked::Request(grace) => {
                        self.ending = true;
                        grace_over.set(Some(tokio::time::sleep(grace)));
                    }
                    // Named while it works in its lanes, it speaks beside them.
                    Looked::Board(Look { turn: true, .. }) => drop(self.begin_speaking(&mut lanes, stopped)?),
                    Looked::Board(_) => {}
                }
            }
            let most = self.profile.lanes as usize;
            let has_room = |lanes: &Lanes| !lanes.is_empty() && lanes.len() < most;
            while !self.ending && has_room(&lanes) && self.begin_task(&mut lanes, None, stopped).await? {}
        }
    }

    /// Claims a task and begins to work on it. `false`: there is none.
    async fn begin_task(&mut self, lanes: &mut Lanes, wanted: Option<&TaskId>, stopped: &Told) -> Result<bool> {
        let Some(claimed) = self.claim(wanted).await? else { return Ok(false) };
        let delivered = self.deliver(&claimed);
        self.delivered |= delivered.is_some();
        let plan = Plan { env: delivered.iter().map(Delivered::variable).collect(), ..self.plan(&claimed) };
        let work = lane::work(self.workplace.clone(), Arc::clone(&self.seat), claimed, plan, stopped.clone());
        lanes.spawn_local(async move { work.await.map(|worked| Lane::Worked(Box::new(worked), delivered)) });
        Ok(true)
    }

    /// What waits in the inbox of a teammate that only executes tasks, for one attempt at a time. What cannot be
    /// delivered now is later: no reason to leave a task alone.
    fn deliver(&self, claimed: &Claimed) -> Option<Delivered> {
        if self.delivered || self.performs_turns() {
            return None;
        }
        let logs = self.workplace.place().attempt_logs(&claimed.task.id);
        let delivered = logs.and_then(|logs| messages::deliver(&self.inbox, &claimed.turn, &logs));
        delivered.inspect_err(|e| tracing::warn!("task {}: its attempt gets no messages: {e}", claimed.task.id)).ok().flatten()
    }

    /// Begins a turn of a teammate with a command of its own, over the messages that wait for it.
    fn begin_reading(&self, lanes: &mut Lanes, stopped: &Told) -> Result<bool> {
        let told = stopped.clone();
        self.seat.set_activity(Activity::Working)?;
        if let Some(thinker) = self.thinker.clone() {
            let (workplace, seat) = (self.workplace.clone(), Arc::clone(&self.seat));
            lanes.spawn_local(async move { messages::think(&workplace, &seat, &thinker, told).await.map(Lane::Read) });
            return Ok(true);
        }
        let Some(command) = self.profile.command.clone() else { return Ok(false) };
        let (workplace, seat, inbox) = (self.workplace.clone(), Arc::clone(&self.seat), Arc::clone(&self.inbox));
        let timeout = self.profile.timeout;
        lanes.spawn_local(async move { messages::read(&workplace, &seat, &inbox, &command, timeout, told).await.map(Lane::Read) });
        Ok(true)
    }

    /// Begins the turn of the thread that is this teammate's.
    fn begin_speaking(&mut self, lanes: &mut Lanes, stopped: &Told) -> Result<bool> {
        let by = self.thinker.clone().map(By::Model).or_else(|| self.profile.command.clone().map(By::Command));
        let (Some(run), Some(by)) = (self.run.clone(), by) else { return Ok(false) };
        self.speaking = true;
        self.seat.set_activity(Activity::Working)?;
        let (workplace, seat, profile, told) = (self.workplace.clone(), Arc::clone(&self.seat), self.profile.clone(), stopped.clone());
        lanes.spawn_local(async move { speaking::speak(&workplace, &seat, &run, &profile, &by, told).await.map(Lane::Spoke) });
        Ok(true)
    }

    /// `false`: nothing was begun.
    async fn lane_ended(&mut self, lane: Lane) -> Result<bool> {
        let (worked, delivered) = match lane {
            Lane::Worked(worked, delivered) => (worked, delivered),
            Lane::Spoke(spoke) => {
                self.speaking = false;
                return Ok(spoke);
            }
            Lane::Read(Read::Over) => return Ok(true),
            Lane::Read(Read::NotStarted) => {
                self.not_read_before = Instant::now() + START_AGAIN;
                return Ok(false);
            }
        };
        // An exit code: the command ended by itself. A turn that was cut short, or is no longer one, consumes nothing.
        let by_itself = worked.ending.exit.is_some() && worked.on_board.is_ok();
        self.report(*worked).await?;
        if let Some(delivered) = delivered {
            self.delivered = false;
            if by_itself {
                delivered.consume(&self.inbox)?;
            }
        }
        Ok(true)
    }

    async fn report(&self, worked: Worked) -> Result<()> {
        let (task, ending) = (&worked.claimed.task, &worked.ending);
        tracing::info!("task {}: {}{}", task.id, ending.outcome.as_str(), ending.reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default());
        match worked.on_board {
            Ok(settling) => settling.settle().await.map(drop),
            // Taken away meanwhile: what was done stays done, and the task is somebody else's.
            Err(e) => {
                tracing::warn!("{e}");
                Ok(())
            }
        }
    }

    async fn claim(&self, wanted: Option<&TaskId>) -> Result<Option<Claimed>> {
        let claimed = match wanted {
            None => consent::claim(&self.workplace, &self.seat, &self.claimant, &*self.consent).await,
            Some(own) => match self.workplace.claim(&self.seat, &self.claimant, Some(own)) {
                Ok(Some(claimed)) if !self.consent.may_run(&claimed.task) => consent::give_back(&self.workplace, &self.seat, &claimed).await.map(|()| None),
                claimed => claimed,
            },
        };
        match claimed {
            Err(e) if e.is_refusal() => Ok(None),
            claimed => claimed,
        }
    }

    fn plan(&self, claimed: &Claimed) -> Plan {
        let command = || claimed.task.run.clone().or_else(|| self.profile.command.clone()).unwrap_or_else(|| Command::Exec(vec!["false".into()]));
        let own_tree = self.profile.worktree || (self.thinker.is_some() && self.profile.writes && self.profile.lanes > 1);
        Plan {
            work: self.thinker.clone().map_or_else(|| By::Command(command()), By::Model),
            timeout: claimed.task.timeout.or(self.profile.timeout),
            task_on_stdin: self.profile.stdin == Stdin::Task,
            waits: self.waits,
            env: Vec::new(),
            worktree: if claimed.task.worktree.unwrap_or(own_tree) { Worktree::OfAuthor } else { Worktree::Shared },
        }
    }
}

/// What is under way.
type Lanes = JoinSet<Result<Lane>>;

/// What came of it.
enum Lane {
    /// A turn on a task, and the messages that it was given.
    Worked(Box<Worked>, Option<Delivered>),
    /// A turn over messages.
    Read(Read),
    /// A turn of the thread; `false`: it was another's by then.
    Spoke(bool),
}

/// What a look found.
enum Looked {
    /// What there is to do.
    Board(Look<TaskId>),
    /// A request to end, with the grace for the work under way.
    Request(Duration),
}

/// How much later than others of its account a teammate takes a limit for over.
fn jitter(name: &str) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(models::chance(name) % JITTER_MS).unwrap_or(0))
}

/// Takes out requests to end from before this teammate began: they were for one of its name that has died meanwhile.
fn forget_requests(inbox: &Inbox, began: Timestamp) -> Result<()> {
    if inbox.is_empty() {
        return Ok(());
    }
    let waiting = inbox.read(None)?;
    let old = waiting.messages.into_iter().filter(|message| message.kind == Kind::Shutdown && message.at < began);
    inbox.consume(&old.map(|request| request.id).collect::<Vec<_>>())
}

/// Begins to watch; where that cannot be had, looking again has to do.
fn begin_to_watch(workplace: &Workplace, files: &[PathBuf], wake: &Arc<Notify>) -> Option<Watch> {
    let wake = Arc::clone(wake);
    match Watch::begin(workplace.place().tasks(), files, move || wake.notify_one()) {
        Ok(watch) => Some(watch),
        Err(e) => {
            tracing::warn!("{e}; looking every few seconds instead");
            None
        }
    }
}
