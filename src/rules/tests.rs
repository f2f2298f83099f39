//! What the tests of the rules are made of.

use board::post::{Kind, Post};

use super::scheduler::Seat;

pub(crate) fn seat(name: &str, free: bool) -> Seat {
    Seat { name: name.into(), free, writes: true, limit: None }
}

pub(crate) fn post(seq: u64, from: &str, kind: Kind, handoff: Option<&str>) -> Post {
    let (from, handoff) = (from.into(), handoff.map(str::to_owned));
    Post { seq, from, kind, text: String::new(), handoff, ts: None, turn: None, task: None, credited: None, re: None, decision: None, message: None }
}
