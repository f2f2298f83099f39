//! The supervisor: starts the daemon, and again when it dies with the run still active.

use std::collections::VecDeque;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::clock;
use board::events::Events;
use board::lock::{LockFile, Mode};
use board::run::{Reason, Run, RunState};
use serde_json::json;
use teammates::tools::servers::is_any_held;

use crate::config;
use crate::context::Context;
use crate::exit::{Exit, Failure, start};
use crate::log::{self, Log};
use crate::machine;
use crate::run::at_work::{self, Part};
use crate::run::awake::Awake;
use crate::run::{servers, suspending};

/// Within so long …
const SPAN: Duration = Duration::from_secs(5 * 60);
/// … so many restarts are made.
const MOST_RESTARTS: usize = 5;
/// How often a daemon that another supervisor has left is asked whether it lives.
const POLL: Duration = Duration::from_millis(200);

/// Lives until the run is not active any more, or the daemon has died too often.
pub(crate) fn live(context: &Context) -> Result<Exit, Failure> {
    log::begin(Log::Diary);
    let board = context.board()?;
    let run = Run::of(board.place())?;
    let Some(_held) = Part::Supervisor.hold(&run)? else {
        return Err(Failure::Refused { rule: "one-supervisor", message: "another supervisor of this project is at work".into() });
    };
    at_work::sign_supervisor(&run)?;
    let events = Events::of_run(Arc::clone(run.dir()));
    let mut restarts = VecDeque::new();
    if wait_for_the_last(&run)? && !run.state.read()?.state.is_active() {
        return Ok(Exit::DONE);
    }
    let mut awake = None;
    loop {
        let mut daemon = begin(context, &board, &run)?;
        awake.get_or_insert_with(Awake::begin);
        let status = daemon.wait().map_err(start)?;
        let state = run.state.read()?;
        if !state.state.is_active() {
            tracing::info!("the daemon has ended: the run is {}", state.state);
            drop(awake);
            // What a notice holds is shown to a person; it ends with its release, or with `crew stop`.
            if !is_any_held(&run) {
                servers::end(board.place());
            }
            if config::read(board.place()).is_ok_and(|config| config.suspend_on_completion) {
                suspending::suspend(&run, &state);
            }
            return Ok(Exit::DONE);
        }
        restarts.retain(|at: &Instant| at.elapsed() < SPAN);
        if restarts.len() >= MOST_RESTARTS {
            return give_up(&run, &events, restarts.len());
        }
        restarts.push_back(Instant::now());
        tracing::warn!("the daemon died ({status}) while the run was {}; it is started again", state.state);
        let _ = events.tell("supervisor.restart", json!({ "how": status.to_string(), "restarts": restarts.len() }));
    }
}

/// A daemon may have outlived its supervisor: it goes on, and only then another one begins. `true`: one had.
fn wait_for_the_last(run: &Run) -> Result<bool, Failure> {
    let lock = LockFile::open(run.dir(), Part::Daemon.lock())?;
    let mut waited = false;
    while lock.try_lock(Mode::Exclusive)?.is_none() {
        waited = true;
        std::thread::sleep(POLL);
    }
    Ok(waited)
}

fn begin(context: &Context, board: &board::Board, run: &Run) -> Result<Child, Failure> {
    let log = run.dir().open_append("daemon.log", 0o600)?;
    let project = context.directory().join(board.place().project());
    let arguments = ["-C".into(), project.into(), "start".into(), "--daemon".into()];
    teammates::detach::start(&machine::program().map_err(start)?, &arguments, &log).map_err(start)
}

fn give_up(run: &Run, events: &Events, restarts: usize) -> Result<Exit, Failure> {
    let text = format!(
        "the daemon died {} times within {} minutes, and is not started again; {} says why, `crew start` tries again",
        restarts + 1,
        SPAN.as_secs() / 60,
        run.dir().join("daemon.log").display()
    );
    tracing::error!("{text}");
    let _ = events.tell("supervisor.giveup", json!({ "restarts": restarts }));
    run.state.update(|state| {
        state.daemon = None;
        state.state = RunState::Error;
        state.reason = Some(Reason { code: "giveup".into(), who: None, text, at: clock::now(), until: None });
    })?;
    Ok(Exit::FAILED)
}
