//! Ending what a turn left running, also after the death of whoever started it.
//!
//! Two things prove that a process is a turn's, and nothing else does, least of all its name:
//!
//! - It carries the turn in `CREW_TURN`, in the environment that it was started with. What it starts
//!   inherits that, in whatever session or process group it is.
//! - It is in a process group that was recorded for the turn ([`crate::group_record`]), and that is
//!   still that group: its leader is there with the recorded start, or it is gone and another member
//!   carries the turn. (A number is given to no other process while a group bears it.) This also
//!   finds those that emptied their environment.
//!
//! The search reads all of `/proc` and takes a millisecond or more, so it is for after a crash, and
//! for when this process adopted an orphan ([`Children::orphaned`]).
//!
//! Outside Linux there is no proof, and nothing is ended here.
//!
//! [`Children::orphaned`]: crate::children::Children::orphaned

use std::collections::BTreeMap;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
#[cfg(target_os = "linux")]
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{PidfdFlags, pidfd_open, pidfd_send_signal},
};

use crate::environment;
use crate::group_record::Group;
use crate::proc_fs::{self, Stat, Variable};

/// What was done about the leftovers of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Processes that are gone now.
    pub ended: Vec<Leftover>,
    /// Processes that do not end, not even when killed: they hang in the kernel.
    pub left: Vec<Leftover>,
}

/// A process that a turn left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its process id.
    pub pid: i32,
    /// What it is called, for people to read.
    pub name: String,
    /// Whether SIGTERM was not enough.
    pub killed: bool,
}

