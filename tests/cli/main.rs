//! End to end, through the command: real processes on real boards.
//!
//! Every test has a project and a home of its own (the module `scene`), waits for states, never for time to pass, and
//! leaves no process behind.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that is surprised ends there.
#![allow(clippy::disallowed_methods)] // Other programs write to the board too, and not through its door.

mod arm;
mod board;
mod clis;
mod keeping;
mod leftovers;
mod mcp;
mod model;
mod restore;
mod run;
mod scene;
mod team;
mod thread;
mod tree;
mod work;
