//! The working tree of an attempt's own: taken before its commands run, merged and removed when it is done.

use std::path::{Path, PathBuf};

use board::locked::Claimed;
use board::post::Kind;
use board::run::Run;
use board::task::{Attempt, Outcome};
use board::transition::Ending;
use board::worktree::{Merge, Worktrees};
use board::{Error, Rule};

use crate::aside::aside;
use crate::taken;
use crate::workplace::{Seat, Workplace};

/// Where an attempt works, and what becomes of the task when its work cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worktree {
    /// In the project, as everybody does.
    Shared,
    /// In a git worktree of its own. What cannot be merged goes back to whoever did it, with the conflict as reason;
    /// when that was tried and is no better, the attempt has failed.
    OfAuthor,
    /// The same, for somebody who cannot be asked to do better: what cannot be merged has failed.
    OfNobody,
}

/// How the reason begins for which a task went back to its author.
const NOT_MERGED: &str = "its work was not merged: ";

/// Where the attempt's commands are to run; `Err`: why they cannot, as the attempt's ending.
///
/// Where there is no repository, or none with a commit, that is the project, and a warning says so.
pub(crate) async fn take(workplace: &Workplace, claimed: &Claimed, worktree: Worktree) -> Result<PathBuf, Ending> {
    let project = workplace.place().project();
    if worktree == Worktree::Shared {
        return Ok(project.to_path_buf());
    }
    let id = &claimed.task.id;
    let (worktrees, task) = (Worktrees::of(workplace.place()), id.clone());
    match aside(move || worktrees.open(&task)).await {
        Some(Ok(tree)) => Ok(tree),
        Some(Err(Error::Refused(refusal))) if refusal.rule == Rule::NoRepository => {
            tracing::warn!("task {id} works in {}, not in a working tree of its own: {}", project.display(), refusal.message);
            Ok(project.to_path_buf())
        }
        Some(Err(e)) => Err(Ending::because(Outcome::Failed, format!("it has no working tree to work in: {e}"))),
        None => Err(Ending::because(Outcome::Failed, "it has no working tree to work in: making it has failed")),
    }
}

/// What an attempt's ending becomes when its work is merged, or cannot be. Only what is done is merged; everything else
/// stays in its working tree, for the next attempt. `at`: where its commands ran.
pub(crate) async fn merge(workplace: &Workplace, seat: &Seat, claimed: &Claimed, worktree: Worktree, at: &Path, ending: Ending) -> Ending {
    let is_own = worktree != Worktree::Shared && at != workplace.place().project();
    // What was taken away meanwhile is not to come in any more.
    if !is_own || ending.outcome != Outcome::Done || taken::is_away(workplace, claimed) {
        return ending;
    }
    let task = claimed.task.id.clone();
    let message = format!("task {task}: {}", claimed.task.subject);
    let worktrees = Worktrees::of(workplace.place());
    let done = aside(move || {
        let merged = worktrees.merge(&task, &message);
        if !matches!(merged, Ok(Merge::Conflict(_)) | Err(_)) {
            match worktrees.remove(&task) {
                Ok(true) => {}
                Ok(false) => tracing::warn!("the working tree of task {task} stays: it holds what is not merged"),
                Err(e) => tracing::warn!("the working tree of task {task} stays: {e}"),
            }
        }
        merged
    });
    let why = match done.await {
        Some(Ok(Merge::Merged { commit })) => return Ending { commit: Some(commit), ..ending },
        Some(Ok(Merge::Nothing)) if brings_nothing(workplace, claimed) => {
            return Ending::because(Outcome::Failed, "its work_done is not credited: its working tree holds no work");
        }
        Some(Ok(Merge::Nothing)) => return ending,
        Some(Ok(Merge::Conflict(why))) => why,
        Some(Err(e)) => e.to_string(),
        None => "merging it has failed".to_owned(),
    };
    let reason = format!("{NOT_MERGED}{why}; it is kept in {}", at.display());
    let outcome = outcome(worktree, claimed.task.attempts.last(), seat.name().as_str());
    let to = (outcome == Outcome::Handoff).then(|| seat.name().to_string());
    Ending { to, exit: ending.exit, ..Ending::because(outcome, reason) }
}

/// Whether an attempt says that it has worked, and nothing but its tree could show that: no command of the task, no check.
fn brings_nothing(workplace: &Workplace, claimed: &Claimed) -> bool {
    let says_so = || {
        let post = Run::existing(workplace.place()).ok().flatten()?.thread.of_turn(&claimed.turn, claimed.at).ok().flatten()?;
        (post.kind == Kind::WorkDone).then_some(())
    };
    claimed.task.run.is_none() && claimed.task.check.is_none() && says_so().is_some()
}

/// What work that cannot be merged is: given back once to who did it, then failed.
fn outcome(worktree: Worktree, last: Option<&Attempt>, author: &str) -> Outcome {
    let was_given_back = last.is_some_and(|last| {
        last.outcome == Outcome::Handoff && last.to.as_deref() == Some(author) && last.reason.as_deref().is_some_and(|why| why.starts_with(NOT_MERGED))
    });
    match worktree {
        Worktree::OfAuthor if !was_given_back => Outcome::Handoff,
        _ => Outcome::Failed,
    }
}
