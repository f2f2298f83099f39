//! When a teammate works, waits, looks and ends, as a pure function.
//!
//! ```text
//! start → Idle ⇄ Working → Shutdown
//! ```
//!
//! [`step`] takes the state, what the process around it saw, and the time; it gives the next state
//! and the one thing to do. It reads no clock and touches nothing, so that every rule here is a row
//! of a test table. The process around it only looks and acts.
//!
//! # The clock
//!
//! - An idle teammate looks at once when it becomes idle, then every [`Pace::poll`] counted from
//!   that moment (not from the last look: slow looks do not stretch the minute), the last time
//!   when [`Pace::idle_timeout`] is over. Nothing then: shutdown. With 5 s and 60 s these are 12
//!   looks.
//! - A look that an event woke counts for nothing: it neither replaces the next look nor moves the
//!   end. A storm of events cannot keep a teammate alive.
//! - Time in which nobody could have looked (a suspended machine, a stopped process) does not
//!   count: where a look comes more than one poll late, the minute is as much longer. Where the
//!   clock stands still, nothing happens at all.
//! - Work that can only be taken up later (every model of the teammate is at its limit, a lost task
//!   is left to whoever had it) begins the minute anew with each look.
//! - Work begins the minute anew. Losing a claim to another teammate is not work.

use std::time::Duration;

/// A teammate that looked without any pause would only burn the processor.
const SHORTEST_POLL: Duration = Duration::from_millis(1);

/// How often an idle teammate looks, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two looks; less than a millisecond counts as one.
    pub poll: Duration,
    /// How long a teammate stays with nothing to do.
    pub idle_timeout: Duration,
}

/// Where a teammate is in its life. Times are on the monotonic clock of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A turn or a task is being worked on.
    Working {
        /// The wait that this work interrupted; it goes on if the claim turns out to be lost.
        from: Idle,
        /// The work was told to end, and the teammate ends after it.
        ending: bool,
    },
    /// Nothing to do as of the last look.
    Idle(Idle),
    /// The end: nothing leads out of it.
    Shutdown,
}

/// A wait for something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// When it began, moved on by the time in which nobody could look.
    since: Duration,
    /// When the next look is due.
    next_look: Duration,
    /// When the teammate was last awake.
    awake: Duration,
}

/// What the process around the teammate saw. `T` names a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen<T> {
    /// It looked.
    Looked(Look<T>),
    /// The turn is over, however it ended.
    WorkEnded,
    /// The claim of the last [`Work::Claim`] went to somebody else.
    ClaimLost,
    /// Somebody asked this teammate to shut down.
    ShutdownRequested,
}

/// What one look found. Everything that is there, not only the first: the order is [`step`]'s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look<T> {
    /// An event woke this look; it was not due.
    pub woken_by_event: bool,
    /// There is a message in the inbox.
    pub message: bool,
    /// A task that this teammate holds and has not finished.
    pub own_task: Option<T>,
    /// The thread has named this teammate as its next speaker.
    pub turn: bool,
    /// The first task that this teammate may claim.
    pub claimable: Option<T>,
    /// There is something for it that it can take up later only: the minute with nothing to do has not begun.
    pub later: bool,
}

/// What to do now. One thing: when it is done, the next [`step`] says how it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// Begin this work. Say [`Seen::WorkEnded`] when it is over.
    Work(Work<T>),
    /// Look now.
    Look,
    /// Sleep, then look: when the clock says `until`, or at once when an event comes.
    Wait {
        /// On the caller's monotonic clock; may be in the past.
        until: Duration,
    },
    /// End the work under way (with its grace), then say [`Seen::WorkEnded`].
    EndWork,
    /// Nothing: the work goes on.
    Continue,
    /// End the process with success.
    Exit,
}

/// What an idle teammate turns to, in the order in which it is preferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work<T> {
    /// Read the inbox and act on it.
    Message,
    /// Take up the own unfinished task.
    OwnTask(T),
    /// Speak in the thread.
    Turn,
    /// Claim this task and work on it; say [`Seen::ClaimLost`] if somebody was faster.
    Claim(T),
}

impl State {
    /// A teammate that has just been started, and its first action, which is to look.
    pub fn start<T>(pace: &Pace, now: Duration) -> (State, Action<T>) {
        (State::Idle(Idle::begin(pace, now)), Action::Look)
    }
}

