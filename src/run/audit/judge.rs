//! The audit itself: first facts, then judgement.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::time::Duration;

use board::disk::Dir;
use board::facts::Phase;
use board::run::Run;
use board::task::{Command, Task};
use board::{Board, Result, tree, turn};
use serde_json::json;
use teammates::goal::Goal;
use teammates::process::{self, Ended};
use teammates::trial;
use teammates::workplace::Workplace;

use super::model::Asking;
use crate::arming;
use crate::config::{Auditor, AuditorModel};
use crate::context::Context;
use crate::exit::{Exit, Failure, start};
use crate::machine;
use crate::rules::audit::{self, CheckRun, Verdict};
use crate::run::settings::Settings;

/// How long a check, or the auditor, may take.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// So much of a check's output, from its end, is looked at and told.
const MOST_OUTPUT: u64 = 64 << 10;
/// So much of the diff is given to the auditor, in bytes.
const MOST_DIFF: usize = 256 << 10;

/// Audits, and writes the verdict into the file that the daemon waits for. To be called in a process of its own.
pub(crate) fn judge(context: &Context, id: &str) -> Result<Exit, Failure> {
    let mut board = context.board_on_every_core()?;
    let settings = Settings::read(&mut board)?;
    // What a `done` is judged by may have changed since the run began.
    arming::check(&mut board)?;
    board.look()?;
    let run = Run::of(board.place())?;
    let baseline = run.state.read()?.baseline;
    let dir = Dir::make(&board.place().state().join("logs/audits"), 0o700)?;
    let goal = Goal::read(board.place()).map_err(|e| Failure::Usage(e.to_string()))?;
    let tasks = tasks(&board);
    let workplace = Workplace::open(board).map_err(start)?;
    let auditing = Auditing { workplace, settings, goal, tasks, baseline, dir: &dir, id };
    let runtime = machine::runtime().map_err(start)?;
    let verdict = tokio::task::LocalSet::new().block_on(&runtime, auditing.verdict())?;
    dir.replace(&super::verdict_file(id), json!(verdict).to_string().as_bytes(), 0o600, true)?;
    Ok(Exit::DONE)
}

/// The tasks that are not to be left out of what is judged.
fn tasks(board: &Board) -> Vec<Task> {
    let ids = board.index().entries().filter(|(_, entry)| entry.facts().is_some_and(|facts| facts.status != Phase::Cancelled)).map(|(id, _)| id);
    ids.filter_map(|id| board.read_task(id).ok()).map(|(_, task)| task).collect()
}

struct Auditing<'a> {
    workplace: Workplace,
    settings: Settings,
    goal: Option<Goal>,
    tasks: Vec<Task>,
    baseline: Option<String>,
    dir: &'a Dir,
    id: &'a str,
}

