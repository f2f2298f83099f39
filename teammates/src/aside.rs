//! Work that would keep this process's one thread waiting, done by a thread of its own.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Does something aside and waits for the answer. Where the system gives no further thread it is done here: late, but
/// done. `None`: it panicked.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = oneshot::channel();
    begin(move || {
        // Whoever does not wait any longer does not want to know.
        let _ = tell.send(work());
    });
    told.await.ok()
}

/// Begins something aside; see [`aside`].
pub(crate) fn begin(work: impl FnOnce() + Send + 'static) {
    // Taken by whoever does it: the thread, or this one where there is none.
    let ours = Arc::new(Mutex::new(Some(work)));
    let theirs = Arc::clone(&ours);
    let begun = std::thread::Builder::new().name("aside".into()).spawn(move || {
        take(&theirs);
    });
    if begun.is_err() {
        take(&ours);
    }
}

fn take(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    work.into_iter().for_each(|work| work());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn the_answer_comes_and_a_panic_is_none() {
        run(async {
            assert_eq!(aside(|| 6 * 7).await, Some(42));
            assert_eq!(aside(|| if true { panic!("on purpose") } else { 1 }).await, None);
        });
    }
}
