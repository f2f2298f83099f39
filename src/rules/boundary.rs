//! What a run does between two turns of the thread.

use std::collections::BTreeMap;
use std::time::Duration;

use board::post::{Decision, Kind, Post};
use board::run::{Limit, OnlyWork, RunState, State};
use jiff::Timestamp;
use teammates::waits::Waits;

use super::planning::Stage;
use super::scheduler::{self, Asked, Seat, Situation};
use super::{talk, wait};

/// How often in a row a teammate may end a turn with no post.
pub(crate) const MOST_SILENT_TURNS: u32 = 3;

/// Why a run has ended that has spent all that it may.
pub(crate) const SPEND_BUDGET: &str = "spend_budget";

/// What the configuration allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Turns of talk in a row.
    pub(crate) max_talk_turns: u32,
    /// Audits.
    pub(crate) max_accept_checks: u32,
    /// Turns in a row that a teammate's death has cut short.
    pub(crate) max_lost: u32,
    /// Of a wait.
    pub(crate) waits: Waits,
    /// A wait altogether.
    pub(crate) longest_wait: Duration,
    /// A run of the daemon; `None`: without end.
    pub(crate) longest_run: Option<Duration>,
    /// US dollars; `None`: without limit.
    pub(crate) most_usd: Option<f64>,
}

/// What a person has asked of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// End now, and keep everything.
    Stop,
    /// End at the next turn boundary.
    Pause,
}

/// What of the board matters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Somebody works on a task, or soon can.
    pub(crate) goes_on: bool,
    /// When a task that waits for a time can be taken up.
    pub(crate) due: Option<Timestamp>,
    /// There is a task that only teammates could take up whose models are at their limit: the one that is over first.
    pub(crate) limit: Option<Limit>,
}

