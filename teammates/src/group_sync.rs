//! Putting the ends of turns on disk, many with one sync: while one is under way, those that come meanwhile gather, and
//! the next takes them all. So a disk that is slow makes the groups larger, not the work slower.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use board::locked::Unlocked;
use board::{Error, Result};
use tokio::sync::oneshot;

use crate::aside;

/// Who syncs for all. Clones are handles to the same.
#[derive(Clone, Default)]
pub(crate) struct GroupSync(Arc<Mutex<State>>);

/// How somebody who waits is told that his change is on disk.
type Tell = oneshot::Sender<Result<()>>;

#[derive(Default)]
struct State {
    waiting: Vec<(Unlocked, Tell)>,
    at_work: bool,
}

impl GroupSync {
    /// Waits until a change is on disk. It gets there also if nobody waits any longer.
    pub(crate) async fn settle(&self, unlocked: Unlocked) -> Result<()> {
        self.join(unlocked).await.unwrap_or_else(|_| Err(lost("the thread that syncs it has died".into())))
    }

    fn join(&self, unlocked: Unlocked) -> oneshot::Receiver<Result<()>> {
        let (tell, told) = oneshot::channel();
        let somebody_syncs = {
            let mut state = self.state();
            state.waiting.push((unlocked, tell));
            std::mem::replace(&mut state.at_work, true)
        };
        if !somebody_syncs {
            let group = self.clone();
            aside::begin(move || group.work());
        }
        told
    }

    fn work(&self) {
        while let Some((changes, told)) = self.take() {
            let done = Unlocked::settle_all(changes);
            for tell in told {
                // Whoever does not wait any longer does not want to know.
                let _ = tell.send(match &done {
                    Ok(()) => Ok(()),
                    Err(e) => Err(failed(e)),
                });
            }
        }
    }

    /// All that wait; where there are none the work is over.
    fn take(&self) -> Option<(Vec<Unlocked>, Vec<Tell>)> {
        let mut state = self.state();
        state.at_work = !state.waiting.is_empty();
        state.at_work.then(|| std::mem::take(&mut state.waiting).into_iter().unzip())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same error for one more of those who wait.
fn failed(error: &Error) -> Error {
    match error {
        Error::Io { action, path, source } => {
            let source = source.raw_os_error().map_or_else(|| io::Error::new(source.kind(), source.to_string()), io::Error::from_raw_os_error);
            Error::Io { action, path: path.clone(), source }
        }
        other => lost(other.to_string()),
    }
}

fn lost(why: String) -> Error {
    Error::Io { action: "sync", path: "the board".into(), source: io::Error::other(why) }
}
