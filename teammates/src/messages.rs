//! Messages for a teammate: handed to a turn as a file, and taken out of the inbox when the turn has ended by itself.
//!
//! A teammate with a command of its own reads them in a turn of their own. One that only executes what tasks bring
//! hands them to the next attempt.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use board::disk::Dir;
use board::inbox::{Inbox, Kind, Waiting};
use board::task::Command;
use board::{Result, turn};

use crate::attempt;
use crate::lane::{self, Told};
use crate::process::{self, Ended, Spawn};
use crate::reading;
use crate::thinking::{Outcome, Thinker, Turn};
use crate::tools::crew::At;
use crate::workplace::{Seat, Workplace};

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// Messages that a turn was given.
#[derive(Debug)]
pub(crate) struct Delivered {
    ids: Vec<String>,
    file: PathBuf,
}

impl Delivered {
    /// Where the turn's command finds them.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        ("CREW_MESSAGES".into(), self.file.clone().into())
    }

    /// Takes them out of the inbox: the turn that read them has ended by itself.
    pub(crate) fn consume(&self, inbox: &Inbox) -> Result<()> {
        inbox.consume(&self.ids)
    }
}

/// Writes what waits into a file for a turn; `None`: nothing waits.
pub(crate) fn deliver(inbox: &Inbox, turn: &str, dir: &Dir) -> Result<Option<Delivered>> {
    if inbox.is_empty() {
        return Ok(None);
    }
    deliver_these(&inbox.read(Some(turn))?, turn, dir)
}

fn deliver_these(waiting: &Waiting, turn: &str, dir: &Dir) -> Result<Option<Delivered>> {
    let list: Vec<serde_json::Value> = said(waiting)
        .map(|message| serde_json::json!({ "id": message.id, "from": message.from, "at": message.at, "text": message.text, "again": waiting.again.contains(&message.id) }))
        .collect();
    if list.is_empty() {
        return Ok(None);
    }
    let name = format!("{turn}.messages.json");
    dir.replace(&name, &serde_json::to_vec_pretty(&list).unwrap_or_default(), 0o600, false)?;
    Ok(Some(Delivered { ids: said(waiting).map(|message| message.id.clone()).collect(), file: dir.join(&name) }))
}

fn said(waiting: &Waiting) -> impl Iterator<Item = &board::inbox::Message> {
    waiting.messages.iter().filter(|message| message.kind == Kind::Say)
}

/// What came of a turn over messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// It ended, or was cut short; what it did not consume comes again.
    Over,
    /// Its command could not even start: the messages wait.
    NotStarted,
}

/// Runs the command over the messages: as text on its standard input, as JSON in the file `$CREW_MESSAGES`.
///
/// They are consumed when it ends by itself, however it ends, or when its time is over; told to end, they come again.
pub async fn read(workplace: &Workplace, seat: &Seat, inbox: &Inbox, command: &Command, timeout: Option<Duration>, told: Told) -> Result<Read> {
    let turn = turn::fresh();
    let waiting = inbox.read(Some(&turn))?;
    let logs = Dir::make(&workplace.place().state().join("logs/messages"), 0o700)?;
    let Some(delivered) = deliver_these(&waiting, &turn, &logs)? else { return Ok(Read::Over) };
    let log = logs.open_append(&format!("{turn}.log"), 0o600)?;
    let spawn = Spawn {
        turn: &turn,
        argv: command.argv().into_iter().map(OsString::from).collect(),
        cwd: workplace.place().project().to_path_buf(),
        env: vec![("CREW_BOARD".into(), workplace.place().tasks().into()), ("CREW_AS".into(), seat.name().as_str().into()), delivered.variable()],
        stdin: process::as_stdin(&as_text(&waiting)).ok(),
        output: &log,
        errors: None,
        group_record: Some(seat.groups()),
    };
    reading::begin(workplace.place(), seat.name(), &turn)?;
    let running = workplace.children().spawn(spawn);
    let ended = match running {
        Ok(running) => running.wait(process::Ending { timeout, grace: GRACE, keep: false }, async { drop(lane::told_to_end(told).await) }).await,
        Err(e) => {
            tracing::warn!("the command over messages cannot start: {e}; the messages wait, and it is tried again later");
            reading::end(workplace.place(), seat.name())?;
            return Ok(Read::NotStarted);
        }
    };
    attempt::end_leftovers(workplace, seat, &turn, false).await;
    reading::end(workplace.place(), seat.name())?;
    match &ended {
        Ok(Ended::Exited(0)) => {}
        Ok(ended) => tracing::warn!("the command over messages ended with {ended:?}; its log is {}", logs.join(&format!("{turn}.log")).display()),
        Err(e) => tracing::warn!("the command over messages: {e}"),
    }
    if !matches!(ended, Ok(Ended::Cancelled)) {
        delivered.consume(inbox)?;
    }
    Ok(Read::Over)
}

/// Has a model read them, in a turn that is neither the thread's nor a task's. It takes them out of the inbox itself.
pub(crate) async fn think(workplace: &Workplace, seat: &Seat, thinker: &Thinker, told: Told) -> Result<Read> {
    let turn = Turn {
        at: At { name: thinker.name().clone(), turn: turn::fresh(), task: None, of_thread: false },
        request: "There are messages for you. This turn is for reading them: do what they call for, as far as it is yours to do. It ends with \
                  `idle`, and not with a post; you are given a turn of the thread, or a task, in which you post."
            .into(),
        index: None,
        workspace: workplace.place().project(),
        logs: Arc::new(Dir::make(&workplace.place().state().join("logs/messages"), 0o700)?),
    };
    // Should this process die: what the turn has started is found by that.
    reading::begin(workplace.place(), seat.name(), &turn.at.turn)?;
    let outcome = thinker.perform(&turn, lane::told_to_end(told)).await;
    attempt::end_leftovers(workplace, seat, &turn.at.turn, false).await;
    reading::end(workplace.place(), seat.name())?;
    Ok(match outcome {
        Outcome::Posted | Outcome::Silent(_) | Outcome::CutShort(_) => Read::Over,
        // They wait.
        Outcome::Limited { .. } | Outcome::Failed(_) => Read::NotStarted,
    })
}

fn as_text(waiting: &Waiting) -> String {
    let lines = said(waiting).map(|message| {
        let again = if waiting.again.contains(&message.id) { " (again: the turn that read it was cut short)" } else { "" };
        format!("{}{again}: {}\n", message.from, message.text)
    });
    lines.collect()
}
