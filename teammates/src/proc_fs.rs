//! What `/proc` says about processes: Linux only; elsewhere nothing is ever found.
//!
//! Every answer is about a moment that has passed. A process may end, and its number be given to
//! another, between two questions; whoever acts on an answer has to hold on to the process first
//! (an unreaped child, a pidfd) and ask again.

use std::fs;
use std::io;

/// One process, as `/proc/<pid>/stat` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// It has ended and waits for its parent to notice.
    pub(crate) zombie: bool,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// When it was started, in clock ticks since the machine was.
    pub(crate) start: u64,
    /// It is a thread of the kernel, not a program.
    pub(crate) of_kernel: bool,
}

/// What a process was given under the name of a variable when it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Value(Vec<u8>),
    Absent,
    /// The process is not there any more.
    Gone,
    /// It shows no environment at all: it has none, or it is just loading a program.
    Blank,
}

/// Takes no memory, so that a child may call it between fork and exec.
pub(crate) fn parse_stat(text: &[u8]) -> Option<Stat> {
    // The name in parentheses may hold anything, also spaces and parentheses.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = text.get(name_end + 2..)?.split(|byte| *byte == b' ');
    let state = fields.next()?;
    let parent = number(fields.next()?)?;
    let group = number(fields.next()?)?;
    let flags = number(fields.nth(3)?)?;
    let start = number(fields.nth(12)?)?;
    Some(Stat {
        zombie: matches!(state, b"Z" | b"X" | b"x"),
        parent: i32::try_from(parent).ok()?,
        group: i32::try_from(group).ok()?,
        start,
        of_kernel: flags & KERNEL_THREAD != 0,
    })
}

/// `PF_KTHREAD`.
const KERNEL_THREAD: u64 = 0x0020_0000;

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.trim_end().parse().ok()
}

/// This process, under the number that it has in the `/proc` that is mounted here.
pub(crate) fn this() -> Option<Stat> {
    parse_stat(&fs::read("/proc/self/stat").ok()?)
}

/// `None`: there is no such process, or it cannot be asked.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// What the process is called; empty where it cannot be asked.
pub(crate) fn name(pid: i32) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}

/// What the environment that the process was started with says about `variable`. A process
/// that may not be asked is somebody else's: [`Variable::Absent`].
pub(crate) fn variable(pid: i32, variable: &str) -> Variable {
    let environment = match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => environment,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Variable::Absent,
        Err(_) => return Variable::Gone,
    };
    if environment.is_empty() {
        return Variable::Blank;
    }
    let value_of = |entry: &[u8]| entry.strip_prefix(variable.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    let value = environment.split(|byte| *byte == 0).find_map(value_of);
    value.map_or(Variable::Absent, Variable::Value)
}

/// Every process there is.
pub(crate) fn pids() -> io::Result<Vec<i32>> {
    if !cfg!(target_os = "linux") {
        return Ok(Vec::new());
    }
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(pids)
}

/// The children of this process's main thread. Orphans that this process adopts are among them:
/// the kernel gives them to the main thread.
pub(crate) fn children_of_main() -> io::Result<Vec<i32>> {
    let own = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
    match fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(list) => Ok(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()),
        // A kernel that is built without this file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let child = |pid: &i32| stat(*pid).is_some_and(|stat| stat.parent == own);
            Ok(pids()?.into_iter().filter(child).collect())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_anything_in_them() {
        let rest = "S 41 42 42 0 -1 4194560 96 0 0 0 0 0 0 0 20 0 1 0 7654321 2703360 207 18446744073709551615\n";
        let expected = Stat { zombie: false, parent: 41, group: 42, start: 7_654_321, of_kernel: false };
        let kernel = rest.replacen("4194560", "2129984", 1);
        let kernel = parse_stat(format!("42 (kthreadd) {kernel}").as_bytes());
        assert_eq!(kernel, Some(Stat { of_kernel: true, ..expected }));
        for name in ["sh", "a b", "a) Z 1 1 (", "(", ")"] {
            assert_eq!(parse_stat(format!("42 ({name}) {rest}").as_bytes()), Some(expected), "{name}");
        }
        let dead = rest.replacen('S', "Z", 1);
        assert_eq!(parse_stat(format!("42 (sh) {dead}").as_bytes()), Some(Stat { zombie: true, ..expected }));
        for text in ["", "42 (sh", "42 (sh)", "42 (sh) S 1", "42 (sh) S x y"] {
            assert_eq!(parse_stat(text.as_bytes()), None, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process() {
        let own = i32::try_from(std::process::id()).unwrap();
        let stat = stat(own).unwrap();
        assert!(!stat.zombie);
        assert_eq!(stat.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
        assert!(pids().unwrap().contains(&own));
        assert!(!name(own).is_empty());
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variable(own, "PATH"), Variable::Value(path.into_bytes()));
        assert_eq!(variable(own, "PAT"), Variable::Absent);
    }
}
