//! A turn over messages: a teammate with a command of its own reads what waits in its inbox.

use std::ffi::OsString;
use std::io::{Seek as _, Write as _};
use std::time::Duration;

use board::disk::Dir;
use board::inbox::{Inbox, Kind, Waiting};
use board::task::Command;
use board::{Result, turn};

use crate::attempt;
use crate::lane::{self, Told};
use crate::process::{self, Ended, Spawn};
use crate::workplace::{Seat, Workplace};

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the command over the messages: as text on its standard input, as JSON in the file `$CREW_MESSAGES`.
///
/// They are consumed when it ends by itself, however it ends; cut short, they come again.
pub async fn read(workplace: &Workplace, seat: &Seat, inbox: &Inbox, command: &Command, timeout: Option<Duration>, told: Told) -> Result<()> {
    let turn = turn::fresh();
    let waiting = inbox.read(Some(&turn))?;
    let logs = Dir::make(&workplace.place().state().join("logs/messages"), 0o700)?;
    let file = format!("{turn}.json");
    write_file(&logs, &file, &waiting)?;
    let log = logs.open_append(&format!("{turn}.log"), 0o600)?;
    let spawn = Spawn {
        turn: &turn,
        argv: command.argv().into_iter().map(OsString::from).collect(),
        cwd: workplace.place().project().to_path_buf(),
        env: vec![
            ("CREW_BOARD".into(), workplace.place().tasks().into()),
            ("CREW_AS".into(), seat.name().as_str().into()),
            ("CREW_MESSAGES".into(), logs.join(&file).into()),
        ],
        stdin: as_text(&waiting).ok(),
        output: &log,
        group_record: Some(seat.groups()),
    };
    let ended = match workplace.children().spawn(spawn) {
        Ok(running) => {
            running.wait(process::Ending { timeout, grace: GRACE, keep: false }, async { drop(lane::told_to_end(told).await) }).await.map_err(|e| e.to_string())
        }
        Err(e) => Err(e.to_string()),
    };
    attempt::end_leftovers(workplace, seat, &turn, false).await;
    match &ended {
        Ok(Ended::Exited(0)) => {}
        Ok(ended) => tracing::warn!("the command over messages ended with {ended:?}; its log is {}", logs.join(&format!("{turn}.log")).display()),
        Err(e) => tracing::warn!("the command over messages did not run: {e}"),
    }
    if !matches!(ended, Ok(Ended::Cancelled)) {
        let ids: Vec<String> = said(&waiting).map(|message| message.id.clone()).collect();
        inbox.consume(&ids)?;
    }
    Ok(())
}

fn said(waiting: &Waiting) -> impl Iterator<Item = &board::inbox::Message> {
    waiting.messages.iter().filter(|message| message.kind == Kind::Say)
}

/// Writes messages as JSON, for a command that reads `$CREW_MESSAGES`.
pub(crate) fn write_file(dir: &Dir, name: &str, waiting: &Waiting) -> Result<()> {
    let list: Vec<serde_json::Value> = said(waiting)
        .map(|message| serde_json::json!({ "id": message.id, "from": message.from, "at": message.at, "text": message.text, "again": waiting.again.contains(&message.id) }))
        .collect();
    dir.replace(name, &serde_json::to_vec_pretty(&list).unwrap_or_default(), 0o600, false)
}

fn as_text(waiting: &Waiting) -> std::io::Result<std::fs::File> {
    let mut file = tempfile::tempfile()?;
    for message in said(waiting) {
        let again = if waiting.again.contains(&message.id) { " (again: the turn that read it was cut short)" } else { "" };
        writeln!(file, "{}{again}: {}", message.from, message.text)?;
    }
    file.rewind()?;
    Ok(file)
}
