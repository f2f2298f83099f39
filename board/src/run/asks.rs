//! What waits for a person: one record, one answer each.
//!
//! An ask bears the number of the post that raised it. Answers to gates and questions stand in the thread, and this
//! record is repaired from it; those to notices stand here alone.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::disk::Dir;
use crate::error::{Refusal, Result, Rule};
use crate::post::{Decision, Post};
use crate::record::{Durable, Record};
use crate::task_id::TaskId;

/// What a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskKind {
    /// Whether an irreversible step may be taken.
    Gate,
    /// A question.
    Question,
    /// Something to know; an answer is welcome.
    Notice,
    /// Whether proposed tasks are to be worked on.
    Proposal,
    /// Something that nobody on the team may decide.
    Escalation,
    /// Something has failed.
    Failure,
}

impl AskKind {
    /// The word in records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            AskKind::Gate => "gate",
            AskKind::Question => "question",
            AskKind::Notice => "notice",
            AskKind::Proposal => "proposal",
            AskKind::Escalation => "escalation",
            AskKind::Failure => "failure",
        }
    }
}

/// The one answer to an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// When it was given.
    pub at: Timestamp,
    /// To a gate or a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Something that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Its number: that of the post which raised it.
    pub id: u64,
    /// What it asks for.
    pub kind: AskKind,
    /// Who asks.
    pub from: String,
    /// The post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The task that waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What it says.
    pub text: String,
    /// A capability that it keeps from the team until it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// Whether only a person's release lets go of what it holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Since when.
    pub at: Timestamp,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The turn that was shown the answer of a notice, and ended with a post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_in: Option<String>,
    /// Whether what it held was let go.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The commands that were run under an approved gate: each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<String>,
}

/// `asks.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    asks: Vec<Ask>,
}

/// The record of what waits for a person.
#[derive(Debug)]
pub struct Asks(Record<File>);

impl Asks {
    pub(super) fn of(dir: Arc<Dir>) -> Asks {
        Asks(Record::of(dir, "asks.json", Durable::Yes))
    }

    pub(super) fn check_format(&self) -> Result<()> {
        self.0.check_format()
    }

    /// All of them, by number; the answered ones too.
    pub fn all(&self) -> Result<Vec<Ask>> {
        Ok(self.0.read()?.asks)
    }

    /// Those without an answer.
    pub fn open(&self) -> Result<Vec<Ask>> {
        Ok(self.all()?.into_iter().filter(|ask| ask.answer.is_none()).collect())
    }

    /// The one of that number.
    pub fn get(&self, id: u64) -> Result<Ask> {
        self.all()?.into_iter().find(|ask| ask.id == id).ok_or_else(|| unknown(id))
    }

    /// Raises an ask. One of that number that is there already stays as it is.
    pub fn raise(&self, ask: Ask) -> Result<()> {
        self.0.update(|file| {
            if let Err(place) = file.asks.binary_search_by_key(&ask.id, |ask| ask.id) {
                file.asks.insert(place, ask);
            }
        })
    }

    /// Answers one. A second answer is refused, and the first stands.
    pub fn answer(&self, id: u64, answer: Answer) -> Result<Ask> {
        self.0.try_update(|file| {
            let ask = file.asks.iter_mut().find(|ask| ask.id == id).ok_or_else(|| unknown(id))?;
            if let Some(answer) = &ask.answer {
                return Err(answered(ask, answer));
            }
            ask.answer = Some(answer);
            Ok(ask.clone())
        })
    }

    /// Repairs one from the thread: an answer that stands there stands here.
    pub fn repair(&self, id: u64, answer: Answer) -> Result<()> {
        self.0.update(|file| {
            if let Some(ask) = file.asks.iter_mut().find(|ask| ask.id == id && ask.answer.is_none()) {
                ask.answer = Some(answer);
            }
        })
    }

    /// Changes one that is there.
    pub fn change(&self, id: u64, change: impl FnOnce(&mut Ask)) -> Result<Ask> {
        self.0.try_update(|file| {
            let ask = file.asks.iter_mut().find(|ask| ask.id == id).ok_or_else(|| unknown(id))?;
            change(ask);
            Ok(ask.clone())
        })
    }

