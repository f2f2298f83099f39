//! When what waits for something outside is looked at again.

use std::time::Duration;

use board::task::{Outcome, Parked};
use jiff::{SignedDuration, Timestamp};

use crate::config::Config;

/// The clock of tasks that wait for something outside: doubling intervals up to a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The first interval (config `waitBaseSec`).
    pub base: Duration,
    /// The longest (config `waitCapMin`).
    pub cap: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Waits::of(&Config::default())
    }
}

impl Waits {
    /// As the configuration has them.
    pub fn of(config: &Config) -> Waits {
        Waits { base: Duration::from_secs(config.wait_base_sec.get().into()), cap: Duration::from_secs(u64::from(config.wait_cap_min.get()) * 60) }
    }

    /// The pause after so many pauses.
    pub fn interval(&self, before: u32) -> Duration {
        self.base.saturating_mul(1u32.checked_shl(before).unwrap_or(u32::MAX)).min(self.cap)
    }

    /// When a task that asks to be tried again later is: each time in a row after twice the pause.
    pub(crate) fn next(&self, attempts: &[board::task::Attempt], now: Timestamp) -> Parked {
        let in_a_row = attempts.iter().rev().take_while(|attempt| attempt.outcome == Outcome::Parked).count();
        let pause = SignedDuration::try_from(self.interval(u32::try_from(in_a_row).unwrap_or(u32::MAX))).unwrap_or(SignedDuration::MAX);
        Parked::Until { until: Some(now.saturating_add(pause).unwrap_or(now)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::task::Attempt;

    #[test]
    fn waits_double_up_to_their_cap() {
        let now: Timestamp = "2026-01-02T03:00:00Z".parse().unwrap();
        let attempt = |outcome| Attempt {
            turn: "t".into(),
            by: "bob".into(),
            started: now,
            ended: now,
            outcome,
            exit: None,
            reason: None,
            log: None,
            boot: None,
            to: None,
            dispatched: false,
        };
        let waits = Waits { base: Duration::from_secs(30), cap: Duration::from_secs(100) };
        let seconds = |outcomes: &[Outcome]| {
            let attempts: Vec<Attempt> = outcomes.iter().map(|outcome| attempt(*outcome)).collect();
            match waits.next(&attempts, now) {
                Parked::Until { until: Some(until) } => until.as_second() - now.as_second(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(seconds(&[]), 30);
        assert_eq!(seconds(&[Outcome::Parked]), 60);
        assert_eq!(seconds(&[Outcome::Parked, Outcome::Parked]), 100);
        assert_eq!(seconds(&[Outcome::Parked, Outcome::Failed, Outcome::Parked]), 60, "only those in a row count");
        assert_eq!(seconds(&[Outcome::Parked; 200]), 100);
    }
}
