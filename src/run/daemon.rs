//! The daemon: the run's loop. It looks, decides by the rules, acts, and sleeps until something happens.

mod heard;
mod record;
mod spending;
mod standing;
mod turns;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::alive::Process;
use board::events::Events;
use board::run::{Audit, Reason, Run, RunState, State};
use board::watch::Watch;
use board::{Board, Result, clock};
use jiff::Timestamp;
use teammates::cleaning;
use teammates::config::Plan;
use tokio::sync::Notify;

use self::turns::Turn;
use crate::context::Context;
use crate::exit::{Exit, Failure, start};
use crate::log::{self, Log};
use crate::machine;
use crate::rules::boundary::{self, Known, Request, Step};
use crate::rules::planning;
use crate::run::at_work::Part;
use crate::run::audit::{self, Auditing};
use crate::run::crewing::Crew;
use crate::run::recording::Wanted;
use crate::run::requests;
use crate::run::roster::{self, Limited, Profiles};
use crate::run::settings::Settings;
use crate::run::window::Window;

/// How often it looks by itself: for what no event tells of, a process that died above all.
const POLL: Duration = Duration::from_secs(5);
/// The same while a turn is to end, or where there are no events.
const SOON: Duration = Duration::from_millis(500);
/// Why a run has ended in which nothing may be run any more.
const NOT_ARMED: &str = "not_armed";

/// The daemon of this process.
struct Daemon {
    board: Board,
    run: Run,
    window: Window,
    state: State,
    /// Whose last turn was cut short.
    cut_short: BTreeSet<String>,
    /// Since when a turn is being stopped.
    stopping: Option<Instant>,
    /// A turn that nobody has taken up, and how often it was looked at.
    untaken: Option<(String, u32)>,
    /// Whether it looks because its time has come, and not because something happened.
    slept: bool,
    /// Whether it has not yet looked once.
    is_new: bool,
    /// A checkpoint that is to be made.
    wanted: Option<Wanted>,
    events: Events,
    settings: Settings,
    profiles: Profiles,
    crew: Crew,
    auditing: Option<Auditing>,
    born: Instant,
    cleaned: Option<Instant>,
    wake: Arc<Notify>,
    watch: Option<Watch>,
}

/// What comes after a tick.
enum After {
    /// Another one.
    Again,
    /// Another one when something has happened, or that much later.
    Sleep(Duration),
    /// The run has ended.
    End,
}

/// Lives until the run ends. To be called in a process of its own.
pub(crate) fn live(context: &Context) -> Result<Exit, Failure> {
    log::begin(Log::Diary);
    let mut board = context.board()?;
    let run = Run::of(board.place())?;
    let Some(_held) = Part::Daemon.hold(&run)? else {
        return Err(Failure::Refused { rule: "one-daemon", message: "another daemon of this project is at work".into() });
    };
    let place = board.place().clone();
    let settings = Settings::read(&mut board);
    let runtime = machine::runtime().map_err(start)?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        match settings {
            Ok(settings) => match Daemon::enter(board, Run::of(&place)?, settings)?.work().await {
                // What people wrote cannot be used: to begin again would not mend it.
                Err(failure @ (Failure::Usage(_) | Failure::Refused { .. })) => Daemon::refuse(&run, &failure.message()).map(|()| Exit::FAILED),
                worked => worked,
            },
            Err(failure) => Daemon::refuse(&run, &failure.message()).map(|()| Exit::FAILED),
        }
    })
}

impl Daemon {
    fn enter(board: Board, run: Run, settings: Settings) -> Result<Daemon, Failure> {
        let events = Events::of_run(Arc::clone(run.dir()));
        // Which models are at a limit is found out anew.
        run.limits.discard()?;
        let state = run.state.update(|state| {
            state.daemon = Some(Process::current().clone());
            state.starts += 1;
            state.state = if state.state.is_active() { state.state } else { RunState::Running };
            state.reason = state.reason.take().filter(|_| state.state != RunState::Running);
            state.clone()
        })?;
        let window = Window::of(&run)?;
        let wake = Arc::new(Notify::new());
        let watch = if machine::events() && board.is_local() { watch(&board, &run, &wake) } else { None };
        let crew = Crew::new(&wake).map_err(start)?;
        let now = Instant::now();
        Ok(Daemon {
            board,
            run,
            window,
            state,
            cut_short: BTreeSet::new(),
            stopping: None,
            untaken: None,
            slept: false,
            is_new: true,
            wanted: None,
            events,
            settings,
            profiles: Profiles::default(),
            crew,
            auditing: None,
            born: now,
            cleaned: None,
            wake,
            watch,
        })
    }

