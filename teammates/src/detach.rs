//! Starting a process that outlives the terminal: a session of its own, no input, its output in a log.

#![allow(clippy::disallowed_methods)] // One of the two doors to processes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// How often it is looked whether a program that was asked has ended.
const LOOK: Duration = Duration::from_millis(10);

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

/// The same where it may hang: after `limit` it is killed, and that is an error.
pub fn ask_within(program: &OsString, arguments: &[OsString], limit: Duration) -> io::Result<String> {
    let mut child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (printed, complained) = (aside(child.stdout.take()), aside(child.stderr.take()));
    let since = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if since.elapsed() < limit => std::thread::sleep(LOOK),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{} does not answer within {} s", program.display(), limit.as_secs())));
            }
        }
    };
    // What it left running may hold its output open.
    let said = |of: Receiver<Vec<u8>>| String::from_utf8_lossy(&of.recv_timeout(limit).unwrap_or_default()).into_owned();
    match status.success() {
        true => Ok(said(printed)),
        false => Err(io::Error::other(format!("{} {status}: {}", program.display(), said(complained).trim()))),
    }
}

/// Reads a stream to its end meanwhile: a full pipe would stop who writes it.
fn aside(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What was read before an error is said all the same.
        let _ = stream.map(|mut stream| stream.read_to_end(&mut text));
        let _ = sender.send(text);
    });
    receiver
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_answers_or_is_ended() {
        let ask = |script: &str, millis| ask_within(&"sh".into(), &["-c".into(), script.into()], Duration::from_millis(millis));
        assert_eq!(ask("echo yes", 60_000).unwrap(), "yes\n");
        assert!(ask("echo no >&2; exit 3", 60_000).unwrap_err().to_string().contains("no"));
        assert_eq!(ask("head -c 300000 /dev/zero", 60_000).unwrap().len(), 300_000);
        assert_eq!(ask("sleep 1000", 50).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(ask("echo yes; sleep 2 & exit 0", 100).unwrap_or_default().trim(), "", "its output is not waited for without end");
    }
}
