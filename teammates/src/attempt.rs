//! One attempt at a task by a command or a model: started, waited for, checked, and what it left behind ended.

use std::ffi::OsString;
use std::fs::File;
use std::future::Future;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use board::locked::Claimed;
use board::task::{Command, Outcome};
use board::transition::Ending;
use board::{Error, Result, clock, duration};
use rustix::io::Errno;

use crate::aside::aside;
use crate::gathering;
use crate::group_record;
use crate::lane_move;
use crate::leftovers;
use crate::process::{self, Ended, Spawn, SpawnError};
use crate::thinking::{self, Thinker, Turn};
use crate::tools::crew::At;
use crate::waits::Waits;
use crate::workplace::{Seat, Workplace};
use crate::worktree::Worktree;

/// Exit code of a command that asks to be tried again later (`EX_TEMPFAIL` of sysexits.h).
pub const TRY_LATER: i32 = 75;
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// The same for what it left in other groups. Together they stay well below the 5 s that an interrupt promises.
const LEFTOVERS_GRACE: Duration = Duration::from_secs(1);
/// How much of a log's end becomes the task's summary.
const SUMMARY_LINES: usize = 10;
const SUMMARY_BYTES: u64 = 2000;

/// What performs an attempt.
#[derive(Clone)]
pub enum Work {
    /// A command.
    Command(Command),
    /// A model.
    Model(Rc<Thinker>),
}

/// What an attempt runs, and under what limits.
#[derive(Clone)]
pub struct Plan {
    /// What performs it.
    pub work: Work,
    /// Wall clock for it, and again for its check; `None`: none.
    pub timeout: Option<Duration>,
    /// Whether the task's document is its standard input.
    pub task_on_stdin: bool,
    /// When a command that asks to be tried later is tried again.
    pub waits: Waits,
    /// Variables for it besides those that every attempt has.
    pub env: Vec<(OsString, OsString)>,
    /// Whether it has a git worktree of its own.
    pub worktree: Worktree,
}

/// Runs an attempt to its end, in the directory `cwd`, or until `cancel` is ready (then its reason). Whatever becomes of
/// the command comes out as an ending.
///
/// An error says that no command can be run here now (no room for its log, no more processes): that is no failure of
/// the task.
pub async fn run(workplace: &Workplace, seat: &Seat, claimed: &Claimed, plan: &Plan, cwd: &Path, cancel: impl Future<Output = String>) -> Result<Ending> {
    Attempt::open(workplace, seat, claimed, plan, cwd)?.run(cancel).await
}

struct Attempt<'a> {
    workplace: &'a Workplace,
    seat: &'a Seat,
    claimed: &'a Claimed,
    plan: &'a Plan,
    cwd: &'a Path,
    log: File,
    log_path: PathBuf,
    env: Vec<(OsString, OsString)>,
}

/// How one of its commands ended, or why it did not even start.
type Step = std::result::Result<Ended, String>;

impl<'a> Attempt<'a> {
    fn open(workplace: &'a Workplace, seat: &'a Seat, claimed: &'a Claimed, plan: &'a Plan, cwd: &'a Path) -> Result<Self> {
        let (task, turn) = (&claimed.task, &claimed.turn);
        let logs = workplace.place().attempt_logs(&task.id)?;
        let name = format!("{turn}.log");
        let log = logs.open_append(&name, 0o600)?;
        let mut env: Vec<(OsString, OsString)> = vec![
            ("CREW_BOARD".into(), workplace.place().tasks().into()),
            ("CREW_TASK_ID".into(), task.id.as_str().into()),
            ("CREW_TASK_FILE".into(), workplace.place().tasks().join(task.id.file_name()).into()),
            ("CREW_ATTEMPT".into(), claimed.attempt.to_string().into()),
            ("CREW_LOG_DIR".into(), logs.path().into()),
        ];
        env.extend(seat.identity());
        env.extend(plan.env.iter().cloned());
        if task.edges().next().is_some() {
            let name = format!("{turn}.results.json");
            let text = serde_json::to_vec_pretty(&workplace.results_for(claimed)).unwrap_or_default();
            logs.replace(&name, &text, 0o600, false)?;
            env.push(("CREW_RESULTS".into(), logs.join(&name).into()));
        }
        if task.run.is_none() && cwd == workplace.place().project() {
            lane_move::keep_base(workplace.place(), claimed, seat.name().as_str(), &logs)?;
        }
        env.extend(lane_move::answers(workplace.place(), claimed, &logs)?);
        Ok(Attempt { workplace, seat, claimed, plan, cwd, log, log_path: logs.join(&name), env })
    }