    /// A run that cannot even begin says so, instead of being started again and again.
    fn refuse(run: &Run, why: &str) -> Result<(), Failure> {
        tracing::error!("{why}");
        run.state.update(|state| {
            state.starts += 1;
            state.daemon = None;
            state.state = RunState::Error;
            state.reason = Some(Reason { code: "settings".into(), who: None, text: format!("{why}; `crew start` tries again"), at: clock::now(), until: None });
        })?;
        Ok(())
    }

    async fn work(mut self) -> Result<Exit, Failure> {
        self.tell("daemon.started", serde_json::json!({ "pid": std::process::id() }));
        // One that the last daemon has left is begun again, once.
        if let Some(left) = self.state.audit.clone() {
            // First: an audit that is not on record any more ends by itself.
            self.change_state(|state| state.audit = None)?;
            audit::end_left(Some(&left));
        }
        self.baseline()?;
        loop {
            match self.tick()? {
                After::Again => {}
                After::Sleep(pause) => {
                    self.slept = tokio::select! {
                        () = self.wake.notified() => false,
                        () = tokio::time::sleep(pause) => true,
                    };
                }
                After::End => break,
            }
            self.is_new = false;
            // Children that have ended are told of between ticks only.
            tokio::task::yield_now().await;
        }
        self.tell("daemon.ended", serde_json::json!({ "state": self.state.state.as_str() }));
        Ok(Exit::DONE)
    }

    /// Looks once, and does what is to be done.
    fn tick(&mut self) -> Result<After, Failure> {
        self.look()?;
        let new = self.take_new()?;
        let request = requests::pending(self.run.dir())?;
        let stop = request == Some(Request::Stop);
        match self.advance_turn(&new, stop)? {
            Turn::Closed => return Ok(After::Again),
            Turn::GoesOn => {
                self.applied()?;
                if !self.crew_up()? {
                    return Ok(After::End);
                }
                return Ok(After::Sleep(if stop { SOON } else { self.poll() }));
            }
            Turn::None => {}
        }
        if self.drain_inbox()? {
            return Ok(After::Again);
        }
        if let Some(after) = self.look_after_audit(stop)? {
            return Ok(after);
        }
        let step = self.decide(request)?;
        let after = self.act(step, request)?;
        self.record_now();
        self.applied()?;
        match after {
            After::Sleep(_) if !self.crew_up()? => Ok(After::End),
            after => Ok(after),
        }
    }