/// Why leftovers were not ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeftoversError {
    /// This process is one of them. It cannot clean up after itself: nothing was ended.
    #[error("this process is itself part of turn {turn}: clean up from outside of it")]
    Inside {
        /// The turn.
        turn: String,
    },
    /// Processes cannot be looked at.
    #[error("cannot look for what turn {turn} left running: {source}")]
    Look {
        /// The turn.
        turn: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Ends every process that `turn` left running: SIGTERM, after `grace` SIGKILL, and again until a
/// look finds none. `recorded` are the groups on record; those of other turns are passed over.
///
/// Blocks for up to `grace` and 2 s more. The dead of which this process is the parent are not
/// reaped here, see [`Children::orphaned`](crate::children::Children::orphaned).
pub fn end(turn: &str, recorded: &[Group], grace: Duration) -> Result<Report, LeftoversError> {
    let recorded: Vec<&Group> = recorded.iter().filter(|group| group.turn == turn).collect();
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut seen: BTreeMap<Identity, Leftover> = BTreeMap::new();
    let mut asked_groups: Vec<i32> = Vec::new();
    let mut empty_looks = 0;
    let kill_at = Instant::now() + grace;
    let give_up_at = kill_at + KILL_TAKES;
    loop {
        let found = look(turn, &recorded).map_err(|source| LeftoversError::Look { turn: turn.to_owned(), source })?;
        let now = Instant::now();
        if found.processes.is_empty() {
            empty_looks += 1;
            if !found.unsure || empty_looks == EMPTY_LOOKS {
                return Ok(Report { ended: seen.into_values().collect(), left: Vec::new() });
            }
            std::thread::sleep(EMPTY_PAUSE);
            continue;
        }
        empty_looks = 0;
        if found.processes.iter().any(|process| process.pid == own) {
            return Err(LeftoversError::Inside { turn: turn.to_owned() });
        }
        if now >= give_up_at {
            let left = found.processes.iter().filter_map(|process| seen.remove(&process.identity()));
            let left = left.collect();
            return Ok(Report { ended: seen.into_values().collect(), left });
        }

        // SIGTERM once each, for to many programs a second one means "at once"; SIGKILL every time.
        let kill = now >= kill_at;
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        let groups: Vec<&Proven> = found.groups.iter().filter(|group| kill || !asked_groups.contains(&group.leader)).collect();
        for process in &found.processes {
            let by_group = groups.iter().any(|group| group.leader == process.stat.group);
            if !by_group && (kill || !seen.contains_key(&process.identity())) {
                signal_process(process, signal);
            }
            let leftover = seen.entry(process.identity()).or_insert_with(|| Leftover { pid: process.pid, name: proc_fs::name(process.pid), killed: false });
            leftover.killed |= kill;
        }
        for group in groups {
            signal_group(group, signal);
            asked_groups.push(group.leader);
        }
        let phase_ends = if kill { give_up_at } else { kill_at };
        wait_for_ends(&found.processes, phase_ends.min(now + LOOK_AGAIN));
    }
}

/// How long to wait for processes that were sent SIGKILL.
const KILL_TAKES: Duration = Duration::from_secs(2);

/// When to look for processes that were started meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How many looks in a row must find nothing, and the pause between them, when one look alone cannot
/// be sure.
const EMPTY_LOOKS: u32 = 3;
const EMPTY_PAUSE: Duration = Duration::from_millis(1);

/// What one look at all processes found.
struct Found {
    /// The turn's living processes.
    processes: Vec<Process>,
    /// The turn's recorded groups that are still those groups.
    groups: Vec<Proven>,
    /// It may have missed some. A process that had ended when it was looked at could have started
    /// another just before; one without any environment could be just loading a program.
    unsure: bool,
}

struct Process {
    pid: i32,
    stat: Stat,
    /// Its environment names the turn.
    carries: bool,
}

/// What tells a process from a later one with the same number: that, and when it was started.
type Identity = (i32, u64);

/// A group that is the turn's as long as the witness is alive and in it: its leader (wherever that
/// is), or a member that carries the turn.
struct Proven {
    leader: i32,
    witness: Identity,
}

impl Process {
    fn identity(&self) -> Identity {
        (self.pid, self.stat.start)
    }
}

fn look(turn: &str, recorded: &[&Group]) -> io::Result<Found> {
    let mut unsure = false;
    let mut processes = Vec::new();
    for pid in proc_fs::pids()? {
        let Some(stat) = proc_fs::stat(pid) else {
            unsure = true;
            continue;
        };
        if stat.of_kernel {
            continue;
        }
        let variable = proc_fs::variable(pid, environment::TURN);
        unsure |= stat.zombie || matches!(variable, Variable::Blank | Variable::Gone);
        let carries = matches!(variable, Variable::Value(value) if value == turn.as_bytes());
        processes.push(Process { pid, stat, carries });
    }
    let groups: Vec<Proven> = recorded.iter().filter_map(|group| prove(group, &processes)).collect();
    processes.retain(|process| {
        let in_group = groups.iter().any(|group| group.leader == process.stat.group);
        !process.stat.zombie && (process.carries || in_group)
    });
    Ok(Found { processes, groups, unsure })
}

/// Whether the recorded group is still that group, and by which process.
fn prove(group: &Group, processes: &[Process]) -> Option<Proven> {
    let witness = match processes.iter().find(|process| process.pid == group.leader) {
        Some(leader) => Some(leader).filter(|leader| leader.stat.start == group.start),
        None => processes.iter().find(|process| process.carries && process.stat.group == group.leader),
    };
    witness.map(|witness| Proven { leader: group.leader, witness: witness.identity() })
}

/// Signals a group if what proves it is still there.
fn signal_group(group: &Proven, signal: Signal) {
    let (pid, start) = group.witness;
    let there = proc_fs::stat(pid).is_some_and(|stat| stat.start == start && (pid == group.leader || stat.group == group.leader));
    if there && let Some(leader) = Pid::from_raw(group.leader) {
        // Failing means that it is gone, or not ours to end: the next look tells.
        let _ = kill_process_group(leader, signal);
        // A stopped process acts on nothing but SIGKILL until it goes on.
        let _ = kill_process_group(leader, Signal::CONT);
    }
}

/// Signals a process if it is still the one that the look found.
#[cfg(target_os = "linux")]
fn signal_process(process: &Process, signal: Signal) {
    // The descriptor holds on to one process: what is asked after it is opened is about that one,
    // or about a later one that the signal cannot reach.
    if let Some(handle) = open_process(process) {
        let _ = pidfd_send_signal(&handle, signal);
        let _ = pidfd_send_signal(&handle, Signal::CONT);
    }
}

#[cfg(target_os = "linux")]
fn open_process(process: &Process) -> Option<OwnedFd> {
    let handle = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
    proc_fs::stat(process.pid).filter(|stat| stat.start == process.stat.start).map(|_| handle)
}

/// Waits until the processes have ended, or until `deadline`.
#[cfg(target_os = "linux")]
fn wait_for_ends(processes: &[Process], deadline: Instant) {
    // Of very many, some: the caller looks again.
    let mut open: Vec<OwnedFd> = processes.iter().take(WAIT_FOR).filter_map(open_process).collect();
    while !open.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return;
        };
        let mut ends: Vec<PollFd<'_>> = open.iter().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
        match poll(&mut ends, Some(&left)) {
            Ok(0) => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let mut ended = ends.into_iter().map(|end| end.revents().contains(PollFlags::IN)).collect::<Vec<_>>().into_iter();
        open.retain(|_| ended.next() != Some(true));
    }
}

