use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::*;
use crate::confinement;
use crate::conversation::ToolCall;
use crate::fixture::{alone, children, gone, is_gone, run, turn};
use crate::profile::Profile;
use crate::tools::gate_list::{Gatekeeper, Verdict};
use crate::tools::{Answer, Toolbox};

/// Says what it is told to say, once each; then that everything may run.
#[derive(Default)]
struct Gate {
    says: RefCell<Vec<Verdict>>,
    asked: RefCell<Vec<String>>,
}

impl Gatekeeper for Gate {
    fn may_run(&self, command: &str) -> Verdict {
        self.asked.borrow_mut().push(command.to_owned());
        self.says.borrow_mut().pop().unwrap_or(Verdict::Run)
    }
}

struct Bench {
    temp: tempfile::TempDir,
    toolbox: Toolbox,
    shell: Option<Rc<Shell>>,
    outputs: Arc<Outputs>,
    gate: Rc<Gate>,
}

impl Bench {
    fn new(writes: bool) -> Bench {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["ws/.tasks", "ws/.crew", "logs", "outside", "tmp"] {
            std::fs::create_dir_all(temp.path().join(dir)).unwrap();
        }
        std::fs::write(temp.path().join("ws/.tasks/task_1.json"), "{}").unwrap();
        std::fs::write(temp.path().join("outside/file"), "theirs").unwrap();
        std::fs::write(temp.path().join("key"), "s3cr3t").unwrap();
        let at = |path: &str| temp.path().join(path);
        let workspace = Arc::new(Workspace::open(&at("ws")).unwrap());
        let outputs = Arc::new(Outputs::new(board::disk::Dir::open(&at("logs")).unwrap(), &own_turn()));
        let gate = Rc::new(Gate::default());
        let terms = Terms {
            workspace: Arc::clone(&workspace),
            outputs: Arc::clone(&outputs),
            children: children(),
            groups: None,
            env: vec![("OF_TURN".into(), "told".into())],
            gatekeeper: Rc::clone(&gate) as Rc<dyn Gatekeeper>,
            writes,
            temps: vec![at("tmp"), temp.path().to_path_buf()],
            also: Vec::new(),
            hidden: vec![at("key")],
            state: at("state"),
            spared: vec![at("logs")],
            project: workspace.path().to_path_buf(),
            background_turn: format!("background-{}", own_turn()),
        };
        let shell = Shell::new(terms).unwrap().map(Rc::new);
        let profile = Profile { writes, ..Profile::named("alice").unwrap() };
        let toolbox = Toolbox::of(&profile, tools(&workspace, &outputs, shell.clone()), Some(Arc::clone(&outputs)));
        Bench { temp, toolbox, shell, outputs, gate }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.temp.path().join(path)
    }

    async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        match self.toolbox.call(&ToolCall { id: "1".into(), name: name.into(), input, malformed: None }).await {
            Answer::Result { text, is_error: false } => Ok(text),
            Answer::Result { text, is_error: true } => Err(text),
            Answer::Effect(effect) => panic!("{effect:?}"),
        }
    }

    async fn bash(&self, command: &str) -> Result<String, String> {
        self.call("bash", json!({ "command": command })).await
    }
}

/// A turn that this process itself is not part of.
fn own_turn() -> String {
    turn("tools")
}

/// Whether this kernel confines. Where it does not, that is said: the test has then shown nothing.
fn confines() -> bool {
    let support = confinement::support();
    let confines = support.landlock.is_some() && support.keeps;
    if !confines {
        eprintln!("SKIPPED, NOT TESTED: this kernel does not confine ({support:?})");
    }
    confines
}

macro_rules! alone {
    ($name:ident, $body:expr) => {
        #[test]
        fn $name() {
            if alone(concat!("tools::work::tests::commands::", stringify!($name))) {
                run($body);
            }
        }
    };
}

