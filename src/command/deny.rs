//! `crew deny`: a person's no to a gate or a proposal.

use board::clock;
use board::post::Decision;
use board::run::{Ask, AskKind, Reason, Run, RunState};

use super::send::{begin_where_allowed, check};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::boundary::Request;
use crate::run::{answering, requests, starting};

/// Deny a gate or a proposal: what it names may not be done, and the run goes on
///
/// The tasks of a proposal are cancelled, and it is planned anew with your reason in the thread.
///
/// The first answer counts; a second is refused. The number may be left out when only one waits.
#[derive(Debug, clap::Args)]
pub(crate) struct Deny {
    /// The number of the gate or the proposal, as `crew needs` lists it
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
        match self.stay {
            true => run.check()?,
            false => check(&mut board, &run)?,
        }
        // One that is just ending would take the decision for a reason to go on; one that works on is asked to end. What
        // is decided already is refused, and asks nothing of the run.
        let goes_on = self.stay && ask.answer.is_none() && starting::goes_on(&run)?;
        if goes_on {
            requests::ask(run.dir(), Request::Pause)?;
        }
        answering::decide(&mut board, &run, &ask, Decision::Denied, self.because.as_deref())?;
        context.confirm(format!("denied: {} {} of {}", ask.kind.as_str(), ask.id, ask.from));
        if self.stay {
            if !goes_on {
                say_why_it_stays(&run, &ask)?;
            }
            return Ok(Exit::DONE);
        }
        begin_where_allowed(context, &mut board, &run)?;
        Ok(Exit::DONE)
    }
}

/// The run had ended for this gate, and its state said that it waits for an answer: now it waits for a person to let it go
/// on, or for the next answer.
fn say_why_it_stays(run: &Run, denied: &Ask) -> Result<(), Failure> {
    let is_decision = |ask: &Ask| ask.task.is_none() && matches!(ask.kind, AskKind::Gate | AskKind::Proposal);
    if !is_decision(denied) {
        return Ok(());
    }
    let next = run.asks.open()?.into_iter().find(is_decision);
    let (code, text) = match next {
        Some(next) => {
            (next.kind.as_str(), format!("the {} of {} waits for an answer; `crew needs` shows it, and how to answer", next.kind.as_str(), next.from))
        }
        None => (
            "denied",
            format!("the {} {} of {} was denied, and the run stays where it is; `crew start` goes on", denied.kind.as_str(), denied.id, denied.from),
        ),
    };
    let reason = Reason { code: code.into(), who: None, text, at: clock::now(), until: None };
    run.state.update(|state| {
        if matches!(state.state, RunState::Gated | RunState::Proposed) {
            state.reason = Some(reason);
        }
    })?;
    Ok(())
}
