//! The tasks of a plan, from the turn that makes them to the person who decides on them.
//!
//! What a planning turn adds is parked. When the turn ends with a post, its tasks get the number of that post, then the
//! proposal is raised under it: nobody can answer what is not complete. The answer is one append to the thread; what it
//! brings about for the tasks is repeated until it is done, by whoever comes next.

use board::document::Document;
use board::name::Name;
use board::post::{Decision, Post};
use board::run::{Ask, AskKind, Run};
use board::task::Task;
use board::task_id::TaskId;
use board::{Board, Error, proposed};

use crate::rules::planning::{self, Proposed};
use crate::run::PATIENCE;

/// Whether tasks that are made now are a proposal: in the planning turn that is open or whose proposal waits, or by whom
/// that turn belongs to. `turn`: in which they are made; `makers`: whichever teammate makes them, by each name. What a
/// person adds never is, and needs no record of a run.
pub(crate) fn is_planned(board: &Board, turn: Option<&str>, makers: &[Name]) -> board::Result<bool> {
    if turn.is_none() && makers.is_empty() {
        return Ok(false);
    }
    let Some(run) = Run::existing(board.place())? else { return Ok(false) };
    let (of, its) = match run.open_turn()?.filter(|open| open.planning) {
        Some(open) => (open.of, Some(open.turn)),
        None => {
            let Some(waits) = run.asks.open()?.into_iter().find(|ask| ask.kind == AskKind::Proposal) else { return Ok(false) };
            let post = run.thread.since(waits.id.saturating_sub(1))?.into_iter().next();
            (waits.from, post.and_then(|post| post.turn))
        }
    };
    Ok((its.is_some() && turn == its.as_deref()) || makers.iter().any(|maker| maker.as_str() == of))
}

/// The same task as one of a proposal.
pub(crate) fn as_proposal(text: &str, origin: &str) -> board::Result<String> {
    let mut document = Document::parse(text.as_bytes()).map_err(|problem| Error::NotATask { file: origin.to_owned(), problem })?;
    proposed::park(&mut document);
    Ok(document.compact())
}

/// Raises the proposal that the post of a planning turn makes, as far as that is not done.
pub(crate) fn propose(board: &mut Board, run: &Run, post: &Post) -> board::Result<()> {
    if run.asks.all()?.iter().any(|ask| ask.id == post.seq) {
        return Ok(());
    }
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    for id in locked.board().proposed(None) {
        match locked.number_proposed(&id, post.seq) {
            // A person has taken it out at this moment.
            Err(e) if e.is_refusal() => {}
            numbered => numbered?,
        }
        board::crash::point("proposal.numbered");
    }
    locked.unlock()?.settle()?;
    let tasks = board.proposed(Some(post.seq)).into_iter().filter_map(|id| board.read_task(&id).ok()).map(|(_, task)| described(task));
    let text = planning::text(&post.text, &tasks.collect::<Vec<_>>());
    board::crash::point("proposal.complete");
    run.asks.raise(Ask::of(AskKind::Proposal, post, post.from.clone(), text))?;
    board::crash::point("proposal.raised");
    Ok(())
}

fn described(task: Task) -> Proposed {
    let commands = [&task.run, &task.check].into_iter().flatten().map(ToString::to_string).collect();
    let after = task.blocked_by.iter().map(TaskId::to_string).collect();
    Proposed { id: task.id.to_string(), subject: task.subject, after, owner: task.owner, commands }
}

/// Does for the tasks of a proposal what its answer says, as far as that is not done: with a yes they may be claimed, with
/// a no they are cancelled. What was made too late to be part of what a person has said yes to is cancelled as well.
pub(crate) fn settle(board: &mut Board, run: &Run, number: u64, decision: Decision) -> board::Result<()> {
    if !run.asks.all()?.iter().any(|ask| ask.id == number && ask.kind == AskKind::Proposal) {
        return Ok(());
    }
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    let tasks = locked.board().proposed(Some(number));
    let late = if decision == Decision::Approved { locked.board().proposed(None) } else { Vec::new() };
    let each = tasks.into_iter().map(|id| (id, decision)).chain(late.into_iter().map(|id| (id, Decision::Denied)));
    for (id, decision) in each {
        let changed = match decision {
            Decision::Approved => locked.unpark(&id, true),
            Decision::Denied => locked.cancel(&id).map(drop),
        };
        match changed {
            // A person has changed it at this moment: that stands.
            Err(e) if e.is_refusal() => {}
            changed => changed?,
        }
        board::crash::point("proposal.settling");
    }
    locked.unlock()?.settle()
}