    async fn run(self, cancel: impl Future<Output = String>) -> Result<Ending> {
        let reason = std::cell::RefCell::new(None);
        let cancel = async {
            let why = cancel.await;
            *reason.borrow_mut() = Some(why);
        };
        let mut cancel = std::pin::pin!(cancel);
        let ended = match &self.plan.work {
            Work::Command(command) => self.step(command, self.stdin(), &mut cancel).await?,
            Work::Model(thinker) => {
                let cut_short = async {
                    cancel.as_mut().await;
                    reason.borrow().clone().unwrap_or_default()
                };
                match self.think(thinker, cut_short).await? {
                    None => Ok(Ended::Exited(0)),
                    Some(ending) => {
                        self.end_leftovers().await;
                        return Ok(Ending { log: Some(self.log_path.display().to_string()), ..ending });
                    }
                }
            }
        };
        let moved = lane_move::of_turn(self.workplace.place(), self.claimed, self.plan.waits);
        let moved = moved.inspect_err(|e| tracing::warn!("task {}: whether it has posted is not known: {e}", self.claimed.task.id));
        if let Ok(Some(ending)) = moved {
            self.end_leftovers().await;
            return Ok(Ending { log: Some(self.log_path.display().to_string()), ..ending });
        }
        let (ended, checked) = match (&ended, &self.claimed.task.check) {
            (Ok(Ended::Exited(0)), Some(check)) => match self.step(check, None, &mut cancel).await {
                Ok(ended) => (ended, true),
                Err(e) => {
                    self.end_leftovers().await;
                    return Err(e);
                }
            },
            _ => (ended, false),
        };
        let ending = self.judge(ended, checked, reason.borrow_mut().take());
        self.end_leftovers().await;
        Ok(Ending { log: Some(self.log_path.display().to_string()), summary: self.summary(&ending), ..ending })
    }

    /// Has a model work on the task. `None`: it has posted.
    async fn think(&self, thinker: &Thinker, cut_short: impl Future<Output = String>) -> Result<Option<Ending>> {
        let place = self.workplace.place();
        let (request, index) = gathering::brief(self.workplace, self.claimed, self.cwd)?;
        let turn = Turn {
            at: At { name: self.seat.name().clone(), turn: self.claimed.turn.clone(), task: Some(self.claimed.task.id.clone()), of_thread: false },
            request,
            index,
            workspace: self.cwd,
            logs: Arc::new(place.attempt_logs(&self.claimed.task.id)?),
        };
        let late = std::cell::Cell::new(None);
        let cut_short = async {
            tokio::select! {
                why = cut_short => why,
                limit = after(self.plan.timeout) => {
                    late.set(Some(limit));
                    format!("the turn took longer than its {}", duration::print(limit))
                }
            }
        };
        Ok(Some(match thinker.perform(&turn, cut_short).await {
            thinking::Outcome::Posted => return Ok(None),
            thinking::Outcome::Silent(how) => Ending::because(Outcome::Failed, format!("its turn ended without a post: {how}")),
            thinking::Outcome::Failed(why) => Ending::because(Outcome::Failed, why),
            thinking::Outcome::CutShort(why) if late.get().is_some() => Ending::because(Outcome::Timeout, why),
            // Neither is the task's fault, nor that of who worked on it.
            thinking::Outcome::Limited { why, .. } | thinking::Outcome::CutShort(why) => Ending::because(Outcome::Released, why),
        }))
    }

    fn stdin(&self) -> Option<File> {
        self.plan.task_on_stdin.then(|| File::open(self.workplace.place().tasks().join(self.claimed.task.id.file_name())).ok()).flatten()
    }

    async fn step(&self, command: &Command, stdin: Option<File>, cancel: &mut (impl Future<Output = ()> + Unpin)) -> Result<Step> {
        let spawn = Spawn {
            turn: &self.claimed.turn,
            argv: command.argv().into_iter().map(OsString::from).collect(),
            cwd: self.cwd.to_path_buf(),
            env: self.env.clone(),
            stdin,
            output: &self.log,
            errors: None,
            group_record: Some(self.seat.groups()),
        };
        let ending = process::Ending { timeout: self.plan.timeout, grace: GRACE, keep: self.claimed.task.keep };
        match self.workplace.children().spawn(spawn) {
            Ok(running) => Ok(running.wait(ending, cancel).await.map_err(|e| e.to_string())),
            Err(e) => self.not_started(e),
        }
    }

    /// Whether it is the command's fault that it did not start, or that of this machine.
    fn not_started(&self, error: SpawnError) -> Result<Step> {
        let here = |action, path, source| Err(Error::Io { action, path, source });
        match error {
            SpawnError::Record { source } => here("record a process group in", self.workplace.place().ours().join("groups"), source),
            SpawnError::Cwd { cwd, source } => here("run a command in", cwd, source),
            SpawnError::Program { program, source } if is_shortage(&source) => here("start", program.into(), source),
            other => Ok(Err(other.to_string())),
        }
    }