    /// Changes whichever are to be changed.
    pub fn change_all(&self, mut change: impl FnMut(&mut Ask)) -> Result<()> {
        self.0.update(|file| file.asks.iter_mut().for_each(&mut change))
    }

    /// Takes an approved gate of a teammate as used for a command: the first that quotes it, and under which it was not run
    /// yet. `false`: there is none. That it is used is on disk before the answer; of several that ask at once for one gate,
    /// one gets `true`.
    pub fn use_gate(&self, from: &str, command: &str, quotes: impl Fn(&str) -> bool) -> Result<bool> {
        self.0.update(|file| {
            let gate = file.asks.iter_mut().find(|ask| ask.is_approved_gate_of(from) && !ask.used.iter().any(|used| used == command) && quotes(&ask.text));
            gate.map(|gate| gate.used.push(command.to_owned())).is_some()
        })
    }

    /// Takes out those that no longer mean anything.
    pub fn retain(&self, keep: impl FnMut(&Ask) -> bool) -> Result<()> {
        self.0.update(|file| file.asks.retain(keep))
    }
}

fn unknown(id: u64) -> crate::error::Error {
    Refusal::board(Rule::UnknownId, format!("nothing of number {id} was asked; `crew needs` lists what waits"))
}

pub(super) fn answered(ask: &Ask, answer: &Answer) -> crate::error::Error {
    let how = answer.decision.map_or("answered", Decision::as_str);
    Refusal::board(Rule::Answered, format!("the {} {} of {} was {how} at {}; there is one answer", ask.kind.as_str(), ask.id, ask.from, answer.at))
}

impl Ask {
    /// What a post asks, without an answer.
    pub fn of(kind: AskKind, post: &Post, from: String, text: String) -> Ask {
        Ask {
            id: post.seq,
            kind,
            from,
            seq: Some(post.seq),
            task: post.task.as_deref().and_then(|task| TaskId::new(task).ok()),
            text,
            holds: None,
            pinned: false,
            at: post.ts.unwrap_or_else(clock::now),
            answer: None,
            told_in: None,
            released: false,
            used: Vec::new(),
        }
    }

    fn is_approved_gate_of(&self, from: &str) -> bool {
        let decision = self.answer.as_ref().and_then(|answer| answer.decision);
        self.kind == AskKind::Gate && self.from == from && decision == Some(Decision::Approved)
    }

    /// Whether it keeps a capability from the team.
    pub fn is_holding(&self) -> bool {
        self.holds.is_some() && !self.released && (self.answer.is_none() || self.pinned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_each() {
        let temp = tempfile::tempdir().unwrap();
        let asks = Asks::of(Arc::new(Dir::open(temp.path()).unwrap()));
        let now = crate::clock::now();
        let gate = |id| Ask {
            id,
            kind: AskKind::Gate,
            from: "alice".into(),
            seq: Some(id),
            task: None,
            text: "push".into(),
            holds: None,
            pinned: false,
            at: now,
            answer: None,
            told_in: None,
            released: false,
            used: Vec::new(),
        };
        let yes = Answer { at: now, decision: Some(Decision::Approved), text: None };
        let no = Answer { decision: Some(Decision::Denied), ..yes.clone() };
        asks.raise(gate(7)).unwrap();
        asks.raise(gate(3)).unwrap();
        asks.raise(Ask { text: "again".into(), ..gate(7) }).unwrap();
        assert_eq!(asks.open().unwrap().iter().map(|ask| (ask.id, ask.text.as_str())).collect::<Vec<_>>(), [(3, "push"), (7, "push")]);
        assert!(asks.answer(4, yes.clone()).unwrap_err().is_refusal());
        asks.answer(3, yes.clone()).unwrap();
        assert!(asks.answer(3, no.clone()).unwrap_err().to_string().contains("approved"));
        asks.repair(3, no.clone()).unwrap();
        asks.repair(7, no.clone()).unwrap();
        assert_eq!(
            asks.all().unwrap().into_iter().map(|ask| ask.answer.unwrap().decision.unwrap()).collect::<Vec<_>>(),
            [Decision::Approved, Decision::Denied]
        );
    }
}
