//! `bash`: a command in the workspace, in a process group of its own, confined as far as the kernel can.
//!
//! What it prints goes to the turn's log; the answer has the end of it. What it leaves running is ended with it, unless it
//! was started in the background ([`Backgrounds`]). Whether it may run at all says the [`Gatekeeper`], each time.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Backgrounds, Workspace};
use crate::children::Children;
use crate::confinement::{self, Allowed, Confinement};
use crate::process::{Ended, Ending, Running, Spawn, SpawnError};
use crate::tools::gate_list::{Gatekeeper, Verdict};
use crate::tools::outputs::{Outputs, Writing};
use crate::tools::{Access, Answer, Family, Tool, bounds};

mod kept;

/// How long a command may take that says nothing of it, and the longest that it may ask for, in seconds.
const TIMEOUT: u64 = 120;
const LONGEST_TIMEOUT: u64 = 3600;
/// Between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// The board's own, and the person's.
const OF_BOARD: [&str; 2] = [board::place::TASKS, ".crew"];
/// From there git runs commands, as whoever uses it next.
const OF_GIT: [&str; 2] = [".git/hooks", ".git/config"];
/// What a repository does not have, and git would run commands by.
const NOT_OF_GIT: [&str; 2] = [".git/commondir", ".git/config.worktree"];
/// How much of an output is in the answer, in bytes.
const SHOWN: u64 = 16 << 10;

/// What a shell is to be.
pub struct Terms {
    /// Where its commands run.
    pub workspace: Arc<Workspace>,
    /// Where what they print goes.
    pub outputs: Arc<Outputs>,
    /// The children of this process.
    pub children: Children,
    /// Where they record their process groups: see [`Spawn::group_record`].
    pub groups: Option<File>,
    /// Set on top of what children inherit.
    pub env: Vec<(OsString, OsString)>,
    /// Who says which commands may run.
    pub gatekeeper: Rc<dyn Gatekeeper>,
    /// Whether they may write in the workspace.
    pub writes: bool,
    /// Directories for temporary files. One that contains anything of `spared` is not used; where none is left, the
    /// commands get one of their own.
    pub temps: Vec<PathBuf>,
    /// What else they may write, where they may write: caches, the repository of a worktree.
    pub also: Vec<PathBuf>,
    /// Directories that are never to be writable by way of one above them: the project, the state of the machine's side.
    pub spared: Vec<PathBuf>,
    /// Files that are empty for them, where the kernel can do that: keys.
    pub hidden: Vec<PathBuf>,
    /// Where the project's state is on the machine's side.
    pub state: PathBuf,
    /// The project, whose `.tasks/` and `.crew/` are not written.
    pub project: PathBuf,
    /// The turn that commands in the background belong to: see [`super::background_turn`].
    pub background_turn: String,
}

/// The shell of a teammate.
pub struct Shell {
    terms: Terms,
    program: &'static str,
    writable: Vec<PathBuf>,
    own_temp: Option<tempfile::TempDir>,
    backgrounds: Rc<Backgrounds>,
}

