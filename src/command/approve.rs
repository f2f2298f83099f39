//! `crew approve`: a person's yes to a gate or a proposal.

use board::post::Decision;
use board::run::{AskKind, Run};

use super::send::{begin_where_allowed, check};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::answering;

/// Approve a gate or a proposal: what it names may be done, and the run goes on
///
/// The first answer counts; a second is refused. The number may be left out when only one waits.
#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// The number of the gate or the proposal, as `crew needs` lists it
    number: Option<u64>,

    /// Why
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
}

impl Approve {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        context.only_for_a_person(&board, "approve")?;
        let run = Run::of(board.place())?;
        let ask = answering::meant(&run, self.number, &[AskKind::Gate, AskKind::Proposal], "approve")?;
        check(&mut board, &run)?;
        answering::decide(&mut board, &run, &ask, Decision::Approved, self.because.as_deref())?;
        context.confirm(format!("approved: {} {} of {}", ask.kind.as_str(), ask.id, ask.from));
        begin_where_allowed(context, &mut board, &run)?;
        Ok(Exit::DONE)
    }
}
