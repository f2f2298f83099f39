//! Landlock, and mounts that are read-only.

use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::{ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::{Allowed, Support};

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
    kept: Vec<CString>,
    hidden: Vec<CString>,
    emptied: Vec<CString>,
    pinned: Vec<CString>,
    uid_map: CString,
    gid_map: CString,
}

impl Confinement {
    /// Makes one ready. An error: the kernel has no Landlock, or directories are to be kept which cannot be.
    pub fn new(allowed: &Allowed) -> io::Result<Confinement> {
        let texts = |paths: &[PathBuf], is: fn(&Path) -> bool| -> io::Result<Vec<CString>> {
            Ok(paths.iter().filter(|path| is(path)).map(|path| CString::new(path.as_os_str().as_bytes())).collect::<Result<_, _>>()?)
        };
        let kept = texts(&allowed.kept, Path::exists)?;
        if !kept.is_empty() && !support().keeps {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this system keeps no directory read-only below one that is written"));
        }
        let confinement = Confinement::with(allowed, kept)?;
        if !support().keeps {
            return Ok(confinement);
        }
        let (hidden, emptied) = (texts(&allowed.hidden, Path::is_file)?, texts(&allowed.hidden, Path::is_dir)?);
        Ok(Confinement { hidden, emptied, pinned: texts(&allowed.pinned, Path::is_dir)?, ..confinement })
    }

    fn with(allowed: &Allowed, kept: Vec<CString>) -> io::Result<Confinement> {
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
        let identity = |id: u32| CString::new(format!("{id} {id} 1\n"));
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Confinement { ruleset, kept, hidden: Vec::new(), emptied: Vec::new(), pinned: Vec::new(), uid_map: identity(uid)?, gid_map: identity(gid)? })
    }

    /// What the child needs.
    pub(crate) fn ready(&self) -> Ready<'_> {
        Ready {
            ruleset: self.ruleset.as_raw_fd(),
            kept: &self.kept,
            hidden: &self.hidden,
            emptied: &self.emptied,
            pinned: &self.pinned,
            uid_map: &self.uid_map,
            gid_map: &self.gid_map,
        }
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
    let Ok(kept) = CString::new(scratch.path().as_os_str().as_bytes()) else { return false };
    let Ok(confinement) = Confinement::with(&Allowed::default(), vec![kept]) else { return false };
    let ready = confinement.ready();
    // SAFETY: the child makes system calls only, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; everything that `ready` points to was copied with the process.
        unsafe { libc::_exit(if ready.confine() == 0 { 0 } else { 1 }) }
    }
    let Some(child) = rustix::process::Pid::from_raw(child).filter(|pid| pid.as_raw_pid() > 0) else { return false };
    let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), WaitIdOptions::EXITED));
    matches!(status, Ok(Some(status)) if status.exit_status() == Some(0))
}

/// What a child needs to confine itself: nothing that has to be allocated.
#[derive(Clone, Copy)]
pub(crate) struct Ready<'a> {
    ruleset: c_int,
    kept: &'a [CString],
    hidden: &'a [CString],
    emptied: &'a [CString],
    pinned: &'a [CString],
    uid_map: &'a CString,
    gid_map: &'a CString,
}

/// The argument of `mount_setattr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

impl Ready<'_> {
    /// Confines the calling process for good. Returns 0 or the number of the error.
    ///
    /// # Safety
    /// Only in a child between `fork` and `exec` (or `_exit`). Makes system calls only.
    pub(crate) unsafe fn confine(&self) -> c_int {
        // SAFETY: the pointers are to texts that end with a zero and to plain data; errors are read at once.
        unsafe {
            let errno = || *libc::__errno_location();
            if ![self.kept, self.hidden, self.emptied, self.pinned].iter().all(|paths| paths.is_empty()) {
                // Whoever may do so needs no namespace of users: there the files of others would be a stranger's.
                if libc::unshare(libc::CLONE_NEWNS) != 0 {
                    if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) != 0 {
                        return errno();
                    }
                    let maps = [(c"/proc/self/setgroups", c"deny"), (c"/proc/self/uid_map", self.uid_map), (c"/proc/self/gid_map", self.gid_map)];
                    for (file, text) in maps {
                        let open = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                        if open < 0 || libc::write(open, text.as_ptr().cast(), text.count_bytes()) < 0 {
                            return errno();
                        }
                        libc::close(open);
                    }
                }
                let nothing = std::ptr::null();
                if libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_SLAVE, nothing.cast()) != 0 {
                    return errno();
                }
                for file in self.hidden {
                    if libc::mount(c"/dev/null".as_ptr(), file.as_ptr(), nothing, libc::MS_BIND, nothing.cast()) != 0 {
                        return errno();
                    }
                }
                // What is mounted cannot be renamed.
                for dir in self.pinned {
                    if libc::mount(dir.as_ptr(), dir.as_ptr(), nothing, libc::MS_BIND | libc::MS_REC, nothing.cast()) != 0 {
                        return errno();
                    }
                }
                let read_only = MountAttributes { set: libc::MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };
                for dir in self.kept {
                    if libc::mount(dir.as_ptr(), dir.as_ptr(), nothing, libc::MS_BIND | libc::MS_REC, nothing.cast()) != 0 {
                        return errno();
                    }
                    let size = size_of::<MountAttributes>();
                    let set = libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, dir.as_ptr(), libc::AT_RECURSIVE, &raw const read_only, size);
                    if set != 0 {
                        return errno();
                    }
                }
            }
            for dir in self.emptied {
                let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
                if libc::mount(c"none".as_ptr(), dir.as_ptr(), c"tmpfs".as_ptr(), flags, c"size=4k,mode=555".as_ptr().cast()) != 0 {
                    return errno();
                }
            }
            for privilege in TAKEN {
                // Who has none cannot give one up, and gains none.
                libc::prctl(libc::PR_CAPBSET_DROP, privilege, 0, 0, 0);
            }
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || libc::syscall(libc::SYS_landlock_restrict_self, self.ruleset, 0) != 0 {
                return errno();
            }
            0
        }
    }
}
