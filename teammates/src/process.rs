//! One command: started as a process group of its own, waited for, and ended with all that it
//! started in it.
//!
//! # Starting
//!
//! The child leads its own process group. Before its program starts, it writes who it is into the
//! group record ([`Spawn::group_record`]) itself, through a descriptor that was opened before the
//! fork: so there is no moment in which this process could die and leave a group that nobody knows
//! of. It gets a filtered environment ([`crate::environment`]) and writes its output straight into
//! the file that it is given; nothing is copied.
//!
//! # Ending
//!
//! A process group keeps its number while it has a member, and its leader is a member until it is
//! reaped. So a group is always signalled *before* its leader is reaped: afterwards the number may
//! be a stranger's. First SIGTERM, then a grace, then SIGKILL. What left the group (`setsid`) comes
//! to this process as an orphan ([`Children::orphaned`]) and is ended by [`crate::leftovers`].
//!
//! # Never here
//!
//! No thread, no pipe, no copy of the output, no process of which this one is not the parent.

use std::ffi::OsString;
use std::fs::File;
use std::future::Future;
use std::io::{self, Seek as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, test_kill_process_group, waitid};
use tokio::time::Instant;

use crate::children::Children;
use crate::confinement::Confinement;
use crate::environment;
use crate::launch::{self, Exit, Launch, Step};
use crate::proc_fs;

/// A command that is to run as part of a turn.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// The turn that it belongs to: one word of at most [`LONGEST_TURN`] bytes. The child and all
    /// that it starts carry it in `CREW_TURN`, by which they are found if this process dies.
    pub turn: &'a str,
    /// The program, looked up in the child's `PATH` if it has no slash, and its arguments.
    pub argv: Vec<OsString>,
    /// The directory that it runs in.
    pub cwd: PathBuf,
    /// Set on top of what is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads; `None`: nothing.
    pub stdin: Option<File>,
    /// Where its standard output and standard error go, in the order in which they are written.
    pub output: &'a File,
    /// Where its standard error goes instead.
    pub errors: Option<&'a File>,
    /// Where it records its process group, see [`crate::group_record::Group`]: a file open for
    /// appending. `None`: nowhere, and only its environment tells what it was part of.
    pub group_record: Option<&'a File>,
}

