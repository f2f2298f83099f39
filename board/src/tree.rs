//! The working tree's SHA: the judge of whether anything has changed.
//!
//! It is the tree that `git add --all` and `git write-tree` would give, without `.tasks/` and `.crew/`. It is made in an
//! index in memory: HEAD, the user's index and every file stay as they are. The objects that it needs are put into the
//! repository, where git itself puts them.
//!
//! Two things differ from git. No filter program is ever run: a file that one would change (LFS) is taken as it lies
//! there, unless the user's index knows it unchanged. And in a repository that holds the machine-side state of its own
//! board, that state is left out, too.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Delta, DiffFindOptions, DiffFormat, DiffLine, DiffOptions, ErrorCode, Object, ObjectType, Oid, Tree};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::place::Place;

mod commit;
mod work_tree;

pub(crate) use commit::{author, commit_all, crew};
pub(crate) use work_tree::{WorkTree, path_of};

/// How a working tree stands to what is committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The id of the commit that HEAD is; `None`: there is none yet.
    pub head: Option<String>,
    /// That commit's tree without `.tasks/` and `.crew/`, so that it compares with `tree`.
    pub head_tree: Option<String>,
    /// The working tree's, as [`sha`] gives it.
    pub tree: String,
}

/// The SHA of the working tree that a board's project is in; `None`: there is none (no repository, or a bare one).
///
/// An error names the repository and what git says.
pub fn sha(place: &Place) -> Result<Option<String>> {
    let Some(tree) = WorkTree::of(place)? else { return Ok(None) };
    let failed = tree.failed("take the tree of");
    tree.taken().and_then(|mut index| index.write_tree_to(&tree.repository)).map(|id| Some(id.to_string())).map_err(failed)
}

/// The same together with what is committed; `None` and errors as those of [`sha`].
pub fn state(place: &Place) -> Result<Option<State>> {
    let Some(tree) = WorkTree::of(place)? else { return Ok(None) };
    let state = tree.taken().and_then(|mut index| state_of(&tree, index.write_tree_to(&tree.repository)?));
    state.map(Some).map_err(tree.failed("take the tree of"))
}

/// How a working tree of which the tree is known stands to HEAD.
pub(crate) fn state_of(tree: &WorkTree, taken: Oid) -> std::result::Result<State, git2::Error> {
    let head = tree.head()?;
    Ok(State {
        head_tree: head.as_ref().map(|head| tree.without_left_out(&head.tree()?)).transpose()?.map(|id| id.to_string()),
        head: head.map(|head| head.id().to_string()),
        tree: taken.to_string(),
    })
}

/// What differs between two trees (or commits), as a unified diff of at most `most` bytes. One that is longer is cut
/// after a whole line, and a last line, beyond those bytes, says so. Files that are no text are only named.
///
/// An error: there is no repository, or it has no such tree.
pub fn diff(place: &Place, from: &str, to: &str, most: usize) -> Result<String> {
    let tree = WorkTree::needed(place)?;
    let (mut text, mut whole) = (Vec::new(), 0);
    let mut note = |line: DiffLine<'_>| {
        let marked = matches!(line.origin(), '+' | '-' | ' ');
        let length = line.content().len() + usize::from(marked);
        // After a line that does not fit none is taken, though a shorter one might: what is left out is the end.
        if whole == text.len() && whole + length <= most {
            text.extend(marked.then_some(line.origin() as u8));
            text.extend_from_slice(line.content());
        }
        whole += length;
    };
    let mut compare = || {
        let [from, to] = [from, to].map(|id| tree_of(&tree, id));
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let mut diff = tree.repository.diff_tree_to_tree(Some(&from?), Some(&to?), Some(&mut options))?;
        if diff.deltas().any(|delta| delta.status() == Delta::Added) {
            diff.find_similar(Some(DiffFindOptions::new().renames(true).rename_limit(MOST_RENAMES)))?;
        }
        diff.print(DiffFormat::Patch, |_, _, line| {
            note(line);
            true
        })
    };
    compare().map_err(tree.failed("compare trees in"))?;
    let mut shown = String::from_utf8_lossy(&text).into_owned();
    if text.len() < whole {
        shown.push_str(&format!("[cut here: {} of {whole} bytes are shown]\n", text.len()));
    }
    Ok(shown)
}

/// So many files are looked at to find out which was renamed; with more, they show as removed and added.
const MOST_RENAMES: usize = 200;

/// Whether a file that differs between two trees, and that is there, was last written in this time.
///
/// An error: there is no repository, or it has no such tree.
pub fn was_written(place: &Place, from: &str, to: &str, since: Timestamp, until: Timestamp) -> Result<bool> {
    let tree = WorkTree::needed(place)?;
    let differing = || {
        let [from, to] = [from, to].map(|id| tree_of(&tree, id));
        let diff = tree.repository.diff_tree_to_tree(Some(&from?), Some(&to?), None)?;
        Ok(diff.deltas().filter_map(|delta| delta.new_file().path().map(Path::to_owned)).collect::<Vec<_>>())
    };
    let paths: Vec<PathBuf> = differing().map_err(tree.failed("compare trees in"))?;
    let written = |path: &PathBuf| tree.root.join(path).symlink_metadata().ok().and_then(|file| written_at(&file));
    Ok(paths.iter().filter_map(written).any(|written| since <= written && written <= until))
}

/// When a file was last written.
pub fn written_at(file: &Metadata) -> Option<Timestamp> {
    Timestamp::new(file.mtime(), i32::try_from(file.mtime_nsec()).ok()?).ok()
}

fn tree_of<'r>(tree: &'r WorkTree, id: &str) -> std::result::Result<Tree<'r>, git2::Error> {
    let object: Object<'r> = tree.repository.find_object(Oid::from_str(id)?, None)?;
    object.peel(ObjectType::Tree)?.into_tree().map_err(|_| git2::Error::new(ErrorCode::InvalidSpec, git2::ErrorClass::Tree, "it is no tree"))
}

/// Paths as messages name them: five at most.
pub(crate) fn named(paths: &BTreeSet<PathBuf>) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| path.display().to_string()).collect();
    let more = if paths.len() > shown.len() { format!(" and {} more", paths.len() - shown.len()) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
