//! The process of a server: seen to its end, with its group and what has left that.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::meeting::{self, GRACE};
use super::server::Means;
use crate::launch;
use crate::leftovers;
use crate::process::{Ending, Running};

/// A server whose input has ended may end by itself; only then it is told to.
const GOODBYE: Duration = Duration::from_millis(300);

/// A server's process. Dropped, it is ended.
pub(super) struct Process {
    /// Its number.
    pub(super) pid: i32,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<String>,
}

impl Process {
    /// Sees to one that runs.
    pub(super) fn keep(running: Running, turn: String, means: &Rc<Means>) -> Process {
        let (stop, stopped) = oneshot::channel::<()>();
        let (pid, means) = (running.pid(), Rc::clone(means));
        let ended = tokio::task::spawn_local(async move {
            let ending = Ending { timeout: None, grace: GRACE, keep: false };
            let how = match running.wait(ending, async { drop(stopped.await) }).await {
                Ok(ended) => format!("has ended: {ended:?}"),
                Err(e) => format!("is left: {e}"),
            };
            // What left its group: a browser, mostly.
            if means.children.orphaned().unwrap_or(true) {
                let groups = meeting::recorded(&means.dir);
                match tokio::task::spawn_blocking(move || leftovers::end(&turn, &groups, GRACE)).await {
                    Ok(Err(e)) => tracing::warn!("{e}"),
                    Ok(Ok(_)) | Err(_) => drop(means.children.orphaned()),
                }
            }
            how
        });
        Process { pid, stop: Some(stop), ended }
    }

    /// Whether it has ended, also where nobody has seen that yet.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_finished() || rustix::process::Pid::from_raw(self.pid).is_none_or(|pid| launch::has_ended(pid).unwrap_or(true))
    }

    /// Ends it, and says how it ended. Its input has ended before.
    pub(super) async fn end(mut self) -> String {
        let ended = match tokio::time::timeout(GOODBYE, &mut self.ended).await {
            Ok(ended) => ended,
            Err(_) => {
                self.stop.take();
                self.ended.await
            }
        };
        ended.unwrap_or_else(|e| e.to_string())
    }
}
