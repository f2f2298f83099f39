//! A turn of the thread. Whoever performs it is shown what is new, and moves with a post.
//!
//! A model is shown it as words, and posts with a tool. For a command the opening comes as text on standard input and as JSON in the file `$CREW_OPENING`. What the command prints goes
//! to its log and is never a move. The turn ends with its first post; the command then has a moment to end by itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use board::alive::Process;
use board::disk::Dir;
use board::run::{Begun, Ended, OpenTurn, Run};
use board::task::Command;
use board::{Result, clock, duration};
use tokio::time::Instant;

use crate::attempt::{self, Work};
use crate::gathering::{self, Gathered};
use crate::lane::{self, Told};
use crate::process::{self, Ended as Exited, Spawn};
use crate::profile::Profile;
use crate::thinking::{Outcome, Thinker, Turn};
use crate::tools::crew::At;
use crate::workplace::{Seat, Workplace};

/// How long the thread's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long a command may take to end by itself after its post.
const AFTER_POST: Duration = Duration::from_secs(5);
/// How often the turn is looked at, besides when something has changed.
const POLL: Duration = Duration::from_secs(5);

/// Whether the open turn is this teammate's, and nobody has taken it up.
pub(crate) fn is_next(run: &Run, name: &str) -> bool {
    // A record that cannot be read now can be at the next look.
    run.open_turn().ok().flatten().is_some_and(|turn| turn.of == name && turn.begun.is_none() && turn.stop.is_none())
}

/// Takes the open turn up and performs it. `false`: it was not there any more.
pub(crate) async fn speak(workplace: &Workplace, seat: &Seat, run: &Run, profile: &Profile, by: &Work, told: Told) -> Result<bool> {
    let Some((turn, opening)) = begin(workplace, seat, run, profile)? else { return Ok(false) };
    let ended = match by {
        Work::Command(command) => by_command(workplace, seat, run, profile, (&turn, &opening), command, told).await?,
        Work::Model(thinker) => by_model(workplace, run, profile, (&turn, &opening), thinker, told).await?,
    };
    say_ended(run, &turn.turn, ended)?;
    Ok(true)
}

/// Until a turn is to end: its teammate is told to, or it is over.
async fn cut_short(workplace: &Workplace, run: &Run, turn: &OpenTurn, told: Told) -> String {
    tokio::select! {
        why = lane::told_to_end(told) => why,
        () = over(workplace, run, turn) => "it was ended".into(),
    }
}

async fn by_model(
    workplace: &Workplace,
    run: &Run,
    profile: &Profile,
    (turn, opening): (&OpenTurn, &Gathered),
    thinker: &Thinker,
    told: Told,
) -> Result<Ended> {
    let place = workplace.place();
    let request = Turn {
        at: At { name: thinker.name().clone(), turn: turn.turn.clone(), task: None, of_thread: true },
        request: opening.text.clone(),
        index: None,
        workspace: place.project(),
        logs: Arc::new(place.turn_logs()?),
    };
    let ended = |how: String| Ended { exit: None, how, lost: false, limited: false };
    let cut_short = async {
        tokio::select! {
            why = cut_short(workplace, run, turn, told) => why,
            limit = attempt::after(profile.timeout) => format!("it took longer than its timeout, {}", duration::print(limit)),
        }
    };
    Ok(match thinker.perform(&request, cut_short).await {
        Outcome::Posted => ended("it has posted".into()),
        Outcome::Silent(how) | Outcome::Failed(how) | Outcome::CutShort(how) => ended(how),
        Outcome::Limited { why, .. } => Ended { limited: true, ..ended(why) },
    })
}

