//! Commits of everything in a working tree, made where its branch goes on.

use std::path::PathBuf;

use git2::{Index, Oid, Signature, Time};

use super::WorkTree;
use super::work_tree::path_of;

type Git<T> = std::result::Result<T, git2::Error>;

/// Who commits where nobody is configured, and every checkpoint. `at`: seconds since the epoch.
pub(crate) fn crew(at: i64) -> Git<Signature<'static>> {
    Signature::new("crew", "crew@localhost", &Time::new(at, 0))
}

/// Who commits for the person whose repository it is: who is configured, else crew.
pub(crate) fn author(tree: &WorkTree, at: i64) -> Git<Signature<'static>> {
    let user = tree.repository.signature().ok();
    let user = user.as_ref().and_then(|user| Some((user.name().ok()?, user.email().ok()?)));
    user.map_or_else(|| crew(at), |(name, email)| Signature::new(name, email, &Time::new(at, 0)))
}

/// Commits everything that git would add on the branch that is checked out (its index comes along), as the configured
/// person, else as crew. `.tasks/` and `.crew/` stay as HEAD has them. `None`: there is nothing to commit.
pub(crate) fn commit_all(tree: &WorkTree, message: &str, at: i64) -> Git<Option<Oid>> {
    let head = tree.head()?;
    let mut taken = tree.taken()?;
    let as_head = match &head {
        Some(head) => Some(tree.without_left_out(&head.tree()?)?),
        None => None,
    };
    let bare = taken.write_tree_to(&tree.repository)?;
    if as_head == Some(bare) || (head.is_none() && taken.is_empty()) {
        return Ok(None);
    }
    let mut whole = Index::new()?;
    taken.iter().try_for_each(|entry| whole.add(&entry))?;
    if let Some(head) = &head {
        let mut committed = Index::new()?;
        committed.read_tree(&head.tree()?)?;
        committed.iter().filter(|entry| tree.is_left_out(path_of(entry))).try_for_each(|entry| whole.add(&entry))?;
    }
    let content = tree.repository.find_tree(whole.write_tree_to(&tree.repository)?)?;
    let mut index = tree.repository.index()?;
    let gone = |path: &PathBuf| !tree.is_left_out(path) && taken.get_path(path, 0).is_none();
    let gone: Vec<PathBuf> = index.iter().map(|entry| path_of(&entry).to_owned()).filter(gone).collect();
    gone.iter().try_for_each(|path| index.remove(path, 0))?;
    taken.iter().try_for_each(|entry| index.add(&entry))?;
    let author = author(tree, at)?;
    // Before the commit: an index that is behind its branch would show the work as undone, and the next commit undo it.
    index.write()?;
    tree.repository.commit(Some("HEAD"), &author, &author, message, &content, &head.iter().collect::<Vec<_>>()).map(Some)
}