impl Auditing<'_> {
    async fn verdict(&self) -> Result<Verdict, Failure> {
        let unfinished: Vec<String> =
            self.tasks.iter().filter(|task| task.status != board::task::Status::Completed).map(|task| format!("{} ({})", task.id, task.status)).collect();
        if !unfinished.is_empty() {
            return Ok(gap(format!("these tasks are not completed: {}; complete them, or cancel what is not to be done", unfinished.join(", "))));
        }
        let mut checks = Vec::new();
        for command in self.checks() {
            self.still_wanted()?;
            checks.push(self.check(command).await?);
        }
        self.still_wanted()?;
        let project = self.workplace.place().project();
        let failed: Vec<String> = checks.iter().filter_map(|check| audit::failed(check, |word| !project.join(word).exists())).collect();
        if !failed.is_empty() {
            return Ok(gap(format!("these checks do not pass:\n{}", failed.join("\n"))));
        }
        match &self.settings.auditor {
            Some(Auditor::Command(auditor)) => self.ask(auditor, &checks).await,
            Some(Auditor::Model(auditor)) => self.ask_model(auditor, &checks).await,
            None if checks.is_empty() => {
                Ok(gap("there is nothing to judge by: no check in .crew/goal.md or in a task, and no `auditor` in .crew/config.toml".into()))
            }
            None => Ok(Verdict { accept: true, gap: String::new() }),
        }
    }

    /// An audit that is not on record any more was ended, or another has begun.
    fn still_wanted(&self) -> Result<(), Failure> {
        let state = Run::of(self.workplace.place())?.state.read()?;
        match state.audit.is_some_and(|audit| audit.id == self.id) {
            true => Ok(()),
            false => Err(Failure::Failed(format!("the audit {} is not wanted any more", self.id))),
        }
    }

    /// The acceptance checks of the goal and of the tasks, each once.
    fn checks(&self) -> Vec<&Command> {
        let all = self.goal.iter().flat_map(|goal| &goal.checks).chain(self.tasks.iter().filter_map(|task| task.check.as_ref()));
        let mut checks: Vec<&Command> = Vec::new();
        for check in all {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
        checks
    }

    async fn check(&self, command: &Command) -> Result<CheckRun, Failure> {
        let (mut output, log) = self.file("check")?;
        let ended = trial::run(&self.workplace, self.id, command, None, &log, None, LONGEST).await;
        let exit = match ended {
            Ok(Ended::Exited(code)) => Some(code),
            Ok(_) => None,
            Err(why) => {
                writeln!(output, "{why}")?;
                None
            }
        };
        Ok(CheckRun { command: command.clone(), exit, output: end_of(&mut output)? })
    }

    /// The auditor: a command that did not do the work. It reads what there is as JSON, and answers as JSON.
    async fn ask(&self, auditor: &Command, checks: &[CheckRun]) -> Result<Verdict, Failure> {
        let (mut answer, log) = self.file("answer")?;
        let stdin = process::as_stdin(&self.question(checks)?.to_string())?;
        // What it says beside its answer goes into the audit's log.
        let told = self.dir.open_append(&format!("{}.log", self.id), 0o600)?;
        let ended = trial::run(&self.workplace, self.id, auditor, Some(stdin), &log, Some(&told), LONGEST).await;
        let said = end_of(&mut answer)?;
        Ok(match ended {
            Ok(Ended::Exited(0)) => Verdict::parse(&said).unwrap_or_else(|why| gap(format!("the auditor has not answered: {why}"))),
            Ok(ended) => gap(format!("the auditor has not answered: it ended with {ended:?}")),
            Err(why) => gap(format!("the auditor has not answered: {why}")),
        })
    }

    /// The auditor: a model that did not do the work. What was asked and answered is recorded beside the verdicts.
    async fn ask_model(&self, auditor: &AuditorModel, checks: &[CheckRun]) -> Result<Verdict, Failure> {
        let (mut answer, _) = self.file("answer")?;
        let place = self.workplace.place();
        let asked = async {
            let asking = Asking::of(place, auditor, self.dir, self.id)?;
            let said = asking.ask(&self.question(checks)?).await.map_err(Failure::Failed)?;
            answer.write_all(said.as_bytes())?;
            Verdict::of_model(&said).map_err(Failure::Failed)
        };
        let verdict = tokio::time::timeout(LONGEST, asked).await.unwrap_or_else(|_| Err(Failure::Failed("its time was up".into())));
        Ok(verdict.unwrap_or_else(|why| gap(format!("the auditor has not answered: {}", why.message()))))
    }

    fn question(&self, checks: &[CheckRun]) -> Result<serde_json::Value> {
        let place = self.workplace.place();
        let now = tree::sha(place)?;
        let diff = match (&self.baseline, &now) {
            (Some(before), Some(now)) => Some(tree::diff(place, before, now, MOST_DIFF)?),
            _ => None,
        };
        let checks: Vec<_> = checks.iter().map(|check| json!({ "command": check.command.to_string(), "exit": check.exit, "output": check.output })).collect();
        let tasks: Vec<_> = self.tasks.iter().map(|task| json!({ "id": task.id, "subject": task.subject, "result": task.result })).collect();
        Ok(json!({ "goal": self.goal.as_ref().map(|goal| &goal.text), "tree": now, "diff": diff, "checks": checks, "tasks": tasks }))
    }

    /// A file for output: to read from, and to append to.
    fn file(&self, what: &str) -> Result<(File, File)> {
        let name = format!("{}.{what}.{}", self.id, turn::fresh());
        Ok((self.dir.open_record(&name, 0o600)?, self.dir.open_append(&name, 0o600)?))
    }
}

fn gap(gap: String) -> Verdict {
    Verdict { accept: false, gap }
}

fn end_of(file: &mut File) -> std::io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(std::io::SeekFrom::Start(length.saturating_sub(MOST_OUTPUT)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