async fn by_command(
    workplace: &Workplace,
    seat: &Seat,
    run: &Run,
    profile: &Profile,
    (turn, opening): (&OpenTurn, &Gathered),
    command: &Command,
    told: Told,
) -> Result<Ended> {
    let logs = workplace.place().turn_logs()?;
    let log = logs.open_append(&format!("{}.log", turn.turn), 0o600)?;
    let (file, stdin) = write(&logs, turn, opening)?;
    let spawn = Spawn {
        turn: &turn.turn,
        argv: command.argv().into_iter().map(OsString::from).collect(),
        cwd: workplace.place().project().to_path_buf(),
        env: vec![
            ("CREW_BOARD".into(), workplace.place().tasks().into()),
            ("CREW_AS".into(), seat.name().as_str().into()),
            ("CREW_OPENING".into(), file.into()),
            ("CREW_LOG_DIR".into(), logs.path().into()),
        ],
        stdin,
        output: &log,
        errors: None,
        group_record: Some(seat.groups()),
    };
    let ended = |exit, how: String| Ended { exit, how, lost: false, limited: false };
    Ok(match workplace.children().spawn(spawn) {
        Ok(running) => {
            let cancel = async { drop(cut_short(workplace, run, turn, told).await) };
            let ending = process::Ending { timeout: profile.timeout, grace: GRACE, keep: false };
            let exited = running.wait(ending, cancel).await;
            attempt::end_leftovers(workplace, seat, &turn.turn, false).await;
            match exited {
                Ok(Exited::Exited(code)) => ended(Some(code), format!("its command ended with exit code {code}")),
                Ok(Exited::Signaled(signal)) => ended(None, format!("its command was ended by signal {signal}")),
                Ok(Exited::TimedOut) => ended(None, "its command took longer than its timeout".into()),
                Ok(Exited::Cancelled) => ended(None, "its command was ended".into()),
                Err(e) => ended(None, e.to_string()),
            }
        }
        Err(e) => ended(None, format!("its command could not start: {e}")),
    })
}

/// Names this process as the one that performs the turn, and gathers what it is shown.
fn begin(workplace: &Workplace, seat: &Seat, run: &Run, profile: &Profile) -> Result<Option<(OpenTurn, Gathered)>> {
    let thread = run.thread.lock(PATIENCE)?;
    let Some(mut turn) = thread.open_turn()?.filter(|turn| turn.of == seat.name().as_str() && turn.begun.is_none() && turn.stop.is_none()) else {
        return Ok(None);
    };
    let opening = gathering::gather(workplace.place(), run, profile, &turn)?;
    turn.begun = Some(Begun { process: Process::current().clone(), at: clock::now(), seen: opening.seen, answers: opening.answers.clone() });
    thread.set_open_turn(Some(&turn))?;
    Ok(Some((turn, opening)))
}

/// The opening as a file of JSON, and as text to be read.
fn write(logs: &Dir, turn: &OpenTurn, opening: &Gathered) -> Result<(PathBuf, Option<std::fs::File>)> {
    let name = format!("{}.opening.json", turn.turn);
    logs.replace(&name, opening.json.to_string().as_bytes(), 0o600, false)?;
    // Without room for a temporary file there is the file of JSON.
    Ok((logs.join(&name), process::as_stdin(&opening.text).ok()))
}

/// Waits until the turn is over: it was closed, is to end, or has its post and had a moment since.
async fn over(workplace: &Workplace, run: &Run, turn: &OpenTurn) {
    let mut looked = workplace.looked();
    let mut posted: Option<Instant> = None;
    loop {
        let next = posted.map_or_else(|| Instant::now() + POLL, |posted| posted + AFTER_POST);
        let by_the_clock = tokio::time::timeout_at(next, looked.changed()).await.is_err();
        if posted.is_some() && by_the_clock {
            return;
        }
        match run.open_turn() {
            Ok(Some(open)) if open.turn == turn.turn && open.stop.is_some() => return,
            Ok(Some(open)) if open.turn == turn.turn => {}
            // Closed: with its post it may end by itself, without it is over at once.
            Ok(_) if has_post(run, turn) => posted = posted.or_else(|| Some(Instant::now())),
            Ok(_) => return,
            Err(_) => {}
        }
    }
}

fn has_post(run: &Run, turn: &OpenTurn) -> bool {
    run.thread.since(turn.after).is_ok_and(|posts| posts.iter().any(|post| post.turn.as_ref() == Some(&turn.turn)))
}

/// Says how the turn's command ended, where the turn is still open.
pub(crate) fn say_ended(run: &Run, turn: &str, ended: Ended) -> Result<()> {
    let thread = run.thread.lock(PATIENCE)?;
    if let Some(open) = thread.open_turn()?.filter(|open| open.turn == turn) {
        thread.set_open_turn(Some(&OpenTurn { ended: Some(ended), ..open }))?;
    }
    Ok(())
}
