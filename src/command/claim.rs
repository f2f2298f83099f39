//! `crew claim`.

use std::time::Duration;

use board::alive::Process;
use board::index::Entry;
use board::locked::Terms;
use board::ready::Claimant;
use board::task::Claim as Held;
use board::task_id::TaskId;
use board::{Board, Rule, clock, duration};

use teammates::cleaning;

use super::PATIENCE;
use crate::claimants;
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
            && let Some((id, held)) = held_by(&board, &claimant, terms.process.as_ref())
        {
            let (_, task) = board.read_task(&id)?;
            print(context, &id, &held.turn, task.next_attempt())?;
            return Ok(Exit::DONE);
        }
        // What is refused is refused before anything is locked or made; under the lock all of it holds again.
        self.check_second(&board, &claimant)?;
        match &self.id {
            Some(id) => check(&board, &claimant, id)?,
            None if claimants::first_choice(&board, &claimant).is_none() => return Ok(self.nothing(context)),
            None => {}
        }
        let mut locked = board.lock(PATIENCE)?;
        locked.see()?;
        self.check_second(locked.board(), &claimant)?;
        let own = claimants::own(locked.board(), &claimant);
        let claimed = match (&self.id, own) {
            // Its own may be gone or edited at this moment: then the next one is as good.
            (None, Some(own)) => match locked.claim(None, &claimant, Some(&own), &terms) {
                Err(e) if e.is_refusal() => locked.claim(None, &claimant, None, &terms)?,
                claimed => claimed?,
            },
            (wanted, _) => locked.claim(None, &claimant, wanted.as_ref(), &terms)?,
        };
        locked.unlock()?.settle()?;
        match claimed {
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

    /// Refuses a second claim of one name, unless that is wanted.
    fn check_second(&self, board: &Board, claimant: &Claimant) -> Result<(), Failure> {
        let Some((id, _)) = held_by(board, claimant, None).filter(|_| !self.another) else { return Ok(()) };
        let way_on = match self.resume {
            true => "but not for that --holder",
            false => "finish, fail or release it first, print it again with --resume, or take one more with --another",
        };
        Err(Failure::Refused { rule: Rule::OneClaim.name(), message: format!("{} holds task {id} already; {way_on}", claimant.name) })
    }

    fn nothing(&self, context: &Context) -> Exit {
        context.say(format!("there is nothing that {} could claim; `crew ls` says why", self.acting.name));
        Exit::NOTHING_TO_DO
    }
}

/// Refuses a task that the claimant may not have.
fn check(board: &Board, claimant: &Claimant, id: &TaskId) -> Result<(), Failure> {
    board.read_task(id)?;
    if claimants::is_due_for(board, claimant, id) {
        return Ok(());
    }
    board.why_not(id, claimant).map_err(|no| Failure::Refused { rule: no.rule.name(), message: format!("task {id}: {}", no.why) })
}

fn print(context: &Context, id: &TaskId, turn: &str, attempt: usize) -> Result<(), Failure> {
    match context.json {
        true => context.print(serde_json::json!({ "id": id, "turn": turn, "attempt": attempt })),
        false => context.print(id),
    }
}

/// A task that a name holds: for any of its processes, or for one. What is parked is not held.
fn held_by(board: &Board, claimant: &Claimant, holder: Option<&Process>) -> Option<(TaskId, Held)> {
    let index = board.index();
    let is_by = |id: &&TaskId| index.get(id).and_then(Entry::facts).and_then(|facts| facts.turn()).is_some_and(|(_, by)| by == claimant.name);
    index.in_progress().filter(is_by).find_map(|id| {
        let claim = board.read_task(id).ok()?.1.claim?;
        let same = claim.by == claimant.name && holder.is_none_or(|holder| claim.process.as_ref() == Some(holder));
        same.then(|| (id.clone(), claim))
    })
}
