//! What the daemon hears: posts in the thread, and what the user has sent.

use board::Result;
use board::facts::Phase;
use board::post::{Post, SYSTEM, USER};
use board::thread::Draft;

use super::Daemon;
use crate::run::PATIENCE;
use crate::run::effects::Effects;
use crate::run::planning;
use crate::run::recording::Wanted;

impl Daemon {
    /// The posts that are new, with their effects applied.
    pub(super) fn take_new(&mut self) -> Result<Vec<Post>> {
        let mut new = self.window.take_new(&self.run)?;
        if self.is_new {
            // What the last daemon had read and not done with.
            new = self.run.thread.since(self.state.applied)?;
        }
        let told = if self.is_new { self.told_until()? } else { 0 };
        for post in &new {
            let effects = Effects { run: &self.run, patterns: &self.settings.patterns, gate_mode: self.settings.gate_mode };
            effects.on_asks(post)?;
            if let (SYSTEM, Some(number), Some(decision)) = (post.from.as_str(), post.re, post.decision) {
                planning::settle(&mut self.board, &self.run, number, decision)?;
            }
            if post.seq > told {
                self.tell("post", serde_json::json!(post));
            }
            if post.task.is_some() {
                self.on_task_post(post)?;
            } else if post.is_of_teammate() {
                self.on_work(post)?;
            }
        }
        Ok(new)
    }

    /// Work is credited, and put on record; what is not credited is said.
    fn on_work(&mut self, post: &Post) -> Result<()> {
        if post.is_work() {
            self.wanted = Some(Wanted::of(post));
        } else if post.credited == Some(false) {
            let turn = self.run.open_turn()?.filter(|open| post.turn.as_ref() == Some(&open.turn));
            let why = match turn {
                Some(open) if open.base.is_none() => "there is no git repository here, and so nothing that shows the work",
                Some(open) if open.shared => "a task was worked on in the same tree meanwhile, and nothing tells whose the change is",
                _ => "the tree shows no work of this turn",
            };
            self.run.note(post.seq, format!("the work_done of {} is not credited: {why}", post.from))?;
        }
        Ok(())
    }

    /// Work in a lane that was credited when it was posted ends a row of talk. What its check has yet to show counts when
    /// the task is completed.
    fn on_task_post(&mut self, post: &Post) -> Result<()> {
        match post.credited == Some(true) {
            true => self.change_state(|state| state.lane_work = state.lane_work.max(post.seq)),
            false => Ok(()),
        }
    }

    /// The last post that the events have.
    fn told_until(&self) -> Result<u64> {
        let last = self.events.last(1000)?;
        Ok(last.iter().rev().find(|event| event["event"] == "post").and_then(|event| event["seq"].as_u64()).unwrap_or(0))
    }

    /// Brings what the user has said into the thread, each message once. `true`: there was something.
    pub(super) fn drain_inbox(&mut self) -> Result<bool> {
        let inbox = self.run.inbox()?;
        if inbox.is_empty() {
            return Ok(false);
        }
        let waiting = inbox.read(None)?;
        if waiting.malformed > 0 {
            self.tell("inbox.malformed", serde_json::json!({ "lines": waiting.malformed, "file": "inbox/user.malformed" }));
        }
        let waiting = waiting.messages;
        let mut thread = self.run.thread.lock(PATIENCE)?;
        for message in &waiting {
            let is_there = thread.since(message.after.unwrap_or(0))?.iter().any(|post| post.message.as_ref() == Some(&message.id));
            if !is_there {
                thread.append(Draft { from: USER.into(), text: message.text.clone(), message: Some(message.id.clone()), ..Draft::default() })?;
            }
        }
        drop(thread);
        board::crash::point("inbox.appended");
        inbox.consume(&waiting.iter().map(|message| message.id.clone()).collect::<Vec<_>>())?;
        Ok(!waiting.is_empty())
    }

    /// A task completed by its command is work too, though nobody posts it.
    pub(super) fn count_lane_work(&mut self) -> Result<()> {
        let completed = self.board.index().entries().filter_map(|(_, entry)| entry.facts()).filter(|facts| facts.status == Phase::Completed).count() as u64;
        let last = self.window.last();
        match self.state.completed_tasks {
            Some(before) if before == completed => Ok(()),
            before => self.change_state(|state| {
                if before.is_some_and(|before| completed > before) {
                    state.lane_work = last;
                }
                state.completed_tasks = Some(completed);
            }),
        }
    }
}
