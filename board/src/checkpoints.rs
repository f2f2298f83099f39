//! Checkpoints: what the working tree was at some moment, to go back to.
//!
//! Each is a commit under `refs/crew/checkpoints/<n>`, on nobody's branch, whose parent is the one before it (the first
//! one's: HEAD). `checkpoints.json` lists them. The reference is written before the list: one that the list does not
//! know (a crash came between, or the list was lost) is taken into it by the next that is made. Several boards of one
//! repository share the numbers, so a board's own may leave some out.
//!
//! A commit has files as git stores them. Where git converts them (line ends, identifiers, LFS), what really lay there
//! is kept beside under `refs/crew/exact/<n>`, so that it comes back to the byte.

use git2::{Commit, ErrorCode, Index, Oid, RepositoryState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::Dir;
use crate::error::{Refusal, Result, Rule};
use crate::lock::{Held, LockFile, Mode, PATIENCE};
use crate::place::Place;
use crate::tree::{State, WorkTree, commit_all, crew, state_of};
use crate::{clock, crash};

mod exact;
mod list;
mod restoring;

use list::List;
pub use restoring::Restored;

/// What the working tree was at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number, from 1; numbers only grow.
    pub number: u64,
    /// When it was made.
    pub at: Timestamp,
    /// The commit's id.
    pub commit: String,
    /// The working tree's SHA, as [`crate::tree::sha`] gives it.
    pub tree: String,
    /// What it was made for, in words.
    pub why: String,
    /// The post in the thread that it follows, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The commit that HEAD was; `None`: there was none, or it is not known any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// Where a checkpoint's commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On no branch.
    Refs,
    /// On the branch that is checked out, where there is something to commit; else it is HEAD itself.
    Branch,
}

/// The checkpoints of a board's project.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    place: Place,
}

/// What lay in a working tree at a moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// How it stood to HEAD.
    pub state: State,
    plain: Oid,
    exact: Oid,
}

const REFS: &str = "refs/crew/checkpoints/";
const EXACT: &str = "refs/crew/exact/";
/// The line of a commit that names the board whose checkpoint it is.
const BOARD: &str = "Crew-Board: ";

impl Checkpoints {
    /// Those of a board's project. Touches nothing.
    pub fn of(place: &Place) -> Checkpoints {
        Checkpoints { place: place.clone() }
    }

