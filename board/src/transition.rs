//! The legal transitions of a task, each as a pure change of its document: only its own keys change.

use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::error::{Error, Refusal, Result, Rule};
use crate::task::{Attempt, Claim, Outcome, Parked, Status, Task, TaskResult};

/// How often a task may be lost within one boot before it fails, unless the config says otherwise.
pub const MAX_LOST: usize = 5;

/// How a turn on a task ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// The command's exit code.
    pub exit: Option<i32>,
    /// Why, in words.
    pub reason: Option<String>,
    /// What came of it, in words; becomes the task's result.
    pub summary: Option<String>,
    /// The path of its log.
    pub log: Option<String>,
    /// For a handoff: to whom; `None`: anybody else.
    pub to: Option<String>,
    /// For `parked`: what it waits for.
    pub parked: Option<Parked>,
    /// Further keys of the result.
    pub tree: Option<String>,
    /// The commit that it made.
    pub commit: Option<String>,
}

impl Ending {
    /// An ending with nothing but its outcome.
    pub fn of(outcome: Outcome) -> Self {
        Ending { outcome, exit: None, reason: None, summary: None, log: None, to: None, parked: None, tree: None, commit: None }
    }

    /// The same with a reason.
    pub fn because(outcome: Outcome, reason: impl Into<String>) -> Self {
        Ending { reason: Some(reason.into()), ..Ending::of(outcome) }
    }
}

/// Who ends a turn, and by what right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By<'a> {
    /// Its holder, with the turn's id where it knows it.
    Holder {
        /// The holder's name.
        name: &'a str,
        /// The turn's id.
        turn: Option<&'a str>,
    },
    /// Somebody who found the holder dead or its lease over: the turn that was found so.
    Cleaner {
        /// The turn's id.
        turn: &'a str,
    },
    /// A person, whoever holds it (`--force`).
    Force,
}

/// What a change needs to know of the world.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Now.
    pub now: Timestamp,
    /// This boot's id.
    pub boot: &'a str,
    /// How often a task may be lost within one boot.
    pub max_lost: usize,
}

fn illegal(task: &Task, what: &str) -> Error {
    Refusal::of(Rule::IllegalTransition, &task.id, format!("it is {}, so it cannot be {what}", task.status))
}

/// `pending → in_progress`.
pub fn claim(document: &mut Document<'_>, task: &Task, claim: &Claim, now: Timestamp) -> Result<()> {
    // A parked task whose time has come is claimed again by its owner without a step through `pending`.
    let due = task.status == Status::InProgress && task.claim.is_none() && task.parked.is_some();
    if task.status != Status::Pending && !due {
        return Err(illegal(task, "claimed"));
    }
    document.set("status", &Status::InProgress);
    document.set("owner", &claim.by);
    document.set("claim", claim);
    document.remove("parked");
    touch(document, task, now);
    Ok(())
}

/// Puts a claim back that an editor's old version has overwritten: its holder lives and still works.
pub fn restore(document: &mut Document<'_>, task: &Task, claim: &Claim, now: Timestamp) {
    document.set("status", &Status::InProgress);
    document.set("owner", &claim.by);
    document.set("claim", claim);
    document.remove("parked");
    touch(document, task, now);
}

