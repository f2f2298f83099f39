//! Who speaks next. No model is asked: the thread, the roster and the rules of `next` decide.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use board::post::{Kind, Post, SYSTEM, USER};
use board::run::Limit;
use serde::Serialize;

/// A teammate that can take a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Its name.
    pub(crate) name: String,
    /// Whether it can speak now: it is not at work in a lane, and not at a limit of its provider.
    pub(crate) free: bool,
    /// Whether it may change the workspace.
    pub(crate) writes: bool,
    /// The limit that all of its models are at; then it is not free.
    pub(crate) limit: Option<Limit>,
}

/// What the scheduler looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation<'a> {
    /// The posts that hold no task, oldest first: all, or as many of the last as reach back to what is open.
    pub(crate) posts: &'a [Post],
    /// The number of each teammate's last such post.
    pub(crate) last_seq: &'a BTreeMap<String, u64>,
    /// Every teammate that can take a turn, its process alive or not.
    pub(crate) roster: &'a [Seat],
}

/// Who speaks next, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Next {
    /// `None`: nobody, for now.
    pub(crate) next: Option<String>,
    /// The rule that decided, 1 to 6.
    pub(crate) rule: u8,
    /// In words.
    pub(crate) why: String,
    /// What was ignored, and is to be said in the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warn: Option<String>,
    /// What waits for the user, where nobody speaks because of that.
    #[serde(skip)]
    pub(crate) open: Option<Asked>,
}

/// What the user is asked, by the number of its post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Whether something may be done.
    Gate(u64),
    /// Anything else.
    Question(u64),
}

/// Decides who speaks next. The rules, the first that fits:
///
/// 1. A message of the user goes to the teammate that asked, or that declared the gate that is open (the later of both).
///    Else, while a question or a gate is open, nobody speaks.
/// 2. After A B A B without work a third teammate speaks.
/// 3. A handoff to oneself counts only after work.
/// 4. A handoff that names a teammate gives it the turn.
/// 5. After a wait, or a gate that was answered, its author speaks.
/// 6. Otherwise the longest silent; the last speaker only after work.
pub(crate) fn next(situation: Situation<'_>) -> Next {
    let open = Open::of(situation.posts);
    if let Some(next) = the_user_spoke(&situation, &open).or_else(|| open.nobody()) {
        return next;
    }
    if let [only] = situation.roster {
        let why = format!("{} is the whole team", only.name);
        return Next { next: only.free.then(|| only.name.clone()), ..because(6, if only.free { why } else { nobody_is_free() }) };
    }
    let Some(last) = situation.posts.iter().rfind(|post| post.is_of_teammate()) else {
        return the_longest_silent(&situation, None);
    };
    let decided = two_alone(&situation).or_else(|| to_oneself(&situation, last)).or_else(|| named(&situation, last)).or_else(|| again(&situation, last));
    let next = decided.unwrap_or_else(|| the_longest_silent(&situation, Some(last)));
    Next { warn: warning(&situation, last).filter(|_| next.rule > 4), ..next }
}

/// What waits for the user.
struct Open<'a> {
    /// A question, with its place in the thread: unanswered, or answered by what the user said last.
    question: Option<(usize, &'a Post)>,
    gate: Option<(usize, &'a Post)>,
    /// Whether the user has spoken, and no teammate since.
    user_spoke: bool,
}

impl<'a> Open<'a> {
    fn of(posts: &'a [Post]) -> Self {
        let since_teammate = posts.iter().rposition(Post::is_of_teammate).map_or(0, |last| last + 1);
        let user_spoke = posts[since_teammate..].iter().any(Post::is_of_user);
        // What a user's post has answered is answered, but for the one that the last teammate's turn has not taken up.
        let answered = posts[..since_teammate].iter().rposition(Post::is_of_user);
        let placed = || posts.iter().enumerate();
        let question = placed().rfind(|(_, post)| post.is_question()).filter(|(at, _)| answered.is_none_or(|answered| *at > answered));
        let decided = |gate: &Post, at: usize| posts[at..].iter().any(|post| post.from == SYSTEM && post.re == Some(gate.seq));
        let gate = placed().rfind(|(at, post)| post.is_gate() && !decided(post, *at));
        Open { question, gate, user_spoke }
    }

    /// The later of both.
    fn latest(&self) -> Option<&'a Post> {
        [self.question, self.gate].into_iter().flatten().max_by_key(|(at, _)| *at).map(|(_, post)| post)
    }

    fn nobody(&self) -> Option<Next> {
        let unanswered = self.question.filter(|_| !self.user_spoke);
        let (open, waits) = match (self.gate, unanswered) {
            (Some((_, gate)), _) => (Asked::Gate(gate.seq), format!("the gate of {} waits for an answer", gate.from)),
            (None, Some((_, question))) => (Asked::Question(question.seq), format!("the question of {} waits for an answer", question.from)),
            (None, None) => return None,
        };
        Some(Next { open: Some(open), ..because(1, waits) })
    }
}

