//! Which process is meant, and whether it lives. The kernel says so: pid, start time and boot, never a heartbeat.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A process that no other can be mistaken for: pids are used again, these five together are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The host's name.
    pub host: String,
    /// Its pid in `ns`.
    pub pid: u32,
    /// When it started, in clock ticks after the boot.
    pub start: u64,
    /// The boot's id.
    pub boot: String,
    /// Its pid namespace (the inode that names it).
    #[serde(default)]
    pub ns: u64,
}

/// What can be said of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs (or is stopped).
    Alive,
    /// It is gone, a zombie, of another boot, or its pid is somebody else's now.
    Dead,
    /// It cannot be asked: another host, another namespace, no `/proc`. Counts as alive.
    Unknown,
}

impl Process {
    /// This process.
    pub fn current() -> &'static Process {
        static CURRENT: OnceLock<Process> = OnceLock::new();
        CURRENT.get_or_init(|| here(std::process::id(), start_ticks(std::process::id()).unwrap_or(0)))
    }

    /// The living process of that pid on this host, or `None` where there is none.
    pub fn of(pid: u32) -> Option<Process> {
        match seen(pid) {
            Seen::Runs { start, .. } => Some(here(pid, start)),
            Seen::Gone => None,
            Seen::CannotSay => Some(here(pid, 0)),
        }
    }

    /// Whether it still lives.
    pub fn liveness(&self) -> Liveness {
        let current = Process::current();
        if self.boot != current.boot {
            return if self.host == current.host { Liveness::Dead } else { Liveness::Unknown };
        }
        if self.ns != current.ns {
            return Liveness::Unknown;
        }
        match seen(self.pid) {
            Seen::Runs { start, .. } if start == self.start || self.start == 0 => Liveness::Alive,
            Seen::Runs { .. } | Seen::Gone => Liveness::Dead,
            Seen::CannotSay => Liveness::Unknown,
        }
    }

    /// Whether it is stopped (SIGSTOP, a debugger): it lives, and does nothing.
    pub fn is_stopped(&self) -> bool {
        self.liveness() == Liveness::Alive && matches!(seen(self.pid), Seen::Runs { stopped: true, .. })
    }

    /// Whether it runs (or ran) under the same kernel as this process: then file locks tell of it.
    pub fn shares_our_kernel(&self) -> bool {
        self.boot == boot()
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pid {} on {}", self.pid, self.host)
    }
}

fn here(pid: u32, start: u64) -> Process {
    static HOST: OnceLock<(String, u64)> = OnceLock::new();
    let (host, ns) = HOST.get_or_init(|| (host_name(), pid_namespace()));
    Process { host: host.clone(), pid, start, boot: boot().to_owned(), ns: *ns }
}

/// The id of the boot that this process runs in.
pub fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(boot_id)
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The boot's id. `CREW_BOOT_ID` stands in for it where a test needs a reboot.
fn boot_id() -> String {
    if cfg!(debug_assertions)
        && let Ok(id) = std::env::var("CREW_BOOT_ID")
    {
        return id;
    }
    boot_id_of_the_kernel()
}

#[cfg(target_os = "linux")]
fn boot_id_of_the_kernel() -> String {
    read_proc("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_else(|_| "unknown".into())
}

/// Reads one of the kernel's short files in one go: it makes up the text at every reading.
#[cfg(target_os = "linux")]
fn read_proc(path: &str) -> std::io::Result<String> {
    let mut text = Vec::with_capacity(1024);
    rustix::io::read(std::fs::File::open(path)?, rustix::buffer::spare_capacity(&mut text))?;
    String::from_utf8(text).map_err(std::io::Error::other)
}

#[cfg(not(target_os = "linux"))]
fn boot_id_of_the_kernel() -> String {
    // Untested: elsewhere the boot cannot be told, so that death is told by pid alone.
    "unknown".into()
}

#[cfg(target_os = "linux")]
fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/pid").map(|meta| meta.ino()).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn pid_namespace() -> u64 {
    0
}

enum Seen {
    Runs { start: u64, stopped: bool },
    Gone,
    CannotSay,
}

fn start_ticks(pid: u32) -> Option<u64> {
    match seen(pid) {
        Seen::Runs { start, .. } => Some(start),
        _ => None,
    }
}

#[cfg(target_os = "linux")]
fn seen(pid: u32) -> Seen {
    match read_proc(&format!("/proc/{pid}/stat")) {
        Ok(stat) => match parse_stat(&stat) {
            Some(('Z' | 'X' | 'x', _)) => Seen::Gone,
            Some((state, start)) => Seen::Runs { start, stopped: matches!(state, 'T' | 't') },
            None => Seen::CannotSay,
        },
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound) || e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            match std::path::Path::new("/proc/self/stat").exists() {
                true => Seen::Gone,
                false => Seen::CannotSay,
            }
        }
        Err(_) => Seen::CannotSay,
    }
}

#[cfg(not(target_os = "linux"))]
fn seen(pid: u32) -> Seen {
    // Untested: whether the pid is in use, no more.
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return Seen::Gone };
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Seen::Gone,
        _ => Seen::Runs { start: 0, stopped: false },
    }
}

/// State and start ticks (fields 3 and 22) of a `/proc/<pid>/stat`; the name in field 2 may contain anything.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<(char, u64)> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_twins_do_not() {
        let me = Process::current();
        assert_eq!(me.liveness(), Liveness::Alive);
        assert!(me.start > 0);
        let other = |change: fn(&mut Process)| {
            let mut twin = me.clone();
            change(&mut twin);
            twin.liveness()
        };
        assert_eq!(other(|p| p.start += 1), Liveness::Dead, "a pid that was used again");
        assert_eq!(other(|p| p.boot = "earlier".into()), Liveness::Dead);
        assert_eq!(other(|p| p.ns += 1), Liveness::Unknown);
        assert_eq!(other(|p| (p.boot, p.host) = ("x".into(), "elsewhere".into())), Liveness::Unknown);
    }

    #[test]
    fn a_zombie_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = here(child.id(), start_ticks(child.id()).unwrap_or(0));
        // Not reaped: it stays a zombie from the moment of its exit on.
        while process.liveness() != Liveness::Dead {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(process.liveness(), Liveness::Dead);
    }

    #[test]
    fn a_hostile_program_name_does_not_confuse() {
        assert_eq!(parse_stat("7 (a) Z 1 (b)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20"), Some(('S', 4242)));
    }
}
