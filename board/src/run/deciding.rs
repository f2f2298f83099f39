//! Decisions and notes in the thread on a post that is there: each at most once, whoever writes it, and however often it
//! is tried.

use std::time::Duration;

use super::Run;
use super::asks::{self, Answer};
use crate::clock;
use crate::crash;
use crate::error::Result;
use crate::post::{Decision, Kind, Post, SYSTEM};
use crate::thread::{Appended, Draft};

/// How long the thread's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

impl Run {
    /// Decides on a gate or a proposal: one append under the thread's lock, refused if there is a decision already. The
    /// record of what waits for a person is made to say what the thread says.
    pub fn decide(&self, number: u64, decision: Decision, why: Option<&str>) -> Result<Appended> {
        let ask = self.asks.get(number)?;
        self.asks.check_format()?;
        let mut thread = self.thread.lock(PATIENCE)?;
        let decided = thread.since(number)?.into_iter().find(|post| post.from == SYSTEM && post.re == Some(number) && post.decision.is_some());
        if let Some(post) = decided {
            drop(thread);
            let answer = answer(&post);
            self.asks.repair(number, answer.clone())?;
            return Err(asks::answered(&ask, &answer));
        }
        let text = why.map_or_else(|| decision.as_str().to_owned(), |why| format!("{}: {why}", decision.as_str()));
        let task = ask.task.map(|task| task.to_string());
        let appended = thread.append(Draft { from: SYSTEM.into(), text, re: Some(number), decision: Some(decision), task, ..Draft::default() })?;
        drop(thread);
        crash::point("gate.decided");
        self.asks.repair(number, answer(&appended.post))?;
        Ok(appended)
    }

    /// Says something about a post in the thread, unless that has been done. `None`: it has.
    pub fn note(&self, number: u64, text: String) -> Result<Option<Appended>> {
        let mut thread = self.thread.lock(PATIENCE)?;
        if thread.since(number)?.iter().any(|post| post.from == SYSTEM && post.re == Some(number) && post.decision.is_none()) {
            return Ok(None);
        }
        thread.append(Draft { from: SYSTEM.into(), kind: Some(Kind::Say), text, re: Some(number), ..Draft::default() }).map(Some)
    }
}

fn answer(post: &Post) -> Answer {
    Answer { at: post.ts.unwrap_or_else(clock::now), decision: post.decision, text: Some(post.text.clone()) }
}