/// The next state, and what to do, after `seen` at `now`.
///
/// `now` is the caller's monotonic clock; a value before an earlier one counts as that one. What
/// does not fit the state (a look while working, the end of work that never began) changes nothing.
pub fn step<T>(pace: &Pace, state: &State, seen: Seen<T>, now: Duration) -> (State, Action<T>) {
    match (*state, seen) {
        (State::Shutdown, _) => (State::Shutdown, Action::Exit),

        (State::Working { from, ending: false }, Seen::ShutdownRequested) => (State::Working { from, ending: true }, Action::EndWork),
        (State::Working { ending: true, .. }, Seen::WorkEnded | Seen::ClaimLost) => (State::Shutdown, Action::Exit),
        (State::Working { .. }, Seen::WorkEnded) => State::start(pace, now),
        (State::Working { from, .. }, Seen::ClaimLost) => (State::Idle(from), Action::Look),
        (working @ State::Working { .. }, _) => (working, Action::Continue),

        (State::Idle(_), Seen::ShutdownRequested) => (State::Shutdown, Action::Exit),
        (State::Idle(idle), Seen::Looked(look)) => {
            let idle = idle.thawed(pace, now);
            let woken_by_event = look.woken_by_event;
            let later = look.later;
            match first(look) {
                None if later => {
                    let idle = Idle::begin(pace, now);
                    (State::Idle(idle), Action::Wait { until: idle.next_look })
                }
                Some(work) => (State::Working { from: idle, ending: false }, Action::Work(work)),
                None if now >= idle.end(pace) => (State::Shutdown, Action::Exit),
                None => {
                    let idle = if woken_by_event { idle } else { idle.looked(pace, now) };
                    (State::Idle(idle), Action::Wait { until: idle.next_look })
                }
            }
        }
        (State::Idle(idle), Seen::WorkEnded | Seen::ClaimLost) => (State::Idle(idle), Action::Wait { until: idle.next_look }),
    }
}

/// What a look leads to: the order in which a teammate turns to things.
fn first<T>(look: Look<T>) -> Option<Work<T>> {
    if look.message {
        Some(Work::Message)
    } else if let Some(task) = look.own_task {
        Some(Work::OwnTask(task))
    } else if look.turn {
        Some(Work::Turn)
    } else {
        look.claimable.map(Work::Claim)
    }
}

impl Idle {
    fn begin(pace: &Pace, now: Duration) -> Idle {
        Idle { since: now, next_look: now, awake: now }.looked(pace, now)
    }

    fn end(&self, pace: &Pace) -> Duration {
        self.since.saturating_add(pace.idle_timeout)
    }

    /// The same wait, without the time in which nobody could have looked.
    fn thawed(mut self, pace: &Pace, now: Duration) -> Idle {
        let late = now.saturating_sub(self.next_look.max(self.awake));
        if late > pace.poll {
            self.since = self.since.saturating_add(late);
            self.next_look = self.next_look.saturating_add(late);
        }
        self.awake = self.awake.max(now);
        self
    }

