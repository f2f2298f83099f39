//! Landlock, and mounts that are read-only.

mod mounts;

use std::ffi::{CStr, c_int};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use landlock::{ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::{Allowed, Support};
use mounts::Mounts;

/// Every way to write that Landlock knows, but for calls to devices: terminals and `/dev/null` are asked what they are.
const ABI_OF_WRITES: ABI = ABI::V3;
/// Devices that take what is written to them and keep nothing.
const HARMLESS: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx"];

/// Privileges that let their bearer around all this, or around it by way of another process: a root's shell has none of
/// them. SYS_ADMIN and PERFMON read any process's memory, and so its environment.
const TAKEN: [libc::c_ulong; 9] = [
    2,  // DAC_READ_SEARCH
    16, // SYS_MODULE
    17, // SYS_RAWIO
    19, // SYS_PTRACE
    21, // SYS_ADMIN
    27, // MKNOD
    38, // PERFMON
    39, // BPF
    40, // CHECKPOINT_RESTORE
];

/// A rule set that processes can be put under.
#[derive(Debug)]
pub struct Confinement {
    ruleset: OwnedFd,
    mounts: Option<Mounts>,
}

impl Confinement {
    /// Makes one ready. An error: the kernel has no Landlock, or directories are to be kept which cannot be.
    pub fn new(allowed: &Allowed) -> io::Result<Confinement> {
        let keeps = support().keeps;
        if !keeps && allowed.kept.iter().any(|path| path.exists()) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this system keeps no directory read-only below one that is written"));
        }
        Confinement::with(allowed, keeps)
    }

    fn with(allowed: &Allowed, keeps: bool) -> io::Result<Confinement> {
        let writes = AccessFs::from_write(ABI_OF_WRITES);
        // An older kernel does not know of signals, and lets them pass.
        let asked = Ruleset::default().handle_access(writes).and_then(|ruleset| ruleset.scope(Scope::Signal));
        let mut ruleset = asked.and_then(Ruleset::create).map_err(io::Error::other)?;
        let harmless = HARMLESS.iter().map(Path::new);
        for path in allowed.writable.iter().map(|path| path.as_path()).chain(harmless) {
            let Ok(there) = path.metadata() else { continue };
            let rights: BitFlags<AccessFs> = if there.is_dir() { writes } else { writes & AccessFs::from_file(ABI_OF_WRITES) };
            let opened = PathFd::new(path).map_err(io::Error::other)?;
            ruleset = ruleset.add_rule(PathBeneath::new(opened, rights)).map_err(io::Error::other)?;
        }
        let ruleset: Option<OwnedFd> = ruleset.into();
        let ruleset = ruleset.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "the kernel has no Landlock"))?;
        Ok(Confinement { ruleset, mounts: keeps.then(|| Mounts::of(allowed)).transpose()? })
    }

    /// What the child needs.
    pub(crate) fn ready(&self) -> Ready<'_> {
        Ready { ruleset: self.ruleset.as_raw_fd(), mounts: self.mounts.as_ref() }
    }
}

/// What this system can do. Tried once, by a process of its own.
pub fn support() -> Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    *SUPPORT.get_or_init(|| {
        let landlock = version();
        Support { landlock, keeps: landlock.is_some() && can_keep() }
    })
}

fn version() -> Option<u32> {
    const VERSION: c_int = 1;
    // SAFETY: with this flag the call reads no memory and only returns a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).ok().filter(|&version| version > 0)
}

/// Whether a child can be confined with a directory kept from it. The child shares nothing with this process and ends.
fn can_keep() -> bool {
    let Ok(scratch) = tempfile::tempdir() else { return false };
    let kept = vec![scratch.path().to_path_buf()];
    let Ok(confinement) = Confinement::with(&Allowed { kept: kept.clone(), writable: kept, ..Allowed::default() }, true) else { return false };
    let ready = confinement.ready();
    // SAFETY: the child makes system calls only, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; everything that `ready` points to was copied with the process.
        unsafe { libc::_exit(if ready.confine(c"/").is_ok() { 0 } else { 1 }) }
    }
    let Some(child) = rustix::process::Pid::from_raw(child).filter(|pid| pid.as_raw_pid() > 0) else { return false };
    let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), WaitIdOptions::EXITED));
    matches!(status, Ok(Some(status)) if status.exit_status() == Some(0))
}

/// What a child needs to confine itself: nothing that has to be allocated.
#[derive(Clone, Copy)]
pub(crate) struct Ready<'a> {
    ruleset: c_int,
    mounts: Option<&'a Mounts>,
}

impl Ready<'_> {
    /// Confines the calling process for good. `cwd`: where it is. An error is the system's number.
    ///
    /// # Safety
    /// Only in a child between `fork` and `exec` (or `_exit`). Makes system calls only.
    pub(crate) unsafe fn confine(&self, cwd: &CStr) -> Result<(), c_int> {
        // SAFETY: as the caller promises; errors are read at once.
        unsafe {
            if let Some(mounts) = self.mounts {
                mounts.enter(cwd)?;
            }
            for privilege in TAKEN {
                // Who has none cannot give one up, and gains none.
                libc::prctl(libc::PR_CAPBSET_DROP, privilege, 0, 0, 0);
            }
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || libc::syscall(libc::SYS_landlock_restrict_self, self.ruleset, 0) != 0 {
                return Err(*libc::__errno_location());
            }
            Ok(())
        }
    }
}