impl Shell {
    /// Makes one. `None`: it was to write nothing, and this kernel has no Landlock to hold it to that; a teammate that may
    /// not write has no shell there.
    pub fn new(terms: Terms) -> io::Result<Option<Shell>> {
        if !terms.writes && confinement::support().landlock.is_none() {
            return Ok(None);
        }
        let (workspace, contains) = (terms.workspace.path(), |above: &Path, path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(above)));
        let spared = || terms.spared.iter().map(PathBuf::as_path).chain((!terms.writes).then_some(workspace));
        let temps = terms.temps.iter().filter_map(|temp| temp.canonicalize().ok()).filter(|temp| !spared().any(|path| contains(temp, path)));
        let mut writable: Vec<PathBuf> = temps.collect();
        let own_temp = if writable.is_empty() { Some(tempfile::tempdir()?) } else { None };
        writable.extend(own_temp.iter().map(|temp| temp.path().to_path_buf()));
        if terms.writes {
            writable.push(workspace.to_path_buf());
            writable.extend(terms.also.iter().filter_map(|path| path.canonicalize().ok()));
        }
        let program = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        let backgrounds = Rc::new(Backgrounds::new(terms.children.clone(), terms.background_turn.clone()));
        Ok(Some(Shell { terms, program, writable, own_temp, backgrounds }))
    }

    /// What runs in the background.
    pub fn backgrounds(&self) -> &Rc<Backgrounds> {
        &self.backgrounds
    }

    async fn run(&self, input: Bash) -> Answer {
        match self.terms.gatekeeper.may_run(&input.command) {
            Verdict::Run => {}
            Verdict::Denied(why) => return Answer::failed(format!("This was not run, and will not be: {why}")),
            Verdict::Ask(what) => {
                return Answer::failed(format!(
                    "This was not run: it cannot be undone ({what}). Post a `gate` whose text has the command word for word between backticks, and says why. \
                     When that is approved, the command may be run once."
                ));
            }
        }
        let strange = self.not_of_git(|path| !path.exists());
        let compared = self.compared();
        let before = (!compared.is_empty()).then(|| kept::look(&compared));
        let mut answer = if input.background { self.in_background(input) } else { self.in_foreground(input).await };
        if let (Some(before), Answer::Result { text, is_error }) = (before, &mut answer)
            && let Some(changed) = kept::changed(&before, &kept::look(&compared))
        {
            tracing::warn!("while a command of turn {} ran, {changed} changed", self.terms.outputs.turn());
            text.push_str(&format!("\n[While this ran, {changed} changed. A command must not write there; if this one did, undo it and say so.]"));
            *is_error = true;
        }
        // Nobody needs these, and whoever uses git there next would run what they name.
        for path in strange.iter().filter(|path| path.exists()) {
            let how = taken_away(path).map_or_else(|e| format!("must go: {e}"), |()| "was taken away".to_owned());
            tracing::warn!("while a command of turn {} ran, {} was made; it {how}", self.terms.outputs.turn(), path.display());
            if let Answer::Result { text, is_error } = &mut answer {
                text.push_str(&format!("\n[{} was made, which nobody is to make; it {how}.]", path.display()));
                *is_error = true;
            }
        }
        answer
    }

    async fn in_foreground(&self, input: Bash) -> Answer {
        let turn = self.terms.outputs.turn();
        let timeout = Duration::from_secs(input.timeout.unwrap_or(TIMEOUT).clamp(1, LONGEST_TIMEOUT));
        let (running, writing) = match self.start(&turn, &input.command, self.terms.outputs.in_log(&format!("$ {}\n", input.command))) {
            Ok(started) => started,
            Err(e) => return Answer::failed(e),
        };
        let ended = running.wait(Ending { timeout: Some(timeout), grace: GRACE, keep: false }, std::future::pending()).await;
        super::background::end_left(&self.terms.children, &turn).await;
        let how = match &ended {
            Ok(Ended::Exited(code)) => format!("exit code {code}"),
            Ok(Ended::Signaled(signal)) => format!("ended by signal {signal}"),
            Ok(Ended::TimedOut) => format!("ended: it took longer than {} s; give it more time, or run it in the background", timeout.as_secs()),
            Ok(Ended::Cancelled) => "cancelled".to_owned(),
            Err(e) => e.to_string(),
        };
        let told = self.terms.outputs.end(&writing).and_then(|()| last(&self.terms.outputs, &writing.name));
        let text = format!("{how}\n{}", told.unwrap_or_else(|e| format!("[what it printed cannot be read: {e}]")));
        Answer::Result { text, is_error: !matches!(ended, Ok(Ended::Exited(0))) }
    }

    fn in_background(&self, input: Bash) -> Answer {
        let started = self.start(&self.terms.background_turn, &input.command, self.terms.outputs.alone());
        match started {
            Ok((running, writing)) => {
                let (pid, output) = (running.pid(), writing.name);
                let id = self.backgrounds.add(running, input.command, output.clone());
                let call = json!({ "path": output });
                Answer::done(format!(
                    "{id} runs in the background (process group {pid}). Its output: read_file {call}. You are told when it ends; to end it: end_background {}",
                    json!({ "id": id })
                ))
            }
            Err(e) => Answer::failed(e),
        }
    }

    fn start(&self, turn: &str, command: &str, writing: io::Result<Writing>) -> Result<(Running, Writing), String> {
        let writing = writing.map_err(|e| format!("This was not run: its log cannot be written: {e}"))?;
        let mut env = self.terms.env.clone();
        if let Some(temp) = &self.own_temp {
            env.push(("TMPDIR".into(), temp.path().into()));
        }
        let confinement = self.confinement(&writing).map_err(|e| format!("This was not run: it cannot be confined: {e}"))?;
        let spawn = Spawn {
            turn,
            argv: [self.program, "-c", command].map(OsString::from).to_vec(),
            cwd: self.terms.workspace.path().to_path_buf(),
            env,
            stdin: None,
            output: &writing.file,
            errors: None,
            group_record: self.terms.groups.as_ref(),
        };
        let running = match &confinement {
            Some(confinement) => self.terms.children.spawn_confined(spawn, confinement),
            None => self.terms.children.spawn(spawn),
        };
        let running = running.map_err(|e: SpawnError| format!("This was not run: {e}"))?;
        Ok((running, writing))
    }

    /// `None`: this kernel has none, and the teammate may write anyway.
    fn confinement(&self, writing: &Writing) -> io::Result<Option<Confinement>> {
        if confinement::support().landlock.is_none() {
            return Ok(None);
        }
        let mut writable = self.writable.clone();
        // `/dev/stderr` is the log once more, opened anew.
        writable.push(self.terms.outputs.path_of(&writing.name)?);
        let kept = if confinement::support().keeps { self.kept() } else { Vec::new() };
        Confinement::new(&Allowed { writable, kept, hidden: self.hidden(), pinned: self.pinned() }).map(Some)
    }

    /// Keys, and locks: whoever can open one can hold it, and everybody else waits.
    fn hidden(&self) -> Vec<PathBuf> {
        let state = self.terms.state.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let locks = state.filter(|path| path.extension().is_some_and(|ending| ending == "lock"));
        let own = [self.terms.project.join(board::place::TASKS).join(".board"), self.terms.state.join("inbox"), self.terms.state.join("teammates")];
        self.terms.hidden.iter().cloned().chain(locks).chain(own).collect()
    }

    fn pinned(&self) -> Vec<PathBuf> {
        [self.terms.workspace.path(), &self.terms.project]
            .map(|above| above.join(".git"))
            .into_iter()
            .filter(|path| self.writable.iter().any(|above| path.starts_with(above)))
            .collect()
    }

    /// What lies below what is writable and is not written: the board's directories, and what git runs commands from.
    fn kept(&self) -> Vec<PathBuf> {
        let of_git = |above: &Path| if above.join(".git").is_dir() { &OF_GIT[..] } else { &[] };
        let all =
            [self.terms.workspace.path(), &self.terms.project].into_iter().flat_map(|above| OF_BOARD.iter().chain(of_git(above)).map(|name| above.join(name)));
        let mut kept: Vec<PathBuf> = all.filter(|path| self.writable.iter().any(|above| path.starts_with(above))).collect();
        kept.sort();
        kept.dedup();
        kept
    }

    fn not_of_git(&self, is: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let all = [self.terms.workspace.path(), &self.terms.project].into_iter().filter(|above| above.join(".git").is_dir());
        all.flat_map(|above| NOT_OF_GIT.map(|name| above.join(name))).filter(|path| is(path)).collect()
    }

    /// What of that the kernel does not keep: all of it where it cannot, else what is not there yet and could be made.
    fn compared(&self) -> Vec<PathBuf> {
        let keeps = confinement::support().keeps;
        self.kept().into_iter().filter(|path| !keeps || !path.exists()).collect()
    }
}

