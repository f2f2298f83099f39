//! Landlock, and mounts that are read-only.

mod mounts;

use std::ffi::{CStr, c_int, c_uint};
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
const TAKEN: [u32; 9] = [
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

/// How many namespaces of users there may be.
const MOST_NAMESPACES: &str = "/proc/sys/user/max_user_namespaces";

/// A rule set that processes can be put under.
#[derive(Debug)]
pub struct Confinement {
    ruleset: OwnedFd,
    mounts: Option<Mounts>,
}

impl Confinement {
    /// Makes one ready. An error: the kernel has no Landlock, directories are to be kept which cannot be, or it cannot be
    /// said now whether they can.
    pub fn new(allowed: &Allowed) -> io::Result<Confinement> {
        let keeps = keeps()?;
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

/// What this system can do. Where that cannot be said now, nothing is promised less: whatever is to be confined is refused
/// meanwhile ([`Confinement::new`]).
pub fn support() -> Support {
    Support { landlock: version(), keeps: keeps().unwrap_or(true) }
}

/// Whether directories can be kept. Tried by a process of its own, until it is known.
fn keeps() -> io::Result<bool> {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(*known);
    }
    let known = version().is_some() && can_keep()?;
    Ok(*KNOWN.get_or_init(|| known))
}

fn version() -> Option<u32> {
    const VERSION: c_int = 1;
    // SAFETY: with this flag the call reads no memory and only returns a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).ok().filter(|&version| version > 0)
}

/// Whether a child can be confined with a directory kept from it. The child shares nothing with this process and ends. An
/// error is one that may pass: what somebody brings about by filling a disk or a table takes nothing away.
fn can_keep() -> io::Result<bool> {
    let confinement = Confinement::with(&Allowed { kept: vec!["/dev".into()], ..Allowed::default() }, true)?;
    let ready = confinement.ready();
    // SAFETY: the child makes system calls only, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; everything that `ready` points to was copied with the process.
        unsafe { libc::_exit(ready.confine(c"/").err().unwrap_or(0)) }
    }
    let Some(child) = rustix::process::Pid::from_raw(child).filter(|pid| pid.as_raw_pid() > 0) else { return Err(io::Error::last_os_error()) };
    let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), WaitIdOptions::EXITED))?;
    let ended = status.and_then(|status| status.exit_status()).ok_or_else(|| io::Error::other("the trial of a mount namespace was ended"))?;
    match ended {
        0 => Ok(true),
        libc::EPERM | libc::EACCES | libc::EINVAL | libc::ENOSYS => Ok(false),
        // There may be none at all, and then it is no shortage.
        libc::ENOSPC if std::fs::read_to_string(MOST_NAMESPACES).is_ok_and(|most| most.trim() == "0") => Ok(false),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
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
            give_up_privileges();
            // What was opened before leads to where nothing is read-only, and `..` works from there.
            if libc::syscall(libc::SYS_close_range, FIRST_OF_OTHERS, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) != 0 {
                return Err(*libc::__errno_location());
            }
            if self.mounts.is_some() {
                nothing_on_stdin_from_here()?;
            }
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || libc::syscall(libc::SYS_landlock_restrict_self, self.ruleset, 0) != 0 {
                return Err(*libc::__errno_location());
            }
            Ok(())
        }
    }
}

/// The first descriptor that is none of the standard streams.
const FIRST_OF_OTHERS: c_uint = 3;

/// Where standard input is `/dev/null`, opens that anew: by the old one its permissions could be changed.
///
/// # Safety
/// As [`Ready::confine`].
unsafe fn nothing_on_stdin_from_here() -> Result<(), c_int> {
    // SAFETY: the text ends with a zero, the states are plain data, and the descriptor is this function's own.
    unsafe {
        let (mut is, mut null): (libc::stat, libc::stat) = (std::mem::zeroed(), std::mem::zeroed());
        if libc::fstat(0, &raw mut is) != 0 || libc::stat(NULL.as_ptr(), &raw mut null) != 0 || (is.st_dev, is.st_ino) != (null.st_dev, null.st_ino) {
            return Ok(());
        }
        let open = libc::open(NULL.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if open < 0 || libc::dup2(open, 0) < 0 {
            return Err(*libc::__errno_location());
        }
        libc::close(open);
        Ok(())
    }
}

const NULL: &CStr = c"/dev/null";

/// Takes [`TAKEN`] from every set: a root has what its set of inheritable ones has, whatever bounds the others. Who has
/// none cannot give one up, and gains none.
///
/// # Safety
/// As [`Ready::confine`].
unsafe fn give_up_privileges() {
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = [VERSION_3, 0];
    // Effective, permitted and inheritable: the lower 32 of each, then the upper ones.
    let mut sets = [0_u32; 6];
    // SAFETY: the header and the sets are as large as that version says, and this thread's own.
    unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        for privilege in TAKEN {
            libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(privilege), 0, 0, 0);
        }
        if libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) == 0 {
            for privilege in TAKEN {
                let (first, bit) = (if privilege < 32 { 0 } else { 3 }, 1_u32 << (privilege % 32));
                for set in sets.iter_mut().skip(first).take(3) {
                    *set &= !bit;
                }
            }
            libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr());
        }
    }
}
