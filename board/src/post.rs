//! A post: what a teammate, the user, the system or the audit says in the thread, and so does.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a post does. The list is closed: these six are the only ways that work moves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Talk. To `user` it is a question, and the run stops until there is an answer.
    Say,
    /// The repository changed.
    WorkDone,
    /// It is somebody else's turn.
    Handoff,
    /// Something outside has to happen first.
    Wait,
    /// An irreversible step needs an answer.
    Gate,
    /// The goal is reached.
    Done,
}

impl Kind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Kind; 6] = [Kind::Say, Kind::WorkDone, Kind::Handoff, Kind::Wait, Kind::Gate, Kind::Done];

    /// The word in the thread.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Say => "say",
            Kind::WorkDone => "work_done",
            Kind::Handoff => "handoff",
            Kind::Wait => "wait",
            Kind::Gate => "gate",
            Kind::Done => "done",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A yes or a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may be done.
    Approved,
    /// It may not.
    Denied,
}

impl Decision {
    /// The word in the thread.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Approved => "approved",
            Decision::Denied => "denied",
        }
    }
}

/// One line of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Its number: it only grows and has no holes. 0 in a file that leaves it out.
    #[serde(default)]
    pub seq: u64,
    /// A teammate, or `user`, `system` or `audit`.
    pub from: String,
    /// What it does.
    pub kind: Kind,
    /// What it says.
    #[serde(default)]
    pub text: String,
    /// Who is to speak next, as its author proposes; `user` for a question.
    #[serde(default)]
    pub handoff: Option<String>,
    /// When it was appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Timestamp>,
    /// The turn that it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The task that the turn held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// On `work_done`: whether the work was found in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credited: Option<bool>,
    /// The number of the post that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub re: Option<u64>,
    /// To a gate or a proposal: the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// On a post of the user: the id of the message in the inbox that it was, so that it is appended once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whom the user's own posts are from.
pub const USER: &str = "user";
/// Whom the notes of the run itself are from, decisions on gates among them.
pub const SYSTEM: &str = "system";
/// Whom the verdicts on `done` are from.
pub const AUDIT: &str = "audit";

impl Post {
    /// Whether a teammate wrote it.
    pub fn is_of_teammate(&self) -> bool {
        !crate::name::RESERVED.contains(&self.from.as_str())
    }

    /// Whether the user wrote it.
    pub fn is_of_user(&self) -> bool {
        self.from == USER
    }

    /// Whether it is a verdict on a `done`.
    pub fn is_of_audit(&self) -> bool {
        self.from == AUDIT
    }

    /// Whether it is work that was found in the tree. Where nothing is said about it, it was.
    pub fn is_work(&self) -> bool {
        self.kind == Kind::WorkDone && self.credited != Some(false)
    }

    /// Whether it asks the user.
    pub fn is_question(&self) -> bool {
        self.is_of_teammate() && self.kind == Kind::Say && self.handoff.as_deref() == Some(USER)
    }

    /// Whether it is a gate.
    pub fn is_gate(&self) -> bool {
        self.is_of_teammate() && self.kind == Kind::Gate
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Kind, String> {
        let kinds = Kind::ALL.map(Kind::as_str);
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| format!("a post is one of {}", kinds.join(", ")))
    }
}
