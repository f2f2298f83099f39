//! What a task's document says, as typed values. Reading is pure; every default of the format stands here.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alive::Process;
use crate::document::{Document, Problem, without_place};
use crate::duration;
use crate::task_id::TaskId;

/// A task as its file says it is. What this crate does not know stays in the [`Document`].
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The id that the file's name bears.
    pub id: TaskId,
    /// The `id` inside, where it differs from the file's name.
    pub other_id: Option<String>,
    /// One line.
    pub subject: String,
    /// Where it stands.
    pub status: Status,
    /// Who holds it; on a pending task the only teammate that may claim it.
    pub owner: Option<String>,
    /// Ids still in the way.
    pub blocked_by: Vec<TaskId>,
    /// Ids that this task stands in the way of; read only.
    pub blocks: Vec<TaskId>,
    /// Every edge that there ever was; `None`: as `blocked_by`.
    pub depends_on: Option<Vec<TaskId>>,
    /// Higher first.
    pub priority: i64,
    /// The lowest tier that may claim it.
    pub tier: Option<Tier>,
    /// The only role that may claim it.
    pub role: Option<String>,
    /// Capabilities that its teammate must have.
    pub needs: Vec<String>,
    /// The plan that it belongs to.
    pub plan: Option<String>,
    /// Its command.
    pub run: Option<Command>,
    /// Its acceptance command, run after the work.
    pub check: Option<Command>,
    /// Wall clock for one attempt.
    pub timeout: Option<Duration>,
    /// Further attempts after a failure.
    pub retries: u32,
    /// How many attempts lay behind when the count was begun anew (`crew retry`).
    pub retried_after: usize,
    /// Processes that it leaves running survive it.
    pub keep: bool,
    /// Whether it wants a git worktree of its own; `None`: as its teammate says.
    pub worktree: Option<bool>,
    /// The turn that holds it.
    pub claim: Option<Claim>,
    /// What it waits for, while nobody works on it.
    pub parked: Option<Parked>,
    /// One entry an attempt, oldest first.
    pub attempts: Vec<Attempt>,
    /// What came of it.
    pub result: Option<TaskResult>,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Waits to be claimed.
    Pending,
    /// Held by its owner.
    InProgress,
    /// Done, and nothing but `crew reopen` changes that.
    Completed,
    /// Tried, and no attempt is left.
    Failed,
    /// Not to be done.
    Cancelled,
    /// Another program's word, or no word at all: shown, never claimed.
    Unknown(String),
}

impl Status {
    /// The word in the document.
    pub fn as_str(&self) -> &str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
            Status::Unknown(word) => word,
        }
    }

    /// Reads the word of a document, or of a person.
    pub fn read(word: &str) -> Self {
        match word {
            "pending" => Status::Pending,
            "in_progress" => Status::InProgress,
            "completed" => Status::Completed,
            "failed" => Status::Failed,
            "cancelled" => Status::Cancelled,
            other => Status::Unknown(other.to_owned()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Status {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer).map(|word| Status::read(&word))
    }
}

/// How much a teammate may be trusted with, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Mechanical work.
    Cheap,
    /// Ordinary work.
    Mid,
    /// Judgement.
    Top,
}

impl Tier {
    /// The word in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Cheap => "cheap",
            Tier::Mid => "mid",
            Tier::Top => "top",
        }
    }
}

/// A command: a line for `sh -c`, or a program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// Goes to `sh -c`.
    Shell(String),
    /// Is executed as it is; the first is the program.
    Exec(Vec<String>),
}

impl Command {
    /// The program and its arguments.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Command::Shell(line) => vec!["sh".into(), "-c".into(), line.clone()],
            Command::Exec(argv) => argv.clone(),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Shell(line) => f.write_str(line),
            Command::Exec(argv) => f.write_str(&argv.join(" ")),
        }
    }
}

