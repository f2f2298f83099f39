//! What one decision of the scheduler costs: `cargo bench --bench decision`.

#![allow(dead_code, unused_imports)] // Of the rules only the whole is measured, and not their tests.

#[path = "../../src/rules/boundary.rs"]
mod boundary;
#[allow(dead_code)] // A decision only asks where the plan stands.
#[path = "../../src/rules/planning.rs"]
mod planning;
#[path = "../../src/rules/scheduler.rs"]
mod scheduler;
#[path = "../../src/rules/talk.rs"]
mod talk;
#[path = "../../src/rules/tests.rs"]
mod tests;
#[path = "../../src/rules/wait.rs"]
mod wait;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use board::post::{Kind, Post};
use board::run::State;
use boundary::{Known, Limits, Work, next};
use scheduler::Seat;
use teammates::waits::Waits;

/// A decision may take this long, in microseconds.
const BOUND: f64 = 50.0;
const ROUNDS: usize = 2001;

fn main() {
    let names: Vec<String> = (0..100).map(|number| format!("teammate-{number:03}")).collect();
    let roster: Vec<Seat> =
        names.iter().enumerate().map(|(number, name)| Seat { name: name.clone(), free: number % 3 > 0, writes: true, limit: None }).collect();
    let (state, limits) = (State::default(), limits());
    println!("{:<58} {:>12} {:>8}", "what", "ours", "bound");
    for (what, count) in [("nothing was said", 0), ("1,024 posts in memory", 1024_u64)] {
        let posts: Vec<Post> = (1..=count).map(|seq| post(seq, &names[usize::try_from(seq * 7 % 100).unwrap_or(0)])).collect();
        let last_seq: BTreeMap<String, u64> = posts.iter().map(|post| (post.from.clone(), post.seq)).collect();
        let known = Known {
            posts: &posts,
            last_seq: &last_seq,
            roster: &roster,
            state: &state,
            plan: &planning::Stage::Over,
            limits: &limits,
            request: None,
            has_scope: true,
            work: Work::default(),
            ran: Duration::ZERO,
            now: board::clock::now(),
        };
        let mut times: Vec<Duration> = (0..ROUNDS).map(|_| took(&known)).collect();
        times.sort_unstable();
        let median = times[ROUNDS / 2].as_secs_f64() * 1e6;
        let verdict = if median <= BOUND { "ok" } else { "NOT" };
        println!("{:<58} {median:>9.1} µs {:>8} {verdict} median of {ROUNDS}", format!("a decision, team of 100, {what}"), format!("<={BOUND}"));
    }
}

fn took(known: &Known<'_>) -> Duration {
    let since = Instant::now();
    black_box(next(black_box(known)));
    since.elapsed()
}

/// Work now and then, so that the row of talk does not end the run.
fn post(seq: u64, from: &str) -> Post {
    let kind = if seq.is_multiple_of(4) { Kind::WorkDone } else { Kind::Say };
    Post { ts: Some(board::clock::now()), text: "what was done, and what comes next".into(), ..tests::post(seq, from, kind, None) }
}

fn limits() -> Limits {
    Limits {
        max_talk_turns: 6,
        max_accept_checks: 3,
        max_lost: 5,
        waits: Waits::default(),
        longest_wait: Duration::from_secs(14_400),
        longest_run: None,
        most_usd: None,
    }
}
