//! Much of the same, done by several threads.

use std::sync::{Mutex, PoisonError};

/// So many items are taken at a time.
const SHARE: usize = 64;
/// From this many on it pays to start threads.
const MANY: usize = 256;

/// Does `work` on shares of the items; the answers come in the order of the items, one a share.
///
/// Nobody knows which thread is given less time than the others: each takes the next share when it is done with its
/// last. A `work` that panics does so here too.
pub(crate) fn in_shares<T: Send, R: Send>(items: &mut [T], threads: usize, work: impl Fn(&mut [T]) -> R + Sync) -> Vec<R> {
    if items.len() < MANY || threads < 2 {
        return vec![work(items)];
    }
    let left = Mutex::new(items.chunks_mut(SHARE).enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || std::iter::from_fn(|| next().map(|(number, share)| (number, work(share)))).collect::<Vec<_>>();
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        others.into_iter().for_each(|other| done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_come_in_order_and_every_item_once() {
        for (count, threads) in [(0, 2), (1, 2), (MANY - 1, 3), (MANY, 1), (MANY, 2), (10_001, 5)] {
            let mut items: Vec<usize> = (0..count).collect();
            let answers = in_shares(&mut items, threads, |share| share.iter_mut().map(|item| std::mem::replace(item, 0)).collect::<Vec<_>>());
            assert_eq!(answers.concat(), (0..count).collect::<Vec<_>>());
        }
    }
}
