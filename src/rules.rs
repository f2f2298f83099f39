//! The rules over the board and the thread. All of them are pure: time, chance and the outside come in as arguments.

pub(crate) mod audit;
pub(crate) mod boundary;
pub(crate) mod credit;
pub(crate) mod gate;
mod no_tests;
mod paths;
pub(crate) mod scheduler;
pub(crate) mod talk;
pub(crate) mod wait;

#[cfg(test)]
mod tests {
    use board::post::{Kind, Post};

    use super::scheduler::Seat;

    pub(super) fn seat(name: &str, free: bool) -> Seat {
        Seat { name: name.into(), free, writes: true }
    }

    pub(super) fn post(seq: u64, from: &str, kind: Kind, handoff: Option<&str>) -> Post {
        let (from, handoff) = (from.into(), handoff.map(str::to_owned));
        Post { seq, from, kind, text: String::new(), handoff, ts: None, turn: None, task: None, credited: None, re: None, decision: None, message: None }
    }
}
