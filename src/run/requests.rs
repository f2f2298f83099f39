//! What a person asks of a run, as files that the daemon sees.

use std::path::PathBuf;

use board::Result;
use board::disk::Dir;

use crate::rules::boundary::Request;

const STOP: &str = "stop.request";
const PAUSE: &str = "pause.request";

/// The files of both requests.
pub(crate) fn files(state: &Dir) -> [PathBuf; 2] {
    [STOP, PAUSE].map(|name| state.join(name))
}

/// Asks for it.
pub(crate) fn ask(state: &Dir, request: Request) -> Result<()> {
    let name = match request {
        Request::Stop => STOP,
        Request::Pause => PAUSE,
    };
    state.replace(name, format!("{}\n", board::clock::now()).as_bytes(), 0o600, true)
}

/// What is asked for: a stop before a pause.
pub(crate) fn pending(state: &Dir) -> Result<Option<Request>> {
    for (name, request) in [(STOP, Request::Stop), (PAUSE, Request::Pause)] {
        if state.stat(name)?.is_some() {
            return Ok(Some(request));
        }
    }
    Ok(None)
}

/// Takes what was asked for back, or off the list when it was done.
pub(crate) fn withdraw(state: &Dir) -> Result<()> {
    state.remove(STOP)?;
    state.remove(PAUSE)
}
