//! What a shell that a model commands may write, said to the kernel: on Linux, under Landlock.
//!
//! A confined process and all that it starts write below the directories that are named, and nowhere else. It gains no
//! privileges by programs that have more (`sudo`), mounts and unmounts nothing, looks into no process outside and, where the
//! kernel is new enough, signals none. What it may read, run and reach over the network is not narrowed.
//!
//! Landlock cannot leave out a directory below one that is allowed, and knows nothing of permissions, owners and times. So
//! there is a mount namespace of the command's own, too: all that it may not write is mounted read-only in it, and so is
//! what is kept from it below that, such as `.tasks/`; files of keys are empty. Where the system gives no such namespace
//! ([`Support::keeps`]), whoever runs the command has to compare before and after.
//!
//! All is made ready here; the child makes a few system calls and nothing else. A step that fails means that the command
//! does not run.

#[cfg(all(target_os = "linux", not(crewboard_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(crewboard_portable))))]
mod portable;

#[cfg(all(target_os = "linux", not(crewboard_portable)))]
pub(crate) use linux::Ready;
#[cfg(all(target_os = "linux", not(crewboard_portable)))]
pub use linux::{Confinement, support};
#[cfg(not(all(target_os = "linux", not(crewboard_portable))))]
pub use portable::{Confinement, support};

use std::path::PathBuf;

/// What this system can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock's interface; `None`: the kernel has none, or it is switched off.
    pub landlock: Option<u32>,
    /// Whether directories can be kept read-only below one that is written.
    pub keeps: bool,
}

/// What a confined process may write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Directories and files that it may write, with all below them. One that is not there is left out.
    pub writable: Vec<PathBuf>,
    /// Directories and files below those that it may not write. One that is not there is left out.
    pub kept: Vec<PathBuf>,
    /// Files and directories that are empty for it: keys, locks that it could hold for ever. Where nothing can be kept
    /// ([`Support::keeps`]), they are not.
    pub hidden: Vec<PathBuf>,
    /// Directories that it may write in, and not move away: what is kept in them would go with them.
    pub pinned: Vec<PathBuf>,
}
