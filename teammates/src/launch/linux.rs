//! Starting a program without copying this process: what `posix_spawn` does, with one more step in it.
//!
//! `fork` copies the page tables of the whole process, and every page that is written afterwards: half of what it
//! costs to run a short command. `posix_spawn` avoids that, but its child cannot write down who it is before its
//! program starts. So the child here is made as `posix_spawn` makes it: it shares this process's memory on a stack of
//! its own, and the calling thread stands still until the program has been loaded or refused.
//!
//! What the child may do in between is little: system calls, and computing on its stack. It allocates nothing, takes
//! no lock, and writes nothing that is shared but the place for its error.

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, PoisonError};

use rustix::fs::Access;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Launch, Refused, Step};
use crate::confinement::{self, Confinement};
use crate::group_record;

/// Where programs are looked for when there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// Room for the child's few frames, and for what it reads about itself.
const STACK: usize = 64 << 10;

/// Everything that the child needs, made ready by its parent.
struct Ready<'a> {
    candidates: Vec<CString>,
    argv: Vec<*const c_char>,
    /// For a script without a first line that names its interpreter: `/bin/sh`, the script, its arguments.
    shell_argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    cwd: CString,
    stdin: c_int,
    output: c_int,
    errors: c_int,
    record: Option<(c_int, Vec<u8>)>,
    confinement: Option<confinement::Ready<'a>>,
    mask: libc::sigset_t,
    failed: Option<(Step, c_int)>,
}

/// The end of a child, as something to wait for without reaping it.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) pid: Pid,
    /// Becomes readable when the child has ended.
    descriptor: AsyncFd<OwnedFd>,
}

impl Exit {
    /// Starts a program as the leader of a process group of its own.
    pub(crate) fn of(launch: &Launch<'_>) -> Result<Exit, Refused> {
        let (pid, descriptor) = begin(launch)?;
        // SAFETY: an owned descriptor stays open, and the same, as long as it is registered.
        match unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) } {
            Ok(descriptor) => Ok(Exit { pid, descriptor }),
            Err(e) => {
                // It cannot be waited for, so it must not run.
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
                Err((Step::Begin, e.into()))
            }
        }
    }

    /// Once it has ended it stays ended: may be called again.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        while !super::has_ended(self.pid)? {
            self.descriptor.readable().await?.clear_ready();
        }
        Ok(())
    }
}

/// Starts the program and returns its pid and a descriptor of it.
fn begin(launch: &Launch<'_>) -> Result<(Pid, OwnedFd), Refused> {
    let begin = |e: io::Error| (Step::Begin, e);
    let null = File::open("/dev/null").map_err(begin)?;
    let argv: Vec<CString> = launch.argv.iter().map(|word| text(word)).collect::<Result<_, _>>()?;
    let env: Vec<CString> = launch.env.iter().map(|(name, value)| variable(name, value)).collect::<Result<_, _>>()?;
    let path = launch.env.iter().rev().find(|(name, _)| *name == "PATH").map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    let program = launch.argv.first().map(OsString::as_os_str).unwrap_or_default();
    let candidates = candidates(program, path)?;
    let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>();
    let argv_pointers = pointers(&argv);
    let shell_argv = [SHELL.as_ptr(), std::ptr::null()].into_iter().chain(argv_pointers.iter().skip(1).copied()).collect();
    let mut ready = Ready {
        candidates,
        shell_argv,
        argv: argv_pointers,
        env: pointers(&env),
        cwd: text(launch.cwd.as_os_str())?,
        stdin: launch.stdin.unwrap_or(&null).as_raw_fd(),
        output: launch.output.as_raw_fd(),
        errors: launch.errors.as_raw_fd(),
        record: launch.record.map(|(file, turn)| (file.as_raw_fd(), turn.as_bytes().to_vec())),
        confinement: launch.confinement.map(Confinement::ready),
        // SAFETY: a signal set is plain data, filled in before it is used.
        mask: unsafe { std::mem::zeroed() },
        failed: None,
    };
    let started = start(&mut ready).map_err(begin)?;
    match ready.failed {
        None => Ok(started),
        Some((step, errno)) => {
            // It has ended without a program; nobody else knows of it.
            let _ = waitid(WaitId::Pid(started.0), WaitIdOptions::EXITED);
            Err((step, io::Error::from_raw_os_error(errno)))
        }
    }
}

const SHELL: &CStr = c"/bin/sh";

fn text(text: &OsStr) -> Result<CString, Refused> {
    CString::new(text.as_bytes()).map_err(|e| (Step::Begin, e.into()))
}

fn variable(name: &OsStr, value: &OsStr) -> Result<CString, Refused> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(|e| (Step::Begin, e.into()))
}

