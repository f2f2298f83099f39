//! What somebody on this machine has allowed once and for all, kept on the machine's side, where no repository writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use board::Result;
use board::disk::{Dir, written};
use board::place::Place;
use board::task::{Command, Task};
use board::task_id::TaskId;
use git2::{ObjectType, Oid};
use serde::{Deserialize, Serialize};
use teammates::goal::Goal;
use teammates::profile::Origin;
use teammates::profiles;

use crate::config::{self, Auditor};

const FILE: &str = "armed.json";

/// The state of everything that could make something else run here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The configuration, the teammates' files and the programs that these name by a path, each with the hash of its
    /// content.
    files: BTreeMap<String, String>,
    /// The tasks that git tracks and that have a command or a check, each with the hash of both.
    tasks: BTreeMap<TaskId, String>,
}

impl Record {
    /// As things are now.
    pub(super) fn of<'t>(place: &Place, tasks: impl IntoIterator<Item = &'t Task>) -> Result<Record> {
        let mut record = Record::default();
        let project = place.project();
        record.add(project, &teammates::config::path(place));
        for file in profiles::files(place)? {
            record.add(project, &file);
            let command = profiles::read(&file, Origin::Crew).ok().flatten().and_then(|profile| profile.command);
            command.iter().flat_map(|command| programs(project, command)).for_each(|program| record.add(project, &program));
        }
        match config::auditor(place).ok().flatten() {
            Some(Auditor::Command(command)) => programs(project, &command).into_iter().for_each(|program| record.add(project, &program)),
            Some(Auditor::Model(model)) => model.script.iter().for_each(|script| record.add(project, &project.join(script))),
            None => {}
        }
        let servers = config::servers(place).unwrap_or_default().into_iter().map(|server| Command::Exec(server.argv));
        let clis = config::clis(place).unwrap_or_default().into_iter().map(|(_, cli)| Command::Exec(vec![cli.program]));
        servers.chain(clis).flat_map(|command| programs(project, &command)).for_each(|program| record.add(project, &program));
        let goal = Goal::read(place).ok().flatten();
        let checks: Vec<&Command> = goal.iter().flat_map(|goal| &goal.checks).collect();
        if !checks.is_empty() {
            // The goal's words may change: they are read, not run. What a check names by a path is the team's work.
            record.files.insert("the checks of .crew/goal.md".into(), hash(serde_json::json!(checks).to_string().as_bytes()));
        }
        record.tasks.extend(tasks.into_iter().map(|task| (task.id.clone(), of_task(task))));
        Ok(record)
    }

    /// Whether this was allowed that a task would run.
    pub(super) fn allows(&self, task: &Task) -> bool {
        self.tasks.get(&task.id) == Some(&of_task(task))
    }

    /// What was allowed; `None`: nothing was, or it cannot be read.
    pub(crate) fn read(place: &Place) -> Option<Record> {
        let bytes = Dir::open(place.state()).ok()?.read(FILE).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Allows it from now on.
    pub(crate) fn write(&self, place: &Place) -> Result<()> {
        Dir::make(place.state(), 0o700)?.replace(FILE, serde_json::json!(self).to_string().as_bytes(), 0o600, true)
    }

    /// Whether all of this was allowed. Files and tasks that are gone or over since need no allowance.
    pub(super) fn is_within(&self, allowed: &Record) -> bool {
        self.files.iter().all(|(file, hash)| allowed.files.get(file) == Some(hash)) && self.tasks.iter().all(|(id, hash)| allowed.tasks.get(id) == Some(hash))
    }

    /// What is not there, or is no regular file, has no content that could change.
    fn add(&mut self, project: &Path, file: &Path) {
        if let Some(hash) = hash_of(file) {
            let name = file.strip_prefix(project).unwrap_or(file).to_string_lossy().into_owned();
            self.files.insert(name, hash);
        }
    }
}

/// Programs that run the file which is named next.
const INTERPRETERS: [&str; 14] = [".", "bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "python", "python3", "ruby", "sh"];
/// How the files of programs end that an interpreter runs.
const SCRIPTS: [&str; 14] = ["bash", "cjs", "fish", "js", "ksh", "lua", "mjs", "php", "pl", "py", "rb", "sh", "ts", "zsh"];

/// The files of a project that a command names and that may be executed. Others are what it works on, and change.
fn programs(project: &Path, command: &Command) -> Vec<PathBuf> {
    let words = words(command);
    let interpreted = |at: usize| at > 0 && words[..at].iter().rev().find(|word| !word.starts_with('-')).is_some_and(|word| is_interpreter(word));
    let files = words.iter().enumerate().map(|(at, word)| (project.join(word), interpreted(at)));
    files.filter(|(file, interpreted)| file.is_file() && (*interpreted || is_program(file))).map(|(file, _)| file).collect()
}

fn is_interpreter(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    INTERPRETERS.contains(&name) || name == "source"
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let executable = file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let script = file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| SCRIPTS.contains(&extension));
    executable || script || begins_as_script(file)
}

fn begins_as_script(file: &Path) -> bool {
    let mut begins = false;
    let read = written::read_pieces(file, |piece| {
        begins = piece.starts_with(b"#!");
        false
    });
    read.is_ok() && begins
}

/// What may be paths in a command.
fn words(command: &Command) -> Vec<String> {
    match command {
        Command::Exec(argv) => argv.clone(),
        Command::Shell(line) => {
            line.split(|c: char| c.is_whitespace() || "'\"`;|&()<>=$".contains(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
    }
}

/// What a task would run.
fn of_task(task: &Task) -> String {
    hash(serde_json::json!([task.run, task.check]).to_string().as_bytes())
}

/// So much of a file is hashed at a time, in bytes: more of it is never held.
const PIECE: usize = 1 << 20;

/// The hash of a file's content; `None`: it is not there, or no regular file. Of what is longer than a piece it is the
/// hash of the hashes of all pieces, and says so. One that cannot be read is told from what it is when it can be.
fn hash_of(file: &Path) -> Option<String> {
    let (mut piece, mut pieces) = (Vec::new(), Vec::new());
    let read = written::read_pieces(file, |read| {
        piece.extend_from_slice(read);
        while piece.len() > PIECE {
            pieces.push(hash(&piece[..PIECE]));
            piece.drain(..PIECE);
        }
        true
    });
    match read {
        Ok(false) => None,
        Ok(true) if pieces.is_empty() => Some(hash(&piece)),
        Ok(true) => {
            pieces.push(hash(&piece));
            Some(format!("pieces {}", hash(pieces.concat().as_bytes())))
        }
        Err(e) => Some(format!("no hash: {e}")),
    }
}

fn hash(bytes: &[u8]) -> String {
    Oid::hash_object(ObjectType::Blob, bytes).map_or_else(|e| format!("no hash: {}", e.message()), |id| id.to_string())
}
