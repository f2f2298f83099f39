//! The rules over the board and the thread. All of them are pure: time, chance and the outside come in as arguments.

pub(crate) mod audit;
pub(crate) mod boundary;
pub(crate) mod credit;
pub(crate) mod gate;
mod no_tests;
mod paths;
pub(crate) mod planning;
pub(crate) mod scheduler;
pub(crate) mod suspend;
pub(crate) mod talk;
pub(crate) mod wait;

#[cfg(test)]
mod tests;
