//! The crew's tools for one MCP client, until that goes.
//!
//! The protocol is spoken on this process's first thread. What is asked for is done on a second one, one after the other
//! ([`session`]): it waits for locks, and nobody who goes is to wait for that. Cut short in the middle of a call the process
//! ends as after a `kill -9`, which everything that is written here bears.

mod resources;
mod session;

use board::Board;
use board::name::Name;
use teammates::tools::offered::{self, Asked, Offer};
use teammates::workplace::Workplace;
use tokio::sync::mpsc;

use crate::context::Within;
use crate::exit::{Exit, Failure, start};
use crate::interrupt;
use crate::log::{self, Log};
use crate::machine;
use session::{Seat, Session};

/// Serves standard input and output. `within`: the turn that this process is part of.
pub(crate) fn serve(board: Board, name: Name, within: Within) -> Result<Exit, Failure> {
    log::begin(Log::Warnings);
    let workplace = Workplace::open(board).map_err(start)?;
    let seat = Seat::of(&workplace, name, within)?;
    let tools = Session::new(workplace.clone(), seat.clone()).tools();
    let offer = Offer {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        instructions: seat.instructions(),
        only_read: tools.definitions().iter().filter(|tool| tools.only_reads(&tool.name)).map(|tool| tool.name.clone()).collect(),
        tools: tools.definitions().to_vec(),
        resources: resources::ALL.to_vec(),
    };
    let (ask, asked) = mpsc::unbounded_channel();
    std::thread::Builder::new().name("calls".into()).spawn(move || answer(workplace, seat, asked)).map_err(start)?;
    let runtime = machine::runtime().map_err(start)?;
    let ended = runtime.block_on(async {
        let told = interrupt::told().map_err(start)?;
        tokio::select! {
            served = offered::serve(offer, ask, tokio::io::stdin(), tokio::io::stdout()) => {
                served.map(|()| Exit::DONE).map_err(|why| Failure::Failed(format!("no MCP client speaks here: {why}")))
            }
            () = told => Ok(Exit::INTERRUPTED),
        }
    });
    // Whoever reads the standard input may wait for a line that never comes.
    runtime.shutdown_background();
    ended
}

/// Does what is asked for, until nobody can ask any more.
fn answer(workplace: Workplace, seat: Seat, mut asked: mpsc::UnboundedReceiver<Asked>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
    let mut session = Session::new(workplace.clone(), seat);
    runtime.block_on(async {
        while let Some(asked) = asked.recv().await {
            // Nobody waits: it was taken back, or the client has gone.
            match asked {
                Asked::Call(call, tell) if !tell.is_closed() => drop(tell.send(session.call(&call).await)),
                Asked::Read(uri, tell) if !tell.is_closed() => drop(tell.send(resources::read(&mut workplace.board(), &uri))),
                Asked::Call(..) | Asked::Read(..) => {}
            }
        }
    });
}
