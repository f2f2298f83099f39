//! End to end, through the command: real processes on real boards.

mod leftovers;
mod scene;
mod team;
mod work;
