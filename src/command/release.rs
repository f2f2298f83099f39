//! `crew release`.

use board::name::Name;
use board::task::Outcome;
use board::task_id::TaskId;
use board::transition::{By, Ending};

use super::finish;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Give a task back, or with --force take it away from whoever holds it
///
/// The task is pending again, and the attempt spends none of its retries. After --force everything that its holder
/// still writes about it is refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Release {
    /// The task
    #[arg(value_name = "ID")]
    id: TaskId,

    /// Who gives it back
    #[arg(long = "as", value_name = "NAME", env = "CREW_AS", required_unless_present = "force")]
    name: Option<Name>,

    /// The turn, as `crew claim --json` printed it (default: CREW_TURN, inside that task)
    #[arg(long, value_name = "TURN", conflicts_with = "force")]
    turn: Option<String>,

    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// For persons: end the turn, whoever holds it
    #[arg(long)]
    force: bool,
}

impl Release {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        match &self.name {
            Some(name) if !self.force => context.check_acting(&board, name)?,
            _ if context.teammate_above(&board)?.is_some() => context.only_for_a_person(&board, "release --force")?,
            _ => {}
        }
        let turn = self.turn.or_else(|| context.turn_on(&self.id));
        let by = match (&self.name, self.force) {
            (_, true) => By::Force,
            (Some(name), false) => By::Holder { name: name.as_str(), turn: turn.as_deref() },
            (None, false) => return Err(Failure::Usage("say who gives it back with --as NAME, or take it away with --force".into())),
        };
        let ending = Ending { reason: self.reason, ..Ending::of(Outcome::Released) };
        finish::end(context, &self.id, &by, &ending)
    }
}
