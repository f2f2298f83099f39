//! What is on disk: the tasks of a crewboard, who holds them, and what is said about them.
//!
//! # Theory of operation
//!
//! A task is one JSON file in `.tasks/`, and what the file says is what is true. Everything else that is kept in
//! `.tasks/.board/` is there to change those files safely or to look at them cheaply, and can be made anew.
//!
//! * **Reading** needs no lock: [`Board::open`], [`Board::look`], then [`Board::index`]. A look reads the tail of the
//!   journal; a sweep compares every file's stamp; an event ([`watch`]) names the file that changed.
//! * **Writing** needs the board's lock: [`Board::lock`] gives a [`locked::LockedBoard`], the only type that writes
//!   tasks. It reads each file again before it changes it, exchanges the new version with the old one in one step,
//!   looks at what it displaced (a person's edit wins), and journals the transition. Freed, it returns what is left
//!   to do before success may be reported: [`locked::Unlocked::settle`].
//! * **Who is alive** is the kernel's to say: a lock that each teammate holds for its life ([`presence`]), and pid,
//!   start time and boot together ([`alive`]).
//! * **What is said** stands in the [`thread`], one [`post`] a line, appended under a lock of its own, and accepted only
//!   from whoever holds the turn. What else is kept of a [`run`] (its state, the open turn, what waits for a person)
//!   either follows from the thread and is made anew from it, or is on disk before it counts.
//! * **What the work is** judged by is the working tree's SHA ([`tree`]); [`checkpoints`] are commits of such trees on no
//!   branch, and a [`worktree`] keeps a lane's files apart until they are merged.
//! * **What survives a power cut** is said in the modules `kept` and [`disk`].
//!
//! # What never happens here
//!
//! No async, no network, no child process, no terminal. No module but [`disk`] writes, no module but [`clock`] reads
//! the time, and the rules ([`ready`], [`graph`], [`transition`]) do neither.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // Tests are the other programs that write, start and wait.

pub mod add;
pub mod alive;
pub mod board;
pub mod checkpoints;
pub mod clock;
pub mod crash;
pub mod crew_file;
pub mod disk;
pub mod document;
pub mod duration;
pub mod edits;
pub mod error;
pub mod events;
pub mod facts;
pub mod graph;
pub mod inbox;
pub mod index;
mod journal;
mod kept;
pub mod ledger;
mod lines;
pub mod lock;
pub mod locked;
pub mod memory;
pub mod name;
pub mod place;
pub mod post;
pub mod presence;
pub mod proposed;
pub mod ready;
pub mod record;
pub mod run;
mod scan;
mod side_by_side;
pub mod task;
pub mod task_id;
pub mod thread;
pub mod transition;
pub mod tree;
pub mod turn;
pub mod visible;
pub mod watch;
pub mod worktree;

pub use crate::board::{Board, Durability};
pub use crate::error::{Error, Refusal, Result, Rule};