    /// The same wait after a look that was due.
    fn looked(mut self, pace: &Pace, now: Duration) -> Idle {
        let end = self.end(pace);
        let poll = pace.poll.max(SHORTEST_POLL);
        while self.next_look <= now && self.next_look < end {
            self.next_look = self.next_look.saturating_add(poll).min(end);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { poll: Duration::from_secs(5), idle_timeout: Duration::from_secs(60) };

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn nothing(woken_by_event: bool) -> Seen<u32> {
        Seen::Looked(Look { woken_by_event, message: false, own_task: None, turn: false, claimable: None, later: false })
    }

    fn claimable(task: u32) -> Seen<u32> {
        Seen::Looked(Look { woken_by_event: false, message: false, own_task: None, turn: false, claimable: Some(task), later: false })
    }

    fn started(seconds: f64) -> State {
        State::start::<u32>(&PACE, at(seconds)).0
    }

    /// Lives with nothing to do from `state`, first looking at `now`; `delay` is how long after
    /// its time each look really comes. Returns when each look was due, and when it ended.
    fn live(pace: &Pace, mut state: State, mut now: Duration, delay: impl Fn(Duration) -> Duration) -> (Vec<Duration>, Duration) {
        let mut due = Vec::new();
        loop {
            match step(pace, &state, nothing(false), now) {
                (State::Shutdown, Action::Exit) => return (due, now),
                (next, Action::Wait { until }) => {
                    assert!(until > now, "a look at {now:?} is due again at {until:?}");
                    assert!(due.len() < 1000, "never shuts down");
                    state = next;
                    due.push(until);
                    now = until + delay(until);
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    #[test]
    fn twelve_looks_in_a_minute_then_shutdown() {
        let (due, end) = live(&PACE, started(100.0), at(100.0), |_| Duration::ZERO);
        let expected: Vec<Duration> = (1..=12).map(|look| at(100.0 + 5.0 * f64::from(look))).collect();
        assert_eq!(due, expected);
        assert_eq!(end, at(160.0));
    }

    #[test]
    fn slow_looks_do_not_stretch_the_minute() {
        let (due, end) = live(&PACE, started(0.0), at(0.0), |_| at(0.9));
        assert_eq!(due.len(), 12);
        assert_eq!(end, at(60.9));
    }

    #[test]
    fn paces_that_do_not_divide() {
        // (poll, idle timeout) → when looks are due.
        let cases: [(f64, f64, &[f64]); 5] =
            [(0.0, 0.002, &[0.001, 0.002]), (5.0, 12.0, &[5.0, 10.0, 12.0]), (5.0, 2.0, &[2.0]), (5.0, 5.0, &[5.0]), (5.0, 0.0, &[])];
        for (poll, idle_timeout, expected) in cases {
            let pace = Pace { poll: at(poll), idle_timeout: at(idle_timeout) };
            let (state, action) = State::start::<u32>(&pace, at(0.0));
            assert_eq!(action, Action::Look);
            let (due, end) = live(&pace, state, at(0.0), |_| Duration::ZERO);
            assert_eq!(due, expected.iter().copied().map(at).collect::<Vec<_>>(), "{poll} {idle_timeout}");
            assert_eq!(end, at(idle_timeout));
        }
    }

    #[test]
    fn what_can_only_be_taken_up_later_keeps_it_alive() {
        let later = |now: f64, state: &State| {
            let seen = Seen::Looked(Look::<u32> { later: true, woken_by_event: true, message: false, own_task: None, turn: false, claimable: None });
            step(&PACE, state, seen, at(now))
        };
        let (state, action) = later(60.0, &started(0.0));
        assert_eq!(action, Action::Wait { until: at(65.0) });
        let (due, end) = live(&PACE, state, at(65.0), |_| Duration::ZERO);
        assert_eq!((due.len(), end), (11, at(120.0)), "from then on the minute counts");
    }

    #[test]
    fn the_order_of_looking() {
        let full = Look { woken_by_event: false, message: true, own_task: Some(1), turn: true, claimable: Some(2), later: false };
        let cases = [
            (full.clone(), Work::Message),
            (Look { message: false, ..full.clone() }, Work::OwnTask(1)),
            (Look { message: false, own_task: None, ..full.clone() }, Work::Turn),
            (Look { message: false, own_task: None, turn: false, ..full.clone() }, Work::Claim(2)),
        ];
        for (look, expected) in cases {
            // Found at once, at a look that an event woke, and at the very last look.
            for (woken_by_event, now) in [(false, 0.0), (true, 3.0), (false, 60.0), (true, 64.0)] {
                let seen = Seen::Looked(Look { woken_by_event, ..look.clone() });
                let (state, action) = step(&PACE, &started(0.0), seen, at(now));
                assert_eq!(action, Action::Work(expected.clone()));
                assert!(matches!(state, State::Working { ending: false, .. }));
            }
        }
    }

    #[test]
    fn an_event_that_brought_nothing_moves_nothing() {
        let state = started(0.0);
        for now in [0.1, 3.0, 4.999] {
            let (next, action) = step(&PACE, &state, nothing(true), at(now));
            assert_eq!(action, Action::Wait { until: at(5.0) }, "{now}");
            let (_, after) = step(&PACE, &next, nothing(false), at(5.0));
            assert_eq!(after, Action::Wait { until: at(10.0) }, "{now}");
        }
        // An event at the moment of a look does not stand in for the look: it is still due.
        let (_, action) = step(&PACE, &state, nothing(true), at(5.1));
        assert_eq!(action, Action::Wait { until: at(5.0) });
    }

    #[test]
    fn a_storm_of_events_does_not_postpone_the_end() {
        // Ten events a second, and the process so busy with them that no look of its own comes.
        let mut state = started(0.0);
        for tick in 1..600 {
            let (next, action) = step(&PACE, &state, nothing(true), at(f64::from(tick) / 10.0));
            assert!(matches!(action, Action::Wait { .. }), "{tick}: {action:?}");
            state = next;
        }
        assert_eq!(step(&PACE, &state, nothing(true), at(60.0)), (State::Shutdown, Action::Exit));
    }

    #[test]
    fn a_storm_of_events_does_not_hasten_the_end() {
        let mut state = started(0.0);
        for _ in 0..10_000 {
            state = step(&PACE, &state, nothing(true), at(1.0)).0;
        }
        let (due, end) = live(&PACE, state, at(1.0), |_| Duration::ZERO);
        assert_eq!((due.len(), end), (12, at(60.0)));
    }

    #[test]
    fn work_begins_the_minute_anew() {
        let (working, action) = step(&PACE, &started(0.0), claimable(7), at(55.0));
        assert_eq!(action, Action::Work(Work::Claim(7)));
        let (state, action) = step::<u32>(&PACE, &working, Seen::WorkEnded, at(1000.0));
        assert_eq!(action, Action::Look);
        let (due, end) = live(&PACE, state, at(1000.0), |_| Duration::ZERO);
        assert_eq!((due.len(), end), (12, at(1060.0)));
    }

    #[test]
    fn a_lost_claim_is_not_work() {
        let mut state = started(0.0);
        for second in 1..60 {
            let (working, action) = step(&PACE, &state, claimable(second), at(f64::from(second)));
            assert_eq!(action, Action::Work(Work::Claim(second)));
            let (idle, action) = step::<u32>(&PACE, &working, Seen::ClaimLost, at(f64::from(second)));
            assert_eq!(action, Action::Look);
            state = idle;
        }
        assert_eq!(step(&PACE, &state, nothing(false), at(60.0)), (State::Shutdown, Action::Exit));
    }

    #[test]
    fn shutdown_is_answered_at_once_when_idle() {
        let (state, action) = step::<u32>(&PACE, &started(0.0), Seen::ShutdownRequested, at(1.0));
        assert_eq!((state, action), (State::Shutdown, Action::Exit));
    }

    #[test]
    fn shutdown_ends_work_first_and_only_once() {
        let (working, _) = step(&PACE, &started(0.0), claimable(7), at(0.0));
        let (ending, action) = step::<u32>(&PACE, &working, Seen::ShutdownRequested, at(1.0));
        assert_eq!(action, Action::EndWork);
        let (ending, action) = step::<u32>(&PACE, &ending, Seen::ShutdownRequested, at(2.0));
        assert_eq!(action, Action::Continue);
        for over in [Seen::WorkEnded, Seen::ClaimLost] {
            assert_eq!(step::<u32>(&PACE, &ending, over, at(3.0)), (State::Shutdown, Action::Exit));
        }
    }

    #[test]
    fn nothing_leads_out_of_shutdown() {
        for seen in [nothing(false), claimable(1), Seen::WorkEnded, Seen::ClaimLost, Seen::ShutdownRequested] {
            assert_eq!(step(&PACE, &State::Shutdown, seen, at(9.0)), (State::Shutdown, Action::Exit));
        }
    }

    #[test]
    fn what_does_not_fit_the_state_changes_nothing() {
        let (working, _) = step(&PACE, &started(0.0), claimable(7), at(0.0));
        assert_eq!(step(&PACE, &working, claimable(8), at(1.0)), (working, Action::Continue));
        let idle = started(0.0);
        assert_eq!(step::<u32>(&PACE, &idle, Seen::WorkEnded, at(1.0)), (idle, Action::Wait { until: at(5.0) }));
    }

    #[test]
    fn a_clock_that_stands_still_ends_nothing() {
        let mut state = started(0.0);
        for now in [0.0, 2.0, 2.0, 2.0, 1.0] {
            for woken_by_event in [false, true, false] {
                let (next, action) = step(&PACE, &state, nothing(woken_by_event), at(now));
                assert_eq!(action, Action::Wait { until: at(5.0) });
                state = next;
            }
        }
        let (due, end) = live(&PACE, state, at(2.0), |_| Duration::ZERO);
        assert_eq!((due.len(), end), (12, at(60.0)));
    }

    #[test]
    fn a_suspended_machine_goes_on_where_it_was() {
        // The look due at 15 s comes an hour later: it is made, and the rest of the minute follows.
        let hour = 3600.0;
        let slept = |due: Duration| {
            if due == at(15.0) { at(hour) } else { Duration::ZERO }
        };
        let (due, end) = live(&PACE, started(0.0), at(0.0), slept);
        assert_eq!((due.len(), end), (12, at(60.0 + hour)));
        assert_eq!(due[3], at(20.0 + hour));

        // The same when an event is what the machine wakes to.
        let (state, action) = step(&PACE, &started(0.0), nothing(true), at(hour));
        assert_eq!(action, Action::Wait { until: at(hour) });
        let (due, end) = live(&PACE, state, at(hour), |_| Duration::ZERO);
        assert_eq!((due.len(), end), (11, at(55.0 + hour)));

        // Up to one poll late is a busy machine, not a frozen one: the minute stays a minute.
        let busy = |due: Duration| {
            if due == at(15.0) { at(4.9) } else { Duration::ZERO }
        };
        assert_eq!(live(&PACE, started(0.0), at(0.0), busy).1, at(60.0));
    }
}
