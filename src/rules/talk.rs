//! When talk has gone on for too long: what a turn may post then.

use board::post::{Kind, Post};
use board::run::OnlyWork;

use super::scheduler::Seat;

/// Turns of the thread in a row, up to now, that brought no verified work. A wait has a clock of its own and does not
/// count; a message of the user begins the count anew, and so does what `after` numbers: work in a lane.
///
/// `posts`: those that hold no task, oldest first.
pub(crate) fn streak(posts: &[Post], after: u64) -> u32 {
    let row = posts.iter().rev().take_while(|post| post.seq > after && !post.is_of_user() && !(post.is_of_teammate() && post.is_work()));
    let turns = row.filter(|post| post.is_of_teammate() && post.kind != Kind::Wait).count();
    u32::try_from(turns).unwrap_or(u32::MAX)
}

/// What is left to a speaker after `streak` turns of talk; `None`: everything.
pub(crate) fn restriction(streak: u32, most: u32, speaker: &str, roster: &[Seat]) -> Option<OnlyWork> {
    let writes = |name: &str| roster.iter().any(|seat| seat.name == name && seat.writes);
    (streak >= most).then(|| OnlyWork {
        turns: streak,
        writers: match writes(speaker) {
            true => Vec::new(),
            false => roster.iter().filter(|seat| seat.writes).map(|seat| seat.name.clone()).collect(),
        },
    })
}

/// Whether the restriction has brought nothing for as many turns again.
pub(crate) fn is_hopeless(streak: u32, most: u32) -> bool {
    streak >= most.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{post, seat};
    use super::*;

    #[test]
    fn what_counts_as_talk() {
        let says = |count| (1..=count).map(|seq| post(seq, "alice", Kind::Say, None)).collect::<Vec<_>>();
        assert_eq!(streak(&says(6), 0), 6);
        assert_eq!(streak(&says(6), 4), 2, "after work in a lane");
        let with = |last: Post| streak(&[says(3), vec![last]].concat(), 0);
        assert_eq!(with(post(4, "bob", Kind::WorkDone, None)), 0);
        assert_eq!(with(Post { credited: Some(false), ..post(4, "bob", Kind::WorkDone, None) }), 4);
        assert_eq!(with(post(4, "bob", Kind::Done, None)), 4, "a rejected done is no progress");
        assert_eq!(with(post(4, "bob", Kind::Wait, None)), 3);
        assert_eq!(with(post(4, "system", Kind::Say, None)), 3);
        assert_eq!(with(post(4, "user", Kind::Say, None)), 0);
    }

    #[test]
    fn what_is_left_to_whom() {
        let mut reader = seat("carol", true);
        reader.writes = false;
        let roster = [seat("alice", true), seat("bob", false), reader];
        assert_eq!(restriction(5, 6, "alice", &roster), None);
        let writer = restriction(6, 6, "alice", &roster).unwrap();
        let reader = restriction(6, 6, "carol", &roster).unwrap();
        for (only, kind, handoff, accepted) in [
            (&writer, Kind::WorkDone, None, true),
            (&writer, Kind::Say, None, false),
            (&writer, Kind::Say, Some("bob"), false),
            (&writer, Kind::Say, Some("user"), true),
            (&writer, Kind::Handoff, Some("bob"), false),
            (&writer, Kind::Done, None, false),
            (&writer, Kind::Wait, None, false),
            (&writer, Kind::Gate, None, false),
            (&reader, Kind::Handoff, Some("bob"), true),
            (&reader, Kind::Handoff, Some("carol"), false),
            (&reader, Kind::Handoff, None, false),
        ] {
            assert_eq!(only.accepts(kind, handoff), accepted, "{only:?} {kind} {handoff:?}");
        }
        assert!(reader.accepted().contains("alice, bob"));
        assert!(!is_hopeless(11, 6) && is_hopeless(12, 6));
    }
}
