//! What a turn of the thread shows its teammate, gathered from the records of the run. What it costs does not grow with
//! the thread.

use board::Result;
use board::place::Place;
use board::post::{Kind, Post};
use board::run::{AskKind, Cursor, OpenTurn, Run};

use crate::goal::Goal;
use crate::opening::{self, News, Opening, Restricted};
use crate::profile::Profile;
use crate::profiles;

/// So many posts are looked through for what is shown: those of others and those of the user.
const ENOUGH: usize = 200;

/// An opening, and what of the records it shows: the next one shows what came after.
pub(crate) struct Gathered {
    /// For standard input.
    pub(crate) text: String,
    /// For the file that `$CREW_OPENING` names.
    pub(crate) json: serde_json::Value,
    /// The last post.
    pub(crate) seen: u64,
    /// The notices whose answers it tells.
    pub(crate) answers: Vec<u64>,
}

/// Gathers it.
pub(crate) fn gather(place: &Place, run: &Run, profile: &Profile, turn: &OpenTurn) -> Result<Gathered> {
    let name = profile.name.as_str();
    let cursor = run.cursors.read()?.teammates.get(name).copied().unwrap_or_default();
    let last = run.thread.last(ENOUGH)?;
    let seen = last.last().map_or(turn.after, |post| post.seq);
    let older = older(&last, cursor);
    let posts: Vec<Post> = last.into_iter().filter(|post| post.seq > cursor.seen && post.from != name).collect();
    let asks = run.asks.all()?;
    let answered = asks.iter().filter(|ask| ask.kind == AskKind::Notice && ask.from == name && ask.told_in.is_none());
    let answered: Vec<_> = answered.filter_map(|ask| Some((ask, ask.answer.as_ref()?.text.as_deref().unwrap_or("(no words)")))).collect();
    let answers: Vec<_> = answered.iter().map(|(ask, answer)| opening::Answer { id: ask.id, notice: &ask.text, answer }).collect();
    let why = turn.only_work.as_ref().map(|only| format!("{} turns in a row brought no verified work; what is accepted: {}", only.turns, only.accepted()));
    let kinds = turn.only_work.iter().flat_map(|only| kinds(!only.writers.is_empty())).collect::<Vec<_>>();
    // A goal that cannot be read is named in the run's state; its teammates go on with what they know.
    let goal = Goal::read(place).ok().flatten().map(|goal| goal.text).unwrap_or_default();
    let others = others(place, name);
    let (memory, goal_file) = (board::memory::Memory::of(place).path(), Goal::path(place));
    let opening = Opening {
        name,
        role: &profile.role,
        team: &team(place),
        others: &others.iter().map(String::as_str).collect::<Vec<_>>(),
        turn: &turn.turn,
        after_cut: turn.again,
        news: News { posts: &posts, older, older_of_user: 0, cursor: cursor.seen },
        answers: &answers,
        planning: turn.planning,
        restricted: why.as_deref().map(|why| Restricted { kinds: &kinds, why }),
        memory: &memory,
        goal_file: &goal_file,
        goal: &goal,
    };
    Ok(Gathered { text: opening.text(), json: opening.json(), seen, answers: answered.iter().map(|(ask, _)| ask.id).collect() })
}

/// How many new posts lie before those that were looked through. Its own last one is not new to it.
fn older(last: &[Post], cursor: Cursor) -> usize {
    let Some(first) = last.first() else { return 0 };
    let before = first.seq.saturating_sub(1).saturating_sub(cursor.seen);
    let own = u64::from(cursor.spoke > cursor.seen && cursor.spoke < first.seq);
    usize::try_from(before.saturating_sub(own)).unwrap_or(usize::MAX)
}

fn kinds(hands_off: bool) -> impl Iterator<Item = Kind> {
    [Kind::WorkDone, Kind::Say].into_iter().chain(hands_off.then_some(Kind::Handoff))
}

fn team(place: &Place) -> String {
    place.project().file_name().map_or_else(|| "crew".into(), |name| name.to_string_lossy().into_owned())
}

/// Who else has a file.
fn others(place: &Place, name: &str) -> Vec<String> {
    // A directory that cannot be read names nobody; the run's state says why.
    let files = profiles::files(place).unwrap_or_default();
    let names = files.iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()));
    names.filter(|other| other != name).collect()
}
