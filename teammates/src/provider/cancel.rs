//! How a call is told to end.

use tokio::sync::watch;

/// Ends the calls that hold its [`Cancel`]. Dropped, it ends none.
#[derive(Debug)]
pub struct Canceller(watch::Sender<bool>);

/// Tells whether to end.
#[derive(Debug, Clone)]
pub struct Cancel(watch::Receiver<bool>);

/// Both ends.
pub fn cancel() -> (Canceller, Cancel) {
    let (sender, receiver) = watch::channel(false);
    (Canceller(sender), Cancel(receiver))
}

impl Canceller {
    /// Ends them, now and for good.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Cancel {
    /// Whether it was said.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is said.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending().await
        }
    }
}
