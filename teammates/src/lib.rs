//! Who works: teammates, their lifecycle, and the processes that they start.
//!
//! # Theory of operation
//!
//! A teammate is a process that looks for work, does one thing at a time, and ends when there has
//! been nothing to do for a while. These pieces make it, and each can be understood alone:
//!
//! - **Who it is**: [`profile`], a file that a person writes, with defaults for all of it; [`config`]
//!   says what holds for the whole team.
//! - **What it does next**: [`lifecycle`], a pure step function. It is told what was seen and what
//!   time it is, and says what to do; the process around it looks and acts.
//! - **How it speaks**: a turn of the thread is shown what is new ([`opening`], pure) and moves with
//!   its first post; a turn on a task can move it the same way ([`lane_move`]).
//! - **What it starts**: [`process`] runs one command as a process group; [`children`] keeps track of
//!   what was started and of the orphans that come back; [`group_record`] writes down, before any
//!   program runs, which groups are ours; [`leftovers`] ends what a turn left behind, provably and
//!   never by name, also after this process was killed; [`environment`] is what a child gets to see.
//! - **What a model is told and says**: [`conversation`], valid at any time, whatever is cut short; [`provider`], one file
//!   an API behind one trait, and a defined outcome for all that goes wrong; [`account`] says where a key is. What it said
//!   can be recorded, and played in its place ([`provider::recording`]).
//!
//! # Invariants
//!
//! - A process group is signalled before its leader is reaped, and never after.
//! - Nothing is ended that is not proven to be ours.
//! - A group is on record before its program starts.
//! - A key is in the header of a request to its provider and nowhere else: no log, error or file has it.
//! - What a model read or said moves nothing but by its tools, and no tool takes from it who it is.
//! - Rules read no clock and no environment: those come in as arguments.
//!
//! # Never here
//!
//! No command line, no terminal, no daemon: those are above. No writing to a board or a thread but
//! through the `board` crate.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // Tests are the other programs that write, start and wait.

pub mod account;
pub mod ancestors;
mod aside;
pub mod attempt;
pub mod batch;
pub mod briefing;
pub mod children;
pub mod cleaning;
pub mod clis;
pub mod config;
pub mod confinement;
pub mod consent;
pub mod conversation;
pub mod detach;
pub mod environment;
#[cfg(test)]
mod fixture;
mod front_matter;
pub mod gatekeeper;
mod gathering;
pub mod goal;
pub mod group_record;
mod group_sync;
pub mod lane;
pub mod lane_move;
mod launch;
pub mod leftovers;
pub mod lifecycle;
pub mod messages;
pub mod models;
pub mod nearest;
pub mod opening;
mod proc_fs;
pub mod process;
pub mod profile;
pub mod profiles;
pub mod provider;
pub mod reading;
mod speaking;
mod taken;
pub mod teammate;
mod telling;
pub mod thinking;
pub mod tools;
pub mod trial;
pub mod waits;
pub mod workplace;
pub mod worktree;
