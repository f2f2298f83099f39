//! What a post brings about for the task that its turn holds.

use std::ffi::OsString;
use std::time::Duration;

use board::disk::Dir;
use board::locked::Claimed;
use board::place::Place;
use board::post::{Kind, Post, USER};
use board::run::{Ask, AskKind, Run};
use board::task::{Attempt, Outcome, Parked, Task};
use board::task_id::TaskId;
use board::transition::Ending;
use board::{Board, Result, clock, tree};
use jiff::{SignedDuration, Timestamp};

use crate::config;
use crate::waits::Waits;

/// How long the board's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long after the last line of its log an attempt that died can have written.
const AFTER_LAST_WORD: SignedDuration = SignedDuration::from_secs(10);

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
        Kind::WorkDone if post.credited == Some(false) => {
            Some(Ending::because(Outcome::Failed, "its work_done is not credited: no change of the tree shows it"))
        }
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

/// The same for the turn of an attempt, whose post is looked up; `None` too where it has none.
pub(crate) fn of_turn(place: &Place, claimed: &Claimed, waits: Waits) -> Result<Option<Ending>> {
    of(place, &claimed.task, &claimed.turn, claimed.at, waits)
}

/// The same for a turn that began, at the earliest, when `since` says.
pub(crate) fn of(place: &Place, task: &Task, turn: &str, since: Timestamp, waits: Waits) -> Result<Option<Ending>> {
    let Some(run) = Run::existing(place)? else { return Ok(None) };
    let Some(post) = run.thread.of_turn(turn, since)? else { return Ok(None) };
    // Whoever posted may have died before it was raised; nobody could answer it then.
    let kind = match post.kind {
        Kind::Gate => Some(AskKind::Gate),
        Kind::Say if post.is_question() => Some(AskKind::Question),
        _ => None,
    };
    if let Some(kind) = kind {
        run.asks.raise(Ask::of(kind, &post, post.from.clone(), post.text.clone()))?;
    }
    let answered = run.asks.all()?.iter().any(|ask| ask.id == post.seq && ask.answer.is_some());
    // A configuration that cannot be read now was read when the work began.
    let most = config::read(place).unwrap_or_default().max_talk_turns.get();
    Ok(ending(&post, task, waits, most, answered))
}

/// What the post of a turn says, as far as it is known.
pub(crate) fn said(place: &Place, claimed: &Claimed) -> Option<String> {
    let post = Run::existing(place).ok().flatten()?.thread.of_turn(&claimed.turn, claimed.at).ok().flatten()?;
    Some(post.text)
}

/// Puts down how the tree stands when a turn on a task without a command begins: its `work_done` is judged by that. What
/// its teammate had written in attempts just before this one that were cut short is this one's work too: then it is how the
/// tree stood when those began.
pub(crate) fn keep_base(place: &Place, claimed: &Claimed, by: &str, logs: &Dir) -> Result<()> {
    // What git cannot say now credits nothing and refuses nothing.
    let Ok(Some(now)) = tree::state(place) else { return Ok(()) };
    let is_cut_short = |attempt: &&Attempt| matches!(attempt.outcome, Outcome::Lost | Outcome::Released) && attempt.by == by;
    let row: Vec<&Attempt> = claimed.task.attempts.iter().rev().take_while(is_cut_short).collect();
    let left = row.into_iter().rev().find_map(|attempt| left_by(place, &claimed.task.id, attempt, &now));
    logs.replace(&base_file(&claimed.turn), serde_json::json!(left.as_ref().unwrap_or(&now)).to_string().as_bytes(), 0o600, false)
}

/// How the tree stood when an attempt began of which there is still something: a file that it can have written, by the time
/// between its beginning and a little after its last word. What somebody else has changed since then is no work of it.
fn left_by(place: &Place, task: &TaskId, attempt: &Attempt, now: &tree::State) -> Option<tree::State> {
    let before = base(place, task, &attempt.turn).ok().flatten()?;
    let last_word = tree::written_at(&place.log(task, &attempt.turn).metadata().ok()?)?;
    let until = last_word.checked_add(AFTER_LAST_WORD).ok()?.min(attempt.ended);
    tree::was_written(place, &before.tree, &now.tree, attempt.started, until).ok()?.then_some(before)
}

/// How the tree stood when a turn on a task began; `None`: that was not put down, and its exit code and check judge.
pub fn base(place: &Place, task: &TaskId, turn: &str) -> Result<Option<tree::State>> {
    let bytes = place.attempt_logs(task)?.read(&base_file(turn))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn base_file(turn: &str) -> String {
    format!("{turn}.base.json")
}

/// The answers to what earlier turns on a task have asked, as a file for its next turn: `$CREW_OPENING`.
pub(crate) fn answers(place: &Place, claimed: &Claimed, logs: &Dir) -> Result<Option<(OsString, OsString)>> {
    let has_asked = |attempt: &Attempt| matches!(attempt.outcome, Outcome::Parked | Outcome::Handoff);
    if !claimed.task.attempts.iter().any(has_asked) {
        return Ok(None);
    }
    let Some(run) = Run::existing(place)? else { return Ok(None) };
    let asks: Vec<_> = run.asks.all()?.into_iter().filter(|ask| ask.task.as_ref() == Some(&claimed.task.id) && ask.answer.is_some()).collect();
    if asks.is_empty() {
        return Ok(None);
    }
    let name = format!("{}.opening.json", claimed.turn);
    logs.replace(&name, serde_json::json!({ "task": claimed.task.id, "answers": asks }).to_string().as_bytes(), 0o600, false)?;
    Ok(Some(("CREW_OPENING".into(), logs.join(&name).into())))
}

/// An answer may come before there is anything parked that waits for it: then the task is taken up again.
pub(crate) fn take_up_answered(board: &mut Board, id: &TaskId, ending: &Ending) -> Result<()> {
    let Some(Parked::Ask { ask: Some(number) }) = &ending.parked else { return Ok(()) };
    let answered = Run::existing(board.place())?.is_some_and(|run| run.asks.get(*number).is_ok_and(|ask| ask.answer.is_some()));
    if answered {
        let mut locked = board.lock(PATIENCE)?;
        locked.see()?;
        match locked.unpark(id, true) {
            // Whoever answered has done it.
            Err(e) if e.is_refusal() => {}
            unparked => unparked?,
        }
        locked.unlock()?.settle()?;
    }
    Ok(())
}

/// Whether an attempt ended with a plain `say`: the task went back to its author.
fn is_talk(attempt: &Attempt, author: &str) -> bool {
    attempt.outcome == Outcome::Handoff && attempt.to.as_deref() == Some(author) && attempt.by == author
}

fn shortened(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}
