//! A turn that a model performs: from its opening to its first post.
//!
//! A [`Thinker`] is what a teammate's process has for that: the models that it can call, the conversations that it has had
//! with them, its hands (files, a shell, the team's tools). A [`Turn`] goes in and exactly one [`Outcome`] comes out. In
//! between the model is called, what it calls is run, and what came of it is told to it, until it posts or has nothing more
//! to do.
//!
//! A conversation goes on from turn to turn, and gets shorter when it is long. A model that is at its limit makes way for
//! the next of the chain: the turn begins anew there, in a new conversation that is told what was done already. What acted
//! on others the first time (a message, a task) is not done again: the same call gets the same answer.
//!
//! Dropping a turn cancels it; its conversation is mended and goes on.
//!
//! What a model reads is data, and so is what it says: here it moves nothing but by its tools.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use board::alive::Process;
use board::disk::Dir;
use board::inbox::Inbox;
use board::ledger::Ledger;
use board::name::Name;
use board::run::{Lasts, Limit, May, Run, Session};
use board::{Result, clock};
use jiff::Timestamp;

use crate::conversation::{Conversation, Identity};
use crate::models::{self, Paid, Spending, Way, sooner};
use crate::profile::Profile;
use crate::provider::prices::Prices;
use crate::provider::retry::Patience;
use crate::provider::{self, Cancel};
use crate::tools::crew::{At, Crews};
use crate::tools::gate_list::Gatekeeper;
use crate::tools::servers::Servers;
use crate::tools::work::Backgrounds;
use crate::workplace::{Seat, Workplace};

mod agent;
mod compacting;
mod diary;
mod hands;
mod journal;
mod mail;
#[cfg(test)]
mod tests;
mod turn;
mod words;

use diary::Diary;
use hands::Hands;
use journal::Journal;
use mail::Mail;

/// What a teammate that thinks is given from above.
pub struct Thinking {
    /// The models and coding CLIs, in the order in which it turns to them; at least one.
    pub ways: Vec<Way>,
    /// The program that is the team's tools for a CLI: crew itself.
    pub program: PathBuf,
    /// What the run does for its turns.
    pub crews: Rc<dyn Crews>,
    /// Which commands may run.
    pub gatekeeper: Rc<dyn Gatekeeper>,
    /// Files that its shells are not to see: keys.
    pub hidden: Vec<PathBuf>,
    /// The tools of servers that the config names, of which it may use those.
    pub servers: Option<Servers>,
    /// What calls cost.
    pub prices: Prices,
    /// How full a model's context may be before it is compacted, in percent.
    pub compact_at: u8,
    /// What the run may spend, in US dollars.
    pub most_usd: Option<f64>,
    /// How often a call is made again.
    pub patience: Patience,
}

/// The part of a teammate that thinks.
pub struct Thinker {
    workplace: Workplace,
    seat: Arc<Seat>,
    profile: Profile,
    thinking: Thinking,
    run: Arc<Run>,
    ledger: Ledger,
    mail: Mail,
    /// Those that no turn is using.
    minds: RefCell<Vec<Mind>>,
    /// What its turns have in the background.
    backgrounds: RefCell<Vec<Rc<Backgrounds>>>,
    /// How many lines of thought there are.
    lines: Cell<usize>,
}

/// How long a call of the model may take to say that it was cancelled, and a CLI to end.
const CANCEL_TAKES: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(5)];

/// A line of thought, that of one turn at a time.
#[derive(Default)]
struct Mind {
    conversation: Option<Conversation>,
    /// The conversation that a CLI keeps itself.
    session: Option<Session>,
    /// Which one it is in this process, from 0.
    number: usize,
    /// With which of the models and CLIs.
    way: Option<usize>,
    /// What it was about last.
    about: Option<About>,
    /// What a turn of it has done that could not go on, and why not: the next one does none of that again.
    cut: Option<(Journal, String)>,
    hands: Vec<Hands>,
}

/// What a turn is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    Thread,
    Task(board::task_id::TaskId),
    Messages,
}

/// A turn to be performed.
pub struct Turn<'a> {
    /// Whose it is.
    pub at: At,
    /// What the model is asked: the opening, or the task.
    pub request: String,
    /// The posts that are new, where the request does not tell them.
    pub index: Option<String>,
    /// Where the work is done.
    pub workspace: &'a Path,
    /// Where its log lies, `<turn>.log`.
    pub logs: Arc<Dir>,
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has its post.
    Posted,
    /// It ended without one, and how.
    Silent(String),
    /// No model can be called now.
    Limited {
        /// Until then; `None`: until a person has done something about it.
        until: Option<Timestamp>,
        /// Why.
        why: String,
    },
    /// It cannot go on, and the same again would not either.
    Failed(String),
    /// It was told to end, and why.
    CutShort(String),
}