alone!(a_command_says_how_it_ended_and_what_it_printed, async {
    let bench = Bench::new(true);
    assert_eq!(
        bench.bash("echo out; echo err >&2; pwd").await.unwrap(),
        format!("exit code 0\nout\nerr\n{}\n", bench.at("ws").canonicalize().unwrap().display())
    );
    assert_eq!(bench.bash("echo no; exit 3").await.unwrap_err(), "exit code 3\nno\n");
    assert_eq!(bench.bash("kill -9 $$").await.unwrap_err(), "ended by signal 9\n");
    assert_eq!(bench.bash("cat; echo $OF_TURN $CREW_TURN").await.unwrap(), format!("exit code 0\ntold {}\n", own_turn()));
    let log = std::fs::read_to_string(bench.at(&format!("logs/{}.log", own_turn()))).unwrap();
    assert!(log.starts_with("$ echo out; echo err >&2; pwd\nout\n") && log.contains("$ echo no; exit 3\nno\n"), "{log}");
    bench.outputs.begin_turn(board::disk::Dir::open(&bench.at("logs")).unwrap(), "next");
    bench.bash("echo later").await.unwrap();
    assert_eq!(std::fs::read_to_string(bench.at("logs/next.log")).unwrap(), "$ echo later\nlater\n");
});

alone!(a_long_output_ends_the_answer_and_begins_in_the_log, async {
    let bench = Bench::new(true);
    bench.bash("echo before").await.unwrap();
    let said = bench.bash("seq 1 100000").await.unwrap();
    bench.bash("echo behind").await.unwrap();
    assert!(said.len() < 20_000 && said.ends_with("\n99999\n100000\n"));
    let (_, call) = said.split_once("bytes before this: read_file ").unwrap();
    let input: Value = serde_json::from_str(call.split_once(']').unwrap().0).unwrap();
    let page = bench.call("read_file", input.clone()).await.unwrap();
    assert!(page.starts_with("     1\t1\n     2\t2\n"), "{page:.30}");
    let last = bench.call("read_file", json!({ "path": input["path"], "offset": 100_000 })).await.unwrap();
    assert_eq!(last, "100000\t100000\n", "what another command printed is no part of it");
    assert!(bench.call("read_file", json!({ "path": "output:99" })).await.unwrap_err().contains("there is no output:99"));
});

alone!(a_command_that_takes_too_long_is_ended_with_all_it_started, async {
    let bench = Bench::new(true);
    let said = bench.call("bash", json!({ "command": "sleep 1000 & echo $!; exec sleep 1000", "timeout": 1 })).await.unwrap_err();
    assert!(said.starts_with("ended: it took longer than 1 s"), "{said}");
    gone(said.lines().nth(1).unwrap().parse().unwrap());
    // What left the group is found, too.
    let said = bench.bash("setsid sh -c 'echo $$ > pid; exec sleep 1000' & until [ -s pid ]; do :; done; cat pid").await.unwrap();
    gone(said.lines().nth(1).unwrap().parse().unwrap());
    // Cancelled: dropped.
    let mut call = Box::pin(bench.bash("echo $$ > mine; exec sleep 1000"));
    let pid = loop {
        tokio::select! { _ = &mut call => panic!("it ended"), () = tokio::time::sleep(Duration::from_millis(2)) => {} }
        if let Some(pid) = std::fs::read_to_string(bench.at("ws/mine")).ok().and_then(|text| text.trim().parse().ok()) {
            break pid;
        }
    };
    drop(call);
    gone(pid);
});

alone!(the_gatekeeper_is_asked_each_time, async {
    let bench = Bench::new(true);
    bench.gate.says.replace(vec![Verdict::Run, Verdict::Ask("git push".into()), Verdict::Denied("gateAutoDeny has \"x\"".into())]);
    assert!(bench.bash("touch a").await.unwrap_err().contains("will not be: gateAutoDeny has \"x\""));
    let asked = bench.call("bash", json!({ "command": "touch a", "background": true })).await.unwrap_err();
    assert!(asked.contains("cannot be undone (git push). Post a `gate`"), "{asked}");
    assert!(!bench.at("ws/a").exists());
    bench.bash("touch a").await.unwrap();
    assert!(bench.at("ws/a").exists());
    assert_eq!(*bench.gate.asked.borrow(), ["touch a"; 3]);
});

