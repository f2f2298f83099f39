//! What a teammate tells the user without ending its turn.

use board::Board;
use board::name::Name;
use board::post::{Post, SYSTEM, USER};
use board::run::{Ask, AskKind, OpenTurn, Run};
use board::task_id::TaskId;
use board::thread::{Draft, LockedThread};
use board::transition::{self, By};

use crate::exit::Failure;
use crate::run::PATIENCE;

/// The capabilities that a notice can hold.
const HOLDABLE: [&str; 1] = ["browser"];

/// Between a teammate's name and its words.
const TELLS: &str = " tells the user: ";

/// What is told, and in which turn.
#[derive(Debug)]
pub(crate) struct Notice<'a> {
    /// Who tells it.
    pub(crate) who: &'a Name,
    /// The turn; `None`: the one that is open.
    pub(crate) turn: Option<&'a str>,
    /// The task that the turn holds; `None`: it is one of the thread.
    pub(crate) task: Option<&'a TaskId>,
    /// The words.
    pub(crate) text: &'a str,
    /// A capability that it keeps from the team.
    pub(crate) holds: Option<String>,
}

/// Raises a notice: one a turn, by whoever holds it, before its post. The answer is its number.
pub(crate) fn raise(board: &mut Board, run: &Run, told: Notice<'_>) -> Result<u64, Failure> {
    if told.text.trim().is_empty() || told.text.len() > board::thread::LONGEST_TEXT / 2 {
        return refused(format!("a notice has between 1 and {} bytes; this one has {}", board::thread::LONGEST_TEXT / 2, told.text.len()));
    }
    if let Some(other) = told.holds.as_deref().filter(|capability| !HOLDABLE.contains(capability)) {
        return refused(format!("{other:?} cannot be held; what can: {}", HOLDABLE.join(", ")));
    }
    run.check_formats()?;
    match told.task {
        Some(task) => raise_on_task(board, run, &told, task),
        None => raise_in_thread(run, &told),
    }
}

fn raise_in_thread(run: &Run, told: &Notice<'_>) -> Result<u64, Failure> {
    let mut thread = run.thread.lock(PATIENCE)?;
    let open = thread.open_turn_of(told.who.as_str(), told.turn)?;
    if let Some(post) = thread.post_of(&open)? {
        return too_late(&open.turn, &post);
    }
    if let Some(notice) = open.notice {
        return a_second(notice);
    }
    let post = tell(&mut thread, told)?;
    thread.set_open_turn(Some(&OpenTurn { notice: Some(post.seq), ..open }))?;
    run.asks.raise(notice(&post, told.who.to_string(), told.text.to_owned(), told.holds.clone()))?;
    Ok(post.seq)
}

/// In a turn on a task: checked and appended under the board's lock and the thread's, as its post is. What the turn has
/// told stands in the thread alone.
fn raise_on_task(board: &mut Board, run: &Run, told: &Notice<'_>, id: &TaskId) -> Result<u64, Failure> {
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    let (_, task) = locked.board().read_task(id)?;
    transition::check_holder(&task, &By::Holder { name: told.who.as_str(), turn: told.turn })?;
    let Some(claim) = task.claim else { return refused(format!("{} does not hold task {id}", told.who)) };
    let mut thread = run.thread.lock(PATIENCE)?;
    if let Some(post) = run.thread.of_turn(&claim.turn, claim.at)? {
        return too_late(&claim.turn, &post);
    }
    let since = run.thread.back_to(claim.at)?;
    let mut its = since.iter().filter(|post| post.task.as_deref() == Some(id.as_str())).filter_map(told_by);
    if let Some(earlier) = its.find(|notice| notice.from == told.who.as_str()) {
        let number = earlier.id;
        // Whoever told it may have died before it was raised.
        run.asks.raise(earlier)?;
        return a_second(number);
    }
    let post = tell(&mut thread, told)?;
    run.asks.raise(notice(&post, told.who.to_string(), told.text.to_owned(), told.holds.clone()))?;
    drop(thread);
    locked.unlock()?.settle()?;
    Ok(post.seq)
}

fn tell(thread: &mut LockedThread<'_>, told: &Notice<'_>) -> Result<Post, Failure> {
    let Notice { who, text, .. } = told;
    let task = told.task.map(TaskId::to_string);
    let draft = Draft { from: SYSTEM.into(), text: format!("{who}{TELLS}{text}"), handoff: Some(USER.into()), task, ..Draft::default() };
    let post = thread.append(draft)?.post;
    board::crash::point("notice.appended");
    Ok(post)
}

fn refused<T>(message: String) -> Result<T, Failure> {
    Err(Failure::Refused { rule: "notice", message })
}

fn too_late(turn: &str, post: &Post) -> Result<u64, Failure> {
    refused(format!("the turn {turn} has ended with post {}; a notice comes before it", post.seq))
}

fn a_second(notice: u64) -> Result<u64, Failure> {
    refused(format!("this turn has told the user something already (notice {notice}); there is one a turn"))
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