fn because(rule: u8, why: String) -> Next {
    Next { next: None, rule, why, warn: None, open: None }
}

fn speaks(who: &str, rule: u8, why: String) -> Next {
    Next { next: Some(who.to_owned()), ..because(rule, why) }
}

fn nobody_is_free() -> String {
    "nobody is free; the run waits until a lane ends".into()
}

/// Rule 1, its first half.
fn the_user_spoke(situation: &Situation<'_>, open: &Open<'_>) -> Option<Next> {
    let asked = open.latest().filter(|_| open.user_spoke)?;
    let what = if asked.is_gate() { "declared the gate that is open" } else { "asked the user" };
    situation.has(&asked.from).then(|| speaks(&asked.from, 1, format!("the user has spoken, and {} {what}", asked.from)))
}

/// Rule 2. Posts of the system and the audit do not interrupt two who talk to each other; one of the user does.
fn two_alone(situation: &Situation<'_>) -> Option<Next> {
    let heard = situation.posts.iter().rev().filter(|post| post.is_of_teammate() || post.is_of_user());
    let row: Vec<&Post> = heard.take_while(|post| post.is_of_teammate()).take(4).collect();
    let [b, a, b_before, a_before] = row.as_slice() else { return None };
    let alternate = a.from != b.from && a.from == a_before.from && b.from == b_before.from;
    if !alternate || row.iter().any(|post| post.is_work()) {
        return None;
    }
    let third = situation.longest_silent(|name| name != a.from && name != b.from)?;
    Some(speaks(third, 2, format!("{} and {} have talked to each other four times without work", a.from, b.from)))
}

/// Rule 3.
fn to_oneself(situation: &Situation<'_>, last: &Post) -> Option<Next> {
    let refused = last.handoff.as_deref() == Some(&last.from) && !last.is_work();
    let other = situation.longest_silent(|name| name != last.from).filter(|_| refused)?;
    Some(speaks(other, 3, format!("{} may not hand the turn to itself without work; {other} has been silent the longest", last.from)))
}

/// Rule 4.
fn named(situation: &Situation<'_>, last: &Post) -> Option<Next> {
    let named = last.handoff.as_deref().filter(|name| situation.has(name))?;
    // What rule 3 refuses is no handoff, though nobody else be free.
    let allowed = named != last.from || last.is_work();
    allowed.then(|| speaks(named, 4, format!("{} handed the turn to {named}", last.from)))
}

/// Rule 5.
fn again(situation: &Situation<'_>, last: &Post) -> Option<Next> {
    let why = match last.kind {
        Kind::Wait => "waited",
        Kind::Gate => "has an answer to its gate",
        _ => return None,
    };
    situation.is_free(&last.from).then(|| speaks(&last.from, 5, format!("{} {why}", last.from)))
}

/// Rule 6.
fn the_longest_silent(situation: &Situation<'_>, last: Option<&Post>) -> Next {
    let spoke_last = last.filter(|last| !last.is_work()).map(|last| last.from.as_str());
    match situation.longest_silent(|name| Some(name) != spoke_last) {
        Some(who) if situation.last_seq.contains_key(who) => speaks(who, 6, format!("{who} has been silent the longest")),
        Some(who) => speaks(who, 6, format!("{who} has not spoken yet")),
        None => because(6, nobody_is_free()),
    }
}

/// A handoff to nobody of the team.
fn warning(situation: &Situation<'_>, last: &Post) -> Option<String> {
    let named = last.handoff.as_deref().filter(|name| *name != USER && *name != last.from && !situation.has(name))?;
    Some(format!("{} handed the turn to {named}, who is not on the team; that is ignored", last.from))
}

impl<'a> Situation<'a> {
    fn has(&self, name: &str) -> bool {
        self.roster.iter().any(|seat| seat.name == name)
    }

    fn is_free(&self, name: &str) -> bool {
        self.roster.iter().any(|seat| seat.name == name && seat.free)
    }

    /// The longest silent of those who are free and fit; the first by name of several.
    fn longest_silent(&self, fits: impl Fn(&str) -> bool) -> Option<&'a str> {
        let free = self.roster.iter().filter(|seat| seat.free && fits(&seat.name)).map(|seat| seat.name.as_str());
        free.max_by_key(|name| (Reverse(self.last_seq.get(*name).copied().unwrap_or(0)), Reverse(*name)))
    }
}