/// `in_progress → completed | failed | pending`, or parked. Returns the status that the task has then.
pub fn end(document: &mut Document<'_>, task: &Task, by: &By<'_>, ending: &Ending, at: Moment<'_>) -> Result<Status> {
    let claim = holder_of(task, by)?;
    let attempt = Attempt {
        turn: claim.turn.clone(),
        by: claim.by.clone(),
        started: claim.at,
        ended: at.now,
        outcome: ending.outcome,
        exit: ending.exit,
        reason: ending.reason.clone(),
        log: ending.log.clone(),
        boot: (ending.outcome == Outcome::Lost).then(|| at.boot.to_owned()),
        to: ending.to.clone(),
        dispatched: claim.dispatched,
    };
    let earlier = task.counted_attempts();
    let status = match ending.outcome {
        Outcome::Done => Status::Completed,
        Outcome::Failed | Outcome::Timeout => {
            let spent = earlier.iter().filter(|attempt| attempt.outcome.spends_a_retry()).count() + 1;
            if spent > task.retries as usize { Status::Failed } else { Status::Pending }
        }
        Outcome::Lost => {
            let lost = earlier.iter().filter(|attempt| attempt.outcome == Outcome::Lost && attempt.boot.as_deref() == Some(at.boot)).count() + 1;
            if lost >= at.max_lost { Status::Failed } else { Status::Pending }
        }
        Outcome::Released | Outcome::Handoff => Status::Pending,
        Outcome::Parked => Status::InProgress,
    };
    document.set("status", &status);
    if status == Status::Pending {
        let owner = match ending.outcome {
            Outcome::Handoff if ending.to.is_some() => ending.to.as_deref(),
            _ => claim.dispatched.then_some(claim.by.as_str()),
        };
        set_owner(document, owner);
    }
    document.remove("claim");
    match (&ending.parked, ending.outcome) {
        (Some(parked), Outcome::Parked) => document.set("parked", parked),
        _ => document.remove("parked"),
    }
    push_attempt(document, &attempt);
    let summary = match (&ending.summary, &status, ending.outcome) {
        (Some(summary), _, _) => Some(summary.clone()),
        (None, Status::Failed, Outcome::Lost) => Some(format!("lost {} times within one boot (maxLost)", at.max_lost)),
        (None, Status::Completed | Status::Failed, _) => Some(ending.reason.clone().unwrap_or_default()),
        (None, _, _) => None,
    };
    if let Some(summary) = summary {
        let (tree, commit, log) = (ending.tree.clone(), ending.commit.clone(), ending.log.clone());
        document.set("result", &TaskResult { summary, outcome: Some(ending.outcome), tree, commit, log });
    }
    touch(document, task, at.now);
    Ok(status)
}

/// Whether this writer holds the task; the refusal says who does.
pub fn check_holder(task: &Task, by: &By<'_>) -> Result<()> {
    holder_of(task, by).map(drop)
}

/// The claim that this writer may end.
fn holder_of<'t>(task: &'t Task, by: &By<'_>) -> Result<&'t Claim> {
    let Some(claim) = task.claim.as_ref().filter(|_| task.status == Status::InProgress) else {
        return Err(match by {
            By::Holder { turn: Some(turn), .. } => {
                let how = task.attempts.iter().find(|attempt| attempt.turn == *turn).map(|attempt| format!(" ({})", attempt.outcome.as_str()));
                Refusal::of(Rule::TurnOver, &task.id, format!("the turn {turn} is over{}; the task is {}", how.unwrap_or_default(), task.status))
            }
            By::Holder { name, .. } => Refusal::of(Rule::OneHolder, &task.id, format!("{name} does not hold it; the task is {}", task.status)),
            By::Cleaner { .. } | By::Force => illegal(task, "ended: nobody holds it"),
        });
    };
    match by {
        By::Holder { name, turn } => {
            if let Some(turn) = turn.filter(|turn| *turn != claim.turn) {
                return Err(Refusal::of(Rule::TurnOver, &task.id, format!("the turn {turn} is over; {} holds the task now (turn {})", claim.by, claim.turn)));
            }
            if claim.by != *name {
                return Err(Refusal::of(
                    Rule::OneHolder,
                    &task.id,
                    format!("{} holds it, not {name}; `crew release {} --force` takes it away", claim.by, task.id),
                ));
            }
            let lost = task.attempts.iter().any(|attempt| attempt.by == *name && attempt.outcome == Outcome::Lost);
            if turn.is_none() && lost {
                return Err(Refusal::of(
                    Rule::TurnNeeded,
                    &task.id,
                    format!(
                        "an earlier turn of {name} on it was lost, so this must name its own: pass --turn (`crew claim --as {name} --resume --json` prints it)"
                    ),
                ));
            }
        }
        By::Cleaner { turn } if claim.turn != *turn => {
            return Err(Refusal::of(Rule::TurnOver, &task.id, format!("the turn {turn} has ended meanwhile")));
        }
        By::Cleaner { .. } | By::Force => {}
    }
    Ok(claim)
}

