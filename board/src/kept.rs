//! Displaced versions of tasks, kept until the disk has the ones that displaced them.
//!
//! # How a task survives a power cut
//!
//! A task is replaced by writing the new version into `kept/<generation>.<boot>/` and exchanging the two names in
//! one step. The displaced version lies in `kept/` by that same step. Nothing of this is synced: until the disk
//! has written it all, a power cut may leave the task's file with the new content, the old one, or torn.
//!
//! Every five seconds while there is work the next generation is opened (under the lock), the filesystem is
//! synced, and only then are older generations removed: what they displaced is on disk.
//!
//! The first writer of another boot finds the generations of the boot that was cut off. A task whose file is
//! torn or empty then gets its newest whole version from them. A torn file of *this* boot is a person's
//! unfinished edit and stays as it is.
//!
//! On a board that is `full` the version that was put in a task's place is synced after the exchange, and then the
//! directory, both without the lock and before success is reported ([`Unlocked::settle`](crate::locked::Unlocked::settle)):
//! so what was reported needs no kept version any more.
//!
//! A crash of the program costs nothing: the kernel has what was written.

use std::fs::File;

use crate::disk::{self, Dir};
use crate::document::Document;
use crate::error::Result;
use crate::task_id::TaskId;
use crate::turn;

/// How long a generation is written into, in seconds.
pub(crate) const GENERATION_SECONDS: i64 = 5;

/// The generation that is written into.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its number.
    pub(crate) number: u64,
    /// Its directory.
    pub(crate) dir: Dir,
}

/// A generation that is closed: its files may go once the filesystem is synced.
#[derive(Debug)]
#[must_use]
pub(crate) struct Closed {
    /// All up to this one.
    upto: u64,
}

/// The number and the boot that a generation's directory is named for.
fn parse(name: &str) -> Option<(u64, &str)> {
    let (number, boot) = name.split_once('.')?;
    Some((number.parse().ok()?, boot))
}

impl Kept {
    /// Opens a generation that is there, or makes it.
    pub(crate) fn open(kept: &Dir, number: u64, boot: &str) -> Result<Kept> {
        Ok(Kept { number, dir: kept.make_dir(&format!("{number:010}.{boot}"))? })
    }

    /// Writes a new version under a name at which the displaced one lies afterwards. Names order by age.
    pub(crate) fn write(&self, position: (u64, u64), id: &TaskId, bytes: &[u8]) -> Result<(String, File)> {
        let mut again = 0u8;
        loop {
            let name = format!("{:016x}.{:016x}.{again:02x}.{id}", position.0, position.1);
            match self.dir.write_new(&name, bytes, 0o666) {
                // A process that died here left its version under the name of this position.
                Err(e) if e.io_kind() == Some(std::io::ErrorKind::AlreadyExists) && again < u8::MAX => again += 1,
                other => return other.map(|file| (name, file)),
            }
        }
    }

    /// The name for a version under which nothing comes to lie that a torn task may be given back: a new task's, which
    /// displaces nothing, or one on the way to what an edit and a change make together.
    pub(crate) fn prepared(turn: &str, id: &TaskId) -> String {
        format!("prepared.{turn}.{id}")
    }
}

/// The highest generation of any boot; 0 where there is none.
pub(crate) fn highest(kept: &Dir) -> Result<u64> {
    Ok(kept.names()?.iter().filter_map(|(name, _)| Some(parse(name)?.0)).max().unwrap_or(0))
}

/// Closes a generation. Under the lock; the next one is open already.
pub(crate) fn close(upto: u64) -> Closed {
    Closed { upto }
}

impl Closed {
    /// The last one that is closed.
    pub(crate) fn upto(&self) -> u64 {
        self.upto
    }

    /// Syncs the filesystem and removes what is on disk thereby. Outside the lock.
    pub(crate) fn settle(self, kept: &Dir) -> Result<()> {
        kept.sync_filesystem()?;
        for (name, _) in kept.names()? {
            if parse(&name).is_some_and(|(number, _)| number <= self.upto) {
                kept.remove_dir(&name)?;
            }
        }
        Ok(())
    }
}

/// A whole version of a torn task, found in a generation of another boot.
#[derive(Debug)]
pub(crate) struct Survivor {
    /// The task.
    pub(crate) id: TaskId,
    /// Its version.
    pub(crate) bytes: Vec<u8>,
}

/// The tasks of which other boots' generations hold versions.
pub(crate) fn of_other_boots(kept: &Dir, boot: &str) -> Result<Vec<(String, Dir)>> {
    let mut generations = Vec::new();
    for (name, _) in kept.names()? {
        if parse(&name).is_some_and(|(_, of)| of != boot) {
            generations.push((name.clone(), Dir::open(&kept.join(&name))?));
        }
    }
    // Newest first.
    generations.sort_by(|(a, _), (b, _)| b.cmp(a));
    Ok(generations)
}

/// For each torn task the newest whole version that other boots' generations hold.
pub(crate) fn survivors(generations: &[(String, Dir)], tasks: &Dir) -> Result<Vec<Survivor>> {
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut bytes = Vec::new();
    for (_, generation) in generations {
        let mut names: Vec<String> = generation.names()?.into_iter().map(|(name, _)| name).filter(|name| !name.starts_with("prepared.")).collect();
        names.sort_by(|a, b| b.cmp(a));
        for name in names {
            let Some(id) = name.splitn(4, '.').nth(3).and_then(|id| TaskId::new(id).ok()) else { continue };
            if seen.contains(&id) {
                continue;
            }
            // What is gone was removed by a person; what is whole needs nothing.
            let torn = tasks.read_into(&id.file_name(), &mut bytes).is_ok() && is_torn(&bytes);
            if !torn {
                seen.insert(id);
                continue;
            }
            generation.read_into(&name, &mut bytes)?;
            if !is_torn(&bytes) {
                seen.insert(id.clone());
                found.push(Survivor { id, bytes: bytes.clone() });
            }
        }
    }
    Ok(found)
}

/// Whether a file cannot have been written whole: it is empty, or no JSON.
fn is_torn(bytes: &[u8]) -> bool {
    match Document::parse(bytes) {
        Ok(_) => false,
        Err(problem) => problem.truncated || bytes.contains(&0) || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err(),
    }
}

/// Puts a version in the place of a torn file; what was torn stays beside, for whoever wants to look at it.
pub(crate) fn put_back(survivor: &Survivor, kept: &Kept, archive: &Dir, tasks: &Dir) -> Result<()> {
    // A fresh name: one who died at this point may have left its version here.
    let name = Kept::prepared(&turn::fresh(), &survivor.id);
    let file = kept.dir.write_new(&name, &survivor.bytes, 0o666)?;
    disk::sync_file(&file, &kept.dir.join(&name))?;
    disk::exchange(&kept.dir, &name, tasks, &survivor.id.file_name())?;
    tasks.sync()?;
    let torn = format!("torn_{}.{}", survivor.id, kept.number);
    disk::rename_new(&kept.dir, &name, archive, &torn).map(drop)
}
