//! The run: turns of the thread given one after the other, tasks worked on beside them, and what survives.
//!
//! The [`daemon`] is the run's loop. It asks no model: it brings what the user has said into the thread, names the
//! speaker, keeps the wanted teammates running, and applies the effect of each post, once. The [`supervisor`] starts it
//! again when it dies with the run still active. What people do to a run ([`requests`], [`answering`]) is written where
//! the daemon sees it, or does its work where there is none.

pub(crate) mod answering;
pub(crate) mod archiving;
pub(crate) mod at_rest;
pub(crate) mod at_work;
pub(crate) mod audit;
mod awake;
pub(crate) mod crew_tools;
pub(crate) mod crewing;
pub(crate) mod daemon;
mod effects;
pub(crate) mod lane_post;
pub(crate) mod needs;
pub(crate) mod next;
pub(crate) mod noticing;
pub(crate) mod planning;
pub(crate) mod posting;
mod recording;
pub(crate) mod requests;
pub(crate) mod roster;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod starting;
pub(crate) mod stopping;
pub(crate) mod supervisor;
mod suspending;
mod window;

use std::time::Duration;

/// How long the thread's lock, or the board's, is waited for; they are held for moments.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