    /// All, oldest first. Reading makes nothing.
    pub fn list(&self) -> Result<Vec<Checkpoint>> {
        match Dir::open(self.place.state()) {
            Ok(state) => Ok(List::read(&state)?.checkpoints),
            Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// Makes one of what lies there now. Where neither that nor HEAD has changed since the last, that is returned.
    /// `why`: its message. `seq`: the post that it follows. `None`: there is no repository.
    ///
    /// [`Kind::Branch`] is refused while the repository is in the middle of a merge or the like.
    pub fn make(&self, why: &str, seq: Option<u64>, kind: Kind) -> Result<Option<Checkpoint>> {
        let Some(tree) = WorkTree::of(&self.place)? else { return Ok(None) };
        let (state, _held) = self.locked()?;
        self.made(&tree, &state, why, seq, kind).map(Some)
    }

    /// Takes what lies there now into the repository, for a checkpoint that is made of it later: others may go on to
    /// work meanwhile. `None`: there is no repository.
    pub fn take(&self) -> Result<Option<Snapshot>> {
        let Some(tree) = WorkTree::of(&self.place)? else { return Ok(None) };
        let snapshot = taken(&tree).and_then(|(_, plain, exact)| Ok(Snapshot { state: state_of(&tree, plain)?, plain, exact }));
        snapshot.map(Some).map_err(tree.failed("take the tree of"))
    }

    /// Makes a checkpoint under refs of what was taken, as [`Checkpoints::make`] does.
    pub fn keep(&self, snapshot: &Snapshot, why: &str, seq: Option<u64>) -> Result<Checkpoint> {
        let tree = WorkTree::needed(&self.place)?;
        let (state, _held) = self.locked()?;
        self.made_of(&tree, &state, snapshot, why, seq, Kind::Refs)
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn locked(&self) -> Result<(Dir, Held)> {
        let state = Dir::make(self.place.state(), 0o700)?;
        let held = LockFile::open(&state, "checkpoints.lock")?.lock(Mode::Exclusive, PATIENCE)?;
        Ok((state, held))
    }

    /// Makes one of what lies there; under the lock.
    fn made(&self, tree: &WorkTree, state: &Dir, why: &str, seq: Option<u64>, kind: Kind) -> Result<Checkpoint> {
        let (_, plain, exact) = taken(tree).map_err(tree.failed("make a checkpoint of"))?;
        let now = state_of(tree, plain).map_err(tree.failed("make a checkpoint of"))?;
        self.made_of(tree, state, &Snapshot { state: now, plain, exact }, why, seq, kind)
    }

    /// Makes one of what was taken; under the lock.
    fn made_of(&self, tree: &WorkTree, state: &Dir, snapshot: &Snapshot, why: &str, seq: Option<u64>, kind: Kind) -> Result<Checkpoint> {
        let (plain, exact) = (snapshot.plain, snapshot.exact);
        let mut list = List::read_to_write(state)?;
        let failed = tree.failed("make a checkpoint of");
        self.adopt(tree, &mut list).map_err(&failed)?;
        if let Some(last) = list.checkpoints.last()
            && (last.tree == plain.to_string() && last.head == snapshot.state.head)
            && (kind == Kind::Refs || is_committed(tree, plain).map_err(&failed)?)
            && exact_of(tree, last).map_err(&failed)? == Some(exact)
        {
            let last = last.clone();
            list.write(state)?;
            return Ok(last);
        }
        let at = clock::now();
        let on_branch = match kind {
            Kind::Branch => on_branch(tree, why, at)?,
            Kind::Refs => None,
        };
        let number = list.checkpoints.last().map_or(0, |last| last.number).max(highest(tree).map_err(&failed)?) + 1;
        let make = || {
            let commit = match on_branch {
                Some(commit) => commit,
                None => {
                    let parent = match list.checkpoints.last().map(|last| Oid::from_str(&last.commit).and_then(|id| tree.repository.find_commit(id))) {
                        Some(Ok(last)) => Some(last),
                        _ => tree.head()?,
                    };
                    let message = format!("{}\n\n{BOARD}{}\n", why.replace('\0', " "), self.board());
                    let crew = crew(at.as_second())?;
                    let content = tree.repository.find_tree(plain)?;
                    tree.repository.commit(None, &crew, &crew, &message, &content, &parent.iter().collect::<Vec<&Commit<'_>>>())?
                }
            };
            if exact != plain {
                tree.repository.reference(&format!("{EXACT}{number}"), exact, true, "")?;
            }
            tree.repository.reference(&format!("{REFS}{number}"), commit, false, "")?;
            Ok(commit)
        };
        let commit = make().map_err(&failed)?;
        tree.sync()?;
        crash::point("checkpoint.ref");
        // A commit on the branch is its head now; else it is what it was when the tree was taken.
        let head = if on_branch.is_some() { Some(commit.to_string()) } else { snapshot.state.head.clone() };
        let made = Checkpoint { number, at, commit: commit.to_string(), tree: plain.to_string(), why: why.to_owned(), seq, head };
        list.push(made.clone());
        list.write(state)?;
        Ok(made)
    }

    /// Takes references that are this board's and not in its list into it.
    fn adopt(&self, tree: &WorkTree, list: &mut List) -> std::result::Result<(), git2::Error> {
        for (number, id) in numbered(tree)? {
            if list.checkpoints.iter().any(|one| one.number == number) {
                continue;
            }
            let Ok(commit) = tree.repository.find_commit(id) else { continue };
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            let Some((why, board)) = message.rsplit_once(BOARD) else { continue };
            if board.trim_end() == self.board() {
                let at = Timestamp::from_second(commit.time().seconds()).unwrap_or_default();
                let (commit, tree) = (id.to_string(), commit.tree_id().to_string());
                list.push(Checkpoint { number, at, commit, tree, why: why.trim_end().to_owned(), seq: None, head: None });
            }
        }
        Ok(())
    }

    /// What names this board in a repository that several share.
    fn board(&self) -> String {
        self.place.state().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What lies there: its entries, its tree, and its tree to the byte.
fn taken(tree: &WorkTree) -> std::result::Result<(Index, Oid, Oid), git2::Error> {
    let mut index = tree.taken()?;
    let plain = index.write_tree_to(&tree.repository)?;
    let exact = exact::of(tree, &mut index)?.unwrap_or(plain);
    Ok((index, plain, exact))
}

/// A checkpoint's tree to the byte, without what is left out; `None`: its objects are gone.
fn exact_of(tree: &WorkTree, checkpoint: &Checkpoint) -> std::result::Result<Option<Oid>, git2::Error> {
    match tree.repository.refname_to_id(&format!("{EXACT}{}", checkpoint.number)) {
        Ok(id) => return Ok(Some(id)),
        Err(e) if e.code() != ErrorCode::NotFound => return Err(e),
        Err(_) => {}
    }
    match tree.repository.find_commit(Oid::from_str(&checkpoint.commit)?) {
        Ok(commit) => tree.without_left_out(&commit.tree()?).map(Some),
        Err(e) if e.code() == ErrorCode::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_committed(tree: &WorkTree, plain: Oid) -> std::result::Result<bool, git2::Error> {
    let head = tree.head()?.map(|head| tree.without_left_out(&head.tree()?)).transpose()?;
    Ok(head == Some(plain))
}

/// Commits what is not committed; the commit that has it all. `None`: there is nothing and was nothing.
fn on_branch(tree: &WorkTree, why: &str, at: Timestamp) -> Result<Option<Oid>> {
    let failed = tree.failed("commit in");
    let at_rest = tree.repository.state() == RepositoryState::Clean && !tree.repository.index().map_err(&failed)?.has_conflicts();
    if !at_rest {
        let message = format!("{} is in the middle of a merge, a rebase or the like; finish or abort that first", tree.root.display());
        return Err(Refusal::board(Rule::InTheWay, message));
    }
    match commit_all(tree, why, at.as_second()).map_err(&failed)? {
        Some(commit) => Ok(Some(commit)),
        None => Ok(tree.head().map_err(&failed)?.map(|head| head.id())),
    }
}

/// Every checkpoint's reference in the repository, of whatever board, by number.
fn numbered(tree: &WorkTree) -> std::result::Result<Vec<(u64, Oid)>, git2::Error> {
    let mut all = Vec::new();
    for reference in tree.repository.references_glob(&format!("{REFS}*"))? {
        let reference = reference?;
        let number = reference.name().ok().and_then(|name| name.strip_prefix(REFS)?.parse().ok());
        all.extend(number.zip(reference.target()));
    }
    all.sort_unstable();
    Ok(all)
}

fn highest(tree: &WorkTree) -> std::result::Result<u64, git2::Error> {
    Ok(numbered(tree)?.last().map_or(0, |(number, _)| *number))
}
