//! `crew wait`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::facts::Phase;
use board::task_id::TaskId;
use board::watch::Watch;
use board::{Board, Error, clock, duration};
use tokio::sync::Notify;

use crate::context::Context;
use crate::countdown::Countdown;
use crate::exit::{Exit, Failure, start};
use crate::interrupt;
use crate::machine;
use crate::prospects;
use crate::view::left::count;

/// Wait until tasks are finished
///
/// Exit code 0: all are completed (with --all, or cancelled). 1, and why: one failed, or nothing can go on, since
/// nothing is ready, nothing is held by a living holder and nothing is parked until a time; or --timeout is over.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["ids", "all"]))]
pub(crate) struct Wait {
    /// The tasks
    #[arg(value_name = "ID")]
    ids: Vec<TaskId>,

    /// Every task of the board
    #[arg(long)]
    all: bool,

    /// How long at most ("90s", "15m", "1h")
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
}

/// Between two looks at the journal: with events, and without.
const LOOK: [Duration; 2] = [Duration::from_secs(5), Duration::from_millis(250)];
/// Between two looks at the whole directory: with events, and without.
const SWEEP: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(5)];
/// The shortest pause between two verdicts: many tasks may end at once.
const PAUSE: Duration = Duration::from_millis(20);
/// No more tasks are named of a kind.
const NAMED: usize = 10;

/// How the tasks stand that are waited for.
#[derive(Debug, Default)]
struct Standing {
    finished: usize,
    failed: Vec<TaskId>,
    cancelled: Vec<TaskId>,
    going_on: usize,
    stuck: Vec<TaskId>,
}

impl Standing {
    /// How many are over, done or not.
    fn over(&self) -> usize {
        self.finished + self.failed.len() + self.cancelled.len()
    }
}

