//! `crew logs`: what a task's command, or a teammate, has written.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use board::Board;
use board::name::Name;
use board::run::Run;
use board::task::{Attempt, Task};
use board::task_id::TaskId;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::view::escape;

/// Print the log of a task's last attempt, of a teammate, or of a turn of the thread
#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// A task's id, a teammate's name or a turn's id; the first that there is
    #[arg(value_name = "ID|NAME|TURN")]
    of: String,
    /// Go on printing what is written, until its writer ends
    #[arg(short, long)]
    follow: bool,
}

/// Between two looks at a log that is followed.
const LOOK: Duration = Duration::from_millis(100);

/// Whose log it is.
enum Writer {
    /// A turn on a task.
    Turn(TaskId, String),
    /// A teammate.
    Teammate(Name),
    /// A turn of the thread.
    Speaker(String),
}

impl Logs {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let (path, writer) = self.find(&board)?;
        let file = File::open(&path).map_err(|e| Failure::Failed(format!("cannot read the log {}: {e}", path.display())))?;
        let mut printed = print_from(&file, 0)?;
        let mut goes_on = self.follow;
        while goes_on {
            // Asked before the last look, so that nothing is missed that was written until the end.
            goes_on = is_writing(&board, &writer);
            printed = print_from(&file, printed)?;
            if goes_on {
                std::thread::sleep(LOOK);
            }
        }
        Ok(Exit::DONE)
    }

    fn find(&self, board: &Board) -> Result<(PathBuf, Writer), Failure> {
        let none = |message: String| Failure::Refused { rule: "no-log", message };
        let task = TaskId::new(&self.of).ok().and_then(|id| board.read_task(&id).ok().or_else(|| board.read_archived(&id)));
        if let Some((_, task)) = task {
            let claim = task.claim.as_ref().map(|claim| (&claim.turn, &claim.by));
            let last = claim.or(task.attempts.last().map(|last| (&last.turn, &last.by)));
            let (turn, by) = last.ok_or_else(|| none(format!("task {} has had no attempt yet", self.of)))?;
            let log = board.place().log(&task.id, turn);
            return match log.exists() {
                true => Ok((log, Writer::Turn(task.id.clone(), turn.clone()))),
                false => Err(none(no_log(board, &task, turn, by))),
            };
        }
        let name = Name::new(&self.of).map_err(board::Error::from)?;
        let log = board.place().teammate_log(&name);
        let spoken = board.place().turn_log(name.as_str());
        match (log.is_file(), spoken.is_file()) {
            (true, _) => Ok((log, Writer::Teammate(name))),
            (false, true) => Ok((spoken, Writer::Speaker(name.to_string()))),
            (false, false) => Err(none(format!("there is neither a task nor a log of a teammate or a turn called {name}"))),
        }
    }
}

/// What there is instead of the log of an attempt.
fn no_log(board: &Board, task: &Task, turn: &str, by: &str) -> String {
    let id = &task.id;
    let attempts = || (1..).zip(&task.attempts);
    let why = match attempts().find(|(_, attempt)| attempt.turn == turn) {
        Some((number, Attempt { log: Some(log), .. })) => format!("the log of attempt {number} at task {id}, by {by}, is not here: {log}"),
        Some((number, _)) => format!("attempt {number} at task {id} has no log: {by} did it, and crew ran no command for it"),
        None => format!("the attempt at task {id} under way has no log: {by} is at it, and crew runs no command for it"),
    };
    let earlier = attempts().filter(|(_, attempt)| attempt.turn != turn).map(|(number, attempt)| (number, board.place().log(id, &attempt.turn)));
    let logs: Vec<String> = earlier.filter(|(_, log)| log.is_file()).map(|(number, log)| format!("\nattempt {number} has one: {}", log.display())).collect();
    format!("{why}; `crew show {id}` shows its attempts and its result{}", logs.concat())
}

fn is_writing(board: &Board, writer: &Writer) -> bool {
    match writer {
        Writer::Turn(id, turn) => board.read_task(id).is_ok_and(|(_, task)| task.claim.is_some_and(|claim| claim.turn == *turn)),
        Writer::Teammate(name) => board.lives(name),
        Writer::Speaker(turn) => {
            let open = Run::existing(board.place()).and_then(|run| run.map_or(Ok(None), |run| run.open_turn()));
            open.is_ok_and(|open| open.is_some_and(|open| open.turn == *turn && open.ended.is_none()))
        }
    }
}

/// Prints a log from an offset on; returns where it ends now. Control characters never reach a terminal.
fn print_from(mut file: &File, offset: u64) -> Result<u64, Failure> {
    file.seek(SeekFrom::Start(offset))?;
    let mut out = std::io::stdout().lock();
    let mut bytes = vec![0; 64 << 10];
    let mut end = offset;
    loop {
        let count = file.read(&mut bytes)?;
        if count == 0 {
            break;
        }
        end += count as u64;
        match crate::terminal::is_terminal() {
            true => out.write_all(escape::block(&String::from_utf8_lossy(&bytes[..count])).as_bytes())?,
            false => out.write_all(&bytes[..count])?,
        }
    }
    out.flush()?;
    Ok(end)
}
