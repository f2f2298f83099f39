//! The JSON Schema of a task, made from these types. Tasks are not read with them: the crate `board` does that, and
//! keeps keys that nobody here knows.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// The schema.
pub(crate) fn of_task() -> serde_json::Value {
    schemars::schema_for!(Task).to_value()
}

/// A task of a crewboard: one file `.tasks/task_<id>.json`. Further keys are kept as they are.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code)] // described, never made
struct Task {
    /// What is to be done, in one line.
    #[schemars(length(min = 1))]
    subject: String,
    /// The same as in the file's name, which wins where they differ.
    id: Option<Id>,
    /// The brief, in Markdown.
    description: Option<String>,
    /// Where it stands. Other words are shown, and such a task is never claimed.
    #[schemars(extend("default" = "pending"))]
    status: Option<Status>,
    /// Who holds it. On a pending task: the only teammate that may claim it. Empty counts as nobody.
    owner: Option<String>,
    /// Tasks still in its way.
    blocked_by: Option<Vec<Id>>,
    /// Tasks in whose way it is. Only read: the next writer adds them there as `blockedBy`.
    blocks: Option<Vec<Id>>,
    /// Every edge that there ever was, never shortened. Without it: as `blockedBy` at first.
    depends_on: Option<Vec<Id>>,
    /// Higher first; then in the order of the ids.
    #[schemars(extend("default" = 0))]
    priority: Option<i64>,
    /// Only a teammate of that tier or a higher one claims it.
    tier: Option<Tier>,
    /// Only a teammate with that role claims it.
    role: Option<String>,
    /// Capabilities that its teammate must all have.
    needs: Option<Vec<String>>,
    /// The plan that it belongs to.
    plan: Option<String>,
    /// The command that does it.
    run: Option<Command>,
    /// A command that must succeed after the work, or it is not completed.
    check: Option<Command>,
    /// Wall clock for one attempt: `90s`, `15m`, `1h30m`. Without it: as its teammate says.
    timeout: Option<String>,
    /// Further attempts after a failure.
    #[schemars(extend("default" = 0))]
    retries: Option<u32>,
    /// How many attempts lay behind when the count was begun anew (`crew retry`, `crew reopen`).
    retried_after: Option<u64>,
    /// Processes that it leaves running survive it.
    #[schemars(extend("default" = false))]
    keep: Option<bool>,
    /// Whether it asks for a git worktree of its own. Without it: as its teammate says.
    worktree: Option<bool>,
    /// The turn that holds it, while it is worked on.
    claim: Option<Claim>,
    /// What it waits for, kept for its owner and worked on by nobody.
    parked: Option<Parked>,
    /// One entry an attempt, oldest first.
    attempts: Option<Vec<Attempt>>,
    /// What came of it.
    result: Option<Result>,
    /// Each time that it was put back although it was completed.
    reopened: Option<Vec<Reopened>>,
    /// When it was added.
    created: Option<Moment>,
    /// When it was last changed by crew.
    updated: Option<Moment>,
    /// What other programs and people wrote.
    #[schemars(flatten)]
    further: BTreeMap<String, serde_json::Value>,
}

/// A task's id: what stands between `task_` and `.json` in its file's name. `7` and `"7"` are the same.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum Id {
    /// As text.
    Text(String),
    /// As a number.
    Number(i64),
}

/// RFC 3339, UTC.
#[derive(JsonSchema)]
#[schemars(transparent)]
#[allow(dead_code)]
struct Moment(#[schemars(extend("format" = "date-time"))] String);

/// Where a task stands.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code)]
enum Status {
    /// Waits to be claimed.
    Pending,
    /// Held by its owner.
    InProgress,
    /// Done.
    Completed,
    /// Tried, and no attempt is left.
    Failed,
    /// Not to be done.
    Cancelled,
}

/// How much a teammate may be trusted with, lowest first.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code)]
enum Tier {
    /// Mechanical work.
    Cheap,
    /// Ordinary work.
    Mid,
    /// Judgement.
    Top,
}

/// A command.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum Command {
    /// Goes to `sh -c`.
    Shell(#[schemars(length(min = 1))] String),
    /// A program and its arguments, executed as they are.
    Program(#[schemars(length(min = 1))] Vec<String>),
}

/// The turn that holds a task.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Claim {
    /// The turn's id: every later write of the holder bears it.
    turn: String,
    /// The holder's name.
    by: String,
    /// Since when.
    at: Moment,
    /// The holder's process. Claims from a shell may name none.
    process: Option<Process>,
    /// When the claim runs out.
    lease: Option<Moment>,
    /// The lead's epoch under which it was given.
    epoch: Option<u64>,
    /// Whether the task was dispatched to its holder before: then it is again when it goes back.
    dispatched: Option<bool>,
}

/// A process that no other can be mistaken for.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Process {
    /// The host's name.
    host: String,
    /// Its process id.
    pid: u32,
    /// When it started, in clock ticks after the boot.
    start: u64,
    /// The boot's id.
    boot: String,
    /// The pid namespace that `pid` is of.
    ns: Option<u64>,
}

/// What a parked task waits for.
#[derive(JsonSchema)]
#[schemars(tag = "on", rename_all = "lowercase")]
#[allow(dead_code)]
enum Parked {
    /// A person's answer.
    Ask {
        /// The question's number.
        ask: Option<u64>,
        /// Whether it is part of a proposal.
        proposed: Option<bool>,
    },
    /// A time.
    Until {
        /// When it may go on.
        until: Option<Moment>,
        /// How often it was parked so.
        round: Option<u32>,
        /// Since when it waits, over all rounds.
        since: Option<Moment>,
    },
}

/// One attempt that has ended.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Attempt {
    /// The turn's id.
    turn: String,
    /// Who tried.
    by: String,
    /// From when.
    started: Moment,
    /// To when.
    ended: Moment,
    /// How it ended. Only `failed` and `timeout` spend `retries`.
    outcome: Outcome,
    /// The command's exit code.
    exit: Option<i32>,
    /// Why, in words.
    reason: Option<String>,
    /// The path of its log.
    log: Option<String>,
    /// The boot in which it was lost.
    boot: Option<String>,
    /// To whom it was handed off.
    to: Option<String>,
    /// Whether the task had been dispatched to `by`.
    dispatched: Option<bool>,
}

/// How an attempt ended.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[allow(dead_code)]
enum Outcome {
    /// The work is done and its check passed.
    Done,
    /// The work or its check failed.
    Failed,
    /// It took longer than it may.
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

/// What came of a task.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Result {
    /// In words, or the last lines of its output.
    summary: String,
    /// How the last attempt ended.
    outcome: Option<Outcome>,
    /// The working tree's SHA at its end.
    tree: Option<String>,
    /// The commit that it made.
    commit: Option<String>,
    /// The path of its log.
    log: Option<String>,
}

/// Why a completed task was put back.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Reopened {
    /// When.
    at: Moment,
    /// Why.
    because: String,
}
