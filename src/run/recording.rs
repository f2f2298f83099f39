//! Checkpoints of a run: the baseline at once, that of credited work when the next turn has begun, since to put one on
//! disk takes longer than a teammate should wait.

use board::checkpoints::{Checkpoints, Kind, Snapshot};
use board::place::Place;
use board::post::Post;
use board::{Result, tree};
use teammates::config;

/// A checkpoint that is to be made of the tree as it is now.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Its message.
    pub(super) why: String,
    /// The post that it follows.
    pub(super) seq: Option<u64>,
}

impl Wanted {
    /// That of credited work.
    pub(super) fn of(post: &Post) -> Wanted {
        let line: String = post.text.lines().next().unwrap_or_default().chars().take(60).collect();
        Wanted { why: format!("{}: {line}", post.from), seq: Some(post.seq) }
    }
}

/// What was taken of the working tree: to judge the next turn by, and to make a checkpoint of.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// How it stands; `None`: there is no repository.
    pub(super) state: Option<tree::State>,
    snapshot: Option<Snapshot>,
}

/// Takes the working tree. On a branch there is nothing to take first: what is wanted is made at once.
pub(super) fn take(place: &Place, kind: config::Checkpoints, wanted: &mut Option<Wanted>) -> Result<(Taken, Option<u64>)> {
    let mut made = None;
    if kind == config::Checkpoints::Branch
        && let Some(wanted) = wanted.take()
    {
        made = make(place, kind, &wanted)?;
    }
    let taken = match (wanted.is_some(), Checkpoints::of(place)) {
        (true, checkpoints) => {
            let snapshot = checkpoints.take()?;
            Taken { state: snapshot.as_ref().map(|snapshot| snapshot.state.clone()), snapshot }
        }
        (false, _) => Taken { state: tree::state(place)?, snapshot: None },
    };
    Ok((taken, made))
}

/// Makes a checkpoint of what was taken; the answer is its number.
pub(super) fn keep(place: &Place, kind: config::Checkpoints, taken: &Taken, wanted: &Wanted) -> Result<Option<u64>> {
    match (&taken.snapshot, kind) {
        (Some(snapshot), config::Checkpoints::Refs) => Ok(Some(Checkpoints::of(place).keep(snapshot, &wanted.why, wanted.seq)?.number)),
        _ => Ok(None),
    }
}

/// Makes one of what is there now; the answer is its number. `None`: there is no repository, or none are wanted.
pub(super) fn make(place: &Place, kind: config::Checkpoints, wanted: &Wanted) -> Result<Option<u64>> {
    let kind = match kind {
        config::Checkpoints::Off => return Ok(None),
        config::Checkpoints::Refs => Kind::Refs,
        config::Checkpoints::Branch => Kind::Branch,
    };
    Ok(Checkpoints::of(place).make(&wanted.why, wanted.seq, kind)?.map(|made| made.number))
}