/// `failed → pending`: the count of attempts begins anew.
pub fn retry(document: &mut Document<'_>, task: &Task, now: Timestamp) -> Result<()> {
    if task.status != Status::Failed {
        return Err(illegal(task, "retried"));
    }
    back_to_pending(document, task, now);
    document.set("retriedAfter", &task.attempts.len());
    Ok(())
}

/// Any but `completed` `→ cancelled`. A claim on it ends: its holder's later writes are refused.
pub fn cancel(document: &mut Document<'_>, task: &Task, at: Moment<'_>) -> Result<()> {
    if matches!(task.status, Status::Completed | Status::Cancelled) {
        return Err(illegal(task, "cancelled"));
    }
    if task.claim.is_some() && task.status == Status::InProgress {
        end(document, task, &By::Force, &Ending::because(Outcome::Released, "the task was cancelled"), at)?;
    }
    document.set("status", &Status::Cancelled);
    document.remove("parked");
    touch(document, task, at.now);
    Ok(())
}

/// `cancelled → pending`, and with a reason `completed → pending`.
pub fn reopen(document: &mut Document<'_>, task: &Task, because: Option<&str>, now: Timestamp) -> Result<()> {
    check_reopen(task, because)?;
    back_to_pending(document, task, now);
    document.set("retriedAfter", &task.attempts.len());
    if let Some(because) = because {
        let entry = serde_json::json!({ "at": now, "because": because }).to_string();
        push(document, "reopened", entry);
    }
    Ok(())
}

/// Whether a task may be reopened.
pub(crate) fn check_reopen(task: &Task, because: Option<&str>) -> Result<()> {
    match (&task.status, because) {
        (Status::Cancelled, _) | (Status::Completed, Some(_)) => Ok(()),
        (Status::Completed, None) => Err(Refusal::of(Rule::ReasonNeeded, &task.id, "it is completed; `crew reopen --because \"…\"` says why it is not")),
        _ => Err(illegal(task, "reopened")),
    }
}

/// Parked `→ pending`: its answer has come, or its time. The owner is kept, unless it is one that never comes back.
pub fn unpark(document: &mut Document<'_>, task: &Task, keep_owner: bool, now: Timestamp) -> Result<()> {
    if task.parked.is_none() || task.claim.is_some() {
        return Err(illegal(task, "taken up again: it is not parked"));
    }
    if keep_owner {
        document.set("status", &Status::Pending);
        document.remove("parked");
        touch(document, task, now);
    } else {
        back_to_pending(document, task, now);
    }
    Ok(())
}

fn back_to_pending(document: &mut Document<'_>, task: &Task, now: Timestamp) {
    document.set("status", &Status::Pending);
    let last = task.attempts.last();
    if last.is_some() {
        set_owner(document, last.filter(|last| last.dispatched).map(|last| last.by.as_str()));
    }
    document.remove("claim");
    document.remove("parked");
    touch(document, task, now);
}

fn set_owner(document: &mut Document<'_>, owner: Option<&str>) {
    match owner {
        Some(owner) => document.set("owner", &owner),
        None => document.set_raw("owner", "null".into()),
    }
}

/// What every writing puts right: the moment, an `id` that differs from the file's name, the full list of edges.
pub fn touch(document: &mut Document<'_>, task: &Task, now: Timestamp) {
    document.set("updated", &now);
    if task.other_id.is_some() {
        document.set("id", &task.id);
    }
    let missing = task.blocked_by.iter().any(|id| !task.depends_on.as_ref().is_some_and(|full| full.contains(id)));
    if missing {
        document.set("dependsOn", &task.edges().collect::<Vec<_>>());
    }
}

