//! The run, on its real processes: daemon, supervisor and teammates, and what survives of them.

mod allowed;
mod below;
mod example;
mod gates;
mod hostile;
mod judged;
mod killed;
mod odd;
mod planning;
mod posts;
mod requests;
pub(crate) mod stage;
mod talk;
mod torn;
