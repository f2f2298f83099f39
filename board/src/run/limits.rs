//! Which models' accounts are at a limit, or out of reach: known to the processes of a run alone. A new start discards it
//! and finds out again.
//!
//! When a limit is over, one process calls first: the others of the account wait until it was answered, so that they do
//! not come all at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::alive::{Liveness, Process};
use crate::disk::Dir;
use crate::error::Result;
use crate::record::{Durable, Record};

/// The first pause after a limit that does not say how long it lasts; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest of them.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// How long is waited for the one that calls first, before it is asked for again.
const PROBE: Duration = Duration::from_secs(2);

/// Why an account is not called now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Until when; `None`: until a person does something about it and starts anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What the provider said, or what happened.
    pub why: String,
    /// How often in a row.
    #[serde(default)]
    pub times: u32,
    /// Who calls first, now that it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Process>,
}

/// How long an account is not to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// Until that moment.
    Until(Timestamp),
    /// That is not known: a growing pause.
    Unknown,
    /// Time alone does not help.
    UntilMended,
}

/// Whether an account may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum May {
    /// It may.
    Call,
    /// Not before the limit's end.
    NotYet(Limit),
}

/// `limits.json`: by account, or by account and model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    limits: BTreeMap<String, Limit>,
}

/// The record.
#[derive(Debug)]
pub struct Limits {
    record: Record<File>,
    dir: Arc<Dir>,
}

const FILE: &str = "limits.json";

impl Limits {
    pub(super) fn of(dir: Arc<Dir>) -> Limits {
        Limits { record: Record::of(Arc::clone(&dir), FILE, Durable::No), dir }
    }

    /// All of them.
    pub fn all(&self) -> Result<BTreeMap<String, Limit>> {
        Ok(self.record.read()?.limits)
    }

    /// Whether `who` may call what all of these keys are about. Where a limit has just ended, the first to ask may, and the
    /// others wait until it was answered.
    pub fn may_call(&self, keys: &[&str], who: &Process, now: Timestamp) -> Result<May> {
        // The usual case costs no lock.
        let limits = self.all()?;
        if !keys.iter().any(|key| limits.contains_key(*key)) {
            return Ok(May::Call);
        }
        self.record.update(|file| {
            for key in keys {
                let Some(limit) = file.limits.get_mut(*key) else { continue };
                let is_over = limit.until.is_some_and(|until| until <= now);
                let probed = limit.probe.as_ref().is_some_and(|probe| probe != who && probe.liveness() != Liveness::Dead);
                match (is_over, probed) {
                    (false, _) => return May::NotYet(limit.clone()),
                    (true, true) => return May::NotYet(Limit { until: Some(after(now, PROBE)), ..limit.clone() }),
                    (true, false) => limit.probe = Some(who.clone()),
                }
            }
            May::Call
        })
    }

    /// Says that an account is not to be called; the answer is what is known of it now. The later end counts.
    pub fn set(&self, key: &str, lasts: Lasts, why: &str, now: Timestamp) -> Result<Limit> {
        self.record.update(|file| {
            let before = file.limits.get(key);
            let times = before.map_or(0, |before| before.times) + 1;
            let until = match lasts {
                Lasts::Until(until) => Some(until.max(now)),
                Lasts::Unknown => Some(after(now, FIRST_PAUSE.saturating_mul(1 << (times - 1).min(10)).min(LONGEST_PAUSE))),
                Lasts::UntilMended => None,
            };
            let until = match before {
                Some(before) if before.until.is_none() => None,
                before => until.map(|until| before.and_then(|before| before.until).map_or(until, |other| other.max(until))),
            };
            let limit = Limit { until, why: why.to_owned(), times, probe: None };
            file.limits.insert(key.to_owned(), limit.clone());
            limit
        })
    }

    /// Says that a call was answered: there is no limit any more.
    pub fn lift(&self, keys: &[&str]) -> Result<()> {
        if self.all()?.keys().any(|key| keys.contains(&key.as_str())) {
            self.record.update(|file| file.limits.retain(|key, _| !keys.contains(&key.as_str())))?;
        }
        Ok(())
    }

    /// Forgets all of them, whatever state the file is in: it is worth nothing to a new start.
    pub fn discard(&self) -> Result<()> {
        self.dir.remove(FILE)
    }
}

fn after(now: Timestamp, pause: Duration) -> Timestamp {
    SignedDuration::try_from(pause).ok().and_then(|pause| now.checked_add(pause).ok()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> (tempfile::TempDir, Limits) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        (temp, Limits::of(dir))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn one_calls_first_when_a_limit_is_over() {
        let (_temp, limits) = limits();
        let me = Process::current();
        // Whoever cannot be asked counts as alive.
        let other = Process { host: "elsewhere".into(), ..me.clone() };
        assert_eq!(limits.may_call(&["work"], me, at(0)).unwrap(), May::Call);
        limits.set("work", Lasts::Until(at(60)), "429", at(0)).unwrap();
        assert!(matches!(limits.may_call(&["work", "work/m"], me, at(59)).unwrap(), May::NotYet(limit) if limit.until == Some(at(60))));
        assert_eq!(limits.may_call(&["play"], me, at(59)).unwrap(), May::Call);
        assert_eq!(limits.may_call(&["work"], &other, at(60)).unwrap(), May::Call);
        assert!(matches!(limits.may_call(&["work"], me, at(61)).unwrap(), May::NotYet(limit) if limit.until == Some(at(63))));
        limits.lift(&["work"]).unwrap();
        assert_eq!(limits.may_call(&["work"], me, at(61)).unwrap(), May::Call);

        limits.set("work", Lasts::Until(at(60)), "429", at(0)).unwrap();
        let dead = Process { start: me.start + 1, ..me.clone() };
        assert_eq!(limits.may_call(&["work"], &dead, at(60)).unwrap(), May::Call);
        assert_eq!(limits.may_call(&["work"], me, at(60)).unwrap(), May::Call, "the one that was to call first has died");
    }

    #[test]
    fn pauses_grow_and_an_earlier_end_shortens_nothing() {
        let (temp, limits) = limits();
        let pause = |now: i64| limits.set("a", Lasts::Unknown, "down", at(now)).unwrap().until.unwrap().as_second() - at(now).as_second();
        assert_eq!([pause(0), pause(100), pause(300)], [30, 60, 120]);
        assert_eq!((1..=10).map(|turn| pause(1000 * turn)).max(), Some(900));
        limits.set("b", Lasts::Until(at(500)), "429", at(0)).unwrap();
        assert_eq!(limits.set("b", Lasts::Until(at(20)), "429", at(1)).unwrap().until, Some(at(500)));
        limits.set("b", Lasts::UntilMended, "401", at(2)).unwrap();
        assert_eq!(limits.set("b", Lasts::Until(at(900)), "429", at(3)).unwrap().until, None);
        limits.discard().unwrap();
        assert!(limits.all().unwrap().is_empty());
        std::fs::write(temp.path().join(FILE), "{\"for").unwrap();
        assert!(limits.all().is_err());
        limits.discard().unwrap();
        assert!(limits.all().unwrap().is_empty(), "torn");
    }
}
