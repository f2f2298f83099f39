//! Whether a turn still holds its task: a person may cancel a task that is being worked on, or take it away.

use std::time::Duration;

use board::facts::Phase;
use board::locked::Claimed;
use board::task::{Outcome, Status, Task};
use tokio::time::Instant;

use crate::workplace::Workplace;

/// How often the task's file is read, besides when the board was looked at.
const POLL: Duration = Duration::from_secs(5);

/// Why a turn holds its task no longer, by what the task's file says; `None`: it does.
///
/// A file without the claim alone says nothing: an editor may have saved an old version over it, and then the board
/// puts the claim back. What counts is that the turn is among the attempts, or that somebody says the task is over.
/// A command that said itself that it is done may come to its end: nobody else is going to do the task.
fn why(task: &Task, turn: &str) -> Option<String> {
    let holder = task.claim.as_ref().filter(|claim| task.status == Status::InProgress && claim.turn != turn);
    let now = holder.map(|claim| format!("; {} holds it now", claim.by)).unwrap_or_default();
    if let Some(ended) = task.attempts.iter().find(|attempt| attempt.turn == turn) {
        if ended.outcome == Outcome::Done {
            return None;
        }
        let how = ended.reason.as_deref().unwrap_or(ended.outcome.as_str());
        return Some(format!("it was taken away: {how}{now}"));
    }
    matches!(task.status, Status::Completed | Status::Failed | Status::Cancelled)
        .then(|| format!("it was taken away: somebody wrote that it is {}", task.status))
}

/// Waits until a turn holds its task no longer; the answer is why. Asks whenever the workplace has looked at the
/// board, and by the clock.
pub(crate) async fn away(workplace: &Workplace, claimed: &Claimed) -> String {
    let mut looked = workplace.looked();
    let mut next = Instant::now() + POLL;
    loop {
        let by_the_clock = tokio::time::timeout_at(next, looked.changed()).await.is_err();
        if by_the_clock {
            next = Instant::now() + POLL;
        }
        if let Some(why) = look(workplace, claimed, by_the_clock) {
            return why;
        }
    }
}

/// Whether a turn holds its task no longer, by the task's file as it is now.
pub(crate) fn is_away(workplace: &Workplace, claimed: &Claimed) -> bool {
    look(workplace, claimed, true).is_some()
}

/// What the board has seen spares the reading, but for changes by other programs, of which it may not know yet.
fn look(workplace: &Workplace, claimed: &Claimed, by_the_clock: bool) -> Option<String> {
    let board = workplace.board();
    let id = &claimed.task.id;
    let seen = board.index().get(id).and_then(|entry| entry.facts()).filter(|facts| facts.status == Phase::InProgress);
    if !by_the_clock && seen.and_then(|facts| facts.turn()).is_some_and(|(turn, _)| turn == claimed.turn) {
        return None;
    }
    // A file that is gone or being written says nothing of the turn.
    let (_, task) = board.read_task(id).ok()?;
    why(&task, &claimed.turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_of_a_turn() {
        let id = board::task_id::TaskId::new("1").unwrap();
        let claim = |turn: &str| format!(r#""claim":{{"turn":"{turn}","by":"bob","at":"2026-01-02T03:04:05Z"}}"#);
        let ended = r#""attempts":[{"turn":"t1","by":"alice","started":"2026-01-02T03:04:05Z","ended":"2026-01-02T03:04:05Z","outcome":"released","reason":"the task was cancelled"}]"#;
        let says = |rest: String| {
            let text = format!(r#"{{"subject":"x",{rest}}}"#);
            let document = board::document::Document::parse(text.as_bytes()).unwrap();
            why(&Task::read(&id, &document).unwrap(), "t1")
        };
        assert_eq!(says(format!(r#""status":"in_progress",{}"#, claim("t1"))), None);
        assert_eq!(says(r#""status":"pending""#.into()), None, "an editor's old version");
        assert_eq!(says(format!(r#""status":"in_progress",{}"#, claim("t0"))), None, "an editor's older version");
        assert_eq!(says(format!(r#""status":"cancelled",{ended}"#)).as_deref(), Some("it was taken away: the task was cancelled"));
        let of_bob = format!(r#""status":"in_progress",{},{ended}"#, claim("t2"));
        assert_eq!(says(of_bob).as_deref(), Some("it was taken away: the task was cancelled; bob holds it now"));
        assert_eq!(says(format!(r#""status":"completed",{}"#, ended.replace("released", "done"))), None, "its own word");
        let by_hand = format!(r#""status":"cancelled",{}"#, claim("t1"));
        assert_eq!(says(by_hand).as_deref(), Some("it was taken away: somebody wrote that it is cancelled"));
    }
}
