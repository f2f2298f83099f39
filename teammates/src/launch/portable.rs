//! Starting a program with what every Unix has: `fork`, a step in the child, `exec`.

#![allow(clippy::disallowed_methods)] // One of the two doors to processes.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Launch, Refused, Step};
use crate::group_record;

/// How long to rely on the signal alone: a process can be started with it blocked.
const LOOK_ANYWAY: Duration = Duration::from_secs(1);

/// The end of a child, as something to wait for without reaping it.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) pid: Pid,
    some_child_ended: Signal,
}

impl Exit {
    /// Starts a program as the leader of a process group of its own.
    pub(crate) fn of(launch: &Launch<'_>) -> Result<Exit, Refused> {
        let begin = |e: io::Error| (Step::Begin, e);
        if let Some(confinement) = launch.confinement {
            // Where nothing can be confined there is none.
            match *confinement {}
        }
        let some_child_ended = signal(SignalKind::child()).map_err(begin)?;
        let (program, arguments) = launch.argv.split_first().ok_or_else(|| begin(io::Error::other("there is no program")))?;
        let stdin = launch.stdin.map(std::fs::File::try_clone).transpose().map_err(begin)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(launch.cwd).env_clear().envs(launch.env.iter().copied()).process_group(0);
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        command.stdout(launch.output.try_clone().map_err(begin)?).stderr(launch.errors.try_clone().map_err(begin)?);
        if let Some((file, turn)) = launch.record {
            let (file, turn) = (file.try_clone().map_err(begin)?, turn.as_bytes().to_vec());
            // SAFETY: `append_self` makes system calls and computes on its stack: it allocates nothing, frees nothing
            // and takes no lock.
            unsafe {
                command.pre_exec(move || group_record::append_self(file.as_fd(), &turn).map_err(io::Error::from));
            }
        }
        match command.spawn() {
            Ok(child) => Ok(Exit { pid: Pid::from_child(&child), some_child_ended }),
            Err(e) if !launch.cwd.is_dir() => Err((Step::Directory, e)),
            Err(e) if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => Err((Step::Record, e)),
            Err(e) => Err((Step::Program, e)),
        }
    }

    /// Once it has ended it stays ended: may be called again.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        while !super::has_ended(self.pid)? {
            let _ = tokio::time::timeout(LOOK_ANYWAY, self.some_child_ended.recv()).await;
        }
        Ok(())
    }
}