alone!(what_runs_in_the_background_outlives_the_turn_and_not_the_teammate, async {
    let bench = Bench::new(true);
    let shell = bench.shell.clone().unwrap();
    let said = bench.call("bash", json!({ "command": "echo up; exec sleep 1000", "background": true })).await.unwrap();
    assert!(said.starts_with("background 1 runs in the background (process group "), "{said}");
    let ends = bench.call("bash", json!({ "command": "exit 5", "background": true })).await.unwrap();
    assert!(ends.starts_with("background 2"), "{ends}");
    // The turn is over, with all that is left of it.
    crate::leftovers::end(&own_turn(), &[], Duration::ZERO).unwrap();
    bench.outputs.begin_turn(board::disk::Dir::open(&bench.at("logs")).unwrap(), "next");
    let running = shell.backgrounds().running();
    assert_eq!(running[0].command, "echo up; exec sleep 1000");
    assert!(!is_gone(running[0].group));
    loop {
        let page = bench.call("read_file", json!({ "path": running[0].output })).await.unwrap();
        if page == "     1\tup\n" {
            break;
        }
        tokio::task::yield_now().await;
    }
    let ended = loop {
        let ended = shell.backgrounds().take_ended();
        if !ended.is_empty() {
            break ended;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    assert!(ended[0].starts_with("background 2 (exit 5) ended with exit code 5. Its output: read_file {\"path\":\"output:"), "{ended:?}");
    assert!(shell.backgrounds().take_ended().is_empty(), "told once");
    let third = bench.call("bash", json!({ "command": "exec sleep 1001", "background": true })).await.unwrap();
    assert!(third.contains("to end it: end_background {\"id\":\"background 3\"}"), "{third}");
    assert!(bench.call("end_background", json!({ "id": "background 9" })).await.is_err());
    bench.call("end_background", json!({ "id": "background 3" })).await.unwrap();
    while shell.backgrounds().take_ended().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    shell.backgrounds().end().await;
    assert!(is_gone(running[0].group) && shell.backgrounds().running().is_empty());
});

alone!(what_runs_in_the_background_is_killed_when_all_is_dropped, async {
    let bench = Bench::new(true);
    bench.call("bash", json!({ "command": "exec sleep 1000", "background": true })).await.unwrap();
    let group = bench.shell.as_ref().unwrap().backgrounds().running()[0].group;
    drop(bench);
    while !is_gone(group) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
});

alone!(a_shell_writes_in_the_workspace_and_temp_only, async {
    if !confines() {
        return;
    }
    let bench = Bench::new(true);
    // Whoever began this process may have left it a way around: it is inherited by all that it starts.
    let outside = std::fs::File::open(bench.at("outside")).unwrap();
    // SAFETY: nothing else of this process has that number.
    assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&outside), 99) }, 99);
    for command in [
        "echo x > a && mkdir d && mv a d/b && ln d/b c && ln -s c e && echo y >> c && rm e",
        "echo x > ../tmp/x",
        "echo x > /dev/null; echo x > /dev/stderr",
        "cat ../outside/file",
    ] {
        bench.bash(command).await.unwrap();
    }
    for command in [
        "echo x > ../outside/new",
        "echo x >> ../outside/file",
        "rm ../outside/file",
        "mv ../outside/file .",
        "ln ../outside/file hard",
        "ln -s ../outside o && echo x > o/new",
        "mkdir ../outside/d",
        "truncate -s 0 ../outside/file",
        "echo x > ../logs/new",
        "echo x > /proc/$PPID/root/$PWD/../outside/new",
        "sh -c 'setsid sh -c \"echo x > ../outside/new\"'",
        "echo x > .tasks/new.json",
        "echo x > .tasks/task_1.json",
        "rm .tasks/task_1.json",
        "mv .tasks elsewhere",
        "rm -r .crew",
        "touch .crew/config.toml",
        "mv d .crew/",
        "ln .tasks/task_1.json hard && echo x > hard",
        "ln -s .tasks t; echo x > t/new",
        "umount .tasks",
        "mount -o remount,rw .tasks",
        "echo x > /proc/$PPID/root/$PWD/.tasks/new",
        "cat /proc/$PPID/environ",
        "unshare -rm sh -c 'umount .tasks && echo x > .tasks/new'",
        // What Landlock does not know of.
        "chmod 600 ../outside/file",
        "chown $(id -u) ../outside/file",
        "touch -d 2020-01-01 ../outside/file",
        "chmod 600 .tasks/task_1.json",
        "chmod 755 ..",
        "chmod 666 /dev/null",
        "chmod 666 ../key",
        // By what was opened before.
        "chmod 666 /proc/self/fd/0",
        "touch -d 2020-01-01 /proc/self/fd/0",
        "cat /proc/self/fd/99/file",
        "chmod 600 /proc/self/fd/99/file",
        "ls /proc/self/fd/99/..",
    ] {
        assert!(bench.bash(command).await.is_err(), "{command}");
    }
    let names = |path: &str| std::fs::read_dir(bench.at(path)).unwrap().count();
    assert_eq!((names("outside"), names("ws/.tasks"), names("ws/.crew")), (1, 1, 0));
    assert_eq!(std::fs::read_to_string(bench.at("outside/file")).unwrap(), "theirs");
    assert_eq!(std::fs::read_to_string(bench.at("ws/.tasks/task_1.json")).unwrap(), "{}");
    // Others are not held to that: the directories are ours as before.
    std::fs::write(bench.at("ws/.tasks/task_2.json"), "{}").unwrap();
    assert_eq!(bench.bash("ls .tasks").await.unwrap(), "exit code 0\ntask_1.json\ntask_2.json\n");
});

