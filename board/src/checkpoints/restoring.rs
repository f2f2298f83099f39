//! Going back to a checkpoint.
//!
//! What is there is made a checkpoint first, and `restore.json` says what is to be done; so a restore can be undone, and
//! one that was cut short is completed ([`Checkpoints::finish_restore`]). Files go first, then the others are put back,
//! each in one step.
//!
//! Never touched: what git ignores, before or afterwards; `.tasks/` and `.crew/`; HEAD, branches and the user's index;
//! other repositories inside. Where one of these stands in the way of a file, nothing is begun.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use git2::{DiffOptions, ErrorCode, Index, Oid};
use serde::{Deserialize, Serialize};

use super::{Checkpoint, Checkpoints, Kind, exact_of, taken};
use crate::crash;
use crate::disk::below::Below;
use crate::disk::{self, Dir};
use crate::error::{Error, Refusal, Result, Rule};
use crate::tree::{WorkTree, named, path_of};

const INTENT: &str = "restore.json";
/// The newest format of it that is known here.
const FORMAT: u64 = 1;
const LINK: u32 = 0o120_000;
const REPOSITORY: u32 = 0o160_000;

/// What came of going back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The checkpoint of what was there before: going back to it undoes this.
    pub before: u64,
    /// Files that were put back: their content, or what they are.
    pub changed: usize,
    /// Files that were removed.
    pub removed: usize,
}

/// What is being done.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Intent {
    format: u64,
    to: u64,
    before: u64,
}

/// A file that differs.
struct Step {
    path: PathBuf,
    /// What it is there now; `None`: no file.
    from: Option<(Oid, u32)>,
    /// What it is to be; `None`: no file.
    to: Option<(Oid, u32)>,
}

impl Checkpoints {
    /// Puts back every file, tracked or not, as it was at a checkpoint, and removes those that came later.
    ///
    /// Refused, with nothing changed: there is no such checkpoint, or something that is never touched stands in the way.
    /// An error afterwards names the first paths at which the tree is not the checkpoint's.
    pub fn restore(&self, number: u64) -> Result<Restored> {
        let tree = WorkTree::needed(self.place())?;
        let (state, _held) = self.locked()?;
        self.find(number)?;
        let before = self.made(&tree, &state, &format!("before going back to checkpoint {number}"), None, Kind::Refs)?;
        self.go_back(&tree, &state, Intent { format: FORMAT, to: number, before: before.number }, &before, true)
    }

