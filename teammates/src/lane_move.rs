//! What a post brings about for the task that its turn holds.

use board::clock;
use board::post::{Kind, Post, USER};
use board::task::{Outcome, Parked, Task};
use board::transition::Ending;

use crate::attempt::Waits;

/// How the turn ends because of its post; `None`: as its command and its check say (`work_done` and `done`).
///
/// `answered`: what it asks has an answer already, as a gate that a pattern decides.
pub fn ending(post: &Post, task: &Task, waits: Waits, max_talk_turns: u32, answered: bool) -> Option<Ending> {
    let reason = || format!("{} ({})", post.kind, shortened(&post.text));
    let to_itself = |reason: String| Ending { to: Some(post.from.clone()), ..Ending::because(Outcome::Handoff, reason) };
    let asks = || match answered {
        true => to_itself(reason()),
        false => Ending { parked: Some(Parked::Ask { ask: Some(post.seq) }), ..Ending::because(Outcome::Parked, reason()) },
    };
    match post.kind {
        Kind::WorkDone | Kind::Done => None,
        Kind::Say if post.handoff.as_deref() == Some(USER) => Some(asks()),
        Kind::Gate => Some(asks()),
        Kind::Say => {
            let in_a_row = task.attempts.iter().rev().take_while(|attempt| is_talk(attempt, &post.from)).count();
            let spent = u32::try_from(in_a_row).unwrap_or(u32::MAX) + 1 >= max_talk_turns;
            Some(match spent {
                true => Ending::because(Outcome::Failed, format!("{max_talk_turns} turns in a row were talk; the last: {}", shortened(&post.text))),
                false => to_itself(reason()),
            })
        }
        Kind::Handoff => Some(Ending { to: post.handoff.clone(), ..Ending::because(Outcome::Handoff, reason()) }),
        Kind::Wait => Some(Ending { parked: Some(waits.next(&task.attempts, clock::now())), ..Ending::because(Outcome::Parked, reason()) }),
    }
}

/// Whether an attempt ended with a plain `say`: the task went back to its author.
fn is_talk(attempt: &board::task::Attempt, author: &str) -> bool {
    attempt.outcome == Outcome::Handoff && attempt.to.as_deref() == Some(author) && attempt.by == author
}

fn shortened(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}
