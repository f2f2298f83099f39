//! The turn of the thread that is open: whose it is, what it may post, and how it stands. Changed under the thread's
//! lock alone.
//!
//! `turn.json` need not survive a power cut: a turn does not either.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alive::Process;
use crate::disk::Dir;
use crate::error::{Error, Refusal, Result, Rule};
use crate::post::{Kind, Post, USER};
use crate::thread::{Appended, Draft, LockedThread};
use crate::tree;

pub(super) const FILE: &str = "turn.json";

/// A turn that was given to a teammate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// Its id.
    pub turn: String,
    /// Whose it is.
    pub of: String,
    /// Since when.
    pub opened: Timestamp,
    /// The thread's last number when it was opened: its post comes after.
    pub after: u64,
    /// Where only work is accepted: what else is, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_work: Option<OnlyWork>,
    /// The working tree at its beginning; `None`: there is no repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<tree::State>,
    /// Whether somebody else worked in the same tree meanwhile.
    #[serde(default)]
    pub shared: bool,
    /// Whether it plans: the tasks that are made in it are a proposal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planning: bool,
    /// Whether the last turn of its teammate was cut short.
    #[serde(default)]
    pub again: bool,
    /// The process that performs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Begun>,
    /// How that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// What it told the user, as the number of that notice: one a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<u64>,
    /// Whether something was posted that it does not accept: then its exit code alone shows no work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Why it is to end now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// Who took a turn up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The teammate's process.
    pub process: Process,
    /// When.
    pub at: Timestamp,
    /// The last post that it was shown.
    #[serde(default)]
    pub seen: u64,
    /// The notices whose answers it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<u64>,
}

/// How the command of a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code, where it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// In words.
    pub how: String,
    /// Whether the teammate's own process died, and the turn with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Whether every model of its teammate was at its limit: then the turn is no silent one, and is given again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
}

/// The restriction of a turn after too much talk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnlyWork {
    /// Turns in a row without verified work.
    pub turns: u32,
    /// For a teammate that does not write: to whom it may hand the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<String>,
}

/// What a teammate posts.
#[derive(Debug, Clone)]
pub struct Move {
    /// What it does.
    pub kind: Kind,
    /// What it says.
    pub text: String,
    /// Who is to speak next.
    pub handoff: Option<String>,
    /// On `work_done`: whether the work was found in the tree.
    pub credited: Option<bool>,
}

impl OnlyWork {
    /// Whether a move is among what is accepted.
    pub fn accepts(&self, kind: Kind, handoff: Option<&str>) -> bool {
        match kind {
            Kind::WorkDone => true,
            Kind::Say => handoff == Some(USER),
            Kind::Handoff => handoff.is_some_and(|to| self.writers.iter().any(|writer| writer == to)),
            _ => false,
        }
    }

    /// What is accepted, in words.
    pub fn accepted(&self) -> String {
        let handoff = match self.writers.is_empty() {
            true => String::new(),
            false => format!(", or a handoff to one that writes ({})", self.writers.join(", ")),
        };
        format!("`work_done` for work that is in the tree, a `say` to the user (--handoff user){handoff}")
    }
}

pub(super) fn read(dir: &Dir) -> Result<Option<OpenTurn>> {
    match dir.read(FILE)? {
        None => Ok(None),
        // What a power cut has left of it is no turn.
        Some(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or(None)),
    }
}

impl LockedThread<'_> {
    /// The turn that is open.
    pub fn open_turn(&self) -> Result<Option<OpenTurn>> {
        read(self.dir())
    }

    /// Opens a turn, changes the one that is open, or closes it.
    pub fn set_open_turn(&self, turn: Option<&OpenTurn>) -> Result<()> {
        let dir: &Arc<Dir> = self.dir();
        let text = serde_json::to_vec(&turn).map_err(|e| Error::io("write", dir.join(FILE), std::io::Error::from(e)))?;
        dir.replace(FILE, &text, 0o600, false)
    }

    /// The post that ended a turn, if it has one.
    pub fn post_of(&self, turn: &OpenTurn) -> Result<Option<Post>> {
        Ok(self.since(turn.after)?.into_iter().find(|post| post.turn.as_ref() == Some(&turn.turn)))
    }

    /// Appends the post that ends the open turn. Refused, with the thread as it was: of somebody who does not hold it,
    /// under the id of another turn, a second one, and what the turn does not accept.
    pub fn post(&mut self, who: &str, turn: Option<&str>, said: Move) -> Result<Appended> {
        let open = self.open_turn_of(who, turn)?;
        if let Some(post) = self.post_of(&open)? {
            let message = format!("the turn {} has ended with post {}; a turn has one post", open.turn, post.seq);
            return Err(Refusal::board(Rule::SecondPost, message));
        }
        if let Some(only) = open.only_work.as_ref().filter(|only| !only.accepts(said.kind, said.handoff.as_deref())) {
            self.set_open_turn(Some(&OpenTurn { refused: true, ..open.clone() }))?;
            let message =
                format!("{} turns in a row brought no verified work, so `{}` is not accepted now; what is: {}", only.turns, said.kind, only.accepted());
            return Err(Refusal::board(Rule::NotAccepted, message));
        }
        let Move { kind, text, handoff, credited } = said;
        self.append(Draft { from: who.to_owned(), kind: Some(kind), text, handoff, turn: Some(open.turn), credited, ..Draft::default() })
    }

    /// The open turn, if it is this teammate's, and the one that is meant.
    pub fn open_turn_of(&self, who: &str, turn: Option<&str>) -> Result<OpenTurn> {
        let open = self.open_turn()?;
        let Some(open) = open.filter(|open| turn.is_none_or(|turn| turn == open.turn)) else {
            return Err(match turn {
                Some(turn) => Refusal::board(Rule::TurnOver, format!("the turn {turn} is over")),
                None => Refusal::board(Rule::NoTurn, format!("no turn is open, so {who} has none; `crew status` says how the run stands")),
            });
        };
        if open.of != who {
            return Err(Refusal::board(Rule::NoTurn, format!("it is {}'s turn, not {who}'s; `crew thread next` says who speaks next", open.of)));
        }
        if let Some(why) = &open.stop {
            return Err(Refusal::board(Rule::TurnOver, format!("the turn {} is over: {why}", open.turn)));
        }
        Ok(open)
    }
}
