//! A project with a repository and a team of scripts: what a teammate does in its turn is said by the test, at that
//! moment, so that every step waits for the one before.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use ::board::place::{Place, Surroundings};
use rustix::process::Signal;
use serde_json::Value;

use crate::scene::{Ran, Scene, runs, signal, until};

/// In its turn a teammate says that it is there, and does what it is told, until that ends its turn.
const SPEAK: &str = "\
echo \"$CREW_AS $CREW_TURN $$\" >> .stage/turns
mkfifo \".stage/$CREW_TURN\"
while :; do
  read -r cue < \".stage/$CREW_TURN\"
  eval \"$cue\"
done
";

/// Soon gone, when there is nothing to do.
const PROFILE: &str = "---\ncommand: sh tools/speak\npoll: 100ms\nidleTimeout: 20s\n---\n";

/// The project, and what is kept of its run.
pub(crate) struct Stage {
    pub(crate) scene: Scene,
    /// Where the run's records are.
    pub(crate) state: PathBuf,
}

/// A turn whose script waits for what it is to do.
pub(crate) struct Cue<'a> {
    stage: &'a Stage,
    who: String,
    fifo: std::fs::File,
}

impl Stage {
    /// A team of these, with a goal, in a repository with one commit.
    pub(crate) fn new(team: &[&str]) -> Stage {
        Stage::with(team, "")
    }