/// A turn as one of the models or CLIs is to perform it.
#[derive(Clone, Copy)]
struct Go<'a> {
    turn: &'a Turn<'a>,
    /// Why it did not go on with the one before.
    before: Option<&'a str>,
    /// Whether there is another behind it.
    has_other: bool,
    /// Whether it may go on with a conversation of a process before this one.
    may_resume: bool,
    diary: &'a Diary,
    cancel: &'a Cancel,
}

/// How a turn ended with one model.
enum With {
    Done(Outcome),
    /// The model is not to be called now.
    Stopped {
        key: String,
        lasts: Lasts,
        why: String,
    },
}

impl Thinker {
    /// That of a teammate.
    pub fn new(workplace: Workplace, seat: Arc<Seat>, profile: Profile, run: Arc<Run>, inbox: Arc<Inbox>, thinking: Thinking) -> Thinker {
        let ledger = Ledger::of_run(Arc::clone(run.dir()));
        Thinker {
            workplace,
            seat,
            profile,
            thinking,
            run,
            ledger,
            mail: Mail::of(inbox),
            minds: RefCell::default(),
            backgrounds: RefCell::default(),
            lines: Cell::new(0),
        }
    }

    /// Whose it is.
    pub fn name(&self) -> &Name {
        &self.profile.name
    }

    /// What keeps every one of its models from being called at that moment, the one that is over first; `None`: nothing.
    pub fn limit(&self, now: Timestamp) -> Result<Option<Limit>> {
        let limits = self.run.limits.all()?;
        let mut first: Option<Limit> = None;
        for way in &self.thinking.ways {
            let Some(limit) = models::of_keys(&way.keys(), &limits, now) else { return Ok(None) };
            first = Some(sooner(first, limit));
        }
        Ok(first)
    }

    /// Performs a turn, until it has ended or `cut_short` says why it is to end now.
    pub async fn perform(&self, turn: &Turn<'_>, cut_short: impl Future<Output = String>) -> Outcome {
        let diary = match Diary::open(&turn.logs, &turn.at.turn) {
            Ok(diary) => diary,
            Err(e) => return Outcome::Failed(format!("its log cannot be written: {e}")),
        };
        let about = match &turn.at {
            At { task: Some(task), .. } => About::Task(task.clone()),
            At { of_thread: true, .. } => About::Thread,
            _ => About::Messages,
        };
        let mut mind = self.take_mind(&about);
        if mind.about.as_ref() != Some(&about) {
            mind.cut = None;
        }
        mind.about = Some(about);
        self.say(Some("begins"));
        let (canceller, cancel) = provider::cancel();
        let outcome = {
            let mut work = std::pin::pin!(self.with_models(turn, &mut mind, &diary, &cancel));
            tokio::select! {
                biased;
                outcome = &mut work => outcome,
                why = cut_short => {
                    // A call of the model says what it took when it is cancelled; anything else is dropped.
                    canceller.cancel();
                    let [call, agent] = CANCEL_TAKES;
                    let takes = if self.thinking.ways.iter().any(|way| matches!(way, Way::Agent(_))) { agent } else { call };
                    match tokio::time::timeout(takes, work).await {
                        Ok(Outcome::Posted) => Outcome::Posted,
                        _ => Outcome::CutShort(why),
                    }
                }
            }
        };
        if let Some(conversation) = &mut mind.conversation {
            conversation.repair();
        }
        match &outcome {
            // What a model could not be asked may be what is in its conversation.
            Outcome::Failed(_) => mind.conversation = None,
            Outcome::Posted => {}
            _ => diary.note(&outcome.words()),
        }
        self.mail.ended(&turn.at.turn, outcome == Outcome::Posted || (matches!(outcome, Outcome::Silent(_)) && mind.about == Some(About::Messages)));
        self.say(None);
        self.minds.borrow_mut().push(mind);
        outcome
    }

    /// Ends what its turns left running in the background.
    pub async fn end(&self) {
        let all = self.backgrounds.take();
        for backgrounds in all {
            backgrounds.end().await;
        }
    }

    /// What its turns left running in the background, for those who look.
    fn in_the_background(&self) -> Vec<String> {
        self.backgrounds.borrow().iter().flat_map(|all| all.running()).map(|seen| format!("{} ({})", seen.command, seen.group)).collect()
    }

    /// The one that was last about the same, or one that is about nothing that may come back.
    fn take_mind(&self, about: &About) -> Mind {
        let mut minds = self.minds.borrow_mut();
        let same = minds.iter().position(|mind| mind.about.as_ref() == Some(about));
        match same.or_else(|| minds.len().checked_sub(1)) {
            Some(place) => minds.remove(place),
            None => Mind { number: self.lines.replace(self.lines.get() + 1), ..Mind::default() },
        }
    }

