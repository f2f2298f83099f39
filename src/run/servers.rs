//! The process that has the project's MCP servers: how it is started, what it does, and how it is ended.

use std::time::Duration;

use board::Board;
use board::place::Place;
use teammates::children::Children;
use teammates::environment;
use teammates::tools::servers::host::{self, Hosting};
use teammates::tools::servers::{self, HostCommand};

use crate::exit::{Exit, Failure, start};
use crate::interrupt;
use crate::log::{self, Log};
use crate::machine;

/// What starts it.
pub(crate) fn command(place: &Place) -> std::io::Result<HostCommand> {
    let arguments = vec!["-C".into(), place.project().into(), "start".into(), "--servers".into()];
    Ok(HostCommand { program: machine::program()?, arguments })
}

/// Lives until nobody was connected for so long, or it is told to end. To be called in a process of its own.
pub(crate) fn live(board: Board, idle: Duration) -> Result<Exit, Failure> {
    // What servers say to each call is no news.
    log::begin(Log::Warnings);
    let children = Children::new(environment::of_children(board.place())).map_err(start)?;
    let runtime = machine::runtime().map_err(start)?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let told = interrupt::told().map_err(start)?;
        let place = board.place().clone();
        let admits = |pid| host::is_teammate(&board, pid);
        match host::live(Hosting { place, children, idle, admits: &admits }, told).await? {
            true => Ok(Exit::DONE),
            false => Ok(Exit::NOTHING_TO_DO),
        }
    })
}

/// Ends it, where there is one. What cannot be ended is told in this process's log.
pub(crate) fn end(place: &Place) {
    if let Err(e) = servers::end(place.state()) {
        tracing::warn!("the MCP servers: {e}");
    }
}
