//! What a turn of the thread shows its teammate: who it is, what is new, and how it moves. An index, not the thread: its
//! length has a bound that does not depend on how much was said.
//!
//! Pure: everything comes in. [`Opening::text`] is for standard input, [`Opening::json`] for the file that
//! `$CREW_OPENING` names.
//!
//! What others have said is data: it stands on lines that are marked as theirs, with the codes of what a terminal would
//! obey.

use std::path::Path;

use board::post::{Kind, Post};

mod cut;
mod json;
mod text;

pub(crate) use cut::{beginning, one_line};
pub(crate) use text::{indented, index, moves_of as moves};

/// So many posts stand in the index.
pub const MOST_POSTS: usize = 8;
/// The longest line of the index, in characters.
pub const LONGEST_LINE: usize = 90;
/// So many messages of the user are shown whole.
pub const MOST_OF_USER: usize = 3;
/// The longest message of the user that is shown whole, in characters.
pub const LONGEST_OF_USER: usize = 4000;
/// So many answers are shown.
pub const MOST_ANSWERS: usize = 8;
/// So much of a notice, and of its answer, in characters.
pub const LONGEST_ANSWER: usize = 300;
/// So much of the goal, in characters.
pub const LONGEST_GOAL: usize = 8000;

/// How whoever reads it acts: what it is told to do is told in these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// By commands.
    Commands,
    /// By calls of tools. Who it is and where the memory is, its conversation begins with.
    Tools,
}

/// What there is to show.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// How its reader acts.
    pub voice: Voice,
    /// The teammate's name.
    pub name: &'a str,
    /// Its role.
    pub role: &'a str,
    /// How the team is called.
    pub team: &'a str,
    /// Who else is on the team.
    pub others: &'a [&'a str],
    /// The turn.
    pub turn: &'a str,
    /// Whether its last turn was cut short: what that wrote is still there, and nothing of it in the thread.
    pub after_cut: bool,
    /// What it has not seen.
    pub news: News<'a>,
    /// What was answered to its notices since it spoke last, oldest first.
    pub answers: &'a [Answer<'a>],
    /// Whether it plans: the tasks that are made in it are a proposal.
    pub planning: bool,
    /// `None`: each of the six kinds is accepted.
    pub restricted: Option<Restricted<'a>>,
    /// Where the team's memory is.
    pub memory: &'a Path,
    /// Where the goal is.
    pub goal_file: &'a Path,
    /// What the goal is; empty: there is none.
    pub goal: &'a str,
}

/// The posts of others that a teammate has not seen.
#[derive(Debug, Clone, Copy, Default)]
pub struct News<'a> {
    /// Oldest first: all of them, or so many of the last that [`MOST_POSTS`] of others and [`MOST_OF_USER`] of the user
    /// are there if they are new.
    pub posts: &'a [Post],
    /// How many there are before these that are not of the user.
    pub older: usize,
    /// How many there are before these that are of the user.
    pub older_of_user: usize,
    /// The number of the last post that it has seen; 0: none.
    pub cursor: u64,
}

/// What was answered to a notice.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The notice's number.
    pub id: u64,
    /// What it said.
    pub notice: &'a str,
    /// What the user says to that.
    pub answer: &'a str,
}

/// Only some posts are accepted.
#[derive(Debug, Clone, Copy)]
pub struct Restricted<'a> {
    /// Their kinds.
    pub kinds: &'a [Kind],
    /// Why, and what else must be true of them.
    pub why: &'a str,
}

impl Opening<'_> {
    /// For standard input.
    pub fn text(&self) -> String {
        text::of(self)
    }

    /// For the file that `$CREW_OPENING` names.
    pub fn json(&self) -> serde_json::Value {
        json::of(self)
    }

    fn kinds(&self) -> &[Kind] {
        self.restricted.map_or(&Kind::ALL, |restricted| restricted.kinds)
    }

    /// The last answers, and how many more there are.
    fn answers(&self) -> (&[Answer<'_>], usize) {
        let older = self.answers.len().saturating_sub(MOST_ANSWERS);
        (&self.answers[older..], older)
    }
}

/// What is shown of posts of one sort.
struct Part<'a> {
    /// The last of them, oldest first.
    shown: Vec<&'a Post>,
    /// How many are new besides.
    older: usize,
    /// Those come after the post of that number.
    since: u64,
}

impl<'a> News<'a> {
    /// The index.
    fn of_others(&self) -> Part<'a> {
        self.part(false, MOST_POSTS, self.older)
    }

    /// The messages that are shown whole.
    fn of_user(&self) -> Part<'a> {
        self.part(true, MOST_OF_USER, self.older_of_user)
    }

    fn part(&self, of_user: bool, most: usize, not_given: usize) -> Part<'a> {
        let mut given = self.posts.iter().filter(|post| post.is_of_user() == of_user);
        let count = given.clone().count();
        let left_out = count.saturating_sub(most);
        let first = given.clone().next().filter(|_| not_given == 0);
        let shown = given.by_ref().skip(left_out).collect();
        Part { shown, older: not_given + left_out, since: first.map_or(self.cursor, before) }
    }
}

fn before(post: &Post) -> u64 {
    post.seq.saturating_sub(1)
}

impl Voice {
    /// What shows the posts after one.
    fn thread_since(self, seq: u64) -> String {
        match self {
            Voice::Commands => format!("crew thread --since {seq}"),
            Voice::Tools => format!("read_thread {{\"after\": {seq}}}"),
        }
    }

    /// What a kind of post does, for whoever chooses one.
    fn meaning(self, kind: Kind) -> String {
        let to = |name: &str| match self {
            Voice::Commands => format!("--handoff {name}"),
            Voice::Tools => format!("handoff: {name}"),
        };
        match kind {
            Kind::Say => format!("talk; with {} it asks the user, and the run stops until there is an answer", to("user")),
            Kind::WorkDone => "you changed the repository; it is looked at whether that is so".into(),
            Kind::Handoff => format!("it is somebody else's turn: {}, or nobody named", to("NAME")),
            Kind::Wait => "something outside has to happen first; you will be asked again later".into(),
            Kind::Gate => "an irreversible step needs an answer; say which".into(),
            Kind::Done => "the goal is reached; its checks run again, and an audit looks at the work".into(),
        }
    }

    /// What a planning turn is for.
    fn planning(self) -> String {
        let blocked = match self {
            Voice::Commands => "`crew add --blocked-by`",
            Voice::Tools => "`task_create` with blockedBy",
        };
        format!(
            "This turn plans. The tasks that you make in it are a proposal: nobody works on them before a person has approved them. Make all that lead to \
             the goal, each with what it waits for ({blocked}), do none of them, and end the turn with a post that says why these."
        )
    }

    /// How a turn ends.
    fn post(self) -> &'static str {
        match self {
            Voice::Commands => POST,
            Voice::Tools => "post",
        }
    }
}

/// A post in the index.
fn index_line(post: &Post) -> String {
    let uncredited = if post.credited == Some(false) { ", not credited" } else { "" };
    let to = post.handoff.as_deref().map(|to| format!(" to {to}")).unwrap_or_default();
    cut::one_line(&format!("#{} {} {}{uncredited}{to}: {}", post.seq, post.from, post.kind, post.text.trim_start()), LONGEST_LINE)
}

/// How a turn ends.
const POST: &str = "crew post --kind KIND [--handoff NAME] TEXT";

#[cfg(test)]
mod tests;
