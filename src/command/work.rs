//! `crew work`: works through the board in the foreground.

use std::time::Duration;

use board::Durability;
use teammates::batch::{self, Batch};
use teammates::consent::Consent as _;
use teammates::workplace::Workplace;
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::arming::{self, Scope};
use crate::config;
use crate::context::Context;
use crate::exit::{Exit, Failure, start};
use crate::interrupt;
use crate::log::{self, Log};
use crate::machine;
use crate::progress::Progress;
use crate::view;

/// Work through the board in the foreground with command teammates.
///
/// Runs the `run` of every task that is ready, as many at once as --jobs says, until nothing can go on. Tasks
/// without a command are left for teammates that think. Ctrl-C ends what runs and puts its tasks back; a second
/// `crew work` goes on where this one stopped. A command whose task is cancelled or taken away meanwhile is ended.
///
/// Before it runs what tasks that git tracks bring, it shows the commands and asks; tasks that git brings while it
/// runs are left alone, unless --yes allowed all.
///
/// With --json stdout has one object a line, by its "event":
///
/// * began: task, attempt
///
/// * ended: task, outcome, exit, reason, status (null: the task was taken away meanwhile)
///
/// * returned: task, by, status (of a task whose holder had died)
///
/// * summary, the last: completed, failed, again (attempts after which the task was to be tried again), takenAway, interrupted, left: of
///   unfinished tasks {"why", "tasks"} with why one of failed, needThought, waitForAnswer, ofOthers, blocked,
///   notAllowed, ready, and of files that are no valid tasks {"why": "invalid", "files"}
#[derive(Debug, clap::Args)]
pub(crate) struct Work {
    /// How many commands run at once [default: the number of processors]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    jobs: Option<u16>,
    /// Wall clock for one attempt at a task that names none, like 90s or 15m
    #[arg(long, value_parser = board::duration::parse)]
    timeout: Option<Duration>,
    /// Sync nothing but every few seconds: a power cut may cost the last seconds' progress, never a task
    #[arg(long)]
    relaxed: bool,
    /// Run the commands of tasks that git tracks, now and later, without asking
    #[arg(short, long)]
    yes: bool,
}

impl Work {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        let waits = config::apply(&mut board)?;
        let voice = context.voice(&board, self.yes)?;
        let consent = arming::allow(&mut board, Scope::Commands, voice, "crew work", None)?;
        if self.relaxed {
            board.set_durability(Durability::Relaxed);
        }
        board.set_threads(machine::processors());
        board.look()?;
        let runnable = board.index().entries().filter(|(_, entry)| entry.facts().is_some_and(|facts| facts.runs && !facts.is_finished())).count();
        let mut progress = Progress::begin(runnable, context.json);
        let batch = Batch { jobs: self.jobs.map_or_else(machine::processors, usize::from), timeout: self.timeout, waits, events: machine::events() };
        log::begin(Log::Warnings);
        let workplace = Workplace::open(board).map_err(start)?;
        let (stop, _told) = watch::channel(None);
        let runtime = machine::runtime().map_err(start)?;
        let (count, interrupted) = LocalSet::new().block_on(&runtime, async {
            let interrupted = interrupt::forward_to(&stop).map_err(start)?;
            let count = batch::run(&workplace, &batch, &consent, &stop, &mut |event| progress.show(&event)).await;
            Ok::<_, Failure>((count, interrupted.get()))
        })?;
        progress.finish();
        let count = count?;
        let mut board = workplace.board();
        board.look()?;
        let left = view::left::of(&board, |id| consent.may_claim(id));
        progress.summary(&count, &left, interrupted);
        match (interrupted, count.failed) {
            (true, _) => Ok(Exit::INTERRUPTED),
            (false, 0) => Ok(Exit::DONE),
            (false, _) => Ok(Exit::FAILED),
        }
    }
}