    /// Whether a restore was cut short: then the tree is in between, until it is completed.
    pub fn is_cut_short(&self) -> Result<bool> {
        match Dir::open(self.place().state()) {
            Ok(state) => Ok(state.stat(INTENT)?.is_some()),
            Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Completes a restore that was cut short; `None`: there is none. Errors as those of [`Checkpoints::restore`].
    pub fn finish_restore(&self) -> Result<Option<Restored>> {
        // Looked for without the lock: nearly always there is none.
        if !self.is_cut_short()? {
            return Ok(None);
        }
        let tree = WorkTree::needed(self.place())?;
        let (state, _held) = self.locked()?;
        let Some(bytes) = state.read(INTENT)? else { return Ok(None) };
        let intent: Intent = serde_json::from_slice(&bytes).map_err(|e| {
            let path = state.join(INTENT);
            Refusal::board(Rule::NotValid, format!("{} is broken ({e}); remove it, and `crew restore` again what you want", path.display()))
        })?;
        if intent.format > FORMAT {
            return Err(Error::NewerFormat { path: state.join(INTENT), found: intent.format, known: FORMAT });
        }
        // What lies there now is kept as well: somebody may have worked on in the middle of it.
        let now = self.made(&tree, &state, &format!("in the middle of going back to checkpoint {}", intent.to), None, Kind::Refs)?;
        self.go_back(&tree, &state, intent, &now, false).map(Some)
    }

    fn find(&self, number: u64) -> Result<Checkpoint> {
        let missing = || Refusal::board(Rule::UnknownId, format!("there is no checkpoint {number}; `crew checkpoints` lists them"));
        self.list()?.into_iter().find(|checkpoint| checkpoint.number == number).ok_or_else(missing)
    }

    /// From what lies there (`now`, a checkpoint) to what is intended.
    fn go_back(&self, tree: &WorkTree, state: &Dir, intent: Intent, now: &Checkpoint, is_new: bool) -> Result<Restored> {
        let target = self.find(intent.to)?;
        let failed = tree.failed("go back to a checkpoint in");
        let [to, from] = [&target, now].map(|checkpoint| self.content(tree, checkpoint));
        let (to, from) = (to?, from?);
        let steps = steps(tree, from, to).map_err(&failed)?;
        let below = Below::open(&tree.root)?;
        refuse_what_is_in_the_way(tree, &below, from, &steps)?;
        if is_new {
            let text = serde_json::to_vec(&intent).map_err(|e| Error::io("write", state.join(INTENT), std::io::Error::from(e)))?;
            state.replace(INTENT, &text, 0o600, true)?;
            crash::point("restore.intent");
        }
        let (rules, others): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(|step| step.path.file_name().is_some_and(|name| name == ".gitignore"));
        // What is ignored is said by the files that are put back.
        for steps in [rules, others] {
            remove(tree, &below, &steps)?;
            for step in steps {
                put(tree, &below, step)?;
                crash::point("restore.putting");
            }
        }
        let whole = match is_new {
            true => steps,
            false => self::steps(tree, self.content(tree, &self.find(intent.before)?)?, to).map_err(&failed)?,
        };
        remove_left_behind(&below, &whole)?;
        Dir::open(&tree.root)?.sync_filesystem()?;
        crash::point("restore.written");
        let mut removed = 0;
        for step in whole.iter().filter(|step| step.to.is_none()) {
            removed += usize::from(below.kind(&step.path)?.is_none_or(|kind| kind == disk::Kind::Directory));
        }
        state.remove(INTENT)?;
        state.sync()?;
        check(tree, to, &target)?;
        Ok(Restored { before: intent.before, changed: whole.iter().filter(|step| step.to.is_some()).count(), removed })
    }

    /// A checkpoint's tree to the byte.
    fn content(&self, tree: &WorkTree, checkpoint: &Checkpoint) -> Result<Oid> {
        let gone = || Refusal::board(Rule::NotValid, format!("checkpoint {} is no longer in the repository {}", checkpoint.number, tree.root.display()));
        exact_of(tree, checkpoint).map_err(tree.failed("read a checkpoint of"))?.ok_or_else(gone)
    }
}

/// Every path at which two trees differ, but for other repositories inside.
fn steps(tree: &WorkTree, from: Oid, to: Oid) -> std::result::Result<Vec<Step>, git2::Error> {
    let [from, to] = [from, to].map(|id| tree.repository.find_tree(id));
    let mut options = DiffOptions::new();
    options.include_typechange(true).skip_binary_check(true);
    let diff = tree.repository.diff_tree_to_tree(Some(&from?), Some(&to?), Some(&mut options))?;
    let side = |file: git2::DiffFile<'_>| {
        let mode = u32::from(file.mode());
        (!file.id().is_zero() && mode != REPOSITORY).then(|| (file.id(), mode))
    };
    let step = |delta: git2::DiffDelta<'_>| {
        let path = delta.new_file().path().or(delta.old_file().path()).map(Path::to_owned)?;
        let step = Step { from: side(delta.old_file()), to: side(delta.new_file()), path };
        (!tree.is_left_out(&step.path) && (step.from.is_some() || step.to.is_some())).then_some(step)
    };
    Ok(diff.deltas().filter_map(step).collect())
}

/// Files to be put back must find their place free, or taken by what `from` has: only that may go.
fn refuse_what_is_in_the_way(tree: &WorkTree, below: &Below, from: Oid, steps: &[Step]) -> Result<()> {
    let mut known = Index::new().map_err(tree.failed("read a checkpoint of"))?;
    tree.repository.find_tree(from).and_then(|from| known.read_tree(&from)).map_err(tree.failed("read a checkpoint of"))?;
    let known: HashSet<PathBuf> = known.iter().filter(|entry| entry.mode != REPOSITORY).map(|entry| path_of(&entry).to_owned()).collect();
    let mut in_the_way = BTreeSet::new();
    let mut free = HashSet::new();
    for step in steps.iter().filter(|step| step.to.is_some() && step.from.is_none()) {
        for above in step.path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            if !free.insert(above) {
                break;
            }
            if below.kind(above)?.is_some_and(|kind| kind != disk::Kind::Directory) && !known.contains(above) {
                in_the_way.insert(above.to_owned());
            }
        }
        match below.kind(&step.path)? {
            None => {}
            Some(disk::Kind::Directory) => foreign(below, &step.path, &known, &mut in_the_way)?,
            Some(_) if is_already(tree, step) => {}
            Some(_) => drop(in_the_way.insert(step.path.clone())),
        }
    }
    match in_the_way.is_empty() {
        true => Ok(()),
        false => {
            let paths = named(&in_the_way);
            let message = format!(
                "what git ignores, or another repository, stands where files are to be put back, in {}: {paths}; move that away and do it again",
                tree.root.display()
            );
            Err(Refusal::board(Rule::InTheWay, message))
        }
    }
}

