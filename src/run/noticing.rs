//! What a teammate tells the user without ending its turn.

use board::clock;
use board::name::Name;
use board::post::SYSTEM;
use board::run::{Ask, AskKind, OpenTurn, Run};
use board::thread::Draft;

use crate::exit::Failure;
use crate::run::PATIENCE;

/// The capabilities that a notice can hold.
const HOLDABLE: [&str; 1] = ["browser"];

/// Raises a notice: one a turn, by whoever holds the open one. The answer is its number.
pub(crate) fn raise(run: &Run, who: &Name, turn: Option<&str>, text: &str, holds: Option<String>) -> Result<u64, Failure> {
    let refused = |message: String| Err(Failure::Refused { rule: "notice", message });
    if text.trim().is_empty() || text.len() > board::thread::LONGEST_TEXT / 2 {
        return refused(format!("a notice has between 1 and {} bytes; this one has {}", board::thread::LONGEST_TEXT / 2, text.len()));
    }
    if let Some(other) = holds.as_deref().filter(|capability| !HOLDABLE.contains(capability)) {
        return refused(format!("{other:?} cannot be held; what can: {}", HOLDABLE.join(", ")));
    }
    let mut thread = run.thread.lock(PATIENCE)?;
    let open = thread.open_turn_of(who.as_str(), turn)?;
    if let Some(post) = thread.post_of(&open)? {
        return refused(format!("the turn {} has ended with post {}; a notice comes before it", open.turn, post.seq));
    }
    if let Some(notice) = open.notice {
        return refused(format!("this turn has told the user something already (notice {notice}); there is one a turn"));
    }
    let post = thread.append(Draft { from: SYSTEM.into(), text: format!("{who} tells the user: {text}"), ..Draft::default() })?.post;
    thread.set_open_turn(Some(&OpenTurn { notice: Some(post.seq), ..open }))?;
    run.asks.raise(Ask {
        id: post.seq,
        kind: AskKind::Notice,
        from: who.to_string(),
        seq: Some(post.seq),
        task: None,
        text: text.to_owned(),
        holds,
        pinned: false,
        at: clock::now(),
        answer: None,
        told_in: None,
        released: false,
    })?;
    Ok(post.seq)
}
