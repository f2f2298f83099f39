//! A run that is kept from being at work, for as long as something is done to what it works on.

use board::Board;
use board::lock::Held;
use board::run::Run;

use crate::exit::Failure;
use crate::run::at_work::Part;

/// The locks that a supervisor and a daemon need.
#[derive(Debug)]
pub(crate) struct AtRest {
    _supervisor: Held,
    _daemon: Held,
}

/// Keeps a run at rest. Refused while it is at work, and while a turn is open whose teammate still lives.
pub(crate) fn hold(board: &Board) -> Result<AtRest, Failure> {
    let run = Run::of(board.place())?;
    let refused = |message: String| Failure::Refused { rule: "at-work", message };
    let take = |part: Part| -> Result<Held, Failure> {
        let held = part.hold(&run)?;
        held.ok_or_else(|| refused("the run is at work; `crew stop` (or `crew pause`) ends it first".into()))
    };
    let at_rest = AtRest { _supervisor: take(Part::Supervisor)?, _daemon: take(Part::Daemon)? };
    let open = run.open_turn()?.and_then(|turn| turn.begun.filter(|_| turn.ended.is_none()).map(|begun| (turn.of, begun)));
    if let Some((who, begun)) = open.filter(|(_, begun)| begun.process.liveness() != board::alive::Liveness::Dead) {
        return Err(refused(format!("the turn of {who} is under way ({}); `crew shutdown {who}` ends it", begun.process)));
    }
    Ok(at_rest)
}