/// The turn that holds a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Its id: every later write of the holder bears it.
    pub turn: String,
    /// The holder's name.
    pub by: String,
    /// Since when.
    pub at: Timestamp,
    /// The holder's process; absent for claims from a shell that named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// When the claim runs out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Timestamp>,
    /// The lead's epoch under which it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Whether the task was dispatched to its holder before the claim: then it is again when it goes back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dispatched: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a parked task waits for. Further keys stay as they are in the document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "lowercase")]
pub enum Parked {
    /// An answer of a person.
    Ask {
        /// The question's number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<u64>,
    },
    /// A time.
    Until {
        /// When it may go on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The work is done and its check passed.
    Done,
    /// The work or its check failed: spends a retry.
    Failed,
    /// It took longer than it may: spends a retry.
    Timeout,
    /// Its holder died.
    Lost,
    /// Its holder gave it back.
    Released,
    /// Its holder gave it to somebody else.
    Handoff,
    /// It waits for an answer or a time.
    Parked,
}

impl Outcome {
    /// The word in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Timeout => "timeout",
            Outcome::Lost => "lost",
            Outcome::Released => "released",
            Outcome::Handoff => "handoff",
            Outcome::Parked => "parked",
        }
    }

    /// Whether it counts against `retries`.
    pub fn spends_a_retry(self) -> bool {
        matches!(self, Outcome::Failed | Outcome::Timeout)
    }
}

/// One attempt at a task that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The turn's id.
    pub turn: String,
    /// Who tried.
    pub by: String,
    /// From when.
    pub started: Timestamp,
    /// To when.
    pub ended: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The path of its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The boot in which it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// To whom it was handed off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether the task had been dispatched to `by`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dispatched: bool,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// In words, or the last lines of its output.
    pub summary: String,
    /// How the last attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The working tree's SHA at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The commit that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The path of its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl Task {
    /// Reads a document. A known key of a wrong type is a problem at its place; an unknown `status` is not.
    pub fn read(id: &TaskId, document: &Document<'_>) -> Result<Task, Problem> {
        let mut task = Task::empty(id.clone());
        let mut subject = None;
        for (key, value) in document.entries() {
            if value == "null" && key != "subject" {
                continue;
            }
            let read = match key {
                "id" => own_id(value).map(|inside| task.other_id = Some(inside).filter(|inside| inside != id.as_str())),
                "subject" => line(value).map(|text| subject = Some(text)),
                "description" => description(value),
                "status" => {
                    task.status = Status::read(&text(value).unwrap_or_else(|_| value.to_owned()));
                    Ok(())
                }
                "owner" => text(value).map(|owner| task.owner = Some(owner).filter(|owner| !owner.is_empty())),
                "blockedBy" => typed(value).map(|ids| task.blocked_by = ids),
                "blocks" => typed(value).map(|ids| task.blocks = ids),
                "dependsOn" => typed(value).map(|ids| task.depends_on = Some(ids)),
                "priority" => typed(value).map(|priority| task.priority = priority),
                "tier" => typed(value).map(|tier| task.tier = Some(tier)),
                "role" => text(value).map(|role| task.role = Some(role).filter(|role| !role.is_empty())),
                "needs" => typed(value).map(|needs| task.needs = needs),
                "plan" => text(value).map(|plan| task.plan = Some(plan)),
                "run" => command(value).map(|run| task.run = Some(run)),
                "check" => command(value).map(|check| task.check = Some(check)),
                "timeout" => text(value).and_then(|t| duration::parse(&t)).map(|timeout| task.timeout = Some(timeout)),
                "retries" => typed(value).map(|retries| task.retries = retries),
                "retriedAfter" => typed(value).map(|count| task.retried_after = count),
                "keep" => typed(value).map(|keep| task.keep = keep),
                "worktree" => typed(value).map(|worktree| task.worktree = Some(worktree)),
                "claim" => typed(value).map(|claim| task.claim = Some(claim)),
                "parked" => typed(value).map(|parked| task.parked = Some(parked)),
                "attempts" => typed(value).map(|attempts| task.attempts = attempts),
                "result" => typed(value).map(|result| task.result = Some(result)),
                "created" | "updated" => moment(value),
                _ => Ok(()),
            };
            read.map_err(|reason| document.problem(value, format!("`{key}`: {reason}")))?;
        }
        task.subject = subject.ok_or_else(|| Problem::whole("there is no `subject`"))?;
        Ok(task)
    }

    /// A task with every default and no subject.
    fn empty(id: TaskId) -> Task {
        Task {
            id,
            other_id: None,
            subject: String::new(),
            status: Status::Pending,
            owner: None,
            blocked_by: Vec::new(),
            blocks: Vec::new(),
            depends_on: None,
            priority: 0,
            tier: None,
            role: None,
            needs: Vec::new(),
            plan: None,
            run: None,
            check: None,
            timeout: None,
            retries: 0,
            retried_after: 0,
            keep: false,
            worktree: None,
            claim: None,
            parked: None,
            attempts: Vec::new(),
            result: None,
        }
    }

    /// Attempts since the count was last begun anew.
    pub fn counted_attempts(&self) -> &[Attempt] {
        self.attempts.get(self.retried_after..).unwrap_or_default()
    }

    /// The number of the attempt that a claim now would begin, from 1.
    pub fn next_attempt(&self) -> usize {
        self.attempts.len() + 1
    }

    /// Every edge that there ever was.
    pub fn edges(&self) -> impl Iterator<Item = &TaskId> {
        let full = self.depends_on.as_deref().unwrap_or_default();
        full.iter().chain(self.blocked_by.iter().filter(move |id| !full.contains(id)))
    }
}

