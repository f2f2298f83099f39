//! A mount namespace in which all is read-only but for what may be written.

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::super::Allowed;

/// The most directories and files that one process may write.
const MOST_WRITABLE: usize = 32;

/// What is mounted, and how.
#[derive(Debug)]
pub(super) struct Mounts {
    writable: Vec<CString>,
    hidden: Vec<CString>,
    emptied: Vec<CString>,
    pinned: Vec<CString>,
    kept: Vec<CString>,
    uid_map: CString,
    gid_map: CString,
}

/// The argument of `mount_setattr`.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

impl Mounts {
    /// Those that a process may write by.
    pub(super) fn of(allowed: &Allowed) -> io::Result<Mounts> {
        // Between two mounts nothing is renamed: no more of them than there must be.
        let within = |path: &Path| allowed.writable.iter().any(|above| path != above && path.starts_with(above));
        let mut writable: Vec<PathBuf> = allowed.writable.iter().filter(|path| !within(path)).cloned().collect();
        writable.sort();
        writable.dedup();
        let writable = texts(&writable, Path::exists)?;
        if writable.len() > MOST_WRITABLE {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("at most {MOST_WRITABLE} directories and files can be written")));
        }
        let identity = |id: u32| CString::new(format!("{id} {id} 1\n"));
        Ok(Mounts {
            writable,
            hidden: texts(&allowed.hidden, Path::is_file)?,
            emptied: texts(&allowed.hidden, Path::is_dir)?,
            pinned: texts(&allowed.pinned, Path::is_dir)?,
            kept: texts(&allowed.kept, Path::exists)?,
            uid_map: identity(rustix::process::geteuid().as_raw())?,
            gid_map: identity(rustix::process::getegid().as_raw())?,
        })
    }

    /// Gives the calling process a namespace of its own with these mounts. `cwd`: where it is, and is then again. An
    /// error is the system's number.
    ///
    /// # Safety
    /// Only in a child between `fork` and `exec` (or `_exit`). Makes system calls only.
    pub(super) unsafe fn enter(&self, cwd: &CStr) -> Result<(), c_int> {
        // SAFETY: as the caller promises.
        unsafe {
            self.enter_namespace()?;
            self.close_all_else()?;
            let nothing = std::ptr::null();
            // Read-only, so that nobody changes the permissions of `/dev/null` by a hidden file.
            for file in &self.hidden {
                done(libc::mount(c"/dev/null".as_ptr(), file.as_ptr(), nothing, libc::MS_BIND, nothing.cast()))?;
                set_read_only(file, 0)?;
            }
            // What is mounted cannot be renamed.
            for dir in &self.pinned {
                mount_again(dir)?;
            }
            for dir in &self.kept {
                mount_again(dir)?;
                set_read_only(dir, libc::AT_RECURSIVE)?;
            }
            for dir in &self.emptied {
                let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
                done(libc::mount(c"none".as_ptr(), dir.as_ptr(), c"tmpfs".as_ptr(), flags, c"size=4k,mode=555".as_ptr().cast()))?;
            }
            // Until here it stands on what was there before.
            done(libc::chdir(cwd.as_ptr()))
        }
    }

    unsafe fn enter_namespace(&self) -> Result<(), c_int> {
        // SAFETY: the texts end with a zero, and the descriptor is this function's own.
        unsafe {
            // Whoever may do so needs no namespace of users: there the files of others would be a stranger's.
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                done(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
                let maps = [(c"/proc/self/setgroups", c"deny"), (c"/proc/self/uid_map", &*self.uid_map), (c"/proc/self/gid_map", &*self.gid_map)];
                for (file, text) in maps {
                    let open = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                    if open < 0 || libc::write(open, text.as_ptr().cast(), text.count_bytes()) < 0 {
                        return Err(errno());
                    }
                    libc::close(open);
                }
            }
            let nothing = std::ptr::null();
            done(libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_SLAVE, nothing.cast()))
        }
    }

    /// All is mounted read-only, then what may be written put over that as it was.
    unsafe fn close_all_else(&self) -> Result<(), c_int> {
        let mut as_they_were = [-1; MOST_WRITABLE];
        // SAFETY: the texts end with a zero, and the descriptors are this function's own.
        unsafe {
            for (path, copy) in self.writable.iter().zip(&mut as_they_were) {
                let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as libc::c_uint;
                let opened = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags);
                *copy = c_int::try_from(opened).ok().filter(|&opened| opened >= 0).ok_or_else(errno)?;
            }
            set_read_only(c"/", libc::AT_RECURSIVE)?;
            for (path, copy) in self.writable.iter().zip(as_they_were) {
                let flags = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_SYMLINKS;
                let moved = libc::syscall(libc::SYS_move_mount, copy, c"".as_ptr(), libc::AT_FDCWD, path.as_ptr(), flags);
                done(c_int::try_from(moved).unwrap_or(-1))?;
                libc::close(copy);
            }
        }
        Ok(())
    }
}

fn texts(paths: &[PathBuf], is: fn(&Path) -> bool) -> io::Result<Vec<CString>> {
    Ok(paths.iter().filter(|path| is(path)).map(|path| CString::new(path.as_os_str().as_bytes())).collect::<Result<_, _>>()?)
}

/// Mounts a directory on itself.
unsafe fn mount_again(dir: &CStr) -> Result<(), c_int> {
    let nothing = std::ptr::null();
    // SAFETY: the text ends with a zero.
    done(unsafe { libc::mount(dir.as_ptr(), dir.as_ptr(), nothing, libc::MS_BIND | libc::MS_REC, nothing.cast()) })
}

unsafe fn set_read_only(path: &CStr, flags: c_int) -> Result<(), c_int> {
    let read_only = Attributes { set: libc::MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the text ends with a zero, and the attributes are plain data of the size that is said.
    let set = unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &raw const read_only, size_of::<Attributes>()) };
    done(c_int::try_from(set).unwrap_or(-1))
}

fn done(result: c_int) -> Result<(), c_int> {
    if result == 0 { Ok(()) } else { Err(errno()) }
}

fn errno() -> c_int {
    // SAFETY: it is this thread's own.
    unsafe { *libc::__errno_location() }
}
