//! The clock of a teammate that waits for something outside.

use std::time::Duration;

use board::post::{Kind, Post};
use jiff::{SignedDuration, Timestamp};
use teammates::waits::Waits;

/// A row of waits of one teammate, with which the thread ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Who waits.
    pub(crate) author: String,
    /// How often it has looked and found that it must wait on.
    count: u32,
    since: Timestamp,
    last: Timestamp,
}

/// The row at the thread's end; `None`: nobody waits. A message of the user ends a wait, and so does every other post of
/// a teammate. Posts up to `after` do not count: a person has let the run go on from there.
///
/// `posts`: those that hold no task, oldest first.
pub(crate) fn row(posts: &[Post], after: u64) -> Option<Row> {
    let heard = posts.iter().rev().filter(|post| post.is_of_teammate() || post.is_of_user());
    let mut waits = heard.take_while(|post| post.kind == Kind::Wait && post.is_of_teammate() && post.seq > after).peekable();
    let author = waits.peek()?.from.clone();
    let times: Vec<Timestamp> = waits.take_while(|post| post.from == author).filter_map(|post| post.ts).collect();
    let (last, since) = (times.first().copied()?, times.last().copied()?);
    Some(Row { author, count: u32::try_from(times.len()).unwrap_or(u32::MAX), since, last })
}

impl Row {
    /// When it is looked at again: each time after twice the pause, and once more at the very end of what it may take.
    pub(crate) fn due(&self, waits: Waits, longest: Duration) -> Timestamp {
        let after =
            |from: Timestamp, pause: Duration| from.saturating_add(SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX)).unwrap_or(Timestamp::MAX);
        after(self.last, waits.interval(self.count - 1)).min(after(self.since, longest))
    }

    /// Whether it was looked at when all its time was over, and has to wait on.
    pub(crate) fn is_too_long(&self, longest: Duration) -> bool {
        Duration::try_from(self.last.duration_since(self.since)).is_ok_and(|waited| waited >= longest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::post;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn waits(seconds: &[i64]) -> Vec<Post> {
        seconds.iter().zip(1..).map(|(second, seq)| Post { ts: Some(at(*second)), ..post(seq, "alice", Kind::Wait, None) }).collect()
    }

    #[test]
    fn intervals_double_up_to_the_cap_and_the_end() {
        let clock = Waits { base: Duration::from_secs(30), cap: Duration::from_secs(100) };
        let longest = Duration::from_secs(300);
        let due = |seconds: &[i64]| row(&waits(seconds), 0).unwrap().due(clock, longest);
        assert_eq!(due(&[0]), at(30));
        assert_eq!(due(&[0, 30]), at(90));
        assert_eq!(due(&[0, 30, 90]), at(190), "the cap");
        assert_eq!(due(&[0, 30, 90, 190, 290]), at(300), "the end");
        // A machine that was suspended: it looks at once when it wakes, and once only.
        assert_eq!(due(&[0, 5000]), at(300));
        assert!(!row(&waits(&[0, 299]), 0).unwrap().is_too_long(longest));
        assert!(row(&waits(&[0, 300]), 0).unwrap().is_too_long(longest));
    }

    #[test]
    fn what_ends_a_row() {
        let row_after = |last: Post| row(&[waits(&[0, 30]), vec![Post { ts: Some(at(40)), ..last }]].concat(), 0);
        assert_eq!(row_after(post(3, "system", Kind::Say, None)).unwrap().count, 2);
        assert_eq!(row_after(post(3, "user", Kind::Say, None)), None);
        assert_eq!(row_after(post(3, "bob", Kind::Say, None)), None);
        assert_eq!(row_after(post(3, "bob", Kind::Wait, None)).unwrap().count, 1, "another's row");
        assert_eq!(row(&waits(&[0, 30]), 1).unwrap().count, 1);
        assert_eq!(row(&waits(&[0, 30]), 2), None);
    }
}