fn typed<'a, T: Deserialize<'a>>(value: &'a str) -> Result<T, String> {
    serde_json::from_str(value).map_err(|e| without_place(&e))
}

fn text(value: &str) -> Result<String, String> {
    if !value.starts_with('"') {
        return Err("it must be a string".into());
    }
    typed(value)
}

fn line(value: &str) -> Result<String, String> {
    let subject = text(value)?;
    match subject.trim().is_empty() {
        true => Err("it is empty; a task needs one line that says what it is".into()),
        false => Ok(subject),
    }
}

/// A description may be of any length: without escapes there is nothing left to check.
fn description(value: &str) -> Result<(), String> {
    match value.starts_with('"') && !value.contains('\\') {
        true => Ok(()),
        false => text(value).map(drop),
    }
}

/// A moment is only checked: at once where it is written as this crate does, which nearly all are.
fn moment(value: &str) -> Result<(), String> {
    match is_usual_moment(value.as_bytes()) {
        true => Ok(()),
        false => typed::<Timestamp>(value).map(drop),
    }
}

/// `"2026-01-02T03:04:05.123Z"`, on a day that its month has in every year.
fn is_usual_moment(value: &[u8]) -> bool {
    const SHAPE: &[u8; 26] = b"\"0000-00-00T00:00:00.000Z\"";
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    let number = |at: usize| (value[at] - b'0') * 10 + (value[at + 1] - b'0');
    let in_shape = value.len() == SHAPE.len() && value.iter().zip(SHAPE).all(fits);
    let longest = |month: u8| match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    in_shape && (1..=12).contains(&number(6)) && (1..=longest(number(6))).contains(&number(9)) && number(12) < 24 && number(15) < 60 && number(18) < 60
}

fn own_id(value: &str) -> Result<String, String> {
    let id = if value.starts_with('"') { typed(value) } else { typed::<i64>(value).map(|id| id.to_string()) };
    id.map_err(|_| "it must be a string or an integer".into())
}

