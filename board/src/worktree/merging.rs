//! Merging a task's work into the branch that the main tree has checked out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{CheckoutNotificationType, Commit, Delta, ErrorCode, Index, RepositoryState};

use super::{Git, Merge, is_merged};
use crate::disk::Dir;
use crate::error::Result;
use crate::tree::{WorkTree, author, commit_all, named, path_of};
use crate::{clock, crash};

/// Commits what is uncommitted in a working tree, and merges it. Under the merge lock.
pub(super) fn merge(main: &WorkTree, tree: &WorkTree, branch: &str, message: &str) -> Result<Merge> {
    for (which, whose) in [(tree, "the task's working tree"), (main, "the main working tree")] {
        if let Some(why) = not_at_rest(which).map_err(which.failed("merge in"))? {
            return Ok(Merge::Conflict(format!("{whose} {} {why}", which.root.display())));
        }
    }
    let at = clock::now().as_second();
    commit_all(tree, message, at).map_err(tree.failed("commit in"))?;
    crash::point("merge.committed");
    let merged = merged(main, tree, branch, message, at).map_err(main.failed("merge into"))?;
    if matches!(merged, Merge::Merged { .. }) {
        main.sync()?;
        // The files may be on another filesystem.
        Dir::open(&main.root)?.sync_filesystem()?;
    }
    Ok(merged)
}

fn merged(main: &WorkTree, tree: &WorkTree, branch: &str, message: &str, at: i64) -> Git<Merge> {
    let (Some(ours), Some(theirs)) = (main.head()?, tree.head()?) else { return Ok(Merge::Nothing) };
    if is_merged(main, theirs.id())? {
        return Ok(Merge::Nothing);
    }
    // Of the same repository, seen from the main tree.
    let theirs = main.repository.find_commit(theirs.id())?;
    let target = match main.repository.graph_descendant_of(theirs.id(), ours.id())? {
        true => theirs,
        false => {
            let mut index = main.repository.merge_commits(&ours, &theirs, None)?;
            if index.has_conflicts() {
                let on = main.repository.head()?.shorthand().unwrap_or("HEAD").to_owned();
                return Ok(Merge::Conflict(format!("{branch} and {on} changed the same: {}", named(&in_conflict(&index)?))));
            }
            let content = main.repository.find_tree(index.write_tree_to(&main.repository)?)?;
            let author = author(main, at)?;
            let message = format!("Merge branch '{branch}'\n\n{message}");
            let id = main.repository.commit(None, &author, &author, &message, &content, &[&ours, &theirs])?;
            main.repository.find_commit(id)?
        }
    };
    // The files first: a branch that is ahead of its files would show the work as undone.
    if let Some(why) = bring_files(main, &ours, &target)? {
        return Ok(Merge::Conflict(why));
    }
    crash::point("merge.files");
    let head = main.repository.head()?;
    main.repository.reference_matching(head.name()?, target.id(), true, ours.id(), &format!("crew: merge {branch}"))?;
    Ok(Merge::Merged { commit: target.id().to_string() })
}

/// Why nothing can be merged in a working tree now; `None`: it can.
fn not_at_rest(tree: &WorkTree) -> Git<Option<&'static str>> {
    if tree.repository.state() != RepositoryState::Clean || tree.repository.index()?.has_conflicts() {
        return Ok(Some("is in the middle of a merge, a rebase or the like; finish or abort that first"));
    }
    Ok(tree
        .repository
        .path()
        .join("index.lock")
        .exists()
        .then_some("is locked by another git (index.lock); wait for its end, or remove that file if there is none"))
}

/// Brings the main tree's files and index to a commit, all or none: what is not committed there is never overwritten.
fn bring_files(main: &WorkTree, ours: &Commit<'_>, target: &Commit<'_>) -> Git<Option<String>> {
    let mut in_the_way = BTreeSet::new();
    let (mut to_bring, mut there) = (Vec::new(), Vec::new());
    let mut taken = None;
    for delta in main.repository.diff_tree_to_tree(Some(&ours.tree()?), Some(&target.tree()?), None)?.deltas() {
        let file = delta.new_file();
        let Some(path) = file.path().or(delta.old_file().path()).map(Path::to_owned) else { continue };
        // A new file that lies there already, the same: a merge that was cut short has left it. Git would call it a conflict.
        let is_there = delta.status() == Delta::Added && main.root.join(&path).symlink_metadata().is_ok() && {
            let taken: &Index = match &taken {
                Some(taken) => taken,
                None => taken.insert(main.taken()?),
            };
            taken.get_path(&path, 0).is_some_and(|entry| entry.id == file.id() && entry.mode == u32::from(file.mode()))
        };
        if is_there { &mut there } else { &mut to_bring }.push(path);
    }
    if !to_bring.is_empty() {
        let mut checkout = CheckoutBuilder::new();
        checkout.safe().overwrite_ignored(false).disable_pathspec_match(true).notify_on(CheckoutNotificationType::CONFLICT);
        checkout.notify(|_, path, _, _, _| {
            in_the_way.extend(path.map(Path::to_owned));
            true
        });
        for path in &to_bring {
            checkout.path(path.as_path());
        }
        let done = main.repository.checkout_tree(target.as_object(), Some(&mut checkout));
        drop(checkout);
        match done {
            Err(e) if e.code() == ErrorCode::Conflict => {
                let why = format!("{} has changes that are not committed in files that it would change: {}", main.root.display(), named(&in_the_way));
                return Ok(Some(why));
            }
            done => done?,
        }
    }
    if !there.is_empty() {
        let mut index = main.repository.index()?;
        there.iter().try_for_each(|path| index.add_path(path))?;
        index.write()?;
    }
    Ok(None)
}

fn in_conflict(index: &Index) -> Git<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    for conflict in index.conflicts()? {
        let conflict = conflict?;
        paths.extend(conflict.ancestor.or(conflict.our).or(conflict.their).map(|entry| path_of(&entry).to_owned()));
    }
    Ok(paths)
}
