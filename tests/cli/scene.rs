//! A project of a test's own: a board, a home, the command to work on them, and what its processes do.
//!
//! Every process that a test starts, and all that come of it, carry the scene's home in their environment. By that
//! they are found, and ended when the scene is over, however the test went.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than anything here takes on the slowest machine; a test that gets there has failed.
const DEADLINE: Duration = Duration::from_secs(60);
/// Between two looks at a state that no event tells of.
const LOOK: Duration = Duration::from_millis(3);

/// The project, gone when this is dropped.
pub(crate) struct Scene {
    /// Where the board and the home are.
    place: tempfile::TempDir,
    /// Where the output of commands goes: elsewhere, for tests in which the disk is full.
    outputs: tempfile::TempDir,
    files: AtomicUsize,
}

/// What a command that has ended said.
#[derive(Debug)]
pub(crate) struct Ran {
    status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Scene {
    /// A board that is `full`.
    pub(crate) fn new() -> Scene {
        Scene::within(&std::env::temp_dir())
    }

    /// The same in a directory that is there.
    pub(crate) fn within(parent: &Path) -> Scene {
        let place = tempfile::tempdir_in(parent.canonicalize().unwrap()).unwrap();
        let scene = Scene { place, outputs: tempfile::tempdir().unwrap(), files: AtomicUsize::new(0) };
        std::fs::create_dir(scene.project()).unwrap();
        scene.run(&["init"]).succeeded();
        scene
    }

    /// A directory of tasks that no crew has seen yet.
    pub(crate) fn bare() -> Scene {
        let scene = Scene::new();
        std::fs::remove_dir_all(scene.tasks().join(".board")).unwrap();
        scene
    }

    /// A place for which every path has to be quoted.
    pub(crate) fn project(&self) -> PathBuf {
        self.place.path().join("a project's place")
    }

    pub(crate) fn tasks(&self) -> PathBuf {
        self.project().join(".tasks")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// A file in the project, as text; empty where there is none.
    pub(crate) fn file(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.project().join(name)).unwrap_or_default()).into_owned()
    }

    /// The lines of a file in the project that are whole.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.file(name).split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.project().join(name).exists()
    }

    /// Puts a file into the project, whole.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let beside = self.place.path().join(format!("beside-{}", self.files.fetch_add(1, Ordering::Relaxed)));
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(beside, path).unwrap();
    }

    /// Drops a task's file into the board, as `cp` would.
    pub(crate) fn task(&self, id: &str, document: Value) {
        let mut document = document;
        document.as_object_mut().unwrap().entry("subject").or_insert_with(|| format!("subject of {id}").into());
        self.put(&format!(".tasks/task_{id}.json"), &document.to_string());
    }

    /// A task's document.
    pub(crate) fn read(&self, id: &str) -> Value {
        let path = self.tasks().join(format!("task_{id}.json"));
        let text = std::fs::read(&path).unwrap_or_else(|e| panic!("task {id}: {e}"));
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("task {id}: {e}: {}", String::from_utf8_lossy(&text)))
    }

    pub(crate) fn status(&self, id: &str) -> String {
        self.read(id)["status"].as_str().unwrap_or("pending").to_owned()
    }

    /// How the attempts at a task ended, oldest first.
    pub(crate) fn outcomes(&self, id: &str) -> Vec<String> {
        let read = self.read(id);
        read["attempts"].as_array().map(|all| all.iter().map(|one| one["outcome"].as_str().unwrap().to_owned()).collect()).unwrap_or_default()
    }

    /// Why the last attempt at a task ended as it did.
    pub(crate) fn reason(&self, id: &str) -> String {
        let read = self.read(id);
        let last = read["attempts"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
        last["reason"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn summary(&self, id: &str) -> String {
        self.read(id)["result"]["summary"].as_str().unwrap_or_default().to_owned()
    }

    /// `crew` with these arguments, in the project, in an environment that holds nothing of the one around.
    pub(crate) fn crew(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_crew"));
        command.args(arguments);
        command
    }

    /// Any program, in the same place and environment.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("CREWBOARD_HOME", self.home()).env("HOME", self.place.path());
        command.env("CREW", env!("CARGO_BIN_EXE_crew"));
        command
    }

    /// Runs `crew` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.start(self.crew(arguments)).ended()
    }

    /// Starts a command that was made here.
    pub(crate) fn start(&self, mut command: Command) -> Running {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let [out, err] = ["out", "err"].map(|stream| self.outputs.path().join(format!("{number}.{stream}")));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap()).process_group(0);
        Running { child: command.spawn().unwrap(), out, err }
    }

    /// The teammates as `crew team --all --json` shows them.
    pub(crate) fn team(&self) -> Vec<Value> {
        let shown = self.run(&["team", "--all", "--json"]).succeeded();
        shown.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// One of them; null where there is none.
    pub(crate) fn member(&self, name: &str) -> Value {
        self.team().into_iter().find(|member| member["name"] == name).unwrap_or_default()
    }

    pub(crate) fn pid_of(&self, name: &str) -> i32 {
        let member = self.member(name);
        member["pid"].as_i64().and_then(|pid| pid.try_into().ok()).unwrap_or_else(|| panic!("{name} is not at work: {member}"))
    }

    /// Everything that runs because of this scene, but for what has ended and was not collected.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let home = [b"CREWBOARD_HOME=", self.home().as_os_str().as_encoded_bytes()].concat();
        let ours =
            |pid: &i32| std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|one| one == home));
        let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(ours).collect()
    }

    /// Fails unless nothing runs any more; at once, for what is promised to be gone.
    #[track_caller]
    pub(crate) fn nothing_runs(&self) {
        let left: Vec<String> = self.processes().into_iter().map(described).collect();
        assert!(left.is_empty(), "left over: {left:#?}");
    }

    /// Every file below the project with its content, to compare.
    pub(crate) fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        let mut open = vec![self.project()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => open.push(entry.path()),
                    false => all.push((entry.path(), std::fs::read(entry.path()).unwrap())),
                }
            }
        }
        all.sort();
        all
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What a failed test left, and what a test keeps on purpose. One that is started meanwhile is seen the next time.
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() > deadline {
                return;
            }
            left.into_iter().for_each(|pid| signal(pid, Signal::KILL));
            std::thread::sleep(LOOK);
        }
    }
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Ran {
        assert_eq!(self.code(), Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Ran {
        self.ended_with(0)
    }
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    /// What it has written to standard output so far.
    pub(crate) fn said(&self) -> String {
        text(&self.out)
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn ended(mut self) -> Ran {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("it did not end: {:?}\nout: {}\nerr: {}", self.child, text(&self.out), text(&self.err));
            }
            std::thread::sleep(LOOK);
        };
        Ran { status, out: text(&self.out), err: text(&self.err) }
    }

    /// Kills it as a power cut would, and collects it.
    pub(crate) fn killed(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Waits for a state. Fails when it does not come.
#[track_caller]
pub(crate) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !reached() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(LOOK);
    }
}

/// Sends a signal to a process that a test knows to be its own.
pub(crate) fn signal(pid: i32, which: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), which);
}

/// Whether a process is there and has not ended.
pub(crate) fn runs(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Whether it waits for something.
pub(crate) fn is_asleep(pid: i32) -> bool {
    state(pid) == Some('S')
}

pub(crate) fn is_stopped(pid: i32) -> bool {
    state(pid) == Some('T')
}

fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn described(pid: i32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid}: {}", String::from_utf8_lossy(&words).replace('\0', " "))
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
