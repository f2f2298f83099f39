//! A move of whoever holds a task. It is checked and appended under the board's lock and the thread's.

use board::Board;
use board::locked::LockedBoard;
use board::name::Name;
use board::post::{Kind, USER};
use board::run::{Move, Run};
use board::task::Task;
use board::task_id::TaskId;
use board::thread::{Appended, Draft};
use board::transition::By;
use board::{Error, Refusal, Rule, tree};
use teammates::lane_move;
use teammates::profile::Origin;

use crate::claimants;
use crate::config;
use crate::exit::Failure;
use crate::rules::credit::{self, Credit};
use crate::run::PATIENCE;
use crate::run::effects::Effects;
use crate::run::settings::Settings;

/// Who posts, and so who ends the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whence {
    /// The command of an attempt: whoever waits for that ends the turn when the command has ended.
    Command,
    /// A claim from a shell: nobody waits for a command, and the post itself ends the turn.
    Shell,
    /// A model: whoever lets it speak ends the turn. It has no exit code that could show work.
    Model,
}

/// Posts. What it brings about for the task comes when the turn is ended.
pub(crate) fn post(board: &mut Board, run: &Run, who: &Name, task: &TaskId, turn: Option<&str>, said: Move, whence: Whence) -> Result<Appended, Failure> {
    let settings = Settings::read(board)?;
    run.check()?;
    let credit = credit(board, who, task, &said, whence)?;
    let credited = credit.as_ref().map(|credit| *credit == Credit::Given);
    let appended = append(board, run, who, task, turn, &said, credited)?;
    if let Some(Credit::Refused(why)) = credit {
        run.note(appended.post.seq, format!("the work_done of {who} is not credited: {why}"))?;
    }
    let effects = Effects { run, patterns: &settings.patterns, gate_mode: settings.gate_mode };
    effects.on_asks(&appended.post)?;
    if whence == Whence::Shell && board.read_task(task).is_ok_and(|(_, task)| task.claim.is_some()) {
        end(board, run, who, task, &appended, &said)?;
    }
    Ok(appended)
}

/// What the tree says of work on a task without a command, where it was put down how it stood. `None`: the exit code and
/// the check say it, or what is merged of a working tree of its own. Judged before anything is locked: that may take its
/// time.
fn credit(board: &Board, who: &Name, id: &TaskId, said: &Move, whence: Whence) -> Result<Option<Credit>, Failure> {
    let place = board.place();
    let Some((task, claim)) = board.read_task(id).ok().and_then(|(_, task)| task.claim.clone().map(|claim| (task, claim))) else { return Ok(None) };
    if said.kind != Kind::WorkDone {
        return Ok(None);
    }
    let writes = claimants::read_profile(&place.profile(who), Origin::Crew)?.is_none_or(|profile| profile.writes);
    let base = if writes { lane_move::base(place, id, &claim.turn)? } else { None };
    if let Some(base) = base {
        return Ok(Some(credit::of_turn(Some(&base), tree::state(place)?.as_ref(), false)));
    }
    let nothing_shows_it = whence == Whence::Model && task.check.is_none() && (!writes || tree::state(place)?.is_none());
    Ok(nothing_shows_it
        .then_some(Credit::Refused("nothing is to be written here and the task has no check, so nothing shows the work; `done` says that it is finished")))
}

fn append(board: &mut Board, run: &Run, who: &Name, id: &TaskId, turn: Option<&str>, said: &Move, credited: Option<bool>) -> Result<Appended, Failure> {
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    let task = held(&locked, who, id, turn)?;
    let claim = task.claim.as_ref().map(|claim| (claim.turn.clone(), claim.at));
    let Some((turn, since)) = claim else { return Err(no_turn(id, who)) };
    let mut thread = run.thread.lock(PATIENCE)?;
    if let Some(post) = run.thread.of_turn(&turn, since)? {
        let message = format!("the turn {turn} has ended with post {}; a turn has one post", post.seq);
        return Err(Error::Refused(Refusal { rule: Rule::SecondPost, task: Some(id.clone()), message }).into());
    }
    let Move { kind, text, handoff, .. } = said.clone();
    let (from, task) = (who.to_string(), Some(id.to_string()));
    let appended = thread.append(Draft { from, kind: Some(kind), text, handoff, turn: Some(turn), task, credited, ..Draft::default() })?;
    drop(thread);
    locked.unlock()?.settle()?;
    Ok(appended)
}

/// The task, if it is held by this turn of this teammate.
fn held(locked: &LockedBoard<'_>, who: &Name, id: &TaskId, turn: Option<&str>) -> Result<Task, Failure> {
    let (_, task) = locked.board().read_task(id)?;
    board::transition::check_holder(&task, &By::Holder { name: who.as_str(), turn })?;
    Ok(task)
}

fn no_turn(id: &TaskId, who: &Name) -> Failure {
    Error::Refused(Refusal { rule: Rule::NoTurn, task: Some(id.clone()), message: format!("{who} does not hold it") }).into()
}

fn end(board: &mut Board, run: &Run, who: &Name, id: &TaskId, appended: &Appended, said: &Move) -> Result<(), Failure> {
    let waits = config::apply(board)?;
    let max_talk_turns = config::read(board.place())?.max_talk_turns.get();
    let (_, task) = board.read_task(id)?;
    let answered = run.asks.all()?.iter().any(|ask| ask.id == appended.post.seq && ask.answer.is_some());
    let ending = lane_move::ending(&appended.post, &task, waits, max_talk_turns, answered);
    let Some(ending) = ending else {
        let word = if said.kind == Kind::Done { "done" } else { "work_done" };
        let next = format!("`crew finish {id} --as {who}` ends it");
        tracing::info!("{word} of a claim from a shell; {next}");
        return Ok(());
    };
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    locked.end(id, &By::Holder { name: who.as_str(), turn: appended.post.turn.as_deref() }, &ending)?;
    locked.unlock()?.settle()?;
    // An answer may have come in between, when there was nothing parked yet.
    if said.kind == Kind::Gate || said.handoff.as_deref() == Some(USER) {
        let ask = run.asks.get(appended.post.seq)?;
        if ask.answer.is_some() {
            crate::run::answering::take_up_again(board, &ask)?;
        }
    }
    Ok(())
}
