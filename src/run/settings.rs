//! What the project's configuration says of a run. It is read whole before a run begins: a pattern that means nothing
//! must not come to light at the gate that it was to stop.

use std::time::Duration;

use board::Board;
use teammates::config::{Checkpoints, Config, GateMode, Plan};
use teammates::waits::Waits;

use crate::config;
use crate::exit::Failure;
use crate::rules::boundary::Limits;
use crate::rules::gate::Patterns;

/// The settings of a run.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where it stops.
    pub(crate) limits: Limits,
    /// Which gates answer themselves.
    pub(crate) patterns: Patterns,
    /// What becomes of the others.
    pub(crate) gate_mode: GateMode,
    /// Whether it begins with a plan.
    pub(crate) plan: Plan,
    /// Where checkpoints are kept.
    pub(crate) checkpoints: Checkpoints,
    /// Who judges a `done`; `None`: the checks alone.
    pub(crate) auditor: Option<config::Auditor>,
}

impl Settings {
    /// Reads them, and gives the board what is its own.
    pub(crate) fn read(board: &mut Board) -> Result<Settings, Failure> {
        let config = config::read(board.place())?;
        board.set_max_lost(usize::try_from(config.max_lost.get()).unwrap_or(usize::MAX));
        let patterns = Patterns::compile(&config.gate_auto_deny, &config.gate_auto_approve)
            .map_err(|bad| config::refused(format!("{}: {bad}", teammates::config::path(board.place()).display())))?;
        let auditor = config::auditor(board.place())?;
        Ok(Settings { limits: limits(&config), patterns, gate_mode: config.gate_mode, plan: config.plan, checkpoints: config.checkpoints, auditor })
    }
}

fn limits(config: &Config) -> Limits {
    let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
    Limits {
        max_talk_turns: config.max_talk_turns.get(),
        max_accept_checks: config.max_accept_checks.get(),
        max_lost: config.max_lost.get(),
        waits: Waits::of(config),
        longest_wait: minutes(config.max_wait_min.get()),
        longest_run: config.max_run_min.map(|limit| minutes(limit.get())),
        most_usd: config.max_spend_usd.map(teammates::config::Usd::get),
    }
}
