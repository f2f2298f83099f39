//! How a run stands.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::alive::{Liveness, Process};

/// Where a run is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Nothing was begun, or there was nothing to do.
    #[default]
    Idle,
    /// The first turn writes the tasks.
    Planning,
    /// The tasks wait for a person's approval.
    Proposed,
    /// Turns are given, tasks are worked on.
    Running,
    /// Something outside has to happen first.
    Waiting,
    /// Every provider is at its limit; it goes on by itself.
    RateLimited,
    /// A gate waits for a person.
    Gated,
    /// A question waits for a person.
    AwaitingUser,
    /// It stopped by itself, or was asked to, and goes on when it is told to.
    Paused,
    /// A person stopped it.
    Stopped,
    /// The goal is reached, and an audit has accepted that.
    Completed,
    /// It cannot go on.
    Error,
}

impl RunState {
    /// Every one of them.
    pub const ALL: [RunState; 12] = [
        RunState::Idle,
        RunState::Planning,
        RunState::Proposed,
        RunState::Running,
        RunState::Waiting,
        RunState::RateLimited,
        RunState::Gated,
        RunState::AwaitingUser,
        RunState::Paused,
        RunState::Stopped,
        RunState::Completed,
        RunState::Error,
    ];

    /// The word in records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Idle => "idle",
            RunState::Planning => "planning",
            RunState::Proposed => "proposed",
            RunState::Running => "running",
            RunState::Waiting => "waiting",
            RunState::RateLimited => "rate_limited",
            RunState::Gated => "gated",
            RunState::AwaitingUser => "awaiting_user",
            RunState::Paused => "paused",
            RunState::Stopped => "stopped",
            RunState::Completed => "completed",
            RunState::Error => "error",
        }
    }

    /// Whether a daemon is at work in it. One that dies in such a state has crashed, and is started again.
    pub fn is_active(self) -> bool {
        matches!(self, RunState::Planning | RunState::Running | RunState::Waiting | RunState::RateLimited)
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run is in its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// For programs: `silent_turns`, `talk`, `gate` …
    pub code: String,
    /// Whom it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// For people: what happened, and what goes on from there.
    pub text: String,
    /// Since when.
    pub at: Timestamp,
    /// When it goes on by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Turns in a row of one teammate that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// Whose.
    pub who: String,
    /// How many.
    pub count: u32,
    /// The last of them.
    #[serde(default)]
    pub turn: String,
}

/// An audit that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Its id: what it runs bears it as its turn.
    pub id: String,
    /// Its process; `None` while it is being begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

/// `state.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// Where it is in its life.
    pub state: RunState,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// How often a daemon has begun.
    pub starts: u64,
    /// The daemon's process; it may have died since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Process>,
    /// The teammates' processes that daemons of this run have started; they may have died since.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hired: BTreeMap<String, Process>,
    /// The audit that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// The last post whose effects are all there.
    pub applied: u64,
    /// When a credited task was last seen to be completed in a lane, as the thread's last number then.
    pub lane_work: u64,
    /// How many tasks were completed when the daemon last counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_tasks: Option<u64>,
    /// The last post when a person last let the run go on: what lies before does not stop it again.
    pub resumed: u64,
    /// Whether a planning turn had nothing to propose: then none follows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unplanned: bool,
    /// Turns that ended with no post, by the last to do so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<Silent>,
    /// Turns in a row that ended with the process of their teammate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Silent>,
    /// The tree with which the run began, by which its audits see what it has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The tree that the last audit accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// What it has spent, in US dollars.
    #[serde(skip_serializing_if = "is_zero")]
    pub spent_usd: f64,
    /// How much of the ledger of calls is counted in that, in bytes; `None`: nothing was counted yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// What is not known here.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(amount: &f64) -> bool {
    *amount == 0.0
}

impl Silent {
    /// Counts a turn, once.
    pub fn count(kept: &mut Option<Silent>, who: &str, turn: &str) {
        let before = kept.take().filter(|silent| silent.who == who);
        // A crash before the turn is closed must not count it twice.
        let again = before.as_ref().is_some_and(|silent| silent.turn == turn);
        let count = before.map_or(0, |silent| silent.count) + u32::from(!again);
        *kept = Some(Silent { who: who.to_owned(), count, turn: turn.to_owned() });
    }
}

impl State {
    /// Somebody wants it to go on: what had stopped it does not stop it again at once. `last`: the last post.
    pub fn go_on(&mut self, last: u64) {
        if self.state == RunState::Paused {
            self.resumed = last;
        }
        (self.silent, self.lost, self.reason, self.state) = (None, None, None, RunState::Running);
    }

    /// Whether the daemon that it names lives. What cannot be asked counts as alive.
    pub fn is_alive(&self) -> bool {
        self.daemon.as_ref().is_some_and(|daemon| daemon.liveness() != Liveness::Dead)
    }
}
