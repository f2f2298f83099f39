//! The board under what may happen to it: crowds, deaths, power cuts, editors, full disks, clocks that jump.
//!
//! One module a kind of trouble. Processes that take part are this program again (the module `worker`). Every test
//! has its own directory, and waits for events, never for time to pass.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that is surprised ends there.
#![allow(clippy::disallowed_methods)] // Other programs write to the board too, and not through its door.

mod chance;
mod checkpoints;
mod crash;
mod freshness;
mod hand;
mod model;
mod power;
mod protocol;
mod race;
mod reopen;
mod repository;
mod scratch;
mod tree;
mod trouble;
mod worker;
mod worktree;
