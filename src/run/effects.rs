//! What a post brings about. A post is appended first and its effect comes after, so every effect is made to bear
//! being applied again: whoever goes on after a crash begins with the last post of which all is known to be done.

use board::post::{Decision, Post, SYSTEM};
use board::run::{Answer, Ask, AskKind, Run};
use board::{Result, clock};
use teammates::config::GateMode;

use crate::rules::gate::{self, Patterns};
use crate::run::noticing;

/// What the effects of posts need to know.
pub(crate) struct Effects<'a> {
    /// The records.
    pub(crate) run: &'a Run,
    /// Which gates answer themselves.
    pub(crate) patterns: &'a Patterns,
    /// What becomes of the others.
    pub(crate) gate_mode: GateMode,
}

impl Effects<'_> {
    /// Applies the effects of a post on what waits for a person, as far as they are not there.
    pub(crate) fn on_asks(&self, post: &Post) -> Result<()> {
        if post.is_of_user() {
            return self.user_has_spoken(post);
        }
        if let (SYSTEM, Some(re), Some(decision)) = (post.from.as_str(), post.re, post.decision) {
            return self.run.asks.repair(re, Answer { at: post.ts.unwrap_or_else(clock::now), decision: Some(decision), text: Some(post.text.clone()) });
        }
        if let Some(notice) = noticing::told_by(post) {
            self.run.asks.raise(notice)?;
        } else if post.is_gate() {
            self.raise(AskKind::Gate, post)?;
            board::crash::point("gate.raised");
            self.decide(post)?;
        } else if post.is_question() {
            self.raise(AskKind::Question, post)?;
        }
        Ok(())
    }

    fn raise(&self, kind: AskKind, post: &Post) -> Result<()> {
        self.run.asks.raise(Ask::of(kind, post, post.from.clone(), post.text.clone()))
    }

    /// A gate that a pattern or the mode decides.
    fn decide(&self, post: &Post) -> Result<()> {
        let (decision, why) = match self.patterns.decide(&post.text, self.gate_mode) {
            gate::Decision::Denied(pattern) => (Decision::Denied, format!("gateAutoDeny has {pattern:?}")),
            gate::Decision::Approved(Some(pattern)) => (Decision::Approved, format!("gateAutoApprove has {pattern:?}")),
            gate::Decision::Approved(None) => (Decision::Approved, "gateMode is auto".into()),
            gate::Decision::Waits => return Ok(()),
        };
        match self.run.decide(post.seq, decision, Some(&why)) {
            // A person was faster, or this has been done before.
            Err(e) if e.is_refusal() => Ok(()),
            decided => decided.map(drop),
        }
    }

    /// A message of the user answers what teammates asked in the thread, and lets go of what notices hold.
    fn user_has_spoken(&self, post: &Post) -> Result<()> {
        let answer = Answer { at: post.ts.unwrap_or_else(clock::now), decision: None, text: Some(post.text.clone()) };
        self.run.asks.change_all(|ask| {
            let asked = ask.kind == AskKind::Question && ask.answer.is_none() && ask.id < post.seq;
            let meant = match (&post.task, post.re) {
                (Some(_), re) => re == Some(ask.id),
                (None, _) => ask.task.is_none(),
            };
            if asked && meant {
                ask.answer = Some(answer.clone());
            }
            if ask.holds.is_some() && !ask.pinned && ask.id < post.seq {
                ask.released = true;
            }
        })
    }
}
