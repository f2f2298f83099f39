//! `crew shutdown`: asks teammates to end, and after a grace ends them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use board::alive::{Liveness, Process};
use board::inbox::{Inbox, Kind};
use board::name::Name;
use board::{Board, clock};
use teammates::cleaning;
use teammates::detach::{self, Force};

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Ask teammates to shut down: each ends when its task does, and after --grace its task goes back.
#[derive(Debug, clap::Args)]
pub(crate) struct Shutdown {
    /// Who
    #[arg(required_unless_present = "all")]
    names: Vec<Name>,
    /// Everybody who is at work
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// How long the work under way may still take
    #[arg(long, value_parser = board::duration::parse, default_value = "30s")]
    grace: Duration,
}

/// How long an end may take beyond its grace: ending the processes of the task takes some of it.
const AFTER_GRACE: Duration = Duration::from_secs(6);
/// How long a teammate that was sent SIGTERM may take.
const AFTER_TERM: Duration = Duration::from_secs(6);
/// Between two looks at who is still there.
const LOOK: Duration = Duration::from_millis(10);

impl Shutdown {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        context.only_for_a_person(&board, "shutdown")?;
        let names = match self.all {
            true => board.teammates()?.into_iter().filter(|seen| seen.living).map(|seen| seen.name).collect(),
            false => self.names.clone(),
        };
        // Of everybody, one may have ended by itself since.
        if let Some(absent) = names.iter().find(|name| !board.lives(name)).filter(|_| !self.all) {
            return Err(Failure::Refused { rule: "not-at-work", message: format!("{absent} is not at work; `crew team` shows who is") });
        }
        let inboxes = Arc::new(board.place().inboxes()?);
        for name in &names {
            let grace = board::duration::print(self.grace);
            Inbox::open(Arc::clone(&inboxes), name)?.send("user", Kind::Shutdown, &grace, clock::now())?;
        }
        let grace_over = Instant::now() + self.grace;
        let left = wait(&board, names, grace_over, Until::Gone);
        let mut left = wait(&board, left, grace_over + AFTER_GRACE, Until::Hopeless);
        for (force, patience) in [(Force::Terminate, AFTER_TERM), (Force::Kill, AFTER_TERM)] {
            for name in &left {
                context.say(format!("{name} has not ended; {}", force.words()));
                if let Some(process) = process_of(&board, name) {
                    detach::end(&process, force).map_err(|e| Failure::Failed(format!("cannot end {name} ({process}): {e}")))?;
                }
            }
            let until = if force == Force::Kill { Until::Gone } else { Until::Hopeless };
            left = wait(&board, left, Instant::now() + patience, until);
        }
        cleaning::return_stale_claims(&mut board)?;
        match left.first() {
            None => Ok(Exit::DONE),
            Some(name) => Err(Failure::Failed(format!("{name} is still there, even after SIGKILL"))),
        }
    }
}

/// How long teammates are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Until they have ended.
    Gone,
    /// Or until all that are left are stopped: they act on nothing but SIGKILL.
    Hopeless,
}

/// Waits for teammates to end, at most until the deadline; returns those that have not.
fn wait(board: &Board, mut names: Vec<Name>, deadline: Instant, until: Until) -> Vec<Name> {
    // A teammate gives its name up a moment before its process has ended.
    let is_there = |name: &Name| board.lives(name) || process_of(board, name).is_some();
    let is_stopped = |name: &Name| process_of(board, name).is_some_and(|process| process.is_stopped());
    loop {
        names.retain(is_there);
        if names.is_empty() || Instant::now() >= deadline || (until == Until::Hopeless && names.iter().all(is_stopped)) {
            return names;
        }
        std::thread::sleep(LOOK);
    }
}

fn process_of(board: &Board, name: &Name) -> Option<Process> {
    let record = board.teammates().ok()?.into_iter().find(|seen| seen.name == *name)?.record?;
    (record.process.liveness() == Liveness::Alive).then_some(record.process)
}