    /// What an end of its command, or of its check, means for the task.
    fn judge(&self, ended: Step, checked: bool, cancelled: Option<String>) -> Ending {
        let what = if checked { "check" } else { "command" };
        let failed = |reason: String| Ending::because(Outcome::Failed, reason);
        match ended {
            Err(e) => failed(format!("the {what} did not run: {e}")),
            Ok(Ended::Exited(0)) => Ending { exit: Some(0), ..Ending::of(Outcome::Done) },
            Ok(Ended::Exited(TRY_LATER)) if !checked => Ending {
                exit: Some(TRY_LATER),
                parked: Some(self.plan.waits.next(&self.claimed.task.attempts, clock::now())),
                ..Ending::because(Outcome::Parked, format!("its command asks to be tried again later (exit {TRY_LATER})"))
            },
            Ok(Ended::Exited(code)) => Ending { exit: Some(code), ..failed(format!("the {what} ended with exit code {code}")) },
            Ok(Ended::Signaled(signal)) => failed(format!("the {what} was ended by signal {signal}")),
            Ok(Ended::TimedOut) => {
                let limit = self.plan.timeout.map(duration::print).unwrap_or_default();
                Ending::because(Outcome::Timeout, format!("the {what} took longer than its {limit}"))
            }
            Ok(Ended::Cancelled) => Ending::because(Outcome::Released, cancelled.unwrap_or_else(|| "it was cancelled".into())),
        }
    }

    async fn end_leftovers(&self) {
        end_leftovers(self.workplace, self.seat, &self.claimed.turn, self.claimed.task.keep).await;
    }

    /// The last lines of its log, and for an attempt that did not go well the reason before them.
    fn summary(&self, ending: &Ending) -> Option<String> {
        if let (Outcome::Done, Work::Model(_)) = (ending.outcome, &self.plan.work) {
            // What it posted says it better than the end of its log.
            return lane_move::said(self.workplace.place(), self.claimed);
        }
        let tail = tail(&self.log_path, &self.log).unwrap_or_default();
        match (&ending.reason, ending.outcome) {
            (_, Outcome::Released | Outcome::Parked) => None,
            (Some(reason), _) if tail.is_empty() => Some(reason.clone()),
            (Some(reason), _) => Some(format!("{reason}\n{tail}")),
            (None, _) => Some(tail),
        }
    }
}

/// Waits so long, and says how long that was; `None`: for ever.
pub(crate) async fn after(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
    limit.unwrap_or_default()
}

/// Ends what a turn left running, also what left its process group, unless that is to be kept.
pub(crate) async fn end_leftovers(workplace: &Workplace, seat: &Seat, turn: &str, keep: bool) {
    let children = workplace.children();
    let report = |e: &dyn std::fmt::Display| tracing::warn!("what turn {turn} left running: {e}");
    match children.orphaned() {
        Ok(false) => return,
        Ok(true) if keep => {}
        Ok(true) => {
            let groups = workplace.board().groups_of(seat.name()).unwrap_or_default();
            let groups = group_record::parse(&groups, board::alive::boot());
            let turn = turn.to_owned();
            match aside(move || leftovers::end(&turn, &groups, LEFTOVERS_GRACE)).await {
                Some(Err(e)) => report(&e),
                None => report(&"ending it has failed"),
                Some(Ok(_)) => {}
            }
        }
        Err(e) => report(&e),
    }
    if let Err(e) = children.settle() {
        report(&e);
    }
}

/// Whether something has run out that no other command would have either.
fn is_shortage(error: &std::io::Error) -> bool {
    let shortages = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::NOSPC, Errno::DQUOT];
    error.raw_os_error().is_some_and(|code| shortages.iter().any(|shortage| shortage.raw_os_error() == code))
}

/// The last lines of a log, as text; nothing where there is none.
pub fn last_lines(log: &Path) -> String {
    File::open(log).and_then(|written| tail(log, &written)).unwrap_or_default()
}

/// The last lines of a log, as text. `written`: the log as its command has it open.
fn tail(log: &Path, written: &File) -> std::io::Result<String> {
    let length = written.metadata()?.len();
    if length == 0 {
        return Ok(String::new());
    }
    let mut file = File::open(log)?;
    let from = length.saturating_sub(SUMMARY_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(SUMMARY_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    // Cut in the middle of a line (or of a character): what is left of it says nothing, unless there is no other.
    let whole = if from > 0 { text.split_once('\n').map_or(text, |(_, rest)| rest) } else { text };
    let lines: Vec<&str> = whole.lines().collect();
    Ok(lines[lines.len().saturating_sub(SUMMARY_LINES)..].join("\n"))
}
