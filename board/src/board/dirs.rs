//! The directories of a board: `.tasks/`, and what is ours in `.tasks/.board/`.

use std::path::Path;
use std::sync::OnceLock;

use crate::disk::{self, Dir};
use crate::error::{Error, Result};
use crate::place::OURS;

/// The directories of a board, open.
#[derive(Debug)]
pub(crate) struct Dirs {
    pub(crate) tasks: Dir,
    ours: OnceLock<Ours>,
    /// Whether stamps are too coarse to be trusted for two seconds.
    pub(crate) coarse: bool,
}

/// What is ours in `.tasks/.board/`.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) dir: Dir,
    pub(crate) teammates: Dir,
    pub(crate) kept: Dir,
    pub(crate) groups: Dir,
    pub(crate) archive: Dir,
}

impl Dirs {
    pub(super) fn open(tasks: &Path) -> Result<Dirs> {
        let tasks = Dir::open(tasks)?;
        let coarse = !disk::is_local(&tasks);
        Ok(Dirs { tasks, ours: OnceLock::new(), coarse })
    }

    /// What is ours, where some writer has made it.
    pub(crate) fn ours(&self) -> Option<&Ours> {
        if self.ours.get().is_none()
            && let Ok(dir) = Dir::open(&self.tasks.join(OURS))
            && let Ok(ours) = Ours::below(dir, false)
        {
            let _ = self.ours.set(ours);
        }
        self.ours.get()
    }

    /// What is ours, made where it is missing.
    pub(crate) fn make_ours(&self) -> Result<&Ours> {
        if self.ours.get().is_none() {
            let dir = self.tasks.make_dir(OURS)?;
            let _ = self.ours.set(Ours::below(dir, true)?);
        }
        self.ours.get().ok_or_else(|| Error::io("open", self.tasks.join(OURS), std::io::Error::other("it could not be made")))
    }
}

impl Ours {
    fn below(dir: Dir, make: bool) -> Result<Ours> {
        let sub = |name: &str| if make { dir.make_dir(name) } else { Dir::open(&dir.join(name)) };
        Ok(Ours { teammates: sub("teammates")?, kept: sub("kept")?, groups: sub("groups")?, archive: sub("archive")?, dir })
    }
}
