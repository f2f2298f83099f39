//! Where it is measured, and boards made for it with nothing but plain files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use board::board::Durability;
use board::locked::{Claimed, Terms};
use board::place::{Place, Surroundings};
use board::presence::Presence;
use board::ready::Claimant;
use board::{Board, alive::Process};
use rustix::fs::{AtFlags, Timespec, Timestamps, utimensat};

use crate::measure::Outcome;

/// The directory in which everything is measured; its contents go at the end.
pub(crate) struct Ground {
    temp: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Outcome<Ground> {
        let temp = match std::env::var_os("CREW_BENCH_DIR") {
            Some(dir) => tempfile::tempdir_in(dir)?,
            None => tempfile::tempdir()?,
        };
        Ok(Ground { temp })
    }

    pub(crate) fn path(&self) -> &Path {
        self.temp.path()
    }

    /// A fresh directory.
    pub(crate) fn directory(&self) -> Outcome<PathBuf> {
        Ok(tempfile::Builder::new().prefix("ground.").tempdir_in(self.path())?.keep())
    }

    /// The name of the filesystem, by its number where the name is not known.
    pub(crate) fn filesystem(&self) -> Outcome<String> {
        Ok(match rustix::fs::statfs(self.path())?.f_type {
            0xEF53 => "ext".into(),
            0x0102_1994 => "tmpfs".into(),
            0x5846_5342 => "xfs".into(),
            0x9123_683E => "btrfs".into(),
            other => format!("filesystem {other:x}"),
        })
    }

    /// A project with a board of so many pending tasks, all of them older than any grain of any clock.
    pub(crate) fn project(&self, tasks: usize, durability: Durability) -> Outcome<Project> {
        let project = Project { root: self.directory()? };
        Board::init(&project.root, durability, &project.surroundings())?;
        for number in 1..=tasks {
            let path = project.tasks().join(format!("task_{number}.json"));
            std::fs::write(&path, task_text(number))?;
            make_old(&path)?;
        }
        Ok(project)
    }

    /// Puts everything on disk, so that what was made before does not weigh on what is measured next.
    pub(crate) fn settle(&self) -> Outcome<()> {
        let dir = rustix::fs::open(self.path(), rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty())?;
        Ok(rustix::fs::syncfs(dir)?)
    }
}

/// A directory with a board.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
}

impl Project {
    pub(crate) fn tasks(&self) -> PathBuf {
        self.root.join(board::place::TASKS)
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings { crewboard_home: Some(self.root.join("state").into()), ..Surroundings::default() }
    }

    /// The board as a long-lived process has it: opened, and seen whole.
    pub(crate) fn open(&self) -> Outcome<Board> {
        let mut board = Board::open(Place::at(&self.tasks(), &self.surroundings())?)?;
        board.look()?;
        Ok(board)
    }

    /// Removes it, so that the next one does not find a full disk.
    pub(crate) fn remove(self) -> Outcome<()> {
        Ok(std::fs::remove_dir_all(&self.root)?)
    }
}

/// A task as people write them: 10,000 of them are 3 MB.
pub(crate) fn task_text(number: usize) -> String {
    format!(
        "{{\n  \"id\": {number},\n  \"subject\": \"Resize photo {number}\",\n  \"description\": \"Make it 800 pixels wide, keep its profile, and put it \
         beside the others. The originals stay where they are. What cannot be read is listed.\",\n  \"status\": \"pending\",\n  \"priority\": 0,\n  \
         \"run\": \"true\",\n  \"created\": \"2026-01-02T03:04:05Z\"\n}}\n"
    )
}

fn make_old(path: &Path) -> Outcome<()> {
    let old = Timespec { tv_sec: 1_700_000_000, tv_nsec: 0 };
    let times = Timestamps { last_access: old, last_modification: old };
    Ok(utimensat(rustix::fs::CWD, path, &times, AtFlags::empty())?)
}

/// A claimant with its presence, as a teammate has them.
pub(crate) struct Teammate {
    claimant: Claimant,
    presence: Presence,
    terms: Terms,
}

/// Nothing here waits longer for a lock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

impl Teammate {
    pub(crate) fn enter(board: &Board, name: &str) -> Outcome<Teammate> {
        let presence = board.enter(&board::name::Name::new(name)?, "command")?;
        let terms = Terms { process: Some(Process::current().clone()), ..Terms::default() };
        Ok(Teammate { claimant: Claimant::shell(name), presence, terms })
    }

    /// Claims the best task, whole: lock, claim, unlock, and what is left to do then.
    pub(crate) fn claim(&mut self, board: &mut Board) -> Outcome<Option<Claimed>> {
        let mut locked = board.lock(PATIENCE)?;
        let claimed = locked.claim(Some(&mut self.presence), &self.claimant, None, &self.terms)?;
        locked.unlock()?.settle()?;
        if let Some(claimed) = &claimed {
            // Its end is not measured here, and its record stays as short as that of a teammate with one claim.
            self.presence.forget(&claimed.turn);
        }
        Ok(claimed)
    }

    pub(crate) fn name(&self) -> &str {
        &self.claimant.name
    }
}