fn taken_away(path: &Path) -> board::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return Ok(()) };
    board::disk::Dir::open(above)?.remove(name)
}

/// The end of an output, with the call that reads what is before it.
fn last(outputs: &Outputs, name: &str) -> io::Result<String> {
    let (text, length) = outputs.last(name, SHOWN)?;
    if length <= SHOWN {
        return Ok(text);
    }
    let shown = bounds::tail(&text, text.len().saturating_sub(1));
    let before = length.saturating_sub(shown.len() as u64);
    Ok(format!("[{before} bytes before this: read_file {}]\n{shown}", json!({ "path": name })))
}

/// The arguments of `bash`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Bash {
    /// The command.
    command: String,
    /// How long it may take, in seconds. Default: 120, at most 3600. Not for the background.
    #[serde(default)]
    timeout: Option<u64>,
    /// Run it in the background: for a server, or a long build. You are told when it ends. Default: false.
    #[serde(default)]
    background: bool,
}

/// The arguments of `end_background`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndBackground {
    /// What it was called when it was started: background 1 …
    id: String,
}

pub(super) fn end_background(shell: Rc<Shell>) -> Tool {
    let description = "End a command that runs in the background, with all that it has started. You are told when it has ended.";
    Tool::new("end_background", description, Family::Work, Access::Acts, move |input: EndBackground| {
        let shell = Rc::clone(&shell);
        async move {
            match shell.backgrounds.cancel(&input.id) {
                true => Answer::done(format!("{} is told to end.", input.id)),
                false => Answer::failed(format!("Nothing called {:?} runs in the background.", input.id)),
            }
        }
    })
}

pub(super) fn bash(shell: Rc<Shell>) -> Tool {
    let description = match shell.terms.writes {
        true => {
            "Run a command in the workspace, in a shell of its own. It reads no input. What it prints comes back, the end of it if it is much. It can \
             write in the workspace and in temporary directories only, not in .tasks/, .crew/, git's hooks and its config. What it leaves running is ended with it, unless it \
             runs in the background."
        }
        false => {
            "Run a command in the workspace, in a shell of its own, to look at things: it can write in temporary directories only. It reads no input. \
             What it prints comes back, the end of it if it is much. What it leaves running is ended with it, unless it runs in the background."
        }
    };
    Tool::new("bash", description, Family::Work, Access::Acts, move |input: Bash| {
        let shell = Rc::clone(&shell);
        async move { shell.run(input).await }
    })
}
