//! The teammates that a run keeps running: each as long as there is something for it to do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::alive::Process;
use board::inbox::Inbox;
use board::name::Name;
use board::presence::Activity;
use board::task::Parked;
use board::{Board, clock};
use serde_json::{Value, json};
use teammates::profile::{Profile, Runner};
use teammates::{models, teammate};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::arming;
use crate::claimants;
use crate::exit::{Failure, start};
use crate::machine;
use crate::rules::boundary::Work;
use crate::run::roster::Limited;

/// A teammate that ends sooner than this did not even begin.
const TOO_SOON: Duration = Duration::from_secs(10);
/// The pause before one that did not begin is started again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What happened to a teammate, for the events.
type Told = (&'static str, Value);

/// The teammates that this daemon has started.
#[derive(Debug)]
pub(crate) struct Crew {
    hired: BTreeMap<Name, Hired>,
    failed: BTreeMap<Name, Failed>,
    told: Vec<Told>,
}

#[derive(Debug)]
struct Hired {
    process: Child,
    since: Instant,
}

#[derive(Debug)]
struct Failed {
    pause: Duration,
    until: Instant,
}

impl Crew {
    /// Nobody yet. `wake` is notified when one of them has ended.
    pub(crate) fn new(wake: &Arc<Notify>) -> io::Result<Crew> {
        let (mut ended, wake) = (signal(SignalKind::child())?, Arc::clone(wake));
        tokio::task::spawn_local(async move {
            while ended.recv().await.is_some() {
                wake.notify_one();
            }
        });
        Ok(Crew { hired: BTreeMap::new(), failed: BTreeMap::new(), told: Vec::new() })
    }

    /// Whether one of them has ended since this was last asked.
    pub(crate) fn has_lost_one(&mut self) -> bool {
        let (failed, told) = (&mut self.failed, &mut self.told);
        let before = self.hired.len();
        self.hired.retain(|name, hired| match hired.process.try_wait() {
            Ok(None) => true,
            ended => {
                let status = ended.ok().flatten();
                told.push(("teammate.ended", json!({ "who": name.as_str(), "how": status.map_or_else(|| "unknown".into(), |status| status.to_string()) })));
                if status.is_some_and(|status| status.success()) || hired.since.elapsed() > TOO_SOON {
                    failed.remove(name);
                } else {
                    let pause = failed.get(name).map_or(FIRST_PAUSE, |failed| (failed.pause * 2).min(LONGEST_PAUSE));
                    failed.insert(name.clone(), Failed { pause, until: Instant::now() + pause });
                }
                false
            }
        });
        self.hired.len() < before
    }

    /// What the team can do on the board.
    pub(crate) fn work(&self, board: &Board, profiles: &[&Profile], limited: &Limited) -> Work {
        let mut work = Work::default();
        for id in board.index().in_progress() {
            match board.index().get(id).and_then(|entry| entry.facts()).and_then(|facts| facts.parked()) {
                None => work.goes_on = true,
                Some(Parked::Until { until: Some(until) }) => work.comes(*until),
                Some(_) => {}
            }
        }
        let left = |profile: &&Profile| board.index().left_until(&teammate::claimant(profile), clock::now());
        profiles.iter().filter(|profile| is_ours(profile)).filter_map(left).for_each(|until| work.comes(until));
        for profile in profiles.iter().filter(|profile| is_ready(board, profile)) {
            match limited.of(profile) {
                None => work.goes_on = true,
                Some(limit) => work.limit = Some(models::sooner(work.limit, limit)),
            }
        }
        work
    }

    /// Starts whoever is wanted and not there. Refused (`not-armed`) where what the repository's files would run is not
    /// allowed on this machine.
    pub(crate) fn keep(&mut self, board: &mut Board, profiles: &[&Profile], limited: &Limited, speaker: Option<&str>) -> Result<Vec<Told>, Failure> {
        self.has_lost_one();
        for profile in profiles {
            let name = &profile.name;
            let is_wanted = speaker == Some(name.as_str()) || is_ready(board, profile) || has_message(board, profile);
            let may = self.failed.get(name).is_none_or(|failed| failed.until <= Instant::now());
            if is_ours(profile) && is_wanted && may && limited.of(profile).is_none() && !self.hired.contains_key(name) && !board.lives(name) {
                // Asked at each start: what was allowed may have changed meanwhile.
                arming::check(board)?;
                let process = hire(board, name)?;
                self.told.push(("teammate.started", json!({ "who": name.as_str(), "pid": process.id() })));
                self.hired.insert(name.clone(), Hired { process, since: Instant::now() });
            }
        }
        Ok(std::mem::take(&mut self.told))
    }

    /// Their processes, by name.
    pub(crate) fn hired(&self) -> BTreeMap<String, Process> {
        let process = |hired: &Hired| Process::of(hired.process.id());
        self.hired.iter().filter_map(|(name, hired)| Some((name.to_string(), process(hired)?))).collect()
    }
}

/// The teammates that daemons of a run have started and that may live: those that are on record, and those that say so
/// themselves, should a daemon have died before it wrote that down.
pub(crate) fn of_run(board: &Board, kept: &BTreeMap<String, Process>) -> BTreeMap<String, Process> {
    let seen = board.teammates().unwrap_or_default().into_iter().filter(|seen| seen.living);
    let hired = seen.filter_map(|seen| Some((seen.name.to_string(), seen.record.filter(|record| record.hired)?.process)));
    kept.clone().into_iter().chain(hired).collect()
}

/// At the end of a run: those of its teammates that do nothing end at once, and with `everybody` the others put their
/// work back.
pub(crate) fn dismiss(board: &Board, hired: &BTreeMap<String, Process>, everybody: bool) {
    let teammates = board.teammates().unwrap_or_default();
    for (name, process) in hired {
        let records = || teammates.iter().filter_map(|seen| seen.record.as_ref());
        if (everybody || records().any(|record| record.process == *process && record.status == Activity::Idle))
            && let Err(e) = teammates::detach::end(process, teammates::detach::Force::Terminate)
        {
            tracing::warn!("{name}: {e}");
        }
    }
}

/// Whether its runner is one of this program.
fn is_ours(profile: &Profile) -> bool {
    profile.runner == Runner::Command || profile.thinks()
}

/// Whether there is a task for a teammate.
fn is_ready(board: &Board, profile: &Profile) -> bool {
    is_ours(profile) && claimants::first_choice(board, &teammate::claimant(profile)).is_some()
}

/// Whether words wait for a teammate that reads them in a turn of their own.
fn has_message(board: &Board, profile: &Profile) -> bool {
    let inbox = || Inbox::open(Arc::new(board.place().inboxes().ok()?), &profile.name).ok();
    (profile.command.is_some() || profile.thinks()) && inbox().is_some_and(|inbox| !inbox.is_empty())
}

fn hire(board: &Board, name: &Name) -> Result<Child, Failure> {
    let place = board.place();
    let log = place.teammate_logs()?.open_append(&format!("{name}.log"), 0o600)?;
    let arguments: [OsString; 7] =
        ["-C".into(), place.project().into(), "spawn".into(), name.as_str().into(), "--foreground".into(), "--yes".into(), "--hired".into()];
    teammates::detach::start(&machine::program().map_err(start)?, &arguments, &log).map_err(start)
}
