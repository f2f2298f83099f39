//! Who is alive: a lock that each teammate holds for its life, and a record beside it that says what it does.
//!
//! The kernel frees the lock when the process dies, however it dies. The record is written in place, under the
//! board's lock where it names a turn, so that whoever holds that lock reads it whole.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::alive::{Liveness, Process};
use crate::disk::{self, Dir};
use crate::error::{Error, Result};
use crate::lock::{Held, LockFile, Mode};
use crate::name::Name;
use crate::task::Claim;
use crate::task_id::TaskId;

/// How long a start waits for its name: another may just be looking at the lock.
const START_PATIENCE: Duration = Duration::from_secs(1);

/// What a teammate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// At work on what it holds.
    Working,
    /// Waits for work.
    Idle,
    /// Has ended, or is about to.
    Shutdown,
}

impl Activity {
    /// The word in records and in `crew team`.
    pub fn as_str(self) -> &'static str {
        match self {
            Activity::Working => "working",
            Activity::Idle => "idle",
            Activity::Shutdown => "shutdown",
        }
    }
}

/// A turn that a teammate holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// On which task.
    pub task: TaskId,
    /// The turn's id.
    pub turn: String,
}

/// What a teammate does at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doing {
    /// In words.
    pub what: String,
    /// Since when.
    pub since: Timestamp,
}

/// The longest words for what a teammate does, in characters: the record has room for them.
const LONGEST_DOING: usize = 80;

/// What a teammate says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its process.
    pub process: Process,
    /// What it does.
    pub status: Activity,
    /// What it holds.
    pub holds: Vec<Hold>,
    /// Since when it does that.
    pub since: Timestamp,
    /// Whether a run has started it: it ends with that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hired: bool,
    /// What of its work it does at this moment: the tool, or the model that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<Doing>,
    /// The commands that it has in the background.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
    /// Its runner, for `crew team`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runner: String,
}

/// The presence of a teammate of this process: alive as long as this value.
#[derive(Debug)]
pub struct Presence {
    name: Name,
    record: Record,
    file: File,
    path: PathBuf,
    length: usize,
    _held: Held,
}

/// What can be said of a teammate from outside.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its name.
    pub name: Name,
    /// What it last said of itself, where that can be read.
    pub record: Option<Record>,
    /// Whether its lock is held.
    pub living: bool,
}

impl Presence {
    /// Takes the name for this process. A living teammate of that name: [`Error::NameTaken`].
    pub fn enter(teammates: &Dir, name: &Name, runner: &str, now: Timestamp) -> Result<Presence> {
        let lock = LockFile::open(teammates, &lock_name(name))?;
        let held = lock.lock(Mode::Exclusive, START_PATIENCE).map_err(|e| match e {
            Error::LockTimeout { .. } => Error::NameTaken { name: name.to_string(), holder: holder(teammates, name) },
            other => other,
        })?;
        let file = teammates.open_record(&record_name(name), 0o666)?;
        let path = teammates.join(&record_name(name));
        let length = usize::try_from(disk::stamp(&file, &path)?.size).unwrap_or(0);
        let record = Record {
            process: Process::current().clone(),
            status: Activity::Idle,
            holds: Vec::new(),
            since: now,
            hired: false,
            doing: None,
            background: Vec::new(),
            runner: runner.to_owned(),
        };
        let mut presence = Presence { name: name.clone(), record, file, path, length, _held: held };
        presence.write()?;
        Ok(presence)
    }

    /// The teammate's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What it holds.
    pub fn holds(&self) -> &[Hold] {
        &self.record.holds
    }

    /// Says what it does now.
    pub fn set_activity(&mut self, status: Activity, now: Timestamp) -> Result<()> {
        if self.record.status != status {
            self.record.status = status;
            self.record.since = now;
            self.write()?;
        }
        Ok(())
    }

    /// Says that a run has started it.
    pub fn set_hired(&mut self) -> Result<()> {
        self.record.hired = true;
        self.write()
    }

    /// Says what of its work it does now, and what it has in the background.
    pub fn set_doing(&mut self, what: Option<&str>, background: Vec<String>, now: Timestamp) -> Result<()> {
        let what = what.map(|what| what.chars().take(LONGEST_DOING).collect::<String>());
        if self.record.doing.as_ref().map(|doing| &doing.what) == what.as_ref() && self.record.background == background {
            return Ok(());
        }
        self.record.doing = what.map(|what| Doing { what, since: now });
        self.record.background = background;
        self.write()
    }

