//! Ctrl-C and SIGTERM: whatever runs is told to end, once.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// From now on the first SIGINT, SIGTERM or SIGHUP tells lanes to end. The answer becomes true when one came. To be
/// called within a `LocalSet`.
pub(crate) fn forward_to(stop: &watch::Sender<Option<String>>) -> io::Result<Rc<Cell<bool>>> {
    let interrupted = Rc::new(Cell::new(false));
    let (flag, stop) = (Rc::clone(&interrupted), stop.clone());
    let told = told()?;
    tokio::task::spawn_local(async move {
        told.await;
        flag.set(true);
        stop.send_replace(Some("interrupted".into()));
    });
    Ok(interrupted)
}

/// Waits for the first SIGINT, SIGTERM or SIGHUP.
pub(crate) fn told() -> io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate, mut hangup) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