    async fn with_models(&self, turn: &Turn<'_>, mind: &mut Mind, diary: &Diary, cancel: &Cancel) -> Outcome {
        let (mut journal, mut before) = mind.cut.take().map_or_else(Default::default, |(journal, why)| (journal, Some(why)));
        let mut first: Option<Limit> = None;
        for (place, way) in self.thinking.ways.iter().enumerate() {
            let keys = way.keys();
            match self.run.limits.may_call(&keys.each_ref().map(String::as_str), Process::current(), clock::now()) {
                Err(e) => return Outcome::Failed(e.to_string()),
                Ok(May::NotYet(limit)) => {
                    first = Some(sooner(first, limit));
                    continue;
                }
                Ok(May::Call) => {}
            }
            let may_resume = mind.way.is_none() && before.is_none();
            if mind.way != Some(place) || before.is_some() {
                (mind.conversation, mind.session) = (None, None);
            }
            mind.way = Some(place);
            let go = Go { turn, before: before.as_deref(), has_other: place + 1 < self.thinking.ways.len(), may_resume, diary, cancel };
            let with = match way {
                Way::Model(model) => self.with(&go, model, mind, &mut journal).await,
                Way::Agent(agent) => self.with_agent(&go, agent, mind, &mut journal).await,
            };
            match with {
                With::Done(outcome) => return outcome,
                With::Stopped { key, lasts, why } => match self.run.limits.set(&key, lasts, &why, clock::now()) {
                    Err(e) => return Outcome::Failed(e.to_string()),
                    Ok(limit) => {
                        diary.note(&format!("{way:?} is not called for now: {why}"));
                        tracing::warn!("{way:?} is not called for now: {why}");
                        first = Some(sooner(first, limit));
                        before = Some(why);
                        journal.begin_anew();
                        self.mail.begin_anew(&turn.at.turn);
                    }
                },
            }
        }
        let limit = first.unwrap_or_default();
        mind.cut = before.map(|why| (journal, why));
        Outcome::Limited { until: limit.until, why: limit.why }
    }

    /// Why nothing more is to be spent; `None`: something may. Without a run there is no budget.
    fn overspent(&self) -> Option<String> {
        let most = self.thinking.most_usd?;
        let state = self.run.state.read().ok()?;
        let new = self.ledger.since(state.counted?).ok()?.0;
        let spent = state.spent_usd + new.iter().filter_map(|call| call.usd).sum::<f64>();
        (spent >= most).then(|| format!("the run has spent {spent:.2} of {most:.2} US dollars (maxSpendUsd)"))
    }

    /// Says of a way that it was answered: there is no limit any more.
    fn lift(&self, keys: &[String; 2]) {
        if let Err(e) = self.run.limits.lift(&keys.each_ref().map(String::as_str)) {
            tracing::warn!("{e}");
        }
    }

    /// Says of an account that it is at its limit: others that it pays for need not find out by themselves.
    fn tell_limit(&self, account: &str, lasts: Lasts, why: &str) {
        if let Err(e) = self.run.limits.set(account, lasts, why, clock::now()) {
            tracing::warn!("{e}");
        }
    }

    /// Where what a turn takes is put down.
    fn spending<'a>(&'a self, at: &'a At, paid: Paid<'a>) -> Spending<'a> {
        let task = at.task.as_ref().map(board::task_id::TaskId::as_str);
        Spending { ledger: &self.ledger, prices: &self.thinking.prices, paid, teammate: at.name.as_str(), task, turn: &at.turn }
    }

    fn identity(&self) -> Identity {
        let place = self.workplace.place();
        Identity {
            name: self.profile.name.to_string(),
            role: self.profile.role.clone(),
            team: crate::gathering::team(place),
            memory: board::memory::Memory::of(place).path(),
        }
    }

    /// Says why it does nothing, where that is a limit, for those who look.
    pub fn say_limit(&self, limit: Option<&Limit>) {
        let words = limit.map(|limit| match limit.until {
            Some(until) => format!("waits until {until}: {}", limit.why),
            None => format!("waits for you: {}", limit.why),
        });
        self.say(words.as_deref());
    }

    /// Says what it does at this moment, for those who look.
    fn say(&self, doing: Option<&str>) {
        if let Err(e) = self.seat.presence().set_doing(doing, self.in_the_background(), clock::now()) {
            tracing::warn!("{e}");
        }
    }
}

impl Outcome {
    /// For a log.
    fn words(&self) -> String {
        match self {
            Outcome::Posted => "it has posted".into(),
            Outcome::Silent(how) => format!("the turn ended without a post: {how}"),
            Outcome::Limited { until: Some(until), why } => format!("no model can be called before {until}: {why}"),
            Outcome::Limited { until: None, why } => format!("no model can be called: {why}"),
            Outcome::Failed(why) => format!("the turn failed: {why}"),
            Outcome::CutShort(why) => format!("the turn was cut short: {why}"),
        }
    }
}
