//! Starting a process that outlives the terminal: a session of its own, no input, its output in a log.

#![allow(clippy::disallowed_methods)] // One of the two doors to processes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Starts a program detached from the terminal, with all that this process inherited.
///
/// The child is this process's until it ends: a caller that stays around reaps it.
pub fn start(program: &OsString, arguments: &[OsString], log: &File) -> io::Result<Child> {
    let mut command = Command::new(program);
    // Started from inside a task it is no part of that task's turn, and is not ended with it.
    crate::environment::TURN_VARIABLES.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    // SAFETY: `setsid` is one async-signal-safe system call; nothing is allocated between fork and exec.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
    command.spawn()
}

/// Runs a program of the system to its end and returns what it prints. One that fails is an error with what it said.
pub fn ask(program: &OsString, arguments: &[OsString]) -> io::Result<String> {
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => Err(io::Error::other(format!("{} {}: {}", program.display(), ran.status, String::from_utf8_lossy(&ran.stderr).trim()))),
    }
}

/// How a process is made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// SIGTERM: it may still put its work back.
    Terminate,
    /// SIGKILL.
    Kill,
}

impl Force {
    /// What is done, for messages.
    pub fn words(self) -> &'static str {
        match self {
            Force::Terminate => "terminating it",
            Force::Kill => "killing it",
        }
    }
}

/// Sends a process of this host its end, if it still is the process that is meant.
pub fn end(process: &board::alive::Process, force: Force) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    if process.liveness() != board::alive::Liveness::Alive {
        return Ok(());
    }
    let signal = match force {
        Force::Terminate => Signal::TERM,
        Force::Kill => Signal::KILL,
    };
    match kill_process(pid, signal) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        sent => Ok(sent?),
    }
}
