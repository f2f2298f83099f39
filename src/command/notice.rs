//! `crew notice`: something for the user to know, while the work goes on.

use board::name::Name;
use board::run::{AskKind, Run};
use board::task_id::TaskId;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::noticing;

/// Tell the user something without ending the turn, or hold and release what a notice keeps from the team
///
/// A teammate tells with --tell, once a turn; the number of the notice is printed. A person answers it with `crew answer`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["tell", "hold", "release"])))]
pub(crate) struct Notice {
    /// The notice's number; it may be left out when only one waits
    #[arg(conflicts_with = "tell")]
    number: Option<u64>,

    /// Tell the user this
    #[arg(long, value_name = "TEXT", requires = "name")]
    tell: Option<String>,

    /// Keep a capability from the team until the notice is answered
    #[arg(long, value_name = "CAPABILITY", requires = "tell")]
    holds: Option<String>,

    /// Pin what it holds: only --release lets go of it
    #[arg(long)]
    hold: bool,

    /// Let go of what it holds
    #[arg(long)]
    release: bool,

    /// Who tells: a teammate
    #[arg(long = "as", env = "CREW_AS", value_name = "NAME")]
    name: Option<Name>,

    /// The turn in which it is told
    #[arg(long, env = "CREW_TURN", value_name = "ID", hide_env_values = true)]
    turn: Option<String>,

    /// The task that the turn holds
    #[arg(long, env = "CREW_TASK_ID", value_name = "ID", hide_env_values = true)]
    task: Option<TaskId>,
}

impl Notice {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        let run = Run::of(board.place())?;
        if let (Some(text), Some(who)) = (&self.tell, &self.name) {
            context.check_acting(&board, who)?;
            let turn = self.turn.as_deref().filter(|turn| !turn.is_empty());
            let number = noticing::raise(&mut board, &run, noticing::Notice { who, turn, task: self.task.as_ref(), text, holds: self.holds })?;
            context.print(match context.json {
                true => serde_json::json!({ "id": number }).to_string(),
                false => number.to_string(),
            })?;
            return Ok(Exit::DONE);
        }
        context.only_for_a_person(&board, "notice")?;
        let ask = match self.number {
            Some(number) => run.asks.get(number)?,
            None => crate::run::answering::meant(&run, None, &[AskKind::Notice], "notice")?,
        };
        if ask.holds.is_none() {
            return Err(Failure::Refused { rule: "answer", message: format!("{} holds nothing; `crew needs` lists what does", ask.id) });
        }
        let changed = run.asks.change(ask.id, |ask| (ask.pinned, ask.released) = (self.hold, self.release))?;
        context.confirm(match changed.is_holding() {
            true => format!("{} holds {}, until `crew notice {} --release`", ask.id, ask.holds.unwrap_or_default(), ask.id),
            false => format!("{} is let go of", ask.holds.unwrap_or_default()),
        });
        Ok(Exit::DONE)
    }
}
