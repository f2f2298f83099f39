//! What a person answers: one operation, whoever offers it.

use board::Board;
use board::clock;
use board::name::Name;
use board::post::Decision;
use board::post::USER;
use board::run::{Answer, Ask, AskKind, Run};
use board::task::Parked;
use board::task_id::TaskId;
use board::thread::Draft;

use crate::exit::Failure;
use crate::run::{PATIENCE, planning};

/// The ask that a person means: the one of that number, or the only open one of these kinds.
pub(crate) fn meant(run: &Run, number: Option<u64>, kinds: &[AskKind], verb: &str) -> Result<Ask, Failure> {
    if let Some(number) = number {
        let ask = run.asks.get(number)?;
        return match kinds.contains(&ask.kind) {
            true => Ok(ask),
            false => Err(refused(format!("{number} is a {}; `crew needs` says how it is answered", ask.kind.as_str()))),
        };
    }
    let mut open: Vec<Ask> = run.asks.open()?.into_iter().filter(|ask| kinds.contains(&ask.kind)).collect();
    match (open.pop(), open.len()) {
        (Some(ask), 0) => Ok(ask),
        (None, _) => Err(refused(format!("nothing waits that `crew {verb}` answers; `crew needs` lists what waits"))),
        (Some(last), more) => {
            let numbers: Vec<String> = open.iter().chain([&last]).map(|ask| ask.id.to_string()).collect();
            Err(refused(format!("{} wait: {}; name one, as `crew {verb} {}`", more + 1, numbers.join(", "), last.id)))
        }
    }
}

fn refused(message: String) -> Failure {
    Failure::Refused { rule: "answer", message }
}

/// Decides on a gate or a proposal. A second decision is refused.
pub(crate) fn decide(board: &mut Board, run: &Run, ask: &Ask, decision: Decision, because: Option<&str>) -> Result<(), Failure> {
    let decided = run.decide(ask.id, decision, because);
    // Also where it was decided before: what that brings about may have been cut short.
    if let Some(decision) = run.asks.get(ask.id)?.answer.and_then(|answer| answer.decision) {
        planning::settle(board, run, ask.id, decision)?;
    }
    decided?;
    take_up_again(board, ask)
}

/// Answers a question in the thread, or a notice in the record. A second answer is refused.
pub(crate) fn answer(board: &mut Board, run: &Run, ask: &Ask, text: &str) -> Result<(), Failure> {
    let answer = Answer { at: clock::now(), decision: None, text: Some(text.to_owned()) };
    if ask.kind != AskKind::Question {
        run.asks.answer(ask.id, answer)?;
        return Ok(());
    }
    run.check_formats()?;
    // The answer stands in the thread first: the record is repaired from it.
    let mut thread = run.thread.lock(PATIENCE)?;
    let given = thread.since(ask.id)?.into_iter().find(|post| post.is_of_user() && post.re == Some(ask.id));
    if let Some(given) = given {
        drop(thread);
        run.asks.repair(ask.id, Answer { at: given.ts.unwrap_or(answer.at), decision: None, text: Some(given.text) })?;
    } else if run.asks.get(ask.id)?.answer.is_none() {
        let task = ask.task.as_ref().map(TaskId::to_string);
        thread.append(Draft { from: USER.into(), text: text.to_owned(), re: Some(ask.id), task, ..Draft::default() })?;
        drop(thread);
        board::crash::point("answer.appended");
        run.asks.repair(ask.id, answer)?;
        return take_up_again(board, ask);
    }
    // There is one answer, and this is another.
    run.asks.answer(ask.id, answer)?;
    take_up_again(board, ask)
}

/// A task that waited for this answer is pending again, for the one that asked.
pub(crate) fn take_up_again(board: &mut Board, ask: &Ask) -> Result<(), Failure> {
    let Some(task) = &ask.task else { return Ok(()) };
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    let parked = locked.board().read_task(task).ok().and_then(|(_, task)| task.parked.filter(|_| task.claim.is_none()));
    if let Some(Parked::Ask { ask: Some(number) }) = parked
        && number == ask.id
    {
        // A worker of a batch never comes back under its name.
        let comes_back = Name::new(&ask.from).is_ok() && !ask.from.starts_with("worker-");
        locked.unpark(task, comes_back)?;
    }
    Ok(locked.unlock()?.settle()?)
}