alone!(a_shell_has_no_privilege_that_leads_out, async {
    if !confines() {
        return;
    }
    // DAC_READ_SEARCH, SYS_PTRACE, SYS_ADMIN, MKNOD: whoever began this process may have made them inheritable.
    const LEADING_OUT: u64 = 1 << 2 | 1 << 19 | 1 << 21 | 1 << 27;
    let said = Bench::new(true).bash("grep ^Cap /proc/self/status").await.unwrap();
    let sets = said.lines().filter_map(|line| line.split_once(":\t")).map(|(name, bits)| (name, u64::from_str_radix(bits, 16).unwrap()));
    let leading: Vec<_> = sets.filter(|(_, bits)| bits & LEADING_OUT != 0).collect();
    assert_eq!(leading, []);
});

alone!(a_key_is_empty_for_a_shell, async {
    if !crate::confinement::support().keeps {
        return;
    }
    for writes in [true, false] {
        let bench = Bench::new(writes);
        assert_eq!(bench.bash(&format!("cat {0}; wc -c < {0}", bench.at("key").display())).await.unwrap(), "exit code 0\n0\n", "{writes}");
    }
});

alone!(who_may_not_write_has_a_shell_that_does_not, async {
    if !confines() {
        return;
    }
    let bench = Bench::new(false);
    assert!(bench.toolbox.definitions().iter().all(|tool| !["write_file", "edit_file"].contains(&tool.name.as_str())));
    for command in ["echo x > a", "mkdir d", "echo x > .tasks/new", "rm .tasks/task_1.json", "echo x > ../outside/new", "git init -q ."] {
        assert!(bench.bash(command).await.is_err(), "{command}");
    }
    bench.bash("echo x > ../tmp/x; cat ../tmp/x").await.unwrap();
    bench.bash("ls .tasks > /dev/null").await.unwrap();
    assert_eq!(std::fs::read_dir(bench.at("ws")).unwrap().count(), 2);
});

alone!(a_directory_of_the_boards_that_comes_meanwhile_is_told, async {
    let bench = Bench::new(true);
    std::fs::remove_dir(bench.at("ws/.crew")).unwrap();
    let said = bench.bash("mkdir .crew && echo x > .crew/config.toml").await.unwrap_err();
    assert!(said.contains("While this ran,") && said.contains(".crew/config.toml"), "{said}");
});

#[test]
fn secrets_are_not_in_a_commands_environment() {
    const NAME: &str = "tools::work::tests::commands::secrets_are_not_in_a_commands_environment";
    if std::env::var_os("SOME_API_KEY").is_none() {
        let ran = std::process::Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
            .envs([("SOME_API_KEY", "very-secret"), ("GITHUB_TOKEN", "very-secret"), ("TEAMMATES_TEST_ALONE", "1"), ("CREW_TURN", "secrets-test")])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    run(async {
        let bench = Bench::new(true);
        let said = bench.bash("env; cat /proc/self/environ | tr '\\0' '\\n'").await.unwrap();
        assert!(said.contains("OF_TURN=told") && !said.contains("very-secret"), "{said}");
        // Nor where this process has them: another's environment is not for a confined one to read.
        if confines() {
            let said = bench.bash(&format!("cat /proc/{}/environ", std::process::id())).await.unwrap_err();
            assert!(!said.contains("very-secret"), "{said}");
        }
    });
}