impl Work {
    /// A task can be taken up at that time.
    pub(crate) fn comes(&mut self, at: Timestamp) {
        self.goes_on = true;
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

/// What is known at a boundary.
#[derive(Debug, Clone)]
pub(crate) struct Known<'a> {
    /// The posts that hold no task, oldest first: the last of them.
    pub(crate) posts: &'a [Post],
    /// The number of each teammate's last such post.
    pub(crate) last_seq: &'a BTreeMap<String, u64>,
    /// Who can take a turn.
    pub(crate) roster: &'a [Seat],
    /// What is kept of the run.
    pub(crate) state: &'a State,
    /// Where it stands with its plan.
    pub(crate) plan: &'a Stage,
    /// What it may.
    pub(crate) limits: &'a Limits,
    /// What was asked of it.
    pub(crate) request: Option<Request>,
    /// Whether there is a goal, or anything that the user has said.
    pub(crate) has_scope: bool,
    /// The board.
    pub(crate) work: Work,
    /// How long this daemon has run.
    pub(crate) ran: Duration,
    /// The present.
    pub(crate) now: Timestamp,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The run ends, in a state that is not active.
    End {
        /// The state.
        state: RunState,
        /// The reason's code.
        code: &'static str,
        /// Whom it is about.
        who: Option<String>,
        /// In words.
        text: String,
    },
    /// A turn is given.
    Speak {
        /// To whom.
        who: String,
        /// By which rule of the scheduler, and why.
        why: String,
        /// Whether it plans.
        planning: bool,
        /// What it may post.
        only_work: Option<OnlyWork>,
        /// What is to be said in the thread first.
        warn: Option<String>,
    },
    /// A `done` is audited: the post of that number.
    Audit(u64),
    /// Nothing can be done until something happens, or that moment.
    Sleep {
        /// `waiting`, or `running` while a task is worked on.
        state: RunState,
        /// When to look again.
        until: Option<Timestamp>,
        /// In words.
        why: String,
    },
}

/// Decides.
pub(crate) fn next(known: &Known<'_>) -> Step {
    asked(known)
        .or_else(|| exhausted(known))
        .or_else(|| proposed(known))
        .or_else(|| claimed_done(known))
        .or_else(|| stuck(known))
        .unwrap_or_else(|| speak(known))
}

fn end(state: RunState, code: &'static str, who: Option<&str>, text: impl Into<String>) -> Step {
    Step::End { state, code, who: who.map(str::to_owned), text: text.into() }
}

fn asked(known: &Known<'_>) -> Option<Step> {
    Some(match known.request? {
        Request::Stop => end(RunState::Stopped, "stop", None, "a person stopped it; `crew start` goes on"),
        Request::Pause => end(RunState::Paused, "pause", None, "a person paused it; `crew start` goes on"),
    })
}

fn exhausted(known: &Known<'_>) -> Option<Step> {
    if let Some(silent) = known.state.silent.as_ref().filter(|silent| silent.count >= MOST_SILENT_TURNS) {
        let text =
            format!("{} has ended {} turns in a row without a post; `crew logs {}` says why, and `crew start` goes on", silent.who, silent.count, silent.turn);
        return Some(end(RunState::Paused, "silent_turns", Some(&silent.who), text));
    }
    if let Some(lost) = known.state.lost.as_ref().filter(|lost| lost.count >= known.limits.max_lost) {
        let text = format!(
            "the process of {} has died in {} turns in a row (maxLost); `crew logs {}` is its log, and `crew start` goes on",
            lost.who, lost.count, lost.who
        );
        return Some(end(RunState::Paused, "lost_turns", Some(&lost.who), text));
    }
    if let Some(most) = known.limits.longest_run.filter(|most| known.ran >= *most) {
        let text = format!("it has run for {}, which is all of maxRunMin; `crew start` gives it as much again", board::duration::print(most));
        return Some(end(RunState::Paused, "run_budget", None, text));
    }
    if let Some(most) = known.limits.most_usd.filter(|most| known.state.spent_usd >= *most) {
        let text = format!("it has spent {:.2} of {most:.2} US dollars (maxSpendUsd); raise it in .crew/config.toml, then `crew start`", known.state.spent_usd);
        return Some(end(RunState::Paused, SPEND_BUDGET, None, text));
    }
    None
}

/// Tasks that wait for a person's approval.
fn proposed(known: &Known<'_>) -> Option<Step> {
    let Stage::Proposed(number, who) = known.plan else { return None };
    let text = format!(
        "{who} has proposed tasks; `crew needs` shows them, and they can be edited in .tasks/; `crew approve {number}` lets them be worked on, `crew deny {number} --because \"…\"` has it planned anew"
    );
    Some(end(RunState::Proposed, "proposal", Some(who), text))
}

/// A `done` that the thread ends with, and its audit.
fn claimed_done(known: &Known<'_>) -> Option<Step> {
    let at = known.posts.iter().rposition(|post| post.is_of_teammate() || post.is_of_user())?;
    let done = &known.posts[at];
    if done.kind != Kind::Done || !done.is_of_teammate() {
        return None;
    }
    let verdict = known.posts[at..].iter().find(|post| post.is_of_audit() && post.re == Some(done.seq));
    match verdict.map(|verdict| verdict.decision) {
        Some(Some(Decision::Approved)) => {
            Some(end(RunState::Completed, "accepted", Some(&done.from), "the goal is reached; `crew send \"…\"` says what is next"))
        }
        Some(_) => None,
        None if audits(known) >= known.limits.max_accept_checks => {
            let text = format!(
                "{} says that the goal is reached, and {} audits have not accepted that (maxAcceptChecks); read the gaps with `crew thread`, then `crew send \"…\"` or `crew start`",
                done.from, known.limits.max_accept_checks
            );
            Some(end(RunState::Paused, "audits", Some(&done.from), text))
        }
        None => Some(Step::Audit(done.seq)),
    }
}

/// Audits since the user has spoken, or a person has let the run go on.
fn audits(known: &Known<'_>) -> u32 {
    let row = known.posts.iter().rev().take_while(|post| post.seq > known.state.resumed && !post.is_of_user());
    u32::try_from(row.filter(|post| post.is_of_audit()).count()).unwrap_or(u32::MAX)
}

/// Too much of what brings nothing.
fn stuck(known: &Known<'_>) -> Option<Step> {
    let limits = known.limits;
    if let Some(row) = wait::row(known.posts, known.state.resumed) {
        if row.is_too_long(limits.longest_wait) {
            let text = format!(
                "{} has waited for {} and has to wait on (maxWaitMin); `crew send \"…\"` ends the wait, `crew start` lets it wait on",
                row.author,
                board::duration::print(limits.longest_wait)
            );
            return Some(end(RunState::Paused, "wait", Some(&row.author), text));
        }
        let due = row.due(limits.waits, limits.longest_wait);
        if due > known.now {
            let until = [Some(due), known.work.due].into_iter().flatten().min();
            return Some(Step::Sleep { state: RunState::Waiting, until, why: format!("{} waits for something outside", row.author) });
        }
    }
    let streak = streak(known);
    talk::is_hopeless(streak, limits.max_talk_turns).then(|| {
        let text = format!("{streak} turns in a row brought no verified work; read them with `crew thread`, then `crew send \"…\"` or `crew start`");
        end(RunState::Paused, "talk", None, text)
    })
}

fn streak(known: &Known<'_>) -> u32 {
    talk::streak(known.posts, known.state.lane_work.max(known.state.resumed))
}

fn speak(known: &Known<'_>) -> Step {
    if known.roster.is_empty() || !known.has_scope {
        return without_turns(known);
    }
    let next = scheduler::next(Situation { posts: known.posts, last_seq: known.last_seq, roster: known.roster });
    let at_limit = |who: &str| known.roster.iter().find(|seat| seat.name == who).and_then(|seat| seat.limit.as_ref());
    match next.next {
        Some(who) if let Some(limit) = at_limit(&who) => limited(known, limit, Some(&who)),
        Some(who) => {
            let planning = matches!(known.plan, Stage::Due { .. });
            if let Some(author) = planner(known) {
                return Step::Speak { why: "its proposal was denied".into(), who: author.to_owned(), planning, only_work: None, warn: None };
            }
            // To plan is no talk, and no work either.
            let only_work = if planning { None } else { talk::restriction(streak(known), known.limits.max_talk_turns, &who, known.roster) };
            Step::Speak { why: format!("{} (rule {})", next.why, next.rule), who, planning, only_work, warn: next.warn }
        }
        None => waits_for(&next).or_else(|| nobody_can(known)).unwrap_or_else(|| Step::Sleep {
            state: RunState::Running,
            until: known.work.due,
            why: next.why.clone(),
        }),
    }
}

/// Where nobody is free, and not because they are at work: models are at their limit.
fn nobody_can(known: &Known<'_>) -> Option<Step> {
    let limits = known.roster.iter().filter_map(|seat| Some((seat.name.as_str(), seat.limit.as_ref()?)));
    let (who, limit) = limits.min_by_key(|(_, limit)| limit.until.unwrap_or(Timestamp::MAX))?;
    (!known.work.goes_on).then(|| limited(known, limit, Some(who)))
}

/// Nothing can be done before a limit is over.
fn limited(known: &Known<'_>, limit: &Limit, who: Option<&str>) -> Step {
    match limit.until {
        Some(until) => Step::Sleep {
            state: if known.work.goes_on { RunState::Running } else { RunState::RateLimited },
            until: [Some(until), known.work.due].into_iter().flatten().min(),
            why: format!("{}; it goes on by itself (`crew stop`, then `crew start`, tries now)", limit.why.trim_end_matches('.')),
        },
        None if known.work.goes_on => Step::Sleep { state: RunState::Running, until: known.work.due, why: limit.why.clone() },
        None => end(RunState::Paused, "provider", who, format!("{}; mend that, then `crew start`", limit.why.trim_end_matches('.'))),
    }
}

/// Whoever has to plan anew, where that is somebody who can.
fn planner<'a>(known: &Known<'a>) -> Option<&'a str> {
    let last = known.posts.iter().rfind(|post| post.is_of_teammate()).map(|post| post.seq);
    known.plan.again(last).filter(|who| known.roster.iter().any(|seat| seat.name == *who && seat.free))
}

/// The end of a run that waits for the user.
fn waits_for(next: &scheduler::Next) -> Option<Step> {
    let (state, code) = match next.open? {
        Asked::Gate(_) => (RunState::Gated, "gate"),
        Asked::Question(_) => (RunState::AwaitingUser, "question"),
    };
    Some(end(state, code, None, format!("{}; `crew needs` shows it, and how to answer", next.why)))
}

/// Nobody speaks in the thread: then it is about the tasks alone.
fn without_turns(known: &Known<'_>) -> Step {
    if known.work.goes_on {
        return Step::Sleep { state: RunState::Running, until: known.work.due, why: "the tasks are worked on".into() };
    }
    if let Some(limit) = &known.work.limit {
        return limited(known, limit, None);
    }
    let text = match known.roster.is_empty() {
        true => "no task can go on, and no teammate in .crew/teammates/ can take a turn in the thread; `crew add` brings tasks, then `crew start`",
        false => "there is no goal and nobody has said anything; `crew goal \"…\"` says what is to be reached, then `crew start`",
    };
    end(RunState::Idle, "nothing_to_do", None, text)
}

#[cfg(test)]
#[path = "boundary/tests.rs"] // Also where a benchmark takes this file in.
mod tests;
