//! `crew show` for people.

use std::fmt::Write as _;
use std::path::PathBuf;

use board::duration;
use board::ready::NotReady;
use board::task::{Attempt, Claim, Parked, Status, Task};
use board::task_id::TaskId;

use super::escape::{block, line};
use super::table::Shade;

/// A task and what the board knows of it.
#[derive(Debug)]
pub(crate) struct Picture<'a> {
    /// The task.
    pub(crate) task: &'a Task,
    /// Its description, which the task's typed values leave out.
    pub(crate) description: String,
    /// Whether it is ready for a teammate that can do everything.
    pub(crate) ready: Result<(), NotReady>,
    /// Every edge that it ever had, with how that task stands; `None`: there is no such task.
    pub(crate) waits_for: Vec<(TaskId, Option<String>)>,
    /// Who waits for it.
    pub(crate) waited_for_by: Vec<TaskId>,
    /// Its file.
    pub(crate) file: PathBuf,
    /// The log of the attempt under way, where there is one.
    pub(crate) log: Option<PathBuf>,
}

/// The picture in lines.
pub(crate) fn text(picture: &Picture<'_>, colours: bool) -> String {
    let task = picture.task;
    let mut out = format!("{} · {}\n", line(task.id.as_str()), line(&task.subject));
    out.push_str(&standing(task, &picture.ready, colours));
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<9} {value}");
    };
    let list = |ids: &[TaskId]| ids.iter().map(|id| line(id.as_str()).into_owned()).collect::<Vec<_>>().join(", ");

    if let Some(other) = &task.other_id {
        fact("id inside", &format!("{} (the file's name wins; the next write puts it right)", line(other)));
    }
    if let Some(owner) = &task.owner {
        fact("owner", &line(owner));
    }
    if let Some(claim) = &task.claim {
        fact("claim", &held(claim));
    }
    if let Some(parked) = &task.parked {
        fact("parked", &until(parked));
    }
    if !picture.waits_for.is_empty() {
        let edge = |(id, status): &(TaskId, Option<String>)| format!("{} ({})", line(id.as_str()), line(status.as_deref().unwrap_or("does not exist")));
        fact("waits for", &picture.waits_for.iter().map(edge).collect::<Vec<_>>().join(", "));
    }
    if !picture.waited_for_by.is_empty() {
        fact("needed by", &list(&picture.waited_for_by));
    }
    if task.priority != 0 {
        fact("priority", &task.priority.to_string());
    }
    let wants: Vec<String> = [
        task.tier.map(|tier| format!("tier {} or higher", tier.as_str())),
        task.role.as_ref().map(|role| format!("role {}", line(role))),
        (!task.needs.is_empty()).then(|| line(&task.needs.join(", ")).into_owned()),
        task.worktree.filter(|own| *own).map(|_| "a git worktree of its own".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !wants.is_empty() {
        fact("wants", &wants.join("; "));
    }
    if let Some(plan) = &task.plan {
        fact("plan", &line(plan));
    }
    if let Some(run) = &task.run {
        fact("run", &line(&run.to_string()));
    }
    if let Some(check) = &task.check {
        fact("check", &line(&check.to_string()));
    }
    if let Some(timeout) = task.timeout {
        fact("timeout", &duration::print(timeout));
    }
    if task.retries > 0 {
        fact("retries", &task.retries.to_string());
    }
    if task.keep {
        fact("keep", "what it leaves running stays");
    }
    fact("file", &line(&picture.file.display().to_string()));
    if let Some(log) = &picture.log {
        fact("log", &line(&log.display().to_string()));
    }
    if let Some(result) = &task.result {
        fact("result", result.outcome.map_or("", |outcome| outcome.as_str()));
        indent(&mut out, &result.summary);
    }
    if !task.attempts.is_empty() {
        out.push_str("attempts\n");
        task.attempts.iter().enumerate().for_each(|(index, attempt)| out.push_str(&tried(index + 1, attempt)));
    }
    if !picture.description.trim().is_empty() {
        let _ = write!(out, "\n{}\n", block(picture.description.trim_end()));
    }
    out
}

fn standing(task: &Task, ready: &Result<(), NotReady>, colours: bool) -> String {
    let shade = match (&task.status, ready) {
        (Status::Pending, Ok(())) => Shade::Ready,
        (Status::InProgress, _) => Shade::Active,
        (Status::Failed | Status::Unknown(_), _) => Shade::Wrong,
        _ => Shade::Quiet,
    };
    let status = line(task.status.as_str());
    let words = match (&task.status, ready) {
        (_, Ok(())) => format!("{status}, ready"),
        (Status::Completed | Status::Cancelled, Err(_)) => status.into_owned(),
        (Status::Failed, Err(_)) => format!("failed; `crew retry {}` puts it back", line(task.id.as_str())),
        (_, Err(no)) => format!("{status}: {}", line(&no.why)),
    };
    format!("{}\n", shade.paint(&words, colours))
}

fn held(claim: &Claim) -> String {
    let mut words = format!("by {} since {}, turn {}", line(&claim.by), claim.at, line(&claim.turn));
    if let Some(process) = &claim.process {
        let _ = write!(words, ", {}", line(&process.to_string()));
    }
    if let Some(lease) = claim.lease {
        let _ = write!(words, ", until {lease}");
    }
    words
}

fn until(parked: &Parked) -> String {
    match parked {
        Parked::Ask { ask: Some(ask) } => format!("until question {ask} is answered"),
        Parked::Ask { ask: None } => "until a question is answered".into(),
        Parked::Until { until: Some(until), .. } => format!("until {until}"),
        Parked::Until { until: None, .. } => "for a while".into(),
    }
}

fn tried(number: usize, attempt: &Attempt) -> String {
    let took = duration::print(attempt.ended.duration_since(attempt.started).unsigned_abs());
    let mut words = format!("  {number}. {} by {}, {} ({took})", attempt.outcome.as_str(), line(&attempt.by), attempt.started);
    if let Some(exit) = attempt.exit {
        let _ = write!(words, ", exit {exit}");
    }
    if let Some(to) = &attempt.to {
        let _ = write!(words, ", to {}", line(to));
    }
    words.push('\n');
    if let Some(reason) = &attempt.reason {
        let _ = writeln!(words, "     {}", line(reason));
    }
    if let Some(log) = &attempt.log {
        let _ = writeln!(words, "     {}", line(log));
    }
    words
}

fn indent(out: &mut String, text: &str) {
    for each in block(text).lines() {
        let _ = writeln!(out, "  {each}");
    }
}