/// The number of each teammate's last post.
pub(crate) fn last_seqs(posts: &[Post]) -> BTreeMap<String, u64> {
    posts.iter().filter(|post| post.is_of_teammate()).map(|post| (post.from.clone(), post.seq)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{post, seat};
    use super::*;
    use proptest::prelude::*;

    fn decide(posts: &[Post], roster: &[Seat]) -> Next {
        next(Situation { posts, last_seq: &last_seqs(posts), roster })
    }

    #[test]
    fn the_busy_are_passed_over_unless_named() {
        let say = [post(1, "alice", Kind::Say, None)];
        let roster = [seat("alice", true), seat("bob", false), seat("carol", true)];
        assert_eq!(decide(&say, &roster).next.as_deref(), Some("carol"));
        let named = [post(1, "alice", Kind::Handoff, Some("bob"))];
        assert_eq!(decide(&named, &roster).next.as_deref(), Some("bob"));
        // The last speaker does not speak again just because nobody else can, but after work.
        let alone = [seat("alice", true), seat("bob", false)];
        assert_eq!((decide(&say, &alone).next, decide(&say, &alone).rule), (None, 6));
        let work = [post(1, "alice", Kind::WorkDone, None)];
        assert_eq!(decide(&work, &alone).next.as_deref(), Some("alice"));
        assert_eq!(decide(&say, &[seat("alice", false)]).next, None);
        // A busy waiter does not hold up the others.
        let waits = [post(1, "alice", Kind::Say, None), post(2, "bob", Kind::Wait, None)];
        assert_eq!(decide(&waits, &roster).next.as_deref(), Some("carol"));
    }

    #[test]
    fn a_handoff_is_only_warned_of_where_it_was_ignored() {
        let roster = [seat("alice", true), seat("bob", true), seat("carol", true)];
        assert!(decide(&[post(1, "alice", Kind::Say, Some("dave"))], &roster).warn.unwrap().contains("dave"));
        for named in ["bob", "alice", "user"] {
            assert_eq!(decide(&[post(1, "alice", Kind::Say, Some(named))], &roster).warn, None, "{named}");
        }
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        proptest::sample::select(Kind::ALL.to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Unless the user is asked, somebody of a free team speaks, whatever was said.
        #[test]
        fn somebody_always_speaks(said in proptest::collection::vec((0..6usize, kinds(), proptest::option::of(0..7usize)), 0..30), team in 1..5usize) {
            let names = ["alice", "bob", "carol", "dave", "user", "system", "audit"];
            let posts: Vec<Post> = said.iter().zip(1..).map(|((from, kind, to), seq)| post(seq, names[*from], *kind, to.map(|to| names[to]))).collect();
            let roster: Vec<Seat> = names[..team].iter().map(|name| seat(name, true)).collect();
            let decided = decide(&posts, &roster);
            match &decided.next {
                Some(name) => prop_assert!(roster.iter().any(|seat| seat.name == *name)),
                None => prop_assert!(decided.rule == 1 && posts.iter().any(|post| post.is_gate() || post.is_question()), "{decided:?}"),
            }
        }

        /// A message of the user is answered by who asked, while that one is on the team.
        #[test]
        fn the_user_is_answered_by_who_asked(said in proptest::collection::vec((0..3usize, any::<bool>()), 0..20), asks in 0..3usize) {
            let names = ["alice", "bob", "carol"];
            let mut posts: Vec<Post> = said.iter().zip(1..).map(|((from, work), seq)| post(seq, names[*from], if *work { Kind::WorkDone } else { Kind::Say }, None)).collect();
            posts.push(post(100, names[asks], Kind::Say, Some(USER)));
            let roster = names.map(|name| seat(name, true));
            prop_assert_eq!(decide(&posts, &roster).next, None);
            posts.push(post(101, USER, Kind::Say, None));
            let decided = decide(&posts, &roster);
            prop_assert_eq!((decided.next.as_deref(), decided.rule), (Some(names[asks]), 1));
        }

        /// With talk and work alone each of N speaks within 2N turns.
        #[test]
        fn nobody_starves(team in 1..12usize, works in proptest::collection::vec(any::<bool>(), 200)) {
            let names: Vec<String> = (0..team).map(|n| format!("t{n:02}")).collect();
            let roster: Vec<Seat> = names.iter().map(|name| seat(name, true)).collect();
            let mut posts: Vec<Post> = Vec::new();
            for (work, seq) in works.iter().zip(1..) {
                let speaker = decide(&posts, &roster).next.unwrap();
                posts.push(post(seq, &speaker, if *work { Kind::WorkDone } else { Kind::Say }, None));
                let window = &posts[posts.len().saturating_sub(2 * team)..];
                if window.len() == 2 * team {
                    for name in &names {
                        prop_assert!(window.iter().any(|post| post.from == *name), "{name} is silent in {window:?}");
                    }
                }
            }
        }
    }
}
