//! The part of the thread that decisions look at, kept in memory: what it costs does not grow with the thread.

use std::collections::BTreeMap;

use board::Result;
use board::post::Post;
use board::run::{AskKind, Run};

/// So many posts are enough for every rule but what is open; that is reached back to.
const ENOUGH: usize = 256;

/// The end of the thread.
#[derive(Debug)]
pub(crate) struct Window {
    /// Posts that hold no task, oldest first.
    pub(crate) posts: Vec<Post>,
    /// The number of each teammate's last such post.
    pub(crate) last_seq: BTreeMap<String, u64>,
    /// The last post that was read, of whichever kind.
    last: u64,
}

impl Window {
    /// The end of the thread as it is.
    pub(crate) fn of(run: &Run) -> Result<Window> {
        let mut posts = run.thread.last(ENOUGH)?;
        let open = run.asks.open()?.into_iter().filter(|ask| ask.task.is_none() && matches!(ask.kind, AskKind::Gate | AskKind::Question));
        if let Some(first) = open.map(|ask| ask.id).min().filter(|first| posts.first().is_some_and(|post| post.seq > *first)) {
            posts = run.thread.since(first - 1)?;
        }
        let cursors = run.cursors.read()?;
        let spoke = cursors.teammates.into_iter().filter(|(_, cursor)| cursor.spoke > 0).map(|(name, cursor)| (name, cursor.spoke));
        let mut window = Window { last: run.thread.last_seq()?, last_seq: spoke.collect(), posts: Vec::new() };
        posts.into_iter().for_each(|post| window.put(post));
        Ok(window)
    }

    /// What is new in the thread.
    pub(crate) fn take_new(&mut self, run: &Run) -> Result<Vec<Post>> {
        let new = run.thread.since(self.last)?;
        for post in &new {
            self.last = post.seq;
            self.put(post.clone());
        }
        self.shorten();
        Ok(new)
    }

    /// The last post that was read.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    fn put(&mut self, post: Post) {
        if post.task.is_none() {
            if post.is_of_teammate() {
                self.last_seq.insert(post.from.clone(), post.seq);
            }
            self.posts.push(post);
        }
    }

    /// Forgets what no rule looks at: nothing open lies behind the last decision on a gate and the user's last word.
    fn shorten(&mut self) {
        if self.posts.len() < 4 * ENOUGH {
            return;
        }
        let kept = self.posts.len() - ENOUGH;
        let is_decided = |gate: &Post| self.posts.iter().any(|post| !post.is_of_teammate() && post.re == Some(gate.seq));
        let open = self.posts.iter().position(|post| (post.is_gate() || post.is_question()) && !is_decided(post));
        self.posts.drain(..open.unwrap_or(kept).min(kept));
    }
}
