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

/// Posts. What it brings about comes when the command of the attempt has ended; for a claim from a shell, at once.
pub(crate) fn post(board: &mut Board, run: &Run, who: &Name, task: &TaskId, turn: Option<&str>, said: Move) -> Result<Appended, Failure> {
    let settings = Settings::read(board)?;
    run.check()?;
    let credited = credit(board, who, task, &said)?;
    let appended = append(board, run, who, task, turn, &said, credited)?;
    if credited == Some(false) {
        run.note(appended.post.seq, format!("the work_done of {who} is not credited: the tree shows no work of this turn"))?;
    }
    let effects = Effects { run, patterns: &settings.patterns, gate_mode: settings.gate_mode };
    effects.on_asks(&appended.post)?;
    if is_from_a_shell(board, task)? {
        end(board, run, who, task, &appended, &said)?;
    }
    Ok(appended)
}

/// What the tree says of work on a task without a command, where it was put down how it stood. `None`: the exit code and
/// the check say it. Judged before anything is locked: that may take its time.
fn credit(board: &Board, who: &Name, id: &TaskId, said: &Move) -> Result<Option<bool>, Failure> {
    let place = board.place();
    let writes = claimants::read_profile(&place.profile(who), Origin::Crew)?.is_none_or(|profile| profile.writes);
    let claim = board.read_task(id).ok().and_then(|(_, task)| task.claim);
    let (Kind::WorkDone, true, Some(claim)) = (said.kind, writes, claim) else { return Ok(None) };
    let Some(base) = lane_move::base(place, id, &claim.turn)? else { return Ok(None) };
    Ok(Some(credit::of_turn(Some(&base), tree::state(place)?.as_ref(), false) == Credit::Given))
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

/// Whether nobody waits for a command to end: then what the post brings about is done here.
fn is_from_a_shell(board: &Board, id: &TaskId) -> Result<bool, Failure> {
    let of_this_attempt = std::env::var_os("CREW_TASK_ID").is_some_and(|task| task == id.as_str()) && std::env::var_os("CREW_LOG_DIR").is_some();
    Ok(!of_this_attempt && board.read_task(id).is_ok_and(|(_, task)| task.claim.is_some()))
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
