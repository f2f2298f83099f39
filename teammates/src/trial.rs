//! A command that is run to see how it ends: a check, an auditor. It is part of no task, and nothing of it stays.

use std::ffi::OsString;
use std::fs::File;
use std::time::Duration;

use board::task::Command;

use crate::leftovers;
use crate::process::{Ended, Ending, Spawn};
use crate::workplace::Workplace;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// Ends what is left of the commands that were run for a turn, by whichever process: after that died.
pub fn end_left(turn: &str) {
    if let Err(e) = leftovers::end(turn, &[], GRACE) {
        tracing::warn!("what was run for {turn}: {e}");
    }
}

/// Runs it in the project, at most `longest`, with its output in `output`, but for its standard error where `errors` is its place. An
/// error says why it did not run, in words.
pub async fn run(
    workplace: &Workplace,
    turn: &str,
    command: &Command,
    stdin: Option<File>,
    output: &File,
    errors: Option<&File>,
    longest: Duration,
) -> Result<Ended, String> {
    let env = vec![("CREW_BOARD".into(), workplace.place().tasks().into())];
    let argv = command.argv().into_iter().map(OsString::from).collect();
    let spawn = Spawn { turn, argv, cwd: workplace.place().project().to_path_buf(), env, stdin, output, errors, group_record: None };
    let running = workplace.children().spawn(spawn).map_err(|e| e.to_string())?;
    let ending = Ending { timeout: Some(longest), grace: GRACE, keep: false };
    let ended = running.wait(ending, &mut std::pin::pin!(std::future::pending::<()>())).await.map_err(|e| e.to_string());
    if workplace.children().orphaned().unwrap_or(true) {
        leftovers::end(turn, &[], GRACE).map_err(|e| e.to_string())?;
    }
    ended
}
