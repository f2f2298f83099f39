//! `crew claim`.

use std::time::Duration;

use board::alive::Process;
use board::locked::Terms;
use board::ready::Claimant;
use board::task_id::TaskId;
use board::{clock, duration};

use teammates::cleaning;

use crate::claiming;
use crate::config;
use crate::context::{Acting, Context};
use crate::exit::{Exit, Failure};

/// What `crew claim --help` shows last.
const EXAMPLE: &str = "\
Example, a shell that empties the board:
    while id=$(crew claim --as me --holder $$); do
        if ./work \"$id\"; then crew finish \"$id\" --as me; else crew fail \"$id\" --as me; fi
    done";

/// Take a task: nobody else gets it until it is finished, failed or released
///
/// Without an ID the best that is ready: your own first, then by priority and id. Prints the id (--json: the turn
/// too). Exit code 6: nothing to claim; 4: that one is refused, and why.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Claim {
    #[command(flatten)]
    acting: Acting,

    /// This task and no other
    #[arg(value_name = "ID")]
    id: Option<TaskId>,

    /// The process that does the work: when it is gone, the task goes back ($$ in a shell)
    #[arg(long, value_name = "PID")]
    holder: Option<u32>,

    /// The task goes back after so long ("90s", "15m", "1h30m")
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    lease: Option<Duration>,

    /// Print again what is held already (with --holder: only what that process holds)
    #[arg(long, conflicts_with_all = ["id", "lease", "another"])]
    resume: bool,

    /// One more than what is held already
    #[arg(long)]
    another: bool,
}

impl Claim {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let claimant = Claimant::shell(self.acting.name.as_str());
        let terms = self.terms()?;
        let mut board = context.seen_board()?;
        context.check_acting(&board, &self.acting.name)?;
        config::apply(&mut board)?;
        cleaning::return_stale_claims(&mut board)?;

        if self.resume
            && let Some((id, held)) = claiming::held_by(&board, &claimant.name, terms.process.as_ref())
        {
            let (_, task) = board.read_task(&id)?;
            print(context, &id, &held.turn, task.next_attempt())?;
            return Ok(Exit::DONE);
        }
        let second = (!self.another).then_some(match self.resume {
            true => "but not for that --holder",
            false => "finish, fail or release it first, print it again with --resume, or take one more with --another",
        });
        match claiming::claim(&mut board, &claimant, self.id.as_ref(), &terms, second)? {
            Some(claimed) => {
                print(context, &claimed.task.id, &claimed.turn, claimed.attempt)?;
                Ok(Exit::DONE)
            }
            None => Ok(self.nothing(context)),
        }
    }

    fn terms(&self) -> Result<Terms, Failure> {
        let usage = |message: String| Failure::Usage(message);
        let process = self.holder.map(|pid| Process::of(pid).ok_or_else(|| usage(format!("there is no process {pid} that could hold a task"))));
        let lease = self.lease.map(|lease| clock::now().checked_add(lease).map_err(|e| usage(format!("--lease: {e}"))));
        Ok(Terms { process: process.transpose()?, lease: lease.transpose()?, epoch: None })
    }

    fn nothing(&self, context: &Context) -> Exit {
        context.say(format!("there is nothing that {} could claim; `crew ls` says why", self.acting.name));
        Exit::NOTHING_TO_DO
    }
}

fn print(context: &Context, id: &TaskId, turn: &str, attempt: usize) -> Result<(), Failure> {
    match context.json {
        true => context.print(serde_json::json!({ "id": id, "turn": turn, "attempt": attempt })),
        false => context.print(id),
    }
}