fn command(value: &str) -> Result<Command, String> {
    let command = if value.starts_with('"') { typed(value).map(Command::Shell) } else { typed(value).map(Command::Exec) };
    let command = command.map_err(|_: String| "it must be a string (for sh -c) or a list of strings".to_owned())?;
    let (empty, nul) = match &command {
        Command::Shell(line) => (line.trim().is_empty(), line.contains('\0')),
        Command::Exec(argv) => (argv.first().is_none_or(String::is_empty), argv.iter().any(|arg| arg.contains('\0'))),
    };
    match (empty, nul) {
        (true, _) => Err("the command is empty".into()),
        (_, true) => Err("the command contains a NUL".into()),
        _ => Ok(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Task, Problem> {
        Document::parse(text.as_bytes()).and_then(|document| Task::read(&TaskId::new("7").unwrap(), &document))
    }

    #[test]
    fn only_a_subject_is_required() {
        let task = read(r#"{"subject":"x","owner":"","role":"","blockedBy":null,"priority":null,"id":7}"#).unwrap();
        assert_eq!((task.status, task.owner, task.role, task.other_id), (Status::Pending, None, None, None));
        assert!(task.blocked_by.is_empty());
        assert!(read("{}").unwrap_err().reason.contains("subject"));
        assert_eq!(read(r#"{"subject":"x","id":"99"}"#).unwrap().other_id.as_deref(), Some("99"));
    }

    #[test]
    fn a_known_key_of_a_wrong_type_is_a_problem_at_its_place() {
        for (key, value) in [
            ("subject", "null"),
            ("subject", "\" \""),
            ("id", "1.5"),
            ("description", "3"),
            ("owner", "7"),
            ("blockedBy", "\"1\""),
            ("blockedBy", "[1.5]"),
            ("blockedBy", "[\"../x\"]"),
            ("priority", "\"high\""),
            ("tier", "\"huge\""),
            ("needs", "\"write\""),
            ("run", "{}"),
            ("run", "[]"),
            ("run", "\"  \""),
            ("check", "[1]"),
            ("timeout", "90"),
            ("timeout", "\"soon\""),
            ("retries", "-1"),
            ("keep", "\"yes\""),
            ("claim", "{}"),
            ("parked", "{\"on\":\"moon\"}"),
            ("attempts", "{}"),
            ("result", "\"fine\""),
            ("created", "\"yesterday\""),
        ] {
            let text = match key {
                "subject" => format!("{{\n\"{key}\": {value}}}"),
                _ => format!("{{\"subject\":\"x\",\n\"{key}\": {value}}}"),
            };
            let problem = read(&text).expect_err(&text);
            assert!(problem.reason.contains(&format!("`{key}`")), "{problem:?}");
            assert_eq!((problem.line, problem.column), (2, key.len() + 5), "{problem:?}");
        }
    }

    #[test]
    fn what_is_taken_for_a_moment_at_once_is_one() {
        let said = |text: &str| (is_usual_moment(text.as_bytes()), typed::<Timestamp>(text).is_ok());
        for text in ["2026-01-02T03:04:05.123Z", "2026-01-31T03:04:05.123Z", "9999-12-28T23:59:59.999Z", "0000-01-01T00:00:00.000Z"] {
            assert_eq!(said(&format!("\"{text}\"")), (true, true), "{text}");
        }
        for text in [
            "2026-13-02T03:04:05.123Z",
            "2026-00-02T03:04:05.123Z",
            "2026-01-00T03:04:05.123Z",
            "2026-04-31T03:04:05.123Z",
            "2026-01-02T24:04:05.123Z",
            "2026-01-02T03:60:05.123Z",
        ] {
            assert_eq!(said(&format!("\"{text}\"")), (false, false), "{text}");
        }
        for text in ["2024-02-29T03:04:05.123Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+01:00"] {
            assert_eq!(said(&format!("\"{text}\"")), (false, true), "{text}");
        }
        assert!(!is_usual_moment(b"\"2026-01-02 03:04:05.123Z\"") && !is_usual_moment(b""));
    }

    #[test]
    fn an_unknown_status_is_shown_as_it_is() {
        assert_eq!(read(r#"{"subject":"x","status":"wip"}"#).unwrap().status, Status::Unknown("wip".into()));
        assert_eq!(read(r#"{"subject":"x","status":5}"#).unwrap().status, Status::Unknown("5".into()));
    }
}
