//! Starting one program as the leader of a process group of its own, and noticing its end without reaping it.
//!
//! Linux has a way of its own that costs half as much; elsewhere what every Unix has is used.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::confinement::Confinement;

#[cfg(all(target_os = "linux", not(crewboard_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(crewboard_portable))))]
mod portable;

#[cfg(all(target_os = "linux", not(crewboard_portable)))]
pub(crate) use linux::Exit;
#[cfg(not(all(target_os = "linux", not(crewboard_portable))))]
pub(crate) use portable::Exit;

/// What is to be started.
pub(crate) struct Launch<'a> {
    pub(crate) argv: &'a [OsString],
    pub(crate) env: Vec<(&'a OsStr, &'a OsStr)>,
    pub(crate) cwd: &'a Path,
    pub(crate) stdin: Option<&'a File>,
    pub(crate) output: &'a File,
    pub(crate) errors: &'a File,
    pub(crate) record: Option<(&'a File, &'a str)>,
    pub(crate) confinement: Option<&'a Confinement>,
}

/// Which step of the child failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Begin,
    Directory,
    Record,
    Confine,
    Program,
}

/// A step that failed, and what the system said.
pub(crate) type Refused = (Step, io::Error);

/// Whether a child has ended. It is not reaped: its number stays its own. An error: it is reaped, and not by us.
pub(crate) fn has_ended(pid: Pid) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), look)?.is_some())
}
