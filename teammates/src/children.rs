//! The children of this process: those that it started, and the orphans that it adopted.
//!
//! [`Children`] makes this process a *child subreaper*: when a child ends and leaves children of its
//! own, those come to this process instead of to `init`. So nothing that a turn started can get out
//! of sight, whatever it does with sessions and process groups, and one look at this process's own
//! children tells whether there is anything to search for: in the usual case there is not.
//!
//! Orphans have to be reaped when they end. A child that was started through [`Children::spawn`] is
//! reaped by its [`Running`](crate::process::Running) alone. **Every child of this process must be
//! started through here**: another would be taken for an orphan, and its exit status taken away from
//! whoever waits for it.
//!
//! Outside Linux there are no subreapers: no orphan is ever seen.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::environment;
use crate::proc_fs::{self, Variable};

/// The children of this process. Clones are handles to the same book.
#[derive(Clone, Debug)]
pub struct Children {
    book: Arc<Mutex<Book>>,
    inherited: Arc<[(OsString, OsString)]>,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    /// Started here and not reaped: what its turn is.
    pub(crate) running: HashMap<i32, String>,
    /// Children that are nobody's to end: there before the book was opened, or left by a turn that
    /// is over (kept on purpose, or beyond proof).
    settled: HashSet<i32>,
}

impl Children {
    /// Makes this process a subreaper and opens the book. `environment` is what children inherit,
    /// see [`environment::inherited`]. Once a process: two books would reap each other's children.
    pub fn new(environment: Vec<(OsString, OsString)>) -> io::Result<Children> {
        become_subreaper()?;
        let settled = proc_fs::children_of_main()?.into_iter().collect();
        Ok(Children { book: Arc::new(Mutex::new(Book { settled, ..Book::default() })), inherited: environment.into() })
    }

    /// Reaps the orphans that have ended, and says whether one is alive that may belong to a turn.
    /// Then, and only then, is [`leftovers::end`](crate::leftovers::end) worth its search of `/proc`.
    ///
    /// Costs one system call while this process has no child, and the reading of one small file
    /// otherwise.
    pub fn orphaned(&self) -> io::Result<bool> {
        Ok(!self.orphans()?.is_empty())
    }

    /// Says that what is left of turns that are over is to be left alone: to be called when a turn's
    /// leftovers have been ended, or are to be kept. Orphans of turns that still run stay in view.
    pub fn settle(&self) -> io::Result<()> {
        let left = self.orphans()?;
        let mut book = self.book();
        for orphan in left {
            let of_open_turn = match proc_fs::variable(orphan, environment::TURN) {
                Variable::Value(turn) => book.running.values().any(|open| open.as_bytes() == turn),
                Variable::Absent | Variable::Gone => false,
                // It may be just loading a program: look at it again the next time.
                Variable::Blank => true,
            };
            if !of_open_turn {
                book.settled.insert(orphan);
            }
        }
        Ok(())
    }

    /// Says that a child is nobody's to end: it was started past this book, and is part of no turn.
    pub fn spare(&self, pid: u32) {
        if let Ok(pid) = i32::try_from(pid) {
            self.book().settled.insert(pid);
        }
    }

    pub(crate) fn inherited(&self) -> &[(OsString, OsString)] {
        &self.inherited
    }

    /// While it is held, nobody here takes a child that is being started for an orphan.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The orphans that are alive and not settled; the dead ones are reaped.
    fn orphans(&self) -> io::Result<Vec<i32>> {
        let mut book = self.book();
        if !cfg!(target_os = "linux") || !has_children()? {
            return Ok(Vec::new());
        }
        let mut orphans = Vec::new();
        for child in proc_fs::children_of_main()? {
            if book.running.contains_key(&child) {
                continue;
            }
            if reap(child)? {
                book.settled.remove(&child);
            } else if !book.settled.contains(&child) {
                orphans.push(child);
            }
        }
        Ok(orphans)
    }
}

/// From now on the orphans of this process's descendants become its children.
fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Whether this process has any child, dead or alive.
fn has_children() -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::All, look) {
        Ok(_) => Ok(true),
        Err(Errno::CHILD) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the child had ended, and is gone now.
fn reap(child: i32) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(child) else {
        return Ok(true);
    };
    match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::CHILD) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::{Scratch, alone, children, is_gone, run, until};
    use crate::process::{Ending, Spawn};

    const KEEP: Ending = Ending { timeout: None, grace: Duration::from_secs(300), keep: true };

    fn spawn<'a>(scratch: &'a Scratch, turn: &'a str, script: &str) -> Spawn<'a> {
        Spawn {
            turn,
            argv: ["sh", "-c", script].map(OsString::from).to_vec(),
            cwd: scratch.directory().to_owned(),
            env: Vec::new(),
            stdin: None,
            output: scratch.output(),
            errors: None,
            group_record: None,
        }
    }

    #[test]
    fn an_orphan_is_seen_settled_and_reaped() {
        if !alone("children::tests::an_orphan_is_seen_settled_and_reaped") {
            return;
        }
        let children = children();
        assert!(!children.orphaned().unwrap());
        let scratch = Scratch::new();
        run(async {
            let started = children.spawn(spawn(&scratch, "one", "exit 0")).unwrap();
            started.wait(KEEP, std::future::pending()).await.unwrap();
            assert!(!children.orphaned().unwrap());

            let script = "setsid sh -c 'echo $$; exec sleep 1000' &";
            let started = children.spawn(spawn(&scratch, "two", script)).unwrap();
            started.wait(KEEP, std::future::pending()).await.unwrap();
        });
        assert!(children.orphaned().unwrap());
        until(|| !scratch.printed_numbers().is_empty());
        let left = scratch.printed_numbers()[0];

        // What is kept costs no further search, and is reaped when it ends.
        until(|| {
            children.settle().unwrap();
            !children.orphaned().unwrap()
        });
        assert!(!is_gone(left));
        scratch.kill(left);
        until(|| {
            assert!(!children.orphaned().unwrap());
            proc_fs::stat(left).is_none()
        });
        assert!(children.book().settled.is_empty());
    }

    #[test]
    fn orphans_of_a_turn_that_still_runs_stay_in_view() {
        if !alone("children::tests::orphans_of_a_turn_that_still_runs_stay_in_view") {
            return;
        }
        let children = children();
        let scratch = Scratch::new();
        run(async {
            let script = "(setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000";
            let started = children.spawn(spawn(&scratch, "one", script)).unwrap();
            until(|| !scratch.printed_numbers().is_empty());
            let orphan = scratch.printed_numbers()[0];
            until(|| children.orphaned().unwrap());
            children.settle().unwrap();
            assert!(children.orphaned().unwrap());

            drop(started);
            until(|| {
                children.settle().unwrap();
                !children.orphaned().unwrap()
            });
            scratch.kill(orphan);
        });
    }

    #[test]
    fn children_from_before_are_nobodys() {
        if !alone("children::tests::children_from_before_are_nobodys") {
            return;
        }
        let mut before = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let children = children();
        assert!(!children.orphaned().unwrap());
        before.kill().unwrap();
        before.wait().unwrap();
    }
}