    /// The same with this configuration.
    pub(crate) fn with(team: &[&str], config: &str) -> Stage {
        let scene = Scene::new();
        let surroundings = Surroundings { crewboard_home: Some(scene.home().into()), ..Surroundings::default() };
        let state = Place::at(&scene.tasks(), &surroundings).unwrap().state().to_owned();
        let stage = Stage { scene, state };
        stage.git(&["init", "--quiet", "--initial-branch", "main"]);
        stage.scene.put("tools/speak", SPEAK);
        stage.scene.put(".gitignore", ".stage/\n*.ignored\n");
        stage.scene.put("file", "one\n");
        stage.scene.put(".crew/goal.md", "Everything is as it should be.\n");
        if !config.is_empty() {
            stage.scene.put(".crew/config.toml", config);
        }
        std::fs::create_dir(stage.scene.project().join(".stage")).unwrap();
        for name in team {
            stage.scene.put(&format!(".crew/teammates/{name}.md"), PROFILE);
        }
        stage.git(&["add", "."]);
        stage.git(&["commit", "--quiet", "-m", "first"]);
        stage
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = self.scene.program("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// `crew start --yes`, which must succeed.
    #[track_caller]
    pub(crate) fn start(&self) -> Ran {
        self.scene.run(&["start", "--yes"]).succeeded()
    }

    /// The same with the daemon dying at a named point, again and again. What teammates run is not concerned.
    #[track_caller]
    pub(crate) fn start_with_crash_at(&self, point: &str) -> Ran {
        let mut crew = self.scene.crew(&["start", "--yes"]);
        crew.env("CREW_CRASH_AT", point);
        self.scene.start(crew).ended()
    }

    #[track_caller]
    pub(crate) fn crew(&self, arguments: &[&str]) -> Ran {
        self.scene.run(arguments)
    }

    /// A file of the run, as bytes; empty where there is none.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.state.join(name)).unwrap_or_default()
    }

    /// A document of the run; null where there is none.
    pub(crate) fn document(&self, name: &str) -> Value {
        let bytes = self.bytes(name);
        if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{name}: {e}: {}", String::from_utf8_lossy(&bytes)))
        }
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.state.join(name), bytes).unwrap();
    }

    fn records(&self, name: &str) -> Vec<Value> {
        let bytes = self.bytes(name);
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap_or_else(|e| panic!("{name}: {e}: {}", String::from_utf8_lossy(line)))).collect()
    }

    /// Every post.
    pub(crate) fn thread(&self) -> Vec<Value> {
        self.records("thread.jsonl")
    }

    pub(crate) fn events(&self, what: &str) -> Vec<Value> {
        self.records("events.jsonl").into_iter().filter(|event| event["event"] == what).collect()
    }

    /// The run's state, by its word.
    pub(crate) fn word(&self) -> String {
        self.document("state.json")["state"].as_str().unwrap_or("idle").to_owned()
    }

    pub(crate) fn reason(&self) -> String {
        self.document("state.json")["reason"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits for a state in which no daemon is at work, and until none is.
    #[track_caller]
    pub(crate) fn ends_as(&self, word: &str) {
        until(&format!("the run is {word}; it is {} ({})", self.word(), self.reason()), || {
            self.word() == word && self.document("state.json")["daemon"].is_null()
        });
    }

    /// The daemon's process.
    #[track_caller]
    pub(crate) fn daemon(&self) -> i32 {
        self.processes_of("--daemon").pop().expect("no daemon lives")
    }

    /// The supervisor's.
    #[track_caller]
    pub(crate) fn supervisor(&self) -> i32 {
        self.processes_of("--supervisor").pop().expect("no supervisor lives")
    }

    /// Those of ours whose command line has this word.
    pub(crate) fn processes_of(&self, word: &str) -> Vec<i32> {
        let has = |pid: &i32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.split(|byte| *byte == 0).any(|one| one == word.as_bytes()));
        self.scene.processes().into_iter().filter(has).collect()
    }

    /// The harnesses of the teammates.
    pub(crate) fn teammates(&self) -> Vec<i32> {
        self.processes_of("--foreground")
    }

    /// Kills processes as a power cut would, and waits until they are gone.
    pub(crate) fn kill(&self, pids: &[i32]) {
        pids.iter().for_each(|pid| signal(*pid, Signal::KILL));
        // The first thread may have ended before the others, and then the locks are still held.
        let threads = |pid: &i32| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        until("they are gone", || pids.iter().all(|pid| !runs(*pid) && threads(pid) <= 1));
    }

    /// Waits until it is somebody's turn and the script waits for what it is to do.
    #[track_caller]
    pub(crate) fn turn_of(&self, who: &str) -> Cue<'_> {
        let mut fifo = None;
        until(&format!("{who} has the turn; the run: {}", self.document("state.json")), || {
            let turn = self.document("turn.json");
            let path = self.scene.project().join(".stage").join(turn["turn"].as_str().filter(|_| turn["of"] == who).unwrap_or("none"));
            // Refused as long as nobody reads.
            let open = OpenOptions::new().write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(&path);
            // What a lost turn has left may still read, until it is ended.
            let performs = turn["begun"]["process"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
            fifo = open.ok().filter(|_| performs.is_some_and(|pid| self.teammates().contains(&pid)));
            fifo.is_some()
        });
        Cue { stage: self, who: who.to_owned(), fifo: fifo.unwrap() }
    }

    /// In its next turn a teammate posts this, with `crew post`; the answer is the post.
    #[track_caller]
    pub(crate) fn says(&self, who: &str, arguments: &str) -> Value {
        let before = self.thread().len();
        self.turn_of(who).does(&format!("\"$CREW\" post {arguments}; exit"));
        let mut post = None;
        until(&format!("{who} has posted {arguments}"), || {
            post = self.thread().into_iter().skip(before).find(|post| post["from"] == who);
            post.is_some()
        });
        post.unwrap()
    }

    /// `crew stop`, which leaves nothing running.
    #[track_caller]
    pub(crate) fn stops(&self) {
        self.crew(&["stop"]).succeeded();
        until("nothing runs", || self.scene.processes().is_empty());
    }

    /// What must be so whatever has happened.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let thread = self.thread();
        let seqs: Vec<u64> = thread.iter().map(|post| post["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "numbers have holes or come twice");
        let unique = |what: &str, all: Vec<String>| {
            let mut sorted = all.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), all.len(), "{what} comes twice: {all:?}");
        };
        unique("a turn", thread.iter().filter_map(|post| post["turn"].as_str().map(str::to_owned)).collect());
        unique("a message", thread.iter().filter_map(|post| post["message"].as_str().map(str::to_owned)).collect());
        let answers = thread.iter().filter(|post| post["re"].is_u64() && post["from"] != "user");
        unique("an answer", answers.map(|post| format!("{} {} {}", post["from"], post["re"], post["decision"].is_null())).collect());
        self.records("events.jsonl");
        for name in ["state.json", "turn.json", "cursors.json", "asks.json", "checkpoints.json"] {
            self.document(name);
        }
        for checkpoint in self.document("checkpoints.json")["checkpoints"].as_array().into_iter().flatten() {
            let kept = self.git(&["rev-parse", &format!("refs/crew/checkpoints/{}^{{commit}}", checkpoint["number"])]);
            assert_eq!(checkpoint["commit"], kept);
            assert_eq!(checkpoint["tree"], self.git(&["rev-parse", &format!("{kept}^{{tree}}")]));
        }
    }
}

impl Cue<'_> {
    /// The turn's script goes on with this, on one line.
    #[track_caller]
    pub(crate) fn does(mut self, line: &str) {
        self.fifo.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// It goes on with this, and what `crew` said and its exit code come back.
    #[track_caller]
    pub(crate) fn tries(self, line: &str) -> (i32, String) {
        let answer = self.stage.scene.project().join(".stage").join(format!("{}.answer", self.who));
        let _ = std::fs::remove_file(&answer);
        self.does(&format!(
            "{{ {line}; }} > .stage/said 2>&1; echo $? >> .stage/said; mv .stage/said '{}'",
            answer.display().to_string().replace('\'', "'\\''")
        ));
        until("it has tried", || answer.exists());
        let text = std::fs::read_to_string(&answer).unwrap();
        let (said, code) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
        (code.parse().unwrap(), said.to_owned())
    }
}
