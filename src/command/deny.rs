//! `crew deny`: a person's no to a gate.

use board::post::Decision;
use board::run::{AskKind, Run};

use super::send::begin_where_allowed;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::boundary::Request;
use crate::run::{answering, requests, starting};

/// Deny a gate: what it names may not be done, and the run goes on
///
/// The first answer counts; a second is refused. The number may be left out when only one waits.
#[derive(Debug, clap::Args)]
pub(crate) struct Deny {
    /// The gate's number, as `crew needs` lists it
    number: Option<u64>,

    /// Why
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,

    /// Leave the run where it is
    #[arg(long)]
    stay: bool,
}

impl Deny {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        context.only_for_a_person(&board, "deny")?;
        let run = Run::of(board.place())?;
        let ask = answering::meant(&run, self.number, &[AskKind::Gate, AskKind::Proposal], "deny")?;
        // One that is just ending would take the decision for a reason to go on; one that works on is asked to end.
        if self.stay && starting::goes_on(&run)? {
            requests::ask(run.dir(), Request::Pause)?;
        }
        answering::decide(&mut board, &run, &ask, Decision::Denied, self.because.as_deref())?;
        context.confirm(format!("denied: {} {} of {}", ask.kind.as_str(), ask.id, ask.from));
        if self.stay {
            return Ok(Exit::DONE);
        }
        begin_where_allowed(context, &mut board, &run)?;
        Ok(Exit::DONE)
    }
}
