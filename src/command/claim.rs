//! `crew claim`.

use std::time::Duration;

use board::alive::Process;
use board::index::Entry;
use board::locked::Terms;
use board::ready::Claimant;
use board::task::Claim as Held;
use board::task_id::TaskId;
use board::{Board, Rule, clock, duration};

use super::PATIENCE;
use crate::claimants;
use crate::context::{Acting, Context};
use crate::exit::{Exit, Failure};
use crate::view::document;

/// Take a task: nobody else gets it until it is finished, failed or released
///
/// Without an ID the best that is ready: your own first, then by priority and id. Prints the id (--json: the turn
/// too). Exit code 6: nothing to claim; 4: that one is refused, and why.
///
///     while id=$(crew claim --as me --holder $$); do ./work "$id" && crew finish "$id" --as me || crew fail "$id" --as me; done
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
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
        let name = &self.acting.name;
        let holder = self.holder.map(|pid| Process::of(pid).ok_or_else(|| Failure::Usage(format!("there is no process {pid} that could hold a task"))));
        let holder = holder.transpose()?;
        let mut board = context.seen_board()?;
        if self.resume
            && let Some((id, held)) = held_by(&board, name.as_str(), holder.as_ref()).into_iter().next()
        {
            let (_, task) = board.read_task(&id)?;
            print(context, &id, &held.turn, task.next_attempt())?;
            return Ok(Exit::DONE);
        }
        teammates::cleaning::return_stale_claims(&mut board)?;

        let claimant = Claimant::shell(name.as_str());
        let lease = self.lease.map(|lease| clock::now().checked_add(lease).map_err(|e| Failure::Usage(format!("--lease: {e}"))));
        let terms = Terms { process: holder.clone(), lease: lease.transpose()?, epoch: None };
        let mut locked = board.lock(PATIENCE)?;
        locked.see()?;
        if !self.another
            && let Some((id, _)) = held_by(locked.board(), name.as_str(), None).into_iter().next()
        {
            return Err(refuse_second(name.as_str(), &id, self.resume));
        }
        let own = claimants::own(locked.board(), &claimant);
        let claimed = match (self.id.as_ref(), own) {
            (Some(id), _) => locked.claim(None, &claimant, Some(id), &terms)?,
            // It may be gone or edited at this moment: then the next one is as good.
            (None, Some(own)) => match locked.claim(None, &claimant, Some(&own), &terms) {
                Err(e) if e.is_refusal() => locked.claim(None, &claimant, None, &terms)?,
                claimed => claimed?,
            },
            (None, None) => locked.claim(None, &claimant, None, &terms)?,
        };
        locked.unlock()?.settle()?;
        match claimed {
            Some(claimed) => {
                print(context, &claimed.task.id, &claimed.turn, claimed.attempt)?;
                Ok(Exit::DONE)
            }
            None => {
                context.say(format!("there is nothing that {name} could claim; `crew ls` says why"));
                Ok(Exit::NOTHING_TO_DO)
            }
        }
    }
}

fn print(context: &Context, id: &TaskId, turn: &str, attempt: usize) -> Result<(), Failure> {
    match context.json {
        true => context.print(serde_json::json!({ "id": document::id(id), "turn": turn, "attempt": attempt })),
        false => context.print(id),
    }
}

/// What a name holds: of all its processes, or of one. What is parked is not held.
fn held_by(board: &Board, name: &str, holder: Option<&Process>) -> Vec<(TaskId, Held)> {
    let index = board.index();
    let by_name = |id: &&TaskId| index.get(id).and_then(Entry::facts).and_then(|facts| facts.turn()).is_some_and(|(_, by)| by == name);
    let claim = |id: &TaskId| Some((id.clone(), board.read_task(id).ok()?.1.claim?));
    let held = index.in_progress().filter(by_name).filter_map(claim);
    held.filter(|(_, claim)| claim.by == name && holder.is_none_or(|holder| claim.process.as_ref() == Some(holder))).collect()
}

fn refuse_second(name: &str, id: &TaskId, resumed: bool) -> Failure {
    let way_on = match resumed {
        true => "but not for that --holder",
        false => "finish, fail or release it first, print it again with --resume, or take one more with --another",
    };
    Failure::Refused { rule: Rule::OneClaim.name(), message: format!("{name} holds task {id} already; {way_on}") }
}
