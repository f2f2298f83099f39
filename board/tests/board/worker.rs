//! Processes that take part in a test: this program again, told by its environment what to do.

#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

const JOB: &str = "CREW_TEST_JOB";
const PROJECT: &str = "CREW_TEST_PROJECT";
const ARGUMENTS: &str = "CREW_TEST_ARGUMENTS";

/// What a worker was told.
pub(crate) struct Told {
    /// The project whose board it works on.
    pub(crate) project: PathBuf,
    arguments: serde_json::Value,
}

impl Told {
    pub(crate) fn text(&self, key: &str) -> &str {
        self.arguments[key].as_str().unwrap()
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.arguments[key].as_u64().unwrap()
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.arguments[key].as_bool().unwrap()
    }
}

/// This program as it runs. Its file may have been built anew meanwhile, and that one need not know these jobs.
#[cfg(target_os = "linux")]
fn program() -> PathBuf {
    use rustix::fs::{Mode, OFlags};
    static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();
    // Inherited: `sh` and `setpriv`, which some workers are started through, are to find it too.
    let program = PROGRAM.get_or_init(|| rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty()).unwrap());
    format!("/proc/self/fd/{}", program.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// A worker, not yet started: more of its environment may be set.
pub(crate) fn command(job: &str, project: &Path, arguments: &serde_json::Value) -> Command {
    let mut command = Command::new(program());
    command.args(["--exact", "worker::worker_entry", "--nocapture", "--test-threads=1"]);
    command.env(JOB, job).env(PROJECT, project).env(ARGUMENTS, arguments.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

pub(crate) fn spawn(job: &str, project: &Path, arguments: &serde_json::Value) -> Child {
    command(job, project, arguments).spawn().unwrap()
}

/// A worker that does not outlive its test.
pub(crate) struct Held(Child);

impl Held {
    pub(crate) fn spawn(job: &str, project: &Path, arguments: &serde_json::Value) -> Held {
        Held(spawn(job, project, arguments))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a worker was killed, as `kill -9` does.
pub(crate) fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    assert!(status.success() || status.signal() == Some(9), "a worker failed: {status}");
    !status.success()
}

/// Where a worker begins. As a test it has nothing to do.
#[test]
fn worker_entry() {
    let Ok(job) = std::env::var(JOB) else { return };
    let told = Told { project: std::env::var_os(PROJECT).unwrap().into(), arguments: serde_json::from_str(&std::env::var(ARGUMENTS).unwrap()).unwrap() };
    match job.as_str() {
        "race" => crate::race::work(&told),
        "naive" => crate::race::work_without_lock(&told),
        "die" => crate::crash::live_and_die(&told),
        "mortal" => crate::crash::live_dangerously(&told),
        "boot" => crate::power::boot_after_the_cut(&told),
        "recover" => crate::power::recover_and_die(&told),
        "hold" => crate::hand::hold_until_killed(&told),
        "fill-flag" => crate::trouble::fill_by_flag(&told),
        "fill-real" => crate::trouble::fill_for_real(&told),
        "reopen" => crate::reopen::reopen_and_die(&told),
        "look" => crate::trouble::only_look(&told),
        "pass-over" => crate::trouble::pass_over(&told),
        "restore" => crate::checkpoints::restore_and_die(&told),
        "lane" => crate::worktree::merge_and_die(&told),
        "tree" => crate::tree::take_without_permission(&told),
        other => panic!("no worker knows the job {other:?}"),
    }
}
