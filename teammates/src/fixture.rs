//! What the tests of real processes share.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::children::Children;
use crate::proc_fs;

/// A directory of a test's own, with a file for its commands' output.
pub(crate) struct Scratch {
    directory: tempfile::TempDir,
    path: PathBuf,
    output: File,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let output = File::options().append(true).create(true).open(path.join("output")).unwrap();
        Scratch { directory, path, output }
    }

    pub(crate) fn directory(&self) -> &Path {
        assert!(self.directory.path().exists());
        &self.path
    }

    pub(crate) fn output(&self) -> &File {
        &self.output
    }

    pub(crate) fn printed(&self) -> String {
        std::fs::read_to_string(self.path.join("output")).unwrap()
    }

    /// What was printed so far, as whole lines with a number each.
    pub(crate) fn printed_numbers(&self) -> Vec<i32> {
        let printed = self.printed();
        let whole = printed.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| line.trim().parse().unwrap()).collect()
    }

    pub(crate) fn kill(&self, pid: i32) {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    pub(crate) fn is_stopped(&self, pid: i32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.starts_with(" T")
    }
}

/// The book of children, with the environment of the test.
pub(crate) fn children() -> Children {
    Children::new(crate::environment::inherited(std::env::vars_os())).unwrap()
}

/// Runs a future as a teammate does.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Waits for a state of the system that no event tells of. Fails after a minute.
pub(crate) fn until(mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !reached() {
        assert!(Instant::now() < deadline, "not reached within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether the process has ended; reaped or not.
pub(crate) fn is_gone(pid: i32) -> bool {
    proc_fs::stat(pid).is_none_or(|stat| stat.zombie)
}

/// Waits until the process has ended.
pub(crate) fn gone(pid: i32) {
    until(|| is_gone(pid));
}

/// A turn that no other process of tests has, not even a second run of the same ones.
pub(crate) fn turn(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The turn that a test which runs [`alone`] is part of.
pub(crate) fn turn_of_alone() -> String {
    std::env::var(crate::environment::TURN).unwrap()
}

/// Runs the calling test, named in full, in a process of its own: there it returns `true`, here
/// `false` once that process has succeeded. For what tests of one process would do to each other:
/// the orphans of all of them come to it.
pub(crate) fn alone(test: &str) -> bool {
    const ALONE: &str = "TEAMMATES_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let ran = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .env(crate::environment::TURN, turn("alone"))
        .process_group(0)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && told.contains("1 passed"), "{test} by itself: {told}");
    false
}