fn push_attempt(document: &mut Document<'_>, attempt: &Attempt) {
    if let Ok(entry) = serde_json::to_string(attempt) {
        push(document, "attempts", entry);
    }
}

/// Appends to a list, its other entries as they were written.
fn push(document: &mut Document<'_>, key: &str, entry: String) {
    let list = {
        let old: Vec<&RawValue> = document.get(key).and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
        let entries: Vec<&str> = old.iter().map(|raw| raw.get()).chain([entry.as_str()]).collect();
        format!("[{}]", entries.join(","))
    };
    document.set_raw(key, list);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_id::TaskId;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn moment() -> Moment<'static> {
        Moment { now: NOW.parse().unwrap(), boot: "boot", max_lost: 3 }
    }

    /// Applies a change to a task's text and returns the new text.
    fn change(text: &str, change: impl FnOnce(&mut Document<'_>, &Task) -> Result<()>) -> Result<String> {
        let mut document = Document::parse(text.as_bytes()).unwrap();
        let task = Task::read(&TaskId::new("1").unwrap(), &document).unwrap();
        change(&mut document, &task)?;
        Ok(document.pretty())
    }

    fn claimed(text: &str, turn: &str) -> String {
        let now = moment().now;
        change(text, |document, task| {
            let dispatched = task.owner.is_some();
            let taken = Claim { turn: turn.into(), by: "bob".into(), at: now, process: None, lease: None, epoch: None, dispatched };
            claim(document, task, &taken, now)
        })
        .unwrap()
    }

    fn ended(text: &str, outcome: Outcome) -> String {
        change(text, |document, task| end(document, task, &By::Force, &Ending::of(outcome), moment()).map(drop)).unwrap()
    }

    fn read(text: &str) -> Task {
        Task::read(&TaskId::new("1").unwrap(), &Document::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn rule(result: Result<String>) -> Rule {
        match result.unwrap_err() {
            Error::Refused(refusal) => refusal.rule,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn only_the_legal_transitions_are_made() {
        let at = moment();
        let now: Timestamp = at.now;
        let taken = Claim { turn: "t".into(), by: "bob".into(), at: now, process: None, lease: None, epoch: None, dispatched: false };
        let verb = |name: &str, text: &str| match name {
            "claim" => change(text, |d, t| claim(d, t, &taken, now)),
            "end" => change(text, |d, t| end(d, t, &By::Force, &Ending::of(Outcome::Done), moment()).map(drop)),
            "retry" => change(text, |d, t| retry(d, t, now)),
            "cancel" => change(text, |d, t| cancel(d, t, moment())),
            "reopen" => change(text, |d, t| reopen(d, t, None, now)),
            because => change(text, |d, t| reopen(d, t, Some(because), now)),
        };
        let legal: [(&str, &[&str]); 6] = [
            ("pending", &["claim", "cancel"]),
            ("in_progress", &["end", "cancel"]),
            ("completed", &["a reason"]),
            ("failed", &["retry", "cancel"]),
            ("cancelled", &["reopen", "a reason"]),
            ("wip", &["cancel"]),
        ];
        for (status, allowed) in legal {
            let claim = if status == "in_progress" { format!(",\"claim\":{}", serde_json::to_string(&taken).unwrap()) } else { String::new() };
            let text = format!("{{\"subject\":\"x\",\"status\":\"{status}\"{claim}}}");
            for name in ["claim", "end", "retry", "cancel", "reopen", "a reason"] {
                assert_eq!(verb(name, &text).is_ok(), allowed.contains(&name), "{status} → {name}");
            }
        }
    }

    #[test]
    fn a_task_goes_back_with_the_owner_that_it_had() {
        let free = ended(&claimed(r#"{"subject":"x"}"#, "t1"), Outcome::Released);
        assert_eq!(read(&free).owner, None);
        let dispatched = ended(&claimed(r#"{"subject":"x","owner":"bob"}"#, "t1"), Outcome::Failed);
        let again = change(&dispatched, |d, t| retry(d, t, moment().now)).unwrap();
        assert_eq!(read(&again).owner.as_deref(), Some("bob"));
        let done = ended(&claimed(r#"{"subject":"x"}"#, "t1"), Outcome::Done);
        assert_eq!(read(&done).owner.as_deref(), Some("bob"), "who did it stays named");
        let reopened = change(&done, |d, t| reopen(d, t, Some("not done"), moment().now)).unwrap();
        assert_eq!(read(&reopened).owner, None);
        assert!(reopened.contains("not done"));
    }

    #[test]
    fn retries_are_spent_by_failures_alone_and_begin_anew() {
        let mut text = r#"{"subject":"x","retries":1}"#.to_owned();
        for (outcome, expected) in [
            (Outcome::Lost, Status::Pending),
            (Outcome::Released, Status::Pending),
            (Outcome::Failed, Status::Pending),
            (Outcome::Handoff, Status::Pending),
            (Outcome::Timeout, Status::Failed),
        ] {
            text = ended(&claimed(&text, "t"), outcome);
            assert_eq!(read(&text).status, expected, "after {outcome:?}");
        }
        text = change(&text, |d, t| retry(d, t, moment().now)).unwrap();
        text = ended(&claimed(&text, "t"), Outcome::Failed);
        assert_eq!(read(&text).status, Status::Pending);
        assert_eq!(read(&text).attempts.len(), 6);
    }

    #[test]
    fn lost_too_often_within_one_boot_fails() {
        let mut text = r#"{"subject":"x"}"#.to_owned();
        for boot in ["a", "b", "b", "a", "b"] {
            text = change(&claimed(&text, "t"), |d, t| end(d, t, &By::Force, &Ending::of(Outcome::Lost), Moment { boot, ..moment() }).map(drop)).unwrap();
        }
        let task = read(&text);
        assert_eq!(task.status, Status::Failed);
        assert!(task.result.unwrap().summary.contains("lost 3 times"));
    }

    #[test]
    fn later_writes_of_a_turn_that_is_over_are_refused() {
        let finish = |text: &str, name: &str, turn: Option<&str>| {
            change(text, |d, t| end(d, t, &By::Holder { name, turn }, &Ending::of(Outcome::Done), moment()).map(drop))
        };
        let held = claimed(r#"{"subject":"x"}"#, "t1");
        assert_eq!(rule(finish(&held, "alice", None)), Rule::OneHolder);
        assert_eq!(rule(finish(&held, "bob", Some("t0"))), Rule::TurnOver);
        assert!(finish(&held, "bob", None).is_ok());
        let lost = ended(&held, Outcome::Lost);
        assert_eq!(rule(finish(&lost, "bob", Some("t1"))), Rule::TurnOver);
        let again = claimed(&lost, "t2");
        assert_eq!(rule(finish(&again, "bob", None)), Rule::TurnNeeded);
        assert!(finish(&again, "bob", Some("t2")).is_ok());
    }

    #[test]
    fn only_own_keys_change_and_other_entries_stay_as_written() {
        let text = r#"{"z":1.10,"subject":"caf\u00e9","attempts":[{"turn":"t0","by":"a","started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:00Z","outcome":"lost","extra":1e2}],"id":9,"blockedBy":[3]}"#;
        let done = ended(&claimed(text, "t1"), Outcome::Done);
        assert!(done.starts_with("{\n  \"z\": 1.10,\n  \"subject\": \"caf\\u00e9\",\n  \"attempts\": ["), "{done}");
        assert!(done.contains("\"extra\": 1e2"));
        assert!(done.contains("\"id\": 1"), "a differing id is put right");
        assert_eq!(read(&done).depends_on.unwrap(), [TaskId::new("3").unwrap()]);
    }
}
