//! The record of process groups that a teammate keeps, so that whoever cleans up after its death
//! knows which groups were its own.
//!
//! A text file. A line `boot <boot id>` says since which start of the machine the lines after it
//! count; then one line a group, `<pid> <start> <turn>`: the leader's process id, when it was started
//! in clock ticks since the machine was, and the turn that it belongs to. The teammate writes the
//! first line; every group's line is written by its leader itself, between fork and exec, in one
//! append ([`Spawn::group_record`](crate::process::Spawn::group_record)). So a group is in the record
//! before its program starts, whenever the teammate dies.

use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::proc_fs;
use crate::process::LONGEST_TURN;

/// A process group that was started for a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The process id of its first process, which is the group's number.
    pub leader: i32,
    /// When that process was started, in clock ticks since the machine was; 0: not known.
    pub start: u64,
    /// The turn that it was started for.
    pub turn: String,
}

/// The line that begins a record, or goes on with an old one, since this start of the machine.
pub fn boot_line(boot: &str) -> String {
    format!("boot {boot}\n")
}

/// The groups of `record` that were started since the machine was started as `boot`. Lines that make
/// no sense are passed over, and so is a last one without its end: both are what a crash of the
/// machine leaves, and its processes are gone.
pub fn parse(record: &[u8], boot: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut of_this_boot = false;
    for line in record.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else {
            break;
        };
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["boot", id] => of_this_boot = *id == boot,
            [leader, start, turn] if of_this_boot && !turn.is_empty() => {
                let (Ok(leader), Ok(start)) = (leader.parse(), start.parse()) else {
                    continue;
                };
                // 0 and 1 would be this process's own group, and everybody's.
                if leader > 1 {
                    groups.push(Group { leader, start, turn: (*turn).to_owned() });
                }
            }
            _ => {}
        }
    }
    groups
}

/// Writes this process into a record. For the child, before its program starts: allocates nothing.
pub(crate) fn append_self(record: BorrowedFd<'_>, turn: &[u8]) -> Result<(), Errno> {
    let mut line = Line { bytes: [0; LONGEST_LINE], length: 0 };
    line.push_number(u64::from(rustix::process::getpid().as_raw_pid().unsigned_abs()))?;
    line.push(b" ")?;
    line.push_number(own_start())?;
    line.push(b" ")?;
    line.push(turn)?;
    line.push(b"\n")?;
    // One call, so that lines of several children do not mix.
    if rustix::io::write(record, line.written())? == line.length { Ok(()) } else { Err(Errno::NOSPC) }
}

/// Runs in the child: no allocation. 0 where the system does not tell.
fn own_start() -> u64 {
    let mut text = [0; 1024];
    let read = rustix::fs::open(c"/proc/self/stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).and_then(|file| rustix::io::read(file, &mut text));
    let stat = read.ok().and_then(|length| proc_fs::parse_stat(text.get(..length)?));
    stat.map_or(0, |stat| stat.start)
}

/// Two numbers of at most 20 digits, the turn, and what stands between them.
const LONGEST_LINE: usize = 20 + 1 + 20 + 1 + LONGEST_TURN + 1;

/// Text on the stack.
struct Line {
    bytes: [u8; LONGEST_LINE],
    length: usize,
}

impl Line {
    fn push(&mut self, text: &[u8]) -> Result<(), Errno> {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(Errno::OVERFLOW)?.copy_from_slice(text);
        self.length = end;
        Ok(())
    }

    fn push_number(&mut self, mut number: u64) -> Result<(), Errno> {
        let mut digits = [0; 20];
        let mut first = digits.len();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
            first -= 1;
            if number == 0 {
                break;
            }
        }
        self.push(digits.get(first..).unwrap_or_default())
    }

    fn written(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd as _;

    use super::*;

    fn group(leader: i32, start: u64, turn: &str) -> Group {
        Group { leader, start, turn: turn.to_owned() }
    }

    #[test]
    fn what_a_record_says() {
        let cases: [(&str, &[Group]); 11] = [
            ("", &[]),
            ("boot b\n", &[]),
            ("boot b\n10 20 t1\n11 21 t2\n", &[group(10, 20, "t1"), group(11, 21, "t2")]),
            // Another boot, and one after the other.
            ("boot a\n10 20 t1\n", &[]),
            ("boot a\n10 20 t1\nboot b\n11 21 t2\n", &[group(11, 21, "t2")]),
            ("boot b\n10 20 t1\nboot a\n11 21 t2\n", &[group(10, 20, "t1")]),
            ("10 20 t1\nboot b\n", &[]),
            // Torn at its end.
            ("boot b\n10 20 t1\n11 21 t", &[group(10, 20, "t1")]),
            ("boot b\n10 2", &[]),
            // Torn in the middle, empty lines, words that are no numbers.
            ("boot b\n10 2\n\n11 21 t2\nx 1 t\n12 22 t 3\n13 23 \n", &[group(11, 21, "t2")]),
            // Numbers that mean more than one group to the system.
            ("boot b\n0 1 t\n1 1 t\n-5 1 t\n99999999999 1 t\n", &[]),
        ];
        for (record, expected) in cases {
            assert_eq!(parse(record.as_bytes(), "b"), expected, "{record:?}");
        }
        assert_eq!(parse(b"boot b\n\xff 1 t\n10 20 t1\n", "b"), [group(10, 20, "t1")]);
        assert_eq!(parse(format!("{}10 20 t\n", boot_line("b")).as_bytes(), "b"), [group(10, 20, "t")]);
    }

    #[test]
    fn the_line_that_a_process_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        std::fs::write(&path, boot_line("b")).unwrap();
        let record = File::options().append(true).open(&path).unwrap();
        let longest = "x".repeat(LONGEST_TURN);
        append_self(record.as_fd(), b"t1").unwrap();
        append_self(record.as_fd(), longest.as_bytes()).unwrap();

        let own = i32::try_from(std::process::id()).unwrap();
        let start = proc_fs::stat(own).map_or(0, |stat| stat.start);
        let groups = parse(&std::fs::read(&path).unwrap(), "b");
        assert_eq!(groups, [group(own, start, "t1"), group(own, start, &longest)]);

        let too_long = "x".repeat(LONGEST_TURN + 42);
        assert!(append_self(record.as_fd(), too_long.as_bytes()).is_err());
    }

    #[test]
    fn numbers_without_allocation() {
        for number in [0, 7, 10, 4_194_304, u64::MAX] {
            let mut line = Line { bytes: [0; LONGEST_LINE], length: 0 };
            line.push_number(number).unwrap();
            assert_eq!(line.written(), number.to_string().as_bytes());
        }
    }
}