    fn look(&mut self) -> Result<()> {
        let happened = self.watch.as_ref().map(Watch::take).unwrap_or_default();
        self.board.look()?;
        let names = happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved));
        self.board.refresh(names);
        if happened.overflow {
            self.board.sweep()?;
        }
        let is_due = self.cleaned.is_none_or(|at| at.elapsed() >= POLL);
        if is_due || self.crew.has_lost_one() {
            self.board.sweep_for_all(POLL)?;
            cleaning::return_stale_claims(&mut self.board)?.iter().for_each(cleaning::Returned::log);
            self.cleaned = Some(Instant::now());
        }
        Ok(())
    }

    fn decide(&mut self, request: Option<Request>) -> Result<Step, Failure> {
        let place = self.board.place().clone();
        let profiles = self.profiles.read(&place)?;
        let limited = Limited::read(&place, &self.run)?;
        let roster = roster::seats(&self.board, &profiles, &limited)?;
        let work = self.crew.work(&self.board, &profiles, &limited);
        let has_scope = !self.window.posts.is_empty() || teammates::goal::Goal::read(&place).map_err(|e| Failure::Usage(e.to_string()))?.is_some();
        self.count_lane_work()?;
        self.count_spending()?;
        let plan = planning::stage(self.settings.plan == Plan::Propose, self.state.unplanned, &self.run.asks.all()?);
        Ok(boundary::next(&Known {
            posts: &self.window.posts,
            last_seq: &self.window.last_seq,
            roster: &roster,
            state: &self.state,
            plan: &plan,
            limits: &self.settings.limits,
            request,
            has_scope,
            work,
            ran: self.born.elapsed(),
            now: clock::now(),
        }))
    }

    fn act(&mut self, step: Step, request: Option<Request>) -> Result<After, Failure> {
        match step {
            Step::End { state, code, who, text } => self.end(state, code, who, text, request),
            Step::Speak { who, why, planning, only_work, warn } => {
                if let Some(warn) = warn {
                    let last = self.window.posts.iter().rfind(|post| post.is_of_teammate()).map_or(0, |post| post.seq);
                    if self.run.note(last, warn)?.is_some() {
                        return Ok(After::Again);
                    }
                }
                if let Some(ended) = self.end_unless_armed()? {
                    return Ok(ended);
                }
                self.enter_state(if planning { RunState::Planning } else { RunState::Running }, None)?;
                self.open_turn(&who, planning, only_work)?;
                tracing::info!("{who}: {why}");
                Ok(After::Sleep(self.poll()))
            }
            Step::Audit(done) => {
                if let Some(ended) = self.end_unless_armed()? {
                    return Ok(ended);
                }
                self.tell("audit.started", serde_json::json!({ "done": done }));
                // On record before it is begun: whoever ends it finds it by that, should this process die in between.
                let id = board::turn::fresh();
                self.change_state(|state| state.audit = Some(Audit { id: id.clone(), process: None }))?;
                let auditing = Auditing::begin(&self.board, done, id)?;
                self.change_state(|state| state.audit = Some(auditing.record()))?;
                self.auditing = Some(auditing);
                Ok(After::Sleep(POLL))
            }
            Step::Sleep { state, until, why } => {
                self.enter_state(state, Some(Reason { code: state.as_str().into(), who: None, text: why, at: clock::now(), until }))?;
                Ok(After::Sleep(self.pause(until)))
            }
        }
    }

    /// Until a moment, or the next look if that comes first.
    fn pause(&self, until: Option<Timestamp>) -> Duration {
        let left = until.map(|until| Duration::try_from(until.duration_since(clock::now())).unwrap_or_default());
        left.map_or(self.poll(), |left| left.min(self.poll()))
    }

    /// Until the next look, where nothing tells of something sooner.
    fn poll(&self) -> Duration {
        if self.watch.is_none() { SOON } else { POLL }
    }

    /// `None`: no audit is under way.
    fn look_after_audit(&mut self, stop: bool) -> Result<Option<After>, Failure> {
        let Some(mut auditing) = self.auditing.take() else { return Ok(None) };
        if stop {
            auditing.stop();
            self.change_state(|state| state.audit = None)?;
            return Ok(None);
        }
        let Some(verdict) = auditing.verdict() else {
            self.auditing = Some(auditing);
            return Ok(Some(if self.crew_up()? { After::Sleep(POLL) } else { After::End }));
        };
        let tree = board::tree::sha(self.board.place()).ok().flatten();
        audit::post(&self.run, auditing.done, &verdict)?;
        self.change_state(|state| {
            state.audit = None;
            state.accepted = tree.filter(|_| verdict.accept).or(state.accepted.take());
        })?;
        Ok(Some(After::Again))
    }

    /// Keeps the wanted teammates running. `false`: nothing may be run here any more, and the run has ended.
    fn crew_up(&mut self) -> Result<bool, Failure> {
        let place = self.board.place().clone();
        let profiles = self.profiles.read(&place)?;
        let speaker = self.run.open_turn()?.filter(|turn| turn.begun.is_none()).map(|turn| turn.of);
        let limited = Limited::read(&place, &self.run)?;
        let told = self.crew.keep(&mut self.board, &profiles, &limited, speaker.as_deref());
        match told {
            Err(Failure::Refused { rule: "not-armed", message }) => {
                self.end_not_armed(&message)?;
                Ok(false)
            }
            told => {
                for (what, details) in told? {
                    self.tell(what, details);
                }
                let hired = self.crew.hired();
                if hired.iter().any(|(name, process)| self.state.hired.get(name) != Some(process)) {
                    self.change_state(|state| state.hired.extend(hired))?;
                }
                Ok(true)
            }
        }
    }

    fn tell(&self, what: &str, details: serde_json::Value) {
        if let Err(e) = self.events.tell(what, details) {
            tracing::warn!("an event was not written: {e}");
        }
    }

    fn say(&self, text: impl std::fmt::Display) {
        tracing::warn!("{text}");
    }
}

fn watch(board: &Board, run: &Run, wake: &Arc<Notify>) -> Option<Watch> {
    let mut files: Vec<_> = requests::files(run.dir()).into();
    files.extend([run.turn_file(), run.thread.path(), run.dir().join("inbox").join("user.jsonl")]);
    // The directory of the inbox must be there to be watched.
    run.inbox().ok()?;
    let wake = Arc::clone(wake);
    Watch::begin(board.place().tasks(), &files, move || wake.notify_one()).inspect_err(|e| tracing::warn!("{e}; looking every now and then instead")).ok()
}
