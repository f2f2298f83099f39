//! Starting a process that outlives the terminal: a session of its own, no input, its output in a log.

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
    command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    // SAFETY: `setsid` is one async-signal-safe system call; nothing is allocated between fork and exec.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
    command.spawn()
}