/// The files that a program's name may mean, in order. Those that cannot be it are left out here, where nobody stands
/// still meanwhile; if that leaves none, the child tries them all and says why.
fn candidates(program: &OsStr, path: &OsStr) -> Result<Vec<CString>, Refused> {
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![text(program)?]);
    }
    let can_be = |file: &CString| rustix::fs::access(file, Access::EXEC_OK).is_ok();
    let known = || LAST_FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().as_ref().filter(|found| found.program == program && found.path == path && can_be(&found.file)) {
        return Ok(vec![found.file.clone()]);
    }
    let mut all: Vec<CString> = std::env::split_paths(path).map(|directory| text(directory.join(program).as_os_str())).collect::<Result<_, _>>()?;
    if all.iter().any(can_be) {
        all.retain(can_be);
        // What is found below a relative directory is another file elsewhere.
        let lasting = all.first().filter(|_| std::env::split_paths(path).all(|directory| directory.is_absolute()));
        *known() = lasting.map(|file| Found { program: program.into(), path: path.into(), file: file.clone() });
    }
    Ok(all)
}

/// Where a program was found.
struct Found {
    program: OsString,
    path: OsString,
    file: CString,
}

/// The last one that was looked for: a thousand tasks in a row run the same shell, and a `PATH` may be long.
static LAST_FOUND: Mutex<Option<Found>> = Mutex::new(None);

fn start(ready: &mut Ready<'_>) -> io::Result<(Pid, OwnedFd)> {
    let mut stack: Vec<u8> = Vec::with_capacity(STACK);
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY:
    // - Signals are blocked from before the child exists until after it is gone from this memory, so that no handler
    //   of this process runs in it.
    // - The stack is `STACK` bytes that nothing else uses while this thread stands still, its top aligned to 16.
    // - `ready` is not touched by this thread until `clone` returns, which CLONE_VFORK delays until the child has
    //   called `execve` or `_exit`.
    // - With CLONE_PIDFD the fifth argument receives a descriptor that is ours.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut ready.mask) != 0 {
            return Err(io::Error::last_os_error());
        }
        let top = stack.as_mut_ptr().add(STACK);
        let top = top.sub(top.addr() % 16).cast::<c_void>();
        let pid = libc::clone(child, top, flags, std::ptr::from_mut(ready).cast(), &raw mut pidfd);
        let failed = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const ready.mask, std::ptr::null_mut());
        if pid < 0 {
            return Err(failed);
        }
        pid
    };
    let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("the system gave no process id"))?;
    // SAFETY: `clone` succeeded, so it put an open descriptor there, which nobody else has.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// The child: see the module's documentation for what it may do.
extern "C" fn child(ready: *mut c_void) -> c_int {
    // SAFETY: the parent passes a `Ready` that it does not touch meanwhile, and everything that it points to lives
    // until the parent goes on. All calls are async-signal-safe.
    unsafe {
        let ready = &mut *ready.cast::<Ready<'_>>();
        let (step, errno) = become_program(ready);
        ready.failed = Some((step, errno));
        libc::_exit(127)
    }
}

/// Becomes the program; where that fails, says at which step and why.
///
/// # Safety
/// Only in the child of [`start`].
unsafe fn become_program(ready: &mut Ready<'_>) -> (Step, c_int) {
    // SAFETY: descriptors and texts are those that the parent prepared; errors are read at once.
    unsafe {
        let errno = || *libc::__errno_location();
        if libc::setpgid(0, 0) != 0 || !reset_signals() {
            return (Step::Begin, errno());
        }
        let streams = [(ready.stdin, 0), (ready.output, 1), (ready.errors, 2)];
        if streams.iter().any(|&(from, to)| libc::dup2(from, to) < 0) {
            return (Step::Begin, errno());
        }
        if libc::chdir(ready.cwd.as_ptr()) != 0 {
            return (Step::Directory, errno());
        }
        if let Some((file, turn)) = &ready.record
            && let Err(e) = group_record::append_self(std::os::fd::BorrowedFd::borrow_raw(*file), turn)
        {
            return (Step::Record, e.raw_os_error());
        }
        if let Some(confinement) = &ready.confinement
            && let Err(errno) = confinement.confine(&ready.cwd)
        {
            return (Step::Confine, errno);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const ready.mask, std::ptr::null_mut());
        let mut said = libc::ENOENT;
        for candidate in &ready.candidates {
            libc::execve(candidate.as_ptr(), ready.argv.as_ptr(), ready.env.as_ptr());
            if errno() == libc::ENOEXEC {
                if let Some(script) = ready.shell_argv.get_mut(1) {
                    *script = candidate.as_ptr();
                }
                libc::execve(SHELL.as_ptr(), ready.shell_argv.as_ptr(), ready.env.as_ptr());
            }
            match errno() {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => said = libc::EACCES,
                other => return (Step::Program, other),
            }
        }
        (Step::Program, said)
    }
}

/// Gives every signal that this process handles its default meaning again; what it ignores stays ignored, but for
/// SIGPIPE, which Rust ignores in every program.
///
/// # Safety
/// Only in the child of [`start`], whose table of handlers is its own.
unsafe fn reset_signals() -> bool {
    // SAFETY: an action is plain data; the calls only read and write this process's own table.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in (1..32).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0 {
                return false;
            }
            let kept = action.sa_sigaction == libc::SIG_DFL || (action.sa_sigaction == libc::SIG_IGN && signal != libc::SIGPIPE);
            if !kept && libc::sigaction(signal, &raw const default, std::ptr::null_mut()) != 0 {
                return false;
            }
        }
        true
    }
}