    /// Names a turn before its task's file does. Called under the board's lock.
    pub(crate) fn hold(&mut self, task: &TaskId, turn: &str, now: Timestamp) -> Result<()> {
        self.record.holds.push(Hold { task: task.clone(), turn: turn.to_owned() });
        self.record.status = Activity::Working;
        self.record.since = now;
        // What could not be named did not begin.
        self.write().inspect_err(|_| self.record.holds.truncate(self.record.holds.len() - 1))
    }

    /// Forgets a turn that has ended (or never began).
    pub fn let_go(&mut self, turn: &str) -> Result<()> {
        self.forget(turn);
        self.write()
    }

    /// The same, said at the record's next writing: until then the task's attempts say that the turn is over.
    pub fn forget(&mut self, turn: &str) {
        self.record.holds.retain(|hold| hold.turn != turn);
    }

    /// Writes the record in place, at its old length at least: what it had it never gives back, so that a full
    /// disk does not keep a teammate from saying what it holds.
    fn write(&mut self) -> Result<()> {
        let mut text = serde_json::to_vec(&self.record).map_err(|e| Error::io("write", &self.path, std::io::Error::from(e)))?;
        text.resize((text.len() + 1).max(self.length).max(RECORD_LENGTH) - 1, b' ');
        text.push(b'\n');
        self.length = text.len();
        disk::write_at(&self.file, &self.path, &text, 0)
    }
}

/// Room that a record takes from its first writing on.
const RECORD_LENGTH: usize = 512;

impl Drop for Presence {
    fn drop(&mut self) {
        self.record.status = Activity::Shutdown;
        let _ = self.write();
    }
}

fn lock_name(name: &Name) -> String {
    format!("{name}.lock")
}

fn record_name(name: &Name) -> String {
    format!("{name}.json")
}

fn holder(teammates: &Dir, name: &Name) -> String {
    read(teammates, name).map_or_else(|| "a process that has just begun".into(), |record| record.process.to_string())
}

