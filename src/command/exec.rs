//! `crew exec`: claims a task, runs a command on it, and finishes it by the command's exit code.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use board::name::Name;
use board::ready::Claimant;
use board::task::{Command, Outcome};
use board::task_id::TaskId;
use teammates::attempt::{Plan, Work};
use teammates::lane;
use teammates::waits::Waits;
use teammates::workplace::Workplace;
use teammates::worktree::Worktree;
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::arming::{self, Scope};
use crate::config;
use crate::context::{Context, EXEC};
use crate::exit::{Exit, Failure, start};
use crate::interrupt;
use crate::log::{self, Log};
use crate::machine;

/// Claim a task, run a command on it, and finish it by the command's exit code.
///
/// The command finds the task in its environment: CREW_TASK_ID, CREW_TASK_FILE, CREW_TURN, CREW_ATTEMPT,
/// CREW_RESULTS. Exit code 0 and a passing `check` complete the task; 75 asks to be tried again later; anything else
/// spends an attempt. The claim lives exactly as long as this process.
#[derive(Debug, clap::Args)]
pub(crate) struct Exec {
    /// Who claims
    #[arg(long = "as", env = "CREW_AS", value_name = "NAME")]
    name: Name,
    /// The task; without it the best that is ready
    #[arg(value_name = "ID")]
    id: Option<TaskId>,
    /// Wall clock for the attempt, if the task names none
    #[arg(long, value_parser = board::duration::parse)]
    timeout: Option<Duration>,
    /// Allow a `check` of a task that git tracks without asking
    #[arg(short, long)]
    yes: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Exec {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        let waits = config::apply(&mut board)?;
        context.check_acting(&board, &self.name)?;
        let voice = context.voice(&board, self.yes)?;
        arming::allow(&mut board, Scope::Checks, voice, "crew exec", None)?;
        board.set_threads(machine::processors());
        log::begin(Log::Warnings);
        let workplace = Workplace::open(board).map_err(start)?;
        let runtime = machine::runtime().map_err(start)?;
        LocalSet::new().block_on(&runtime, self.work(context, &workplace, waits))
    }

    async fn work(self, context: &Context, workplace: &Workplace, waits: Waits) -> Result<Exit, Failure> {
        let seat = Arc::new(workplace.enter(&self.name, EXEC)?);
        let claimant = Claimant::shell(self.name.as_str());
        let (stop, told) = watch::channel(None);
        let interrupted = interrupt::forward_to(&stop).map_err(start)?;
        let Some(claimed) = workplace.claim(&seat, &claimant, self.id.as_ref())? else {
            context.say(format!("there is nothing that {} could claim; `crew ls` says why", self.name));
            return Ok(Exit::NOTHING_TO_DO);
        };
        let worktree = if claimed.task.worktree == Some(true) { Worktree::OfAuthor } else { Worktree::Shared };
        let timeout = claimed.task.timeout.or(self.timeout);
        let plan = Plan { work: Work::Command(Command::Exec(self.command)), timeout, task_on_stdin: false, waits, env: Vec::new(), worktree };
        let log = workplace.place().log(&claimed.task.id, &claimed.turn);
        let (done, over) = watch::channel(false);
        let printing = tokio::task::spawn_local(async move { print_while_written(&log, over).await });
        let worked = lane::work(workplace.clone(), Arc::clone(&seat), claimed, plan, told).await;
        done.send_replace(true);
        let _ = printing.await;
        let worked = worked?;
        if let Some(reason) = &worked.ending.reason {
            context.say(format!("task {}: {reason}", worked.claimed.task.id));
        }
        worked.on_board?.settle().await?;
        workplace.close()?;
        match worked.ending.outcome {
            _ if interrupted.get() => Ok(Exit::INTERRUPTED),
            Outcome::Done | Outcome::Parked => Ok(Exit::DONE),
            _ => Ok(Exit::FAILED),
        }
    }
}

/// How often the log is looked at for what is new.
const LOOK: Duration = Duration::from_millis(50);

/// Prints what is written into a log until its writer is done.
async fn print_while_written(log: &Path, mut over: watch::Receiver<bool>) -> std::io::Result<()> {
    let mut printed = 0;
    loop {
        let last = *over.borrow();
        if let Ok(mut file) = std::fs::File::open(log) {
            file.seek(SeekFrom::Start(printed))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            printed += bytes.len() as u64;
            std::io::stdout().write_all(&bytes)?;
            std::io::stdout().flush()?;
        }
        if last {
            return Ok(());
        }
        let _ = tokio::time::timeout(LOOK, over.changed()).await;
    }
}