/// What is in a directory that is to become a file, and in no checkpoint.
fn foreign(below: &Below, directory: &Path, known: &HashSet<PathBuf>, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    for path in below.names(directory)? {
        match below.kind(&path)? {
            Some(disk::Kind::Directory) => foreign(below, &path, known, found)?,
            Some(_) if !known.contains(&path) => drop(found.insert(path)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a file that no checkpoint knows has what is to be put there.
fn is_already(tree: &WorkTree, step: &Step) -> bool {
    let Some((id, mode)) = step.to else { return false };
    let there = tree.root.join(&step.path);
    let bytes = match mode {
        LINK => std::fs::read_link(there).map(|to| std::os::unix::ffi::OsStringExt::into_vec(to.into_os_string())),
        _ => std::fs::symlink_metadata(&there).and_then(|file| if file.is_file() { std::fs::read(there) } else { Err(std::io::ErrorKind::Other.into()) }),
    };
    bytes.is_ok_and(|bytes| Oid::hash_object(git2::ObjectType::Blob, &bytes).is_ok_and(|have| have == id))
}

/// Removes the files that are to go. Those that are ignored by now stay.
fn remove(tree: &WorkTree, below: &Below, steps: &[&Step]) -> Result<()> {
    let failed = tree.failed("ask what is ignored in");
    // Anew: rules that were read are remembered.
    let repository = git2::Repository::open(&tree.root).map_err(&failed)?;
    let index = repository.index().map_err(&failed)?;
    for step in steps.iter().filter(|step| step.to.is_none()) {
        let is_tracked = index.get_path(&step.path, 0).is_some();
        if is_tracked || !repository.is_path_ignored(&step.path).map_err(&failed)? {
            below.remove(&step.path)?;
            crash::point("restore.removing");
        }
    }
    Ok(())
}

/// Removes the directories that are empty since their files went, the innermost first.
fn remove_left_behind(below: &Below, steps: &[Step]) -> Result<()> {
    let gone = steps.iter().filter(|step| step.to.is_none());
    let left: BTreeSet<&Path> = gone.flat_map(|step| step.path.ancestors().skip(1)).filter(|above| !above.as_os_str().is_empty()).collect();
    left.iter().rev().try_for_each(|directory| below.remove_empty(directory).map(drop))
}

/// Puts a file back.
fn put(tree: &WorkTree, below: &Below, step: &Step) -> Result<()> {
    let Some((id, mode)) = step.to else { return Ok(()) };
    let blob = tree.repository.find_blob(id).map_err(tree.failed("read a checkpoint of"))?;
    for above in step.path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        // It was seen that this may go: see `refuse_what_is_in_the_way`.
        if below.kind(above)?.is_some_and(|kind| kind != disk::Kind::Directory) {
            below.remove(above)?;
        }
    }
    if below.kind(&step.path)? == Some(disk::Kind::Directory) {
        remove_hollow(below, &step.path)?;
    }
    match mode {
        LINK => below.put_link(&step.path, blob.content()),
        _ => below.put_file(&step.path, blob.content(), mode & 0o100 != 0),
    }
}

/// Removes a directory with those inside in which nothing is.
fn remove_hollow(below: &Below, directory: &Path) -> Result<()> {
    for path in below.names(directory)? {
        if below.kind(&path)? == Some(disk::Kind::Directory) {
            remove_hollow(below, &path)?;
        }
    }
    below.remove_empty(directory).map(drop)
}

/// The tree is now the checkpoint's, or the error says where it is not.
fn check(tree: &WorkTree, to: Oid, target: &Checkpoint) -> Result<()> {
    let failed = tree.failed("compare with a checkpoint");
    let (_, plain, exact) = taken(tree).map_err(&failed)?;
    // A file that a filter program would convert back (LFS) can only be compared as it lies there.
    if plain.to_string() == target.tree || exact == to {
        return Ok(());
    }
    let wanted = Oid::from_str(&target.tree).map_err(&failed)?;
    let differs = |from: Oid, to: Oid| -> std::result::Result<BTreeSet<PathBuf>, git2::Error> {
        let [from, to] = [from, to].map(|id| tree.repository.find_tree(id));
        let diff = tree.repository.diff_tree_to_tree(Some(&from?), Some(&to?), None)?;
        Ok(diff.deltas().filter_map(|delta| delta.new_file().path().or(delta.old_file().path()).map(Path::to_owned)).collect())
    };
    let paths = match differs(plain, wanted) {
        // Of a checkpoint on a branch that has what is left out, git keeps the commit, not this tree.
        Err(e) if e.code() == ErrorCode::NotFound => differs(exact, to),
        found => found,
    };
    let message = format!("after going back to checkpoint {} these differ from it: {}", target.number, named(&paths.map_err(&failed)?));
    Err(Error::Io { action: "restore all of", path: tree.root.clone(), source: std::io::Error::other(message) })
}
