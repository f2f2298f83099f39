//! What is wrong with the tasks of a board. Only looks.

use std::ffi::OsStr;
use std::path::Path;

use board::alive::{self, Process};
use board::board::Stale;
use board::document::Problem;
use board::facts::{Facts, Phase};
use board::graph::cycles;
use board::index::{Entry, State};
use board::presence::Seen;
use board::ready::{Blocker, Claimant};
use board::task::Status;
use board::task_id::TaskId;
use board::{Board, Result, Rule, add, clock};
use teammates::group_record;
use teammates::nearest::meant;

use super::{Finding, Level};
use crate::schema;

/// What a task's own file says wrongly.
struct Odd {
    other_id: Option<String>,
    status: Option<String>,
    /// Keys that nobody here knows, and which they are taken to mean.
    misspelt: Vec<(String, String)>,
}

/// Everything that is to be said of the tasks; sees the whole board anew.
pub(crate) fn findings(board: &mut Board) -> Result<Vec<Finding>> {
    let schema = schema::of_task();
    let known: Vec<&str> = schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    let odd = board.survey(|document, task| Odd {
        other_id: task.other_id.clone(),
        status: if let Status::Unknown(word) = &task.status { Some(word.clone()) } else { None },
        misspelt: document.entries().filter_map(|(key, _)| Some((key.to_owned(), meant(key, &known)?.to_owned()))).collect(),
    })?;
    let mut found = Vec::new();
    for (id, odd) in odd {
        if let Some(other) = odd.other_id {
            let message = format!("the id inside is {other}; the file's name wins, and the next write puts it right");
            found.push(Finding::of_task(Level::Problem, "id", &id, message));
        }
        if let Some(word) = odd.status {
            let message = format!("its status {word:?} is none that this board knows: it is never claimed");
            found.push(Finding::of_task(Level::Problem, "status", &id, message));
        }
        for (key, meant) in odd.misspelt {
            let message = format!("nobody here knows its key {key:?}; if {meant:?} is meant, it is not heeded");
            found.push(Finding::of_task(Level::Note, "key", &id, message));
        }
    }
    unreadable(board, &mut found);
    passed_over(board, &mut found);
    edges(board, &mut found);
    claims(board, &mut found)?;
    leftovers(board, &mut found)?;
    Ok(found)
}

/// Files that look as if they were meant for tasks and do not bear the name of one.
fn passed_over(board: &Board, found: &mut Vec<Finding>) {
    let names = std::fs::read_dir(board.place().tasks()).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| !name.starts_with('.') && Path::new(name).extension() == Some(OsStr::new("json")) && TaskId::of_file(name).is_none()).collect();
    names.sort();
    for file in names {
        let message = "it is no task, since only files named task_<id>.json are".to_owned();
        found.push(Finding { file: Some(file), ..Finding::of(Level::Note, "name", message) });
    }
}

/// Files that are no valid tasks.
fn unreadable(board: &Board, found: &mut Vec<Finding>) {
    let finding = |level, check, file: String, problem: &Problem| {
        let (line, column) = if problem.line > 0 { (Some(problem.line), Some(problem.column)) } else { (None, None) };
        Finding { file: Some(file), line, column, ..Finding::of(level, check, problem.reason.clone()) }
    };
    for (id, entry) in board.index().entries() {
        found.extend(match &entry.state {
            State::Task(_) => None,
            State::Unsettled(problem) => Some(finding(Level::Note, "unsettled", id.file_name(), problem)),
            State::Invalid(problem) => Some(finding(Level::Problem, "invalid", id.file_name(), problem)),
        });
    }
    found.extend(board.index().nameless().map(|(file, problem)| finding(Level::Problem, "invalid", file.to_owned(), problem)));
}

/// Cycles, blockers that do not exist or are not going to be finished, and edges that are to be tidied.
fn edges(board: &Board, found: &mut Vec<Finding>) {
    let index = board.index();
    for cycle in cycles(&index.waiting_graph()) {
        let message = format!("these tasks wait for each other: {}; `crew unblock` one of them", add::print_cycle(&cycle));
        found.push(Finding { task: cycle.first().cloned(), ..Finding::of(Level::Problem, "cycle", message) });
    }
    let unfinished = index.entries().filter(|(_, entry)| entry.facts().is_some_and(|facts| !is_over(facts)));
    for (id, _) in unfinished {
        for blocker in index.blockers(id) {
            found.extend(match &blocker {
                Blocker::Absent(absent) => {
                    let message = format!("it waits for {absent}, which does not exist; `crew unblock {id} --from {absent}` lets it go on");
                    Some(Finding::of_task(Level::Problem, "absent-blocker", id, message))
                }
                Blocker::Unfinished(_, how) if !how.is_empty() => {
                    Some(Finding::of_task(Level::Note, "dead-end", id, format!("it waits for {blocker}, which nobody is going to finish")))
                }
                // A cycle tells of itself.
                Blocker::Unfinished(..) | Blocker::Itself => None,
            });
        }
    }
    let untidy = |id| Finding::of_task(Level::Note, "edges", id, "an edge of it is out of date; the next writer puts it right");
    found.extend(index.untidy().map(untidy));
}

fn is_over(facts: &Facts) -> bool {
    matches!(facts.status, Phase::Completed | Phase::Cancelled)
}

/// Claims whose holders are gone, and claims that an old version was saved over.
fn claims(board: &mut Board, found: &mut Vec<Finding>) -> Result<()> {
    for Stale { task, claim } in board.stale_claims(clock::now())? {
        let why = match claim.process {
            Some(process) => format!("{} is dead ({process})", claim.by),
            None => "its lease ran out".to_owned(),
        };
        let message = format!("its holder is gone: {why}; `crew work`, a teammate or `crew doctor --fix` puts it back");
        found.push(Finding::of_task(Level::Problem, "stale-claim", &task, message));
    }
    let anybody = Claimant::shell("");
    let pending = |entry: &Entry| entry.facts().is_some_and(|facts| facts.status == Phase::Pending);
    for (id, _) in board.index().entries().filter(|(_, entry)| pending(entry)) {
        match board.why_not(id, &anybody) {
            Err(no) if no.rule == Rule::OneHolder => found.push(Finding::of_task(Level::Problem, "overwritten-claim", id, no.why)),
            _ => {}
        }
    }
    Ok(())
}

/// Process groups of dead teammates that still run.
fn leftovers(board: &Board, found: &mut Vec<Finding>) -> Result<()> {
    let boot = alive::boot();
    for Seen { name, living, .. } in board.teammates()? {
        let Some(record) = board.groups_of(&name).filter(|_| !living) else { continue };
        for group in group_record::parse(&record, boot) {
            let leader = u32::try_from(group.leader).ok().and_then(Process::of);
            if leader.is_some_and(|leader| leader.start == group.start) {
                let message = format!("process group {} of turn {} still runs, and its teammate {name} is gone", group.leader, group.turn);
                found.push(Finding::of(Level::Note, "leftover", message));
            }
        }
    }
    Ok(())
}

/// The tasks whose id inside is to be put right.
pub(crate) fn with_other_id(found: &[Finding]) -> Vec<TaskId> {
    found.iter().filter(|finding| finding.check == "id").filter_map(|finding| finding.task.clone()).collect()
}
