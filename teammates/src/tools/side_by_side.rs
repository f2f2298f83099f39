//! Running futures side by side, on one thread, and telling of each as it ends.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Polls all of them until the last has ended. All are polled at each wake: they are as many as a model calls at once.
pub(super) async fn each<'f, T>(futures: Vec<Pin<Box<dyn Future<Output = T> + 'f>>>, mut ended: impl FnMut(usize, T)) {
    let mut open: Vec<_> = futures.into_iter().enumerate().collect();
    poll_fn(|context| {
        open.retain_mut(|(place, future)| match future.as_mut().poll(context) {
            Poll::Ready(value) => {
                ended(*place, value);
                false
            }
            Poll::Pending => true,
        });
        if open.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
