//! What a turn of the thread shows its teammate, gathered from the records of the run. What it costs does not grow with
//! the thread.

use std::path::Path;

use board::Result;
use board::locked::Claimed;
use board::place::Place;
use board::post::{Kind, Post};
use board::run::{Answer, AskKind, Cursor, OpenTurn, Run};
use board::task::Outcome;

use crate::attempt;
use crate::briefing::Briefing;
use crate::goal::Goal;
use crate::opening::{self, News, Opening, Restricted, Voice};
use crate::profile::Profile;
use crate::profiles;
use crate::workplace::Workplace;

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
    let new = New::of(run, name)?;
    let seen = new.last.unwrap_or(turn.after);
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
        voice: if profile.thinks() { Voice::Tools } else { Voice::Commands },
        name,
        role: &profile.role,
        team: &team(place),
        others: &others.iter().map(String::as_str).collect::<Vec<_>>(),
        turn: &turn.turn,
        after_cut: turn.again,
        news: new.news(),
        answers: &answers,
        planning: turn.planning,
        restricted: why.as_deref().map(|why| Restricted { kinds: &kinds, why }),
        memory: &memory,
        goal_file: &goal_file,
        goal: &goal,
    };
    Ok(Gathered { text: opening.text(), json: opening.json(), seen, answers: answered.iter().map(|(ask, _)| ask.id).collect() })
}

/// The posts that are new to a teammate, one line each: for a turn that is about something else. Empty: there are none.
pub(crate) fn index(run: &Run, name: &str) -> Result<String> {
    let new = New::of(run, name)?;
    Ok(opening::index(Voice::Tools, new.news()))
}

/// What a turn on a task shows a model, and the posts that are new to it.
pub(crate) fn brief(workplace: &Workplace, claimed: &Claimed, workspace: &Path) -> Result<(String, Option<String>)> {
    let (place, task) = (workplace.place(), &claimed.task);
    let text = workplace.board().read_task(&task.id).map(|(text, _)| text).unwrap_or_default();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let mut results: Vec<_> = workplace.results_for(claimed).into_iter().collect();
    results.sort_by(|(one, _), (other, _)| one.cmp(other));
    let word = |value: &serde_json::Value, key: &str| value.pointer(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let results: Vec<_> = results.into_iter().map(|(id, value)| (id, word(&value, "/subject"), word(&value, "/result/summary"))).collect();
    let run = Run::existing(place)?;
    let asks = run.as_ref().map(|run| run.asks.all()).transpose()?.unwrap_or_default();
    let answered = asks.into_iter().filter(|ask| ask.task.as_ref() == Some(&task.id));
    let answers: Vec<_> = answered.filter_map(|ask| Some((ask.text, answer(ask.answer?)))).collect();
    let cut_short = task.attempts.last().filter(|last| last.outcome == Outcome::Lost);
    let log = cut_short.map(|last| attempt::last_lines(&place.log(&task.id, &last.turn))).unwrap_or_default();
    let (description, check) = (word(&document, "/description"), task.check.as_ref().map(ToString::to_string));
    let briefing = Briefing {
        task: task.id.as_str(),
        subject: &task.subject,
        description: &description,
        check: check.as_deref(),
        turn: &claimed.turn,
        attempt: claimed.attempt,
        workspace: &workspace.display().to_string(),
        results: &results,
        attempts: &task.attempts,
        log: &log,
        answers: &answers,
    };
    let name = claimed.task.claim.as_ref().map(|claim| claim.by.clone()).unwrap_or_default();
    Ok((briefing.text(), run.map(|run| index(&run, &name)).transpose()?))
}

fn answer(answer: Answer) -> String {
    let decision = answer.decision.map(|decision| decision.as_str().to_owned());
    decision.into_iter().chain(answer.text).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

/// What a teammate has not seen of the thread.
struct New {
    posts: Vec<Post>,
    older: usize,
    cursor: u64,
    /// The last post of all.
    last: Option<u64>,
}

impl New {
    fn of(run: &Run, name: &str) -> Result<New> {
        let cursor = run.cursors.read()?.teammates.get(name).copied().unwrap_or_default();
        let all = run.thread.last(ENOUGH)?;
        let (last, older) = (all.last().map(|post| post.seq), older(&all, cursor));
        let posts = all.into_iter().filter(|post| post.seq > cursor.seen && post.from != name).collect();
        Ok(New { posts, older, cursor: cursor.seen, last })
    }

    fn news(&self) -> News<'_> {
        News { posts: &self.posts, older: self.older, older_of_user: 0, cursor: self.cursor }
    }
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

/// How the team is called.
pub(crate) fn team(place: &Place) -> String {
    place.project().file_name().map_or_else(|| "crew".into(), |name| name.to_string_lossy().into_owned())
}

/// Who else has a file.
fn others(place: &Place, name: &str) -> Vec<String> {
    // A directory that cannot be read names nobody; the run's state says why.
    let files = profiles::files(place).unwrap_or_default();
    let names = files.iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()));
    names.filter(|other| other != name).collect()
}
