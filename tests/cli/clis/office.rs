//! A project with stand-ins for CLIs in the `PATH`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::run::stage::Stage;
use crate::scene::{Ran, until};

/// A project, and what its CLIs are to do.
pub(super) struct Office {
    pub(super) stage: Stage,
    outside: PathBuf,
}

impl Office {
    /// A team of these, each with its front matter.
    pub(super) fn new(team: &[(&str, &str)], config: &str) -> Office {
        let stage = Stage::with(&[], config);
        for (name, front) in team {
            stage.scene.put(&format!(".crew/teammates/{name}.md"), &format!("---\npoll: 100ms\nidleTimeout: 20s\n{front}\n---\nBe brief.\n"));
        }
        let outside = stage.scene.project().with_file_name("clis");
        std::fs::create_dir_all(outside.join("bin")).unwrap();
        let office = Office { stage, outside };
        let stand_in = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("stand-in");
        assert!(stand_in.is_file(), "{} is not there: `cargo test` builds it, or `cargo build --examples`", stand_in.display());
        for name in ["claude", "codex"] {
            std::os::unix::fs::symlink(&stand_in, office.outside.join("bin").join(name)).unwrap();
        }
        office
    }

    /// `crew`, on a machine where the CLIs are installed.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut crew = self.stage.scene.crew(arguments);
        let path = std::env::var("PATH").unwrap();
        crew.env("PATH", format!("{}:{path}", self.outside.join("bin").display())).env("STAND_IN", self.outside.join("turns"));
        crew
    }

    #[track_caller]
    pub(super) fn crew(&self, arguments: &[&str]) -> Ran {
        self.stage.scene.start(self.command(arguments)).ended()
    }

    pub(super) fn spawn(&self, name: &str) {
        self.crew(&["spawn", name, "--yes"]).succeeded();
    }

    /// Ends them, and waits until nothing runs.
    #[track_caller]
    pub(super) fn shutdown(&self, names: &[&str]) {
        for name in names {
            self.crew(&["shutdown", name, "--grace", "0s"]);
        }
        until("nothing runs", || self.stage.scene.processes().is_empty());
    }

    /// What a teammate's CLI does in its next turn.
    pub(super) fn turn(&self, name: &str, steps: &[Value]) {
        let dir = self.outside.join("turns").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let before = std::fs::read_dir(&dir).unwrap().count();
        let made = std::fs::read_to_string(dir.join("made")).map_or(0, |made| made.len());
        std::fs::write(dir.join("made"), "x".repeat(made + 1)).unwrap();
        assert!(before < 1000);
        let file = dir.join(format!("{made:03}.json"));
        std::fs::write(file.with_extension("step"), json!(steps).to_string()).unwrap();
        std::fs::rename(file.with_extension("step"), file).unwrap();
    }

    /// What its CLI was asked so far.
    pub(super) fn asked(&self, name: &str) -> Vec<Value> {
        let entries = std::fs::read_dir(self.outside.join("turns").join(name)).into_iter().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path()).filter(|file| file.extension().is_some_and(|ending| ending == "asked")).collect();
        files.sort();
        files.iter().map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()).collect()
    }

    /// The session that is kept for a teammate and a CLI.
    pub(super) fn session(&self, name: &str, runner: &str) -> Option<String> {
        let kept = &self.stage.document("sessions.json")["sessions"][name][runner]["id"];
        kept.as_str().map(str::to_owned)
    }
}

/// It calls a tool of the team's.
pub(super) fn call(tool: &str, with: Value) -> Value {
    json!({ "call": tool, "with": with })
}

pub(super) fn post(kind: &str, text: &str) -> Value {
    call("post", json!({ "kind": kind, "text": text }))
}

/// It runs a command by its own tools.
pub(super) fn sh(command: &str) -> Value {
    json!({ "sh": command })
}

/// It prints this line.
pub(super) fn line(line: Value) -> Value {
    json!({ "line": line })
}