/// What a teammate last said of itself; `None` where nothing can be read.
pub fn read(teammates: &Dir, name: &Name) -> Option<Record> {
    let bytes = teammates.read(&record_name(name)).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a teammate's lock is held. A lock that cannot be asked counts as held.
pub fn lives(teammates: &Dir, name: &Name) -> bool {
    match LockFile::open_existing(teammates, &lock_name(name)) {
        Ok(None) => false,
        Ok(Some(lock)) => !matches!(lock.try_lock(Mode::Shared), Ok(Some(_))),
        Err(_) => true,
    }
}

/// Every teammate that ever was on this board, by name.
pub fn all(teammates: &Dir) -> Result<Vec<Seen>> {
    let mut names: Vec<Name> = teammates.names()?.iter().filter_map(|(file, _)| Name::new(file.strip_suffix(".json")?).ok()).collect();
    names.sort();
    Ok(names.into_iter().map(|name| Seen { record: read(teammates, &name), living: lives(teammates, &name), name }).collect())
}

/// What every teammate that ever was last said of itself, by its name; whether it lives is not asked, and no lock is.
pub fn records(teammates: &Dir) -> Result<Vec<(Name, Record)>> {
    let names = teammates.names()?.into_iter().filter_map(|(file, _)| Name::new(file.strip_suffix(".json")?).ok());
    Ok(names.filter_map(|name| Some((name.clone(), read(teammates, &name)?))).collect())
}

/// The living teammates' holds, for whoever suspects that a file was saved over a claim: of whom, what it says of
/// itself, and the turn.
pub fn living_holds(teammates: &Dir) -> Result<Vec<(Name, Record, Hold)>> {
    let mut holds = Vec::new();
    for (file, _) in teammates.names()? {
        let Some(name) = file.strip_suffix(".json").and_then(|name| Name::new(name).ok()) else { continue };
        let Some(record) = read(teammates, &name).filter(|record| !record.holds.is_empty()) else { continue };
        if lives(teammates, &name) {
            holds.extend(record.holds.iter().map(|hold| (name.clone(), record.clone(), hold.clone())));
        }
    }
    Ok(holds)
}

/// Whether a claim's holder is gone for certain, so that the task goes back.
///
/// With a process: it is dead **and** its teammate's lock is free or held by another process. One that cannot be
/// asked (another host or namespace) counts as alive, unless it shares our kernel or a filesystem whose locks
/// cross hosts, and its lock is free. Without a process: only a lease that has run out.
pub fn is_stale(claim: &Claim, teammates: Option<&Dir>, locks_cross_hosts: bool, now: Timestamp) -> bool {
    let Some(process) = &claim.process else {
        return claim.lease.is_some_and(|lease| lease < now);
    };
    let lock_is_free = || match (teammates, Name::new(&claim.by)) {
        (Some(teammates), Ok(name)) => !lives(teammates, &name),
        (None, _) | (_, Err(_)) => true,
    };
    let held_by_another = || match (teammates, Name::new(&claim.by)) {
        (Some(teammates), Ok(name)) => read(teammates, &name).is_some_and(|record| record.process != *process),
        _ => false,
    };
    match process.liveness() {
        Liveness::Alive => claim.lease.is_some_and(|lease| lease < now) && lock_is_free(),
        Liveness::Dead => lock_is_free() || held_by_another(),
        Liveness::Unknown => (process.shares_our_kernel() || locks_cross_hosts) && lock_is_free(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        (temp, dir)
    }

    fn claim(by: &str, process: Option<Process>) -> Claim {
        Claim { turn: "t".into(), by: by.into(), at: crate::clock::now(), process, lease: None, epoch: None, dispatched: false }
    }

    #[test]
    fn one_living_teammate_a_name() {
        let (_temp, dir) = dir();
        let alice = Name::new("alice").unwrap();
        let now = crate::clock::now();
        let mut first = Presence::enter(&dir, &alice, "command", now).unwrap();
        first.hold(&TaskId::new("1").unwrap(), "t1", now).unwrap();
        assert!(matches!(Presence::enter(&dir, &alice, "command", now), Err(Error::NameTaken { .. })));
        assert!(lives(&dir, &alice));
        assert_eq!(living_holds(&dir).unwrap().len(), 1);
        drop(first);
        assert!(!lives(&dir, &alice));
        assert_eq!(living_holds(&dir).unwrap().len(), 0);
        assert_eq!(read(&dir, &alice).unwrap().status, Activity::Shutdown);
        drop(Presence::enter(&dir, &alice, "command", now).unwrap());
    }

    #[test]
    fn a_claim_is_stale_only_for_certain() {
        let (_temp, dir) = dir();
        let now = crate::clock::now();
        let me = Process::current().clone();
        let dead = Process { start: me.start + 1, ..me.clone() };
        let elsewhere = Process { host: "elsewhere".into(), boot: "other".into(), ..me.clone() };
        let other_namespace = Process { ns: me.ns + 1, ..me.clone() };
        let stale = |claim: &Claim| is_stale(claim, Some(&dir), false, now);
        assert!(!stale(&claim("alice", Some(me.clone()))));
        assert!(stale(&claim("alice", Some(dead.clone()))), "dead, and nobody holds the lock");
        assert!(!stale(&claim("alice", Some(elsewhere.clone()))), "another host cannot be asked");
        assert!(is_stale(&claim("alice", Some(elsewhere)), Some(&dir), true, now), "but its lock can where locks cross");
        assert!(stale(&claim("alice", Some(other_namespace))), "the kernel is ours, and the lock is free");
        assert!(!stale(&claim("alice", None)));
        let mut leased = claim("alice", None);
        leased.lease = Some(now - jiff::SignedDuration::from_secs(1));
        assert!(stale(&leased));
        let presence = Presence::enter(&dir, &Name::new("alice").unwrap(), "command", now).unwrap();
        assert!(stale(&claim("alice", Some(dead.clone()))), "the lock is another process's");
        let mut record = read(&dir, presence.name()).unwrap();
        record.process = dead.clone();
        std::fs::write(dir.join("alice.json"), serde_json::to_vec(&record).unwrap()).unwrap();
        assert!(!stale(&claim("alice", Some(dead))), "the lock is held in its own name: it may be a check's mistake");
    }
}