/// A text for [`Spawn::stdin`], in a file that nobody else has.
pub fn as_stdin(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// The longest turn id, in bytes.
pub const LONGEST_TURN: usize = 128;

/// Why a command could not be started. Nothing of it runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no program to start.
    #[error("the command is empty: name a program")]
    Empty,
    /// The turn id would not fit into a record.
    #[error("{turn:?} is no turn id: one word of at most {LONGEST_TURN} bytes")]
    Turn {
        /// What was given.
        turn: String,
    },
    /// The directory is not there.
    #[error("cannot run in {}: {source}", cwd.display())]
    Cwd {
        /// The directory.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The child could not write its group down: no space, mostly.
    #[error("cannot record the process group: {source}")]
    Record {
        /// What the system said.
        source: io::Error,
    },
    /// The child could not be confined, so its program did not begin.
    #[error("cannot confine the command: {source}")]
    Confine {
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {program:?}: {source}")]
    Program {
        /// The first word of the command.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
}

/// How a command may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How long it may run; `None`: without end.
    pub timeout: Option<Duration>,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Whether what it leaves in its group when it ends by itself is left running.
    pub keep: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal that did not come from here.
    Signaled(i32),
    /// Its time was over, and its group was ended.
    TimedOut,
    /// It was cancelled, and its group was ended.
    Cancelled,
}

/// Why it is not known how a command ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The system would not say.
    #[error("cannot wait for process {pid}: {source}")]
    System {
        /// The command.
        pid: i32,
        /// What the system said.
        source: io::Error,
    },
    /// It was killed, and it is still there: it hangs within a system call.
    #[error("process {pid} does not end, not even when killed: it hangs in the kernel")]
    Unkillable {
        /// The command.
        pid: i32,
    },
}

/// A command that runs. Dropping it kills its group.
#[derive(Debug)]
pub struct Running {
    exit: Exit,
    children: Children,
    reaped: bool,
}

impl Children {
    /// Starts a command. To be called within a tokio runtime that has I/O enabled.
    ///
    /// Blocks until the program has been loaded or refused.
    pub fn spawn(&self, spawn: Spawn<'_>) -> Result<Running, SpawnError> {
        self.start(&spawn, None)
    }

    /// Starts a command that may write only what a confinement allows, it and all that it starts.
    pub fn spawn_confined(&self, spawn: Spawn<'_>, confinement: &Confinement) -> Result<Running, SpawnError> {
        self.start(&spawn, Some(confinement))
    }

    fn start(&self, spawn: &Spawn<'_>, confinement: Option<&Confinement>) -> Result<Running, SpawnError> {
        let turn = spawn.turn;
        let one_word = |byte: u8| byte.is_ascii_graphic() || !byte.is_ascii();
        if turn.is_empty() || turn.len() > LONGEST_TURN || !turn.bytes().all(one_word) {
            return Err(SpawnError::Turn { turn: turn.to_owned() });
        }
        let program = spawn.argv.first().ok_or(SpawnError::Empty)?;
        let own = [(OsString::from(environment::TURN), OsString::from(turn))];
        let set = || spawn.env.iter().filter(|(name, _)| name != environment::TURN).chain(&own);
        let inherited = self.inherited().iter().filter(|(name, _)| !set().any(|(other, _)| other == name));
        let env = inherited.chain(set()).map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect();
        let launch = Launch {
            argv: &spawn.argv,
            env,
            cwd: &spawn.cwd,
            stdin: spawn.stdin.as_ref(),
            output: spawn.output,
            errors: spawn.errors.unwrap_or(spawn.output),
            record: spawn.group_record.map(|record| (record, turn)),
            confinement,
        };
        // While the book is held nobody takes the new child for an orphan.
        let mut book = self.book();
        let exit = Exit::of(&launch).map_err(|(step, source)| match step {
            Step::Record => SpawnError::Record { source },
            Step::Confine => SpawnError::Confine { source },
            Step::Directory => SpawnError::Cwd { cwd: spawn.cwd.clone(), source },
            Step::Begin | Step::Program => SpawnError::Program { program: program.clone(), source },
        })?;
        book.running.insert(exit.pid.as_raw_pid(), turn.to_owned());
        drop(book);
        Ok(Running { exit, children: self.clone(), reaped: false })
    }
}

impl Running {
    /// The process id of the command, which is the number of its group too.
    pub fn pid(&self) -> i32 {
        self.exit.pid.as_raw_pid()
    }

    /// Waits until the command has ended: by itself, because its time is over, or because `cancel`
    /// is ready.
    ///
    /// What it left in its group is ended too, unless [`Ending::keep`] is set and it ended by
    /// itself. All of the group is gone when this returns, except for what hangs in the kernel.
    ///
    /// Dropping the future kills the group.
    pub async fn wait(mut self, ending: Ending, cancel: impl Future<Output = ()>) -> Result<Ended, WaitError> {
        let pid = self.pid();
        let system = |source| WaitError::System { pid, source };
        let time_is_over = async {
            match ending.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let cut_short = tokio::select! {
            biased;
            exited = self.exit.wait() => { exited.map_err(system)?; None }
            () = cancel => Some(Ended::Cancelled),
            () = time_is_over => Some(Ended::TimedOut),
        };
        let group_must_end = cut_short.is_some() || (!ending.keep && self.may_have_left_something().map_err(system)?);
        if group_must_end && !self.end_group(ending.grace).await.map_err(system)? {
            return Err(WaitError::Unkillable { pid });
        }
        let ended = self.reap().map_err(system)?;
        Ok(cut_short.unwrap_or(ended))
    }

    /// Ends every process of the group. The leader is not reaped yet; `false`: it has not ended.
    async fn end_group(&mut self, grace: Duration) -> io::Result<bool> {
        self.signal(Signal::TERM)?;
        // A stopped process acts on nothing but SIGKILL until it goes on.
        self.signal(Signal::CONT)?;
        if self.group_is_gone(Instant::now() + grace).await? {
            return Ok(true);
        }
        self.signal(Signal::KILL)?;
        self.group_is_gone(Instant::now() + KILL_TAKES).await?;
        launch::has_ended(self.exit.pid)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match kill_process_group(self.exit.pid, signal) {
            // macOS says so where all that is left is the unreaped leader.
            Ok(()) | Err(Errno::PERM | Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the leader has ended and nothing else is left of the group, or until `deadline`.
    async fn group_is_gone(&mut self, deadline: Instant) -> io::Result<bool> {
        match tokio::time::timeout_at(deadline, self.exit.wait()).await {
            Ok(exited) => exited?,
            Err(_) => return Ok(false),
        }
        let mut empty_looks = 0;
        while empty_looks < EMPTY_LOOKS {
            match self.members()? {
                Members::None => return Ok(true),
                Members::Unsure => empty_looks += 1,
                Members::Some => empty_looks = 0,
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            tokio::time::sleep(MEMBERS_LOOK).await;
        }
        Ok(true)
    }

    /// Whether this ended command can have left anything in its group. It cannot where this process
    /// adopted nothing: every descendant of the command hangs from an orphan of ours.
    fn may_have_left_something(&self) -> io::Result<bool> {
        Ok(!cfg!(target_os = "linux") || self.children.orphaned()?)
    }

    /// What is alive in the group other than its leader, which has ended.
    fn members(&self) -> io::Result<Members> {
        if !cfg!(target_os = "linux") {
            let any = test_kill_process_group(self.exit.pid).is_ok();
            return Ok(if any { Members::Some } else { Members::None });
        }
        if !self.may_have_left_something()? {
            return Ok(Members::None);
        }
        let leader = self.pid();
        let mut members = Members::None;
        for pid in proc_fs::pids()? {
            match proc_fs::stat(pid) {
                Some(stat) if stat.group != leader || pid == leader => {}
                Some(stat) if !stat.zombie => return Ok(Members::Some),
                _ => members = Members::Unsure,
            }
        }
        Ok(members)
    }

    fn reap(&mut self) -> io::Result<Ended> {
        let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.exit.pid), WaitIdOptions::EXITED));
        self.reaped = true;
        self.children.book().running.remove(&self.pid());
        Ok(match status? {
            Some(status) => ended(&status),
            None => Ended::Exited(0),
        })
    }
}

fn ended(status: &WaitIdStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Signaled(signal.unwrap_or_default()),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        // Only while it is not reaped is the group's number certainly its own.
        if launch::has_ended(self.exit.pid).is_ok() {
            let _ = kill_process_group(self.exit.pid, Signal::KILL);
        }
        // Out of the book it counts as an orphan, and is reaped like one.
        self.children.book().running.remove(&self.pid());
    }
}

/// What a look at a group found.
enum Members {
    None,
    Some,
    /// None, but some had ended when it came to them, and could have started another just before.
    Unsure,
}

/// How many looks in a row that are unsure count as one that is sure.
const EMPTY_LOOKS: u32 = 3;

/// How long to wait for processes that were sent SIGKILL.
const KILL_TAKES: Duration = Duration::from_secs(2);

/// Between two looks at what a group has left. Rare: only for groups that outlive their leader.
const MEMBERS_LOOK: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::{Scratch, alone, children, gone, is_gone, run, until};
    use crate::group_record::{Group, boot_line, parse};

    const AT_ONCE: Duration = Duration::from_millis(20);

    /// Long enough never to be reached, whatever the machine is doing.
    const NEVER: Duration = Duration::from_secs(300);

    const BY_ITSELF: Ending = Ending { timeout: Some(NEVER), grace: NEVER, keep: false };

    fn spawn<'a>(scratch: &'a Scratch, script: &str) -> Spawn<'a> {
        Spawn {
            turn: "turn-1",
            argv: ["sh", "-c", script].map(OsString::from).to_vec(),
            cwd: scratch.directory().to_owned(),
            env: Vec::new(),
            stdin: None,
            output: scratch.output(),
            errors: None,
            group_record: None,
        }
    }

    /// Runs a script to its own end and returns how it ended and what it printed.
    fn output_of(script: &str) -> (Ended, String) {
        let scratch = Scratch::new();
        let ended = run(async {
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            running.wait(BY_ITSELF, std::future::pending()).await.unwrap()
        });
        (ended, scratch.printed())
    }

    #[test]
    fn how_commands_end() {
        let cases = [
            ("exit 0", Ended::Exited(0)),
            ("exit 75", Ended::Exited(75)),
            ("kill -9 $$", Ended::Signaled(9)),
            ("kill -15 $$", Ended::Signaled(15)),
            ("no-such-program-anywhere 2>/dev/null", Ended::Exited(127)),
        ];
        for (script, expected) in cases {
            assert_eq!(output_of(script).0, expected, "{script}");
        }
    }

    #[test]
    fn both_outputs_go_to_the_file_in_order() {
        let (_, printed) = output_of("echo a; echo b >&2; echo c; echo d >&2");
        assert_eq!(printed, "a\nb\nc\nd\n");
    }

    #[test]
    fn standard_input() {
        assert_eq!(output_of("cat; echo end").1, "end\n");

        let scratch = Scratch::new();
        let brief = scratch.directory().join("brief");
        std::fs::write(&brief, "brief\n").unwrap();
        run(async {
            let stdin = Some(File::open(&brief).unwrap());
            let with_input = Spawn { stdin, ..spawn(&scratch, "cat") };
            let running = children().spawn(with_input).unwrap();
            running.wait(BY_ITSELF, std::future::pending()).await.unwrap()
        });
        assert_eq!(scratch.printed(), "brief\n");
    }

    #[test]
    fn environment_and_directory() {
        let scratch = Scratch::new();
        let inherited = vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("KEPT".into(), "kept".into()), ("SET".into(), "inherited".into())];
        let script = "pwd; echo $KEPT $SET $CREW_TURN; env | grep -c .";
        run(async {
            let children = Children::new(inherited).unwrap();
            let with_env = Spawn { env: vec![("SET".into(), "set".into()), ("CREW_TURN".into(), "wrong".into())], ..spawn(&scratch, script) };
            let running = children.spawn(with_env).unwrap();
            running.wait(BY_ITSELF, std::future::pending()).await.unwrap()
        });
        let directory = scratch.directory().display();
        // The three, CREW_TURN, and what the shell itself sets (PWD, and in some OLDPWD, SHLVL and _).
        let printed = scratch.printed();
        let (told, count) = printed.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(told, format!("{directory}\nkept set turn-1"));
        assert!(count.parse::<u32>().unwrap() <= 8, "{printed}");
    }

    #[test]
    fn what_cannot_be_started() {
        let scratch = Scratch::new();
        let refused = |spawn: Spawn<'_>| run(async { children().spawn(spawn).unwrap_err() });
        let at = |argv: &[&str]| Spawn { argv: argv.iter().map(OsString::from).collect(), ..spawn(&scratch, "") };
        assert!(matches!(refused(at(&[])), SpawnError::Empty));
        let missing = refused(at(&["no-such-program-anywhere"]));
        assert!(matches!(missing, SpawnError::Program { .. }), "{missing}");
        assert!(missing.to_string().contains("no-such-program-anywhere"), "{missing}");

        let nowhere = scratch.directory().join("nowhere");
        let elsewhere = refused(Spawn { cwd: nowhere.clone(), ..at(&["true"]) });
        assert!(matches!(&elsewhere, SpawnError::Cwd { cwd, .. } if *cwd == nowhere), "{elsewhere}");

        for turn in ["", "two words", "a\nb", &"x".repeat(LONGEST_TURN + 1)] {
            let error = refused(Spawn { turn, ..at(&["true"]) });
            assert!(matches!(error, SpawnError::Turn { .. }), "{turn:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_runs_that_cannot_be_recorded() {
        let scratch = Scratch::new();
        let full = File::options().append(true).open("/dev/full").unwrap();
        let error = run(async {
            let recorded = Spawn { group_record: Some(&full), ..spawn(&scratch, "echo ran") };
            children().spawn(recorded).unwrap_err()
        });
        assert!(matches!(error, SpawnError::Record { .. }), "{error}");
        assert_eq!(scratch.printed(), "");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_group_is_on_record_before_the_program_starts() {
        let scratch = Scratch::new();
        let path = scratch.directory().join("record");
        std::fs::write(&path, boot_line("b")).unwrap();
        let record = File::options().append(true).open(&path).unwrap();
        let pid = run(async {
            // What the program itself reads: the record, and its own start.
            let script = "cat record; cut -d' ' -f22 /proc/$$/stat";
            let recorded = Spawn { group_record: Some(&record), ..spawn(&scratch, script) };
            let running = children().spawn(recorded).unwrap();
            let pid = running.pid();
            running.wait(BY_ITSELF, std::future::pending()).await.unwrap();
            pid
        });
        let printed = scratch.printed();
        let (read, start) = printed.trim_end().rsplit_once('\n').unwrap();
        let start = start.parse().unwrap();
        let expected = Group { leader: pid, start, turn: "turn-1".into() };
        assert_eq!(parse(format!("{read}\n").as_bytes(), "b"), [expected]);
        assert_ne!(start, 0);
    }

    #[test]
    fn what_a_command_leaves_in_its_group_is_ended() {
        let scratch = Scratch::new();
        let ended = run(async {
            let script = "sleep 1000 & echo $!; sh -c 'sleep 1000 & echo $!'; exit 3";
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            running.wait(BY_ITSELF, std::future::pending()).await.unwrap()
        });
        assert_eq!(ended, Ended::Exited(3));
        let left = scratch.printed_numbers();
        assert_eq!(left.len(), 2);
        for pid in left {
            assert!(is_gone(pid), "{pid}");
        }
    }

    #[test]
    fn what_is_to_be_kept_is_kept() {
        let scratch = Scratch::new();
        let ended = run(async {
            let running = children().spawn(spawn(&scratch, "sleep 1000 & echo $!")).unwrap();
            let keep = Ending { keep: true, ..BY_ITSELF };
            running.wait(keep, std::future::pending()).await.unwrap()
        });
        assert_eq!(ended, Ended::Exited(0));
        let kept = scratch.printed_numbers();
        assert!(!is_gone(kept[0]));
        scratch.kill(kept[0]);
        gone(kept[0]);
    }

    #[test]
    fn a_timeout_ends_the_group() {
        let scratch = Scratch::new();
        let ended = run(async {
            let script = "sleep 1000 & echo $!; echo $$; wait";
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            until(|| scratch.printed_numbers().len() == 2);
            let soon = Ending { timeout: Some(AT_ONCE), grace: NEVER, keep: true };
            running.wait(soon, std::future::pending()).await.unwrap()
        });
        assert_eq!(ended, Ended::TimedOut);
        for pid in scratch.printed_numbers() {
            assert!(is_gone(pid), "{pid}");
        }
    }

    #[test]
    fn who_ignores_sigterm_is_killed() {
        let scratch = Scratch::new();
        let ended = run(async {
            // The shell and its child both ignore it; the child outlives the shell's patience too.
            let script = "trap '' TERM; sleep 1000 & echo $!; echo $$; wait";
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            until(|| scratch.printed_numbers().len() == 2);
            let impatient = Ending { timeout: Some(AT_ONCE), grace: AT_ONCE, keep: false };
            running.wait(impatient, std::future::pending()).await.unwrap()
        });
        assert_eq!(ended, Ended::TimedOut);
        for pid in scratch.printed_numbers() {
            assert!(is_gone(pid), "{pid}");
        }
    }

    #[test]
    fn a_member_that_outlives_its_leader_is_killed() {
        let scratch = Scratch::new();
        let ended = run(async {
            // The leader ends on SIGTERM; the other does not.
            let script = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done' & wait";
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            until(|| scratch.printed_numbers().len() == 1);
            let impatient = Ending { timeout: Some(AT_ONCE), grace: AT_ONCE, keep: false };
            running.wait(impatient, std::future::pending()).await.unwrap()
        });
        assert_eq!(ended, Ended::TimedOut);
        assert!(is_gone(scratch.printed_numbers()[0]));
    }

    #[test]
    fn a_stopped_command_can_say_goodbye() {
        let scratch = Scratch::new();
        let ended = run(async {
            let script = "trap 'echo bye; exit 0' TERM; echo $$; kill -STOP $$; sleep 1000";
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            until(|| scratch.is_stopped(running.pid()));
            let patient = Ending { timeout: None, grace: NEVER, keep: false };
            running.wait(patient, std::future::ready(())).await.unwrap()
        });
        assert_eq!(ended, Ended::Cancelled);
        assert!(scratch.printed().ends_with("bye\n"), "{}", scratch.printed());
    }

    #[test]
    fn cancelled_with_grace() {
        let scratch = Scratch::new();
        let ended = run(async {
            let script = "exec 2>/dev/null; trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
            let running = children().spawn(spawn(&scratch, script)).unwrap();
            until(|| scratch.printed() == "ready\n");
            let patient = Ending { timeout: None, grace: NEVER, keep: false };
            running.wait(patient, std::future::ready(())).await.unwrap()
        });
        assert_eq!(ended, Ended::Cancelled);
        assert_eq!(scratch.printed(), "ready\nbye\n");
    }

    #[test]
    fn several_at_once() {
        let scratch = Scratch::new();
        run(async {
            let children = children();
            let start = |code: i32| children.spawn(spawn(&scratch, &format!("exit {code}"))).unwrap();
            let running: Vec<Running> = (0..20).map(start).collect();
            for (code, one) in (0..).zip(running) {
                let ended = one.wait(BY_ITSELF, std::future::pending()).await.unwrap();
                assert_eq!(ended, Ended::Exited(code));
            }
        });
    }

    #[test]
    fn dropping_kills_the_group() {
        if !alone("process::tests::dropping_kills_the_group") {
            return;
        }
        let scratch = Scratch::new();
        run(async {
            let children = children();
            let script = "trap '' TERM; sleep 1000 & echo $!; echo $$; wait";
            let running = children.spawn(spawn(&scratch, script)).unwrap();
            until(|| scratch.printed_numbers().len() == 2);
            drop(running);
            for pid in scratch.printed_numbers() {
                gone(pid);
            }
            // And nobody is left to be reaped.
            until(|| !children.orphaned().unwrap());
        });
    }
}
