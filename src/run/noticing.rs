//! What a teammate tells the user without ending its turn.

use board::name::Name;
use board::post::{Post, SYSTEM, USER};
use board::run::{Ask, AskKind, OpenTurn, Run};
use board::thread::Draft;

use crate::exit::Failure;
use crate::run::PATIENCE;

/// The capabilities that a notice can hold.
const HOLDABLE: [&str; 1] = ["browser"];

/// Between a teammate's name and its words.
const TELLS: &str = " tells the user: ";

/// Raises a notice: one a turn, by whoever holds the open one. The answer is its number.
pub(crate) fn raise(run: &Run, who: &Name, turn: Option<&str>, text: &str, holds: Option<String>) -> Result<u64, Failure> {
    let refused = |message: String| Err(Failure::Refused { rule: "notice", message });
    if text.trim().is_empty() || text.len() > board::thread::LONGEST_TEXT / 2 {
        return refused(format!("a notice has between 1 and {} bytes; this one has {}", board::thread::LONGEST_TEXT / 2, text.len()));
    }
    if let Some(other) = holds.as_deref().filter(|capability| !HOLDABLE.contains(capability)) {
        return refused(format!("{other:?} cannot be held; what can: {}", HOLDABLE.join(", ")));
    }
    run.check_formats()?;
    let mut thread = run.thread.lock(PATIENCE)?;
    let open = thread.open_turn_of(who.as_str(), turn)?;
    if let Some(post) = thread.post_of(&open)? {
        return refused(format!("the turn {} has ended with post {}; a notice comes before it", open.turn, post.seq));
    }
    if let Some(notice) = open.notice {
        return refused(format!("this turn has told the user something already (notice {notice}); there is one a turn"));
    }
    let post = thread.append(Draft { from: SYSTEM.into(), text: format!("{who}{TELLS}{text}"), handoff: Some(USER.into()), ..Draft::default() })?.post;
    board::crash::point("notice.appended");
    thread.set_open_turn(Some(&OpenTurn { notice: Some(post.seq), ..open }))?;
    run.asks.raise(notice(&post, who.to_string(), text.to_owned(), holds))?;
    Ok(post.seq)
}

/// The notice that a post of the system tells of, for a record that a crash has left without it.
pub(super) fn told_by(post: &Post) -> Option<Ask> {
    let told = post.from == SYSTEM && post.handoff.as_deref() == Some(USER);
    let (who, text) = post.text.split_once(TELLS).filter(|_| told)?;
    Some(notice(post, who.to_owned(), text.to_owned(), None))
}

fn notice(post: &Post, from: String, text: String, holds: Option<String>) -> Ask {
    Ask { holds, ..Ask::of(AskKind::Notice, post, from, text) }
}