/// How many processes to wait for at once: each takes a descriptor.
#[cfg(target_os = "linux")]
const WAIT_FOR: usize = 64;

#[cfg(not(target_os = "linux"))]
fn signal_process(_: &Process, _: Signal) {}

#[cfg(not(target_os = "linux"))]
fn wait_for_ends(_: &[Process], _: Instant) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::ffi::OsString;
    use std::fs::File;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::fixture::{Scratch, alone, children, gone, is_gone, run, turn, turn_of_alone, until};
    use crate::group_record;
    use crate::process::Spawn;

    /// Long enough never to be reached, whatever the machine is doing.
    const NEVER: Duration = Duration::from_secs(300);

    /// A shell that leads a process group, in the environment of `turn` if there is one, and the
    /// pids that it has printed: one for each `echo` in the script. Its standard input ends when it
    /// is waited for.
    fn leave(scratch: &Scratch, turn: Option<&str>, script: &str) -> (Child, Vec<i32>) {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(scratch.output().try_clone().unwrap())
            .stderr(Stdio::null())
            .env_remove(environment::TURN);
        if let Some(turn) = turn {
            command.env(environment::TURN, turn);
        }
        let child = command.spawn().unwrap();
        until(|| scratch.printed_numbers().len() == script.matches("echo").count());
        (child, scratch.printed_numbers())
    }

    fn pid(child: &Child) -> i32 {
        i32::try_from(child.id()).unwrap()
    }

    fn start(pid: i32) -> u64 {
        proc_fs::stat(pid).unwrap().start
    }

    fn recorded(leader: i32, turn: &str) -> Group {
        Group { leader, start: start(leader), turn: turn.to_owned() }
    }

    fn ended_pids(report: &Report) -> Vec<i32> {
        assert_eq!(report.left, []);
        report.ended.iter().map(|leftover| leftover.pid).collect()
    }

    fn sorted(mut pids: Vec<i32>) -> Vec<i32> {
        pids.sort_unstable();
        pids
    }

    #[test]
    fn nothing_left_is_no_work() {
        assert_eq!(end(&turn("turn-of-nobody"), &[], NEVER).unwrap(), Report::default());
    }

    #[test]
    fn in_its_session_or_another() {
        let scratch = Scratch::new();
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000 & echo $!; exit 0";
        let (mut shell, left) = leave(&scratch, Some(&turn("in-session")), script);
        shell.wait().unwrap();
        let report = end(&turn("in-session"), &[], NEVER).unwrap();
        assert_eq!(ended_pids(&report), sorted(left.clone()));
        let named = |leftover: &Leftover| ["sh", "sleep"].contains(&leftover.name.as_str());
        assert!(report.ended.iter().all(|leftover| !leftover.killed && named(leftover)));
        assert!(left.into_iter().all(is_gone));
    }

    #[test]
    fn a_daemon_that_forked_twice() {
        let scratch = Scratch::new();
        let script = "(setsid sh -c '(sh -c \"echo \\$\\$; exec sleep 1000\" &)' &); exit 0";
        let (mut shell, left) = leave(&scratch, Some(&turn("forked-twice")), script);
        shell.wait().unwrap();
        // The shells between may not have ended yet.
        assert!(ended_pids(&end(&turn("forked-twice"), &[], NEVER).unwrap()).contains(&left[0]));
        assert!(is_gone(left[0]));
    }

    #[test]
    fn who_ignores_sigterm_is_killed() {
        let scratch = Scratch::new();
        let script = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & exit 0";
        let (mut shell, left) = leave(&scratch, Some(&turn("ignores")), script);
        shell.wait().unwrap();
        let report = end(&turn("ignores"), &[], Duration::from_millis(20)).unwrap();
        assert_eq!(ended_pids(&report), left);
        assert!(report.ended[0].killed);
        assert!(is_gone(left[0]));
    }

    #[test]
    fn who_is_stopped_is_ended() {
        let scratch = Scratch::new();
        let script = "setsid sh -c 'echo $$; kill -STOP $$; sleep 1000' & exit 0";
        let (mut shell, left) = leave(&scratch, Some(&turn("stopped")), script);
        shell.wait().unwrap();
        until(|| scratch.is_stopped(left[0]));
        let report = end(&turn("stopped"), &[], Duration::from_secs(10)).unwrap();
        assert_eq!(ended_pids(&report), left);
        assert!(!report.ended[0].killed);
        assert!(is_gone(left[0]));
    }

    #[test]
    fn who_starts_another_when_asked_to_end() {
        let scratch = Scratch::new();
        let script = "setsid sh -c '
            trap \"setsid sleep 1000 & exit\" TERM; echo $$; while :; do sleep 0.01; done' & exit 0";
        let (mut shell, left) = leave(&scratch, Some(&turn("hydra")), script);
        shell.wait().unwrap();
        // A shell that has just forked can lose a SIGTERM, so this one may have to be killed.
        let report = end(&turn("hydra"), &[], Duration::from_secs(1)).unwrap();
        assert!(ended_pids(&report).contains(&left[0]), "{report:?}");
        assert!(look(&turn("hydra"), &[]).unwrap().processes.is_empty());
    }

    #[test]
    fn a_recorded_group_without_any_environment() {
        let scratch = Scratch::new();
        let script = "env -i sleep 1000 & echo $!; echo $$; wait";
        let (mut shell, left) = leave(&scratch, None, script);
        assert_eq!(end(&turn("recorded"), &[], NEVER).unwrap(), Report::default());
        let report = end(&turn("recorded"), &[recorded(pid(&shell), &turn("recorded"))], NEVER).unwrap();
        assert_eq!(ended_pids(&report), sorted(left.clone()));
        assert!(left.into_iter().all(is_gone));
        shell.wait().unwrap();
    }

    #[test]
    fn a_recorded_group_whose_leader_is_gone() {
        let scratch = Scratch::new();
        // One member carries the turn and so vouches for the other.
        let script = "sleep 1000 & echo $!; env -i sleep 1000 & echo $!; read line; exit 0";
        let (mut shell, left) = leave(&scratch, Some(&turn("leaderless")), script);
        let group = recorded(pid(&shell), &turn("leaderless"));
        shell.wait().unwrap();
        let report = end(&turn("leaderless"), &[group], NEVER).unwrap();
        assert_eq!(ended_pids(&report), sorted(left.clone()));
        assert!(left.into_iter().all(is_gone));
    }

    #[test]
    fn without_proof_nothing_is_ended() {
        let scratch = Scratch::new();
        let script = "env -i sleep 1000 & echo $!; read line; exit 0";
        let (mut shell, left) = leave(&scratch, None, script);
        let leader = pid(&shell);
        let right = recorded(leader, &turn("no-proof"));
        let strangers = [
            // The number was given to another process since: the recorded start is not its own.
            Group { start: right.start - 1, ..right.clone() },
            Group { start: right.start + 1, ..right.clone() },
            // It was not known when the leader was started.
            Group { start: 0, ..right.clone() },
            // The group of another turn.
            Group { turn: "another".into(), ..right.clone() },
        ];
        for stranger in strangers {
            let report = end(&turn("no-proof"), std::slice::from_ref(&stranger), NEVER).unwrap();
            assert_eq!(report, Report::default(), "{stranger:?}");
        }
        assert!(!is_gone(leader) && !is_gone(left[0]));

        // The leader is gone, and nobody vouches for who is left.
        shell.wait().unwrap();
        assert_eq!(end(&turn("no-proof"), &[right], NEVER).unwrap(), Report::default());
        assert!(!is_gone(left[0]));
        scratch.kill(left[0]);
    }

    #[test]
    fn another_turn_is_another_turn() {
        let scratch = Scratch::new();
        let right = turn("another");
        let (mut shell, left) = leave(&scratch, Some(&right), "sleep 1000 & echo $!");
        shell.wait().unwrap();
        for wrong in [&right[..right.len() - 1], &format!("{right}0"), &right[1..], ""] {
            assert_eq!(end(wrong, &[], NEVER).unwrap(), Report::default(), "{wrong}");
        }
        assert!(!is_gone(left[0]));
        assert_eq!(ended_pids(&end(&right, &[], NEVER).unwrap()), left);
    }

    #[test]
    fn not_from_inside() {
        if !alone("leftovers::tests::not_from_inside") {
            return;
        }
        let scratch = Scratch::new();
        let (mut shell, left) = leave(&scratch, Some(&turn_of_alone()), "sleep 1000 & echo $!");
        shell.wait().unwrap();
        let refused = end(&turn_of_alone(), &[], NEVER);
        assert!(matches!(refused, Err(LeftoversError::Inside { .. })), "{refused:?}");
        let own_group = recorded(i32::try_from(std::process::id()).unwrap(), &turn("grouped"));
        let refused = end(&turn("grouped"), &[own_group], NEVER);
        assert!(matches!(refused, Err(LeftoversError::Inside { .. })), "{refused:?}");
        assert!(!is_gone(left[0]));
        scratch.kill(left[0]);
    }

    #[test]
    fn after_the_starter_was_killed() {
        const DIRECTORY: &str = "TEAMMATES_TEST_STARTER";
        if let Some(directory) = std::env::var_os(DIRECTORY) {
            start_and_wait_to_be_killed(Path::new(&directory));
        }
        let scratch = Scratch::new();
        let mut starter = Command::new(std::env::current_exe().unwrap())
            .args(["leftovers::tests::after_the_starter_was_killed", "--exact"])
            .env(DIRECTORY, scratch.directory())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until(|| scratch.printed_numbers().len() == 4);
        starter.kill().unwrap();
        starter.wait().unwrap();

        let record = std::fs::read(scratch.directory().join("record")).unwrap();
        let groups = group_record::parse(&record, "this-boot");
        assert_eq!(groups.len(), 1);
        let left = scratch.printed_numbers();
        assert!(!left.iter().any(|pid| is_gone(*pid)));
        let report = end(&turn_of_starter(scratch.directory()), &groups, NEVER).unwrap();
        assert_eq!(ended_pids(&report), sorted(left.clone()));
        assert!(left.into_iter().all(is_gone));
    }

    /// The same on both sides.
    fn turn_of_starter(directory: &Path) -> String {
        format!("starter-{}", directory.file_name().unwrap().display())
    }

    fn start_and_wait_to_be_killed(directory: &Path) -> ! {
        let record = directory.join("record");
        std::fs::write(&record, group_record::boot_line("this-boot")).unwrap();
        let record = File::options().append(true).open(record).unwrap();
        let output = File::options().append(true).open(directory.join("output")).unwrap();
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000 & echo $!
            env -i sleep 1000 & echo $!; echo $$; wait";
        run(async {
            let running = children().spawn(Spawn {
                turn: &turn_of_starter(directory),
                argv: ["sh", "-c", script].map(OsString::from).to_vec(),
                cwd: directory.to_owned(),
                env: Vec::new(),
                stdin: None,
                output: &output,
                errors: None,
                group_record: Some(&record),
            });
            let _running = running.unwrap();
            std::future::pending().await
        })
    }

    #[test]
    fn what_left_its_group_is_found_ended_and_reaped() {
        if !alone("leftovers::tests::what_left_its_group_is_found_ended_and_reaped") {
            return;
        }
        // The whole way: a command leaves one process in its group and one outside of it; the group
        // is ended with the command, the other is an orphan, is found, ended and reaped.
        let children = children();
        let scratch = Scratch::new();
        run(async {
            let script = "sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' &
                until [ $(wc -l < output) = 2 ]; do sleep 0.01; done";
            let running = children.spawn(Spawn {
                turn: &turn("whole-way"),
                argv: ["sh", "-c", script].map(OsString::from).to_vec(),
                cwd: scratch.directory().to_owned(),
                env: Vec::new(),
                stdin: None,
                output: scratch.output(),
                errors: None,
                group_record: None,
            });
            let ending = crate::process::Ending { timeout: None, grace: NEVER, keep: false };
            running.unwrap().wait(ending, std::future::pending()).await.unwrap();
        });
        let left = scratch.printed_numbers();
        assert_eq!(left.iter().filter(|pid| is_gone(**pid)).count(), 1);
        assert!(children.orphaned().unwrap());
        assert_eq!(end(&turn("whole-way"), &[], NEVER).unwrap().ended.len(), 1);
        left.iter().for_each(|pid| gone(*pid));
        assert!(!children.orphaned().unwrap());
        assert!(left.into_iter().all(|pid| proc_fs::stat(pid).is_none()));
    }
}