impl Wait {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let runtime = machine::runtime().map_err(start)?;
        let told = {
            let _within = runtime.enter();
            interrupt::told().map_err(start)?
        };
        let mut board = context.board_on_every_core()?;
        runtime.block_on(async {
            tokio::select! {
                () = told => Ok(Exit::INTERRUPTED),
                waited = self.wait(context, &mut board) => waited,
            }
        })
    }

    async fn wait(&self, context: &Context, board: &mut Board) -> Result<Exit, Failure> {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let wake = Arc::new(Notify::new());
        // Watching begins before the first look, so that nothing falls between.
        let watch = if machine::events() && board.is_local() { watch(board, &wake) } else { None };
        let pace = usize::from(watch.is_none());
        board.look()?;
        if let Some(absent) = self.ids.iter().find(|id| board.index().get(id).is_none() && board.read_archived(id).is_none()) {
            return Err(Error::NoSuchTask(absent.clone()).into());
        }
        let mut swept = Instant::now();
        let mut countdown = Countdown::begin(context.json);
        // Said once: what is waited for may be dropped, and whoever works may come, at any time.
        if !context.json && self.standing(board, &BTreeSet::new()).going_on > 0 && nobody_works(board)? {
            context.say("nobody is at work; `crew work` or `crew spawn NAME` takes up what is ready");
        }
        loop {
            let began = Instant::now();
            let stale: BTreeSet<TaskId> = board.stale_claims(clock::now())?.into_iter().map(|stale| stale.task).collect();
            let standing = self.standing(board, &stale);
            countdown.show(standing.over(), standing.over() + standing.going_on + standing.stuck.len());
            if standing.going_on == 0 {
                drop(countdown);
                return self.say(context, board, &stale, &standing);
            }
            if deadline.is_some_and(|deadline| began >= deadline) {
                let many = count(standing.going_on + standing.stuck.len(), "task");
                let stuck = match standing.stuck.len() {
                    0 => String::new(),
                    stuck => format!(", of which {stuck} cannot go on (`crew ls` says why)"),
                };
                let message = format!("{many} not finished within {}{stuck}", duration::print(self.timeout.unwrap_or_default()));
                return Err(Failure::Failed(message));
            }
            let until = deadline.map_or(LOOK[pace], |deadline| deadline.saturating_duration_since(began).min(LOOK[pace]));
            tokio::time::sleep(PAUSE.max(began.elapsed() * 10).min(until)).await;
            let _ = tokio::time::timeout(until.saturating_sub(began.elapsed()), wake.notified()).await;
            if let Some(happened) = watch.as_ref().map(Watch::take) {
                board.refresh(happened.tasks.iter().map(|(name, moved)| (name.as_str(), *moved)));
                if happened.overflow {
                    swept = Instant::now();
                    board.sweep()?;
                }
            }
            board.look()?;
            if swept.elapsed() >= SWEEP[pace] {
                swept = Instant::now();
                board.sweep()?;
            }
        }
    }

    fn standing(&self, board: &Board, stale: &BTreeSet<TaskId>) -> Standing {
        let index = board.index();
        let going_on = prospects::going_on(index, stale);
        let mut standing = Standing::default();
        let mut count = |id: &TaskId, phase: Option<Phase>| match phase {
            Some(Phase::Completed) => standing.finished += 1,
            Some(Phase::Cancelled) => standing.cancelled.push(id.clone()),
            Some(Phase::Failed) => standing.failed.push(id.clone()),
            _ if going_on.contains(id) => standing.going_on += 1,
            _ => standing.stuck.push(id.clone()),
        };
        match self.all {
            true => index.entries().filter_map(|(id, entry)| Some((id, entry.facts()?))).for_each(|(id, facts)| count(id, Some(facts.status))),
            false => self.ids.iter().for_each(|id| {
                let archived = || board.read_archived(id).map(|(_, task)| Phase::from(&task.status));
                let phase = index.get(id).map_or_else(archived, |entry| entry.facts().map(|facts| facts.status));
                count(id, phase);
            }),
        }
        standing
    }

    /// Nothing of what is waited for goes on any more: says what came of it.
    fn say(&self, context: &Context, board: &Board, stale: &BTreeSet<TaskId>, standing: &Standing) -> Result<Exit, Failure> {
        let why = |id: &TaskId| prospects::why_stuck(board.index(), stale, id);
        // Whoever names a task wants it done; of a whole board a part may be given up.
        let cancelled: &[TaskId] = if self.all { &[] } else { &standing.cancelled };
        let done = standing.failed.is_empty() && standing.stuck.is_empty() && cancelled.is_empty();
        if context.json {
            let stuck: Vec<_> = standing.stuck.iter().map(|id| serde_json::json!({ "id": id, "why": why(id) })).collect();
            context.print(serde_json::json!({
                "done": done, "completed": standing.finished, "failed": standing.failed, "cancelled": standing.cancelled, "stuck": stuck,
            }))?;
        } else {
            let name = |ids: &[TaskId], what: &str| {
                ids.iter().take(NAMED).for_each(|id| context.say(format!("task {id}: {what}")));
                if ids.len() > NAMED {
                    context.say(format!("… and {} more: {what}", ids.len() - NAMED));
                }
            };
            name(&standing.failed, "failed; `crew show` says why, `crew retry` tries again");
            name(cancelled, "cancelled");
            if !standing.stuck.is_empty() {
                context.say("nothing can go on: nothing is ready, held by a living holder or parked until a time");
            }
            standing.stuck.iter().take(NAMED).for_each(|id| context.say(format!("task {id}: {}", why(id))));
            if standing.stuck.len() > NAMED {
                context.say(format!("… and {} more; `crew ls` says why", standing.stuck.len() - NAMED));
            }
        }
        Ok(if done { Exit::DONE } else { Exit::FAILED })
    }
}

/// Whether no teammate lives and nobody holds a task.
fn nobody_works(board: &Board) -> Result<bool, Failure> {
    Ok(board.index().in_progress().next().is_none() && !board.teammates()?.iter().any(|seen| seen.living))
}

fn watch(board: &Board, wake: &Arc<Notify>) -> Option<Watch> {
    let wake = Arc::clone(wake);
    // Where there are no events, looking again does it.
    Watch::begin(board.place().tasks(), &[], move || wake.notify_one()).ok()
}
