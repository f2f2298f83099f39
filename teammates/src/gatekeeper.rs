//! Which commands of a teammate may run, by what its run has on record.
//!
//! What `gateAutoDeny` is found in never runs. What `gateAsk` names something in runs once for each gate that was approved,
//! whoever or whatever approved it: one that this teammate has raised, and that quotes the command word for word. That a
//! gate is used for a command is on disk before the command may run, so a kill in between costs the permission and never
//! doubles it. What cannot be read or written down allows nothing.

use board::name::Name;
use board::place::Place;
use board::run::Run;

use crate::config;
use crate::tools::gate_list::{self, GateList, Gatekeeper, Verdict};

#[cfg(test)]
mod tests;

/// The gatekeeper of one teammate.
#[derive(Debug, Clone)]
pub struct Gates {
    place: Place,
    name: Name,
}

impl Gates {
    /// That of a teammate at a place.
    pub fn of(place: Place, name: Name) -> Gates {
        Gates { place, name }
    }

    fn verdict(&self, command: &str) -> Result<Verdict, String> {
        // Read each time: what a person writes there holds from then on.
        let config = config::read(&self.place).map_err(|e| e.to_string())?;
        let denying = GateList::denying(&config.gate_auto_deny).map_err(|e| e.to_string())?;
        if let Some(pattern) = denying.pattern_in(command) {
            return Ok(Verdict::Denied(format!("gateAutoDeny of {} has {pattern:?}", config::path(&self.place).display())));
        }
        let asking = GateList::asking(config.gate_ask.as_deref()).map_err(|e| e.to_string())?;
        let Some(part) = asking.names(command) else { return Ok(Verdict::Run) };
        let command = command.trim();
        let run = Run::existing(&self.place).map_err(|e| e.to_string())?;
        let used = run.map(|run| run.asks.use_gate(self.name.as_str(), command, |text| gate_list::quotes(text, command)));
        match used.transpose().map_err(|e| e.to_string())? {
            Some(true) => Ok(Verdict::Run),
            Some(false) | None => Ok(Verdict::Ask(part)),
        }
    }
}

impl Gatekeeper for Gates {
    fn may_run(&self, command: &str) -> Verdict {
        self.verdict(command).unwrap_or_else(|why| Verdict::Denied(format!("whether it may run cannot be told now: {why}")))
    }
}
