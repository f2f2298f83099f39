//! Where a board lies, and where its machine-side state does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::disk::{Dir, written};
use crate::error::{Error, Result};
use crate::name::Name;
use crate::task_id::TaskId;

/// The directory of the tasks.
pub const TASKS: &str = ".tasks";
/// The directory in it that is ours.
pub const OURS: &str = ".board";

/// The paths of one board. Finding it touches nothing; directories are made by their first writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    tasks: PathBuf,
    project: PathBuf,
    state: PathBuf,
}

/// What decides where a board and its state are: passed in, so that nothing here reads the environment.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `$CREW_BOARD`: the `.tasks` path.
    pub board: Option<OsString>,
    /// `$CREWBOARD_HOME`.
    pub crewboard_home: Option<OsString>,
    /// `$XDG_STATE_HOME`.
    pub state_home: Option<OsString>,
    /// `$HOME`.
    pub home: Option<OsString>,
}

impl Surroundings {
    /// Reads them from this process's environment. Empty variables count as absent.
    pub fn of_process() -> Self {
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Surroundings { board: read("CREW_BOARD"), crewboard_home: read("CREWBOARD_HOME"), state_home: read("XDG_STATE_HOME"), home: read("HOME") }
    }

    /// The directory that holds the state of every project of this user.
    fn state_root(&self) -> PathBuf {
        match (&self.crewboard_home, &self.state_home, &self.home) {
            (Some(home), _, _) => PathBuf::from(home),
            (None, Some(state), _) => Path::new(state).join("crewboard"),
            (None, None, Some(home)) => Path::new(home).join(".local/state/crewboard"),
            (None, None, None) => std::env::temp_dir().join("crewboard"),
        }
    }
}

impl Place {
    /// The board that somebody standing in `from` means: `$CREW_BOARD`, else the nearest `.tasks/` upward, else
    /// that of the main working tree when standing in a git worktree.
    pub fn find(from: &Path, surroundings: &Surroundings) -> Result<Place> {
        if let Some(board) = &surroundings.board {
            let tasks = from.join(board);
            return match tasks.is_dir() {
                true => Place::at(&tasks, surroundings),
                false => Err(Error::NoBoard(tasks)),
            };
        }
        let from = from.canonicalize().map_err(|e| Error::io("find", from, e))?;
        let upward = from.ancestors().map(|dir| dir.join(TASKS)).find(|tasks| tasks.is_dir());
        let found = upward.or_else(|| {
            let main = from.ancestors().find_map(main_working_tree)?;
            Some(main.join(TASKS)).filter(|tasks| tasks.is_dir())
        });
        match found {
            Some(tasks) => Place::at(&tasks, surroundings),
            None => Err(Error::NoBoard(from)),
        }
    }

    /// The board of that `.tasks/`, which must be a directory.
    pub fn at(tasks: &Path, surroundings: &Surroundings) -> Result<Place> {
        let tasks = tasks.canonicalize().map_err(|e| Error::io("find", tasks, e))?;
        let project = tasks.parent().unwrap_or(&tasks).to_path_buf();
        let state = surroundings.state_root().join(state_name(&project));
        Ok(Place { tasks, project, state })
    }

    /// `.tasks/`.
    pub fn tasks(&self) -> &Path {
        &self.tasks
    }

    /// `.tasks/.board/`.
    pub fn ours(&self) -> PathBuf {
        self.tasks.join(OURS)
    }

    /// The directory that holds `.tasks/`: where commands run.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The machine-side state of this project; owner-only, made by its first writer.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The directory of an attempt's files (its log, its results), made where it is missing.
    pub fn attempt_logs(&self, task: &TaskId) -> Result<Dir> {
        Dir::make(&self.state.join("logs").join(task.as_str()), 0o700)
    }

    /// The log of a turn.
    pub fn log(&self, task: &TaskId, turn: &str) -> PathBuf {
        self.state.join("logs").join(task.as_str()).join(format!("{turn}.log"))
    }

    /// The directory of the files of the thread's turns (logs, openings), made where it is missing.
    pub fn turn_logs(&self) -> Result<Dir> {
        Dir::make(&self.state.join("logs/thread"), 0o700)
    }

    /// The log of a turn of the thread.
    pub fn turn_log(&self, turn: &str) -> PathBuf {
        self.state.join("logs/thread").join(format!("{turn}.log"))
    }

    /// The project's `.crew/`, which people read and edit.
    pub fn crew(&self) -> PathBuf {
        self.project.join(".crew")
    }

    /// The directory of the logs of detached teammates, made where it is missing.
    pub fn teammate_logs(&self) -> Result<Dir> {
        Dir::make(&self.state.join("teammates"), 0o700)
    }

    /// The log of a detached teammate.
    pub fn teammate_log(&self, name: &Name) -> PathBuf {
        self.state.join("teammates").join(format!("{name}.log"))
    }

    /// The inboxes of this project's teammates, made where they are missing.
    pub fn inboxes(&self) -> Result<Dir> {
        Dir::make(&self.state.join("inbox"), 0o700)
    }

    /// The profile of a teammate, where there is one.
    pub fn profile(&self, name: &Name) -> PathBuf {
        self.profiles().join(format!("{name}.md"))
    }

    /// The directory of the teammates' profiles.
    pub fn profiles(&self) -> PathBuf {
        self.project.join(".crew/teammates")
    }
}

/// `<project>-<hash of its canonical path>`: readable, and one a project.
fn state_name(project: &Path) -> String {
    let name = project.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
    let name: String = name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(80).collect();
    format!("{}-{:016x}", name.trim_start_matches('.'), fnv(project.as_os_str().as_encoded_bytes()))
}

/// FNV-1a, 64 bit: stable over versions and machines, which std's hashers do not promise.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The main working tree, seen from a linked one: its `.git` is a file that names `<main>/.git/worktrees/<name>`.
fn main_working_tree(dir: &Path) -> Option<PathBuf> {
    let pointer = written::read_text(&dir.join(".git")).ok()??;
    let git_dir = dir.join(pointer.strip_prefix("gitdir:")?.trim());
    let common = written::read_text(&git_dir.join("commondir")).ok()??;
    git_dir.join(common.trim()).canonicalize().ok()?.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_board_upward_else_that_of_the_main_tree() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("main/.tasks")).unwrap();
        std::fs::create_dir_all(root.join("main/a/b")).unwrap();
        std::fs::create_dir_all(root.join("main/.git/worktrees/w")).unwrap();
        std::fs::write(root.join("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        std::fs::create_dir_all(root.join("w/deep")).unwrap();
        std::fs::write(root.join("w/.git"), format!("gitdir: {}\n", root.join("main/.git/worktrees/w").display())).unwrap();
        let surroundings = Surroundings { crewboard_home: Some("/nowhere".into()), ..Default::default() };
        let found = Place::find(&root.join("main/a/b"), &surroundings).unwrap();
        assert_eq!(found.project(), root.join("main"));
        assert!(found.state().starts_with("/nowhere"));
        assert_eq!(Place::find(&root.join("w/deep"), &surroundings).unwrap(), found);
        assert!(matches!(Place::find(&root, &surroundings), Err(Error::NoBoard(_))));
        let told = Surroundings { board: Some(root.join("main/.tasks").into()), ..surroundings };
        assert_eq!(Place::find(&root, &told).unwrap(), found);
    }
}
