//! A working tree for one task: in it somebody works on branch `crew/<task>` while others work elsewhere, and what came
//! of it is merged into the branch that the main tree has checked out.
//!
//! They lie in the board's machine-side state, `worktrees/<task>`. One that is there is whole only when `<task>.ready` is
//! beside it: what a crash left half made is made anew. Nothing is ever lost: a working tree goes only when all that it
//! holds is merged, and a merge that cannot be made cleanly, over the uncommitted changes of the main tree, changes nothing.
//!
//! Where `.tasks/` is tracked by git, a working tree has a copy of it, which is not the board: what runs there must be told
//! the board by `CREW_BOARD`. Neither `.tasks/` nor `.crew/` is ever committed from there.

use std::path::{Path, PathBuf};

use git2::{BranchType, ErrorCode, Repository, StatusOptions, WorktreeAddOptions};

use crate::crash;
use crate::disk::Dir;
use crate::disk::below::Below;
use crate::error::{Error, Refusal, Result, Rule};
use crate::lock::{Held, LockFile, Mode, PATIENCE};
use crate::place::{self, Place};
use crate::task_id::TaskId;
use crate::tree::WorkTree;

mod merging;

/// What came of merging a task's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// It is on the main tree's branch now, and in its files.
    Merged {
        /// The commit that has it.
        commit: String,
    },
    /// There was nothing that the branch did not have.
    Nothing,
    /// It was not merged and nothing was changed: why, and which files, in words.
    Conflict(String),
}

/// The working trees of a board's tasks.
#[derive(Debug, Clone)]
pub struct Worktrees {
    place: Place,
}

/// One of them: where it is, and what git calls it.
struct Linked {
    name: String,
    branch: String,
    root: PathBuf,
}

type Git<T> = std::result::Result<T, git2::Error>;

impl Worktrees {
    /// Those of a board. Touches nothing.
    pub fn of(place: &Place) -> Worktrees {
        Worktrees { place: place.clone() }
    }

    /// Makes a task's working tree from the main tree's HEAD, or takes the one up again that is there, as it was left.
    /// The answer is where the project is in it.
    ///
    /// Refused: there is no repository, it has no commit, or something else stands where it would be.
    pub fn open(&self, task: &TaskId) -> Result<PathBuf> {
        let main = WorkTree::needed(&self.place)?;
        let (dir, _held) = self.locked()?;
        let linked = Linked::of(task, &dir);
        let failed = main.failed("make a working tree of");
        if !self.is_ready(&dir, &linked)? {
            self.make(&main, &dir, &linked, &failed)?;
        }
        // Joined part by part: nothing appended is no slash at the end.
        let project: PathBuf = linked.root.components().chain(main.project.components()).collect();
        // The project's directory need not be in any commit.
        Dir::make(&project, 0o777)?;
        Ok(project)
    }

    /// Whether a task has a working tree.
    pub fn has(&self, task: &TaskId) -> Result<bool> {
        match Dir::open(&self.place.state().join("worktrees")) {
            Ok(dir) => self.is_ready(&dir, &Linked::of(task, &dir)),
            Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Commits all that is uncommitted in a task's working tree, then merges it: the branch is moved forward, or a merge
    /// commit is made. `message`: of the commits. The working tree stays.
    pub fn merge(&self, task: &TaskId, message: &str) -> Result<Merge> {
        let main = WorkTree::needed(&self.place)?;
        let (dir, _held) = self.locked()?;
        let linked = Linked::of(task, &dir);
        if !self.is_ready(&dir, &linked)? {
            return Err(Refusal::of(Rule::NoRepository, task, format!("it has no working tree at {}", linked.root.display())));
        }
        merging::merge(&main, &main.linked(&linked.root)?, &linked.branch, message)
    }

    /// Removes a task's working tree and its branch. `false`: there is none, or it holds what is not merged, or not
    /// committed; what git ignores does not count, and goes.
    pub fn remove(&self, task: &TaskId) -> Result<bool> {
        let main = WorkTree::needed(&self.place)?;
        let (dir, _held) = self.locked()?;
        let linked = Linked::of(task, &dir);
        let failed = main.failed("remove a working tree of");
        let was_there = self.is_ready(&dir, &linked)?;
        if was_there && holds_work(&main, &main.linked(&linked.root)?).map_err(&failed)? {
            return Ok(false);
        }
        let mut branch = match main.repository.find_branch(&linked.branch, BranchType::Local) {
            Ok(branch) => Some(branch),
            Err(e) if e.code() == ErrorCode::NotFound => None,
            Err(e) => return Err(failed(e)),
        };
        if let Some(branch) = &branch
            && !branch.get().peel_to_commit().and_then(|tip| is_merged(&main, tip.id())).map_err(&failed)?
        {
            return Ok(false);
        }
        if was_there {
            self.clear(&main, &dir, &linked)?;
        }
        if let Some(branch) = &mut branch {
            branch.delete().map_err(&failed)?;
        }
        Ok(was_there || branch.is_some())
    }

    fn locked(&self) -> Result<(Dir, Held)> {
        let state = Dir::make(self.place.state(), 0o700)?;
        let held = LockFile::open(&state, "merge.lock")?.lock(Mode::Exclusive, PATIENCE)?;
        Ok((Dir::make(&state.join("worktrees"), 0o700)?, held))
    }

    /// Whether a working tree is there and whole. An error: what is there is no longer one.
    fn is_ready(&self, dir: &Dir, linked: &Linked) -> Result<bool> {
        if dir.stat(&linked.ready())?.is_none() || dir.stat(&linked.name)?.is_none() {
            return Ok(false);
        }
        match Repository::open(&linked.root) {
            Ok(repository) if repository.is_worktree() => Ok(true),
            Ok(_) => Err(Error::io("open the working tree", &linked.root, std::io::Error::other("it is a repository of its own now"))),
            Err(e) => {
                let why = format!("{}; save what you need of it and remove the directory", e.message());
                Err(Error::io("open the working tree", &linked.root, std::io::Error::other(why)))
            }
        }
    }

    fn make(&self, main: &WorkTree, dir: &Dir, linked: &Linked, failed: &impl Fn(git2::Error) -> Error) -> Result<()> {
        let Some(head) = main.head().map_err(failed)? else {
            return Err(Refusal::board(Rule::NoRepository, format!("{} has no commit yet; a working tree begins with one", main.root.display())));
        };
        self.clear(main, dir, linked)?;
        let add = || {
            let branch = match main.repository.find_branch(&linked.branch, BranchType::Local) {
                // Work that nobody merged is taken up again.
                Ok(branch) if !is_merged(main, branch.get().peel_to_commit()?.id())? => branch,
                Ok(_) => main.repository.branch(&linked.branch, &head, true)?,
                Err(e) if e.code() == ErrorCode::NotFound => main.repository.branch(&linked.branch, &head, false)?,
                Err(e) => return Err(e),
            };
            main.repository.worktree(&linked.name, &linked.root, Some(WorktreeAddOptions::new().reference(Some(branch.get()))))
        };
        add().map_err(failed)?;
        crash::point("worktree.added");
        dir.replace(&linked.ready(), b"", 0o600, false)
    }

    /// Removes a working tree, whole or half made, and what git keeps of it; not its branch.
    fn clear(&self, main: &WorkTree, dir: &Dir, linked: &Linked) -> Result<()> {
        let known = Below::open(&main.repository.commondir().canonicalize().map_err(|e| Error::io("find", main.repository.commondir(), e))?)?;
        let of_git = Path::new("worktrees").join(&linked.name);
        let pointer = std::fs::read_to_string(main.repository.commondir().join(&of_git).join("gitdir")).unwrap_or_default();
        let pointed = Path::new(pointer.trim());
        if pointed.exists() && pointed != linked.root.join(".git") {
            let message = format!("{} has a working tree named {} already, at {}", main.root.display(), linked.name, pointed.display());
            return Err(Refusal::board(Rule::InTheWay, message));
        }
        // Half removed is to be no working tree any more.
        dir.remove(&linked.ready())?;
        crash::point("worktree.clearing");
        Below::open(dir.path())?.remove_all(Path::new(&linked.name))?;
        known.remove_all(&of_git)
    }
}

impl Linked {
    fn of(task: &TaskId, dir: &Dir) -> Linked {
        let name = encoded(task.as_str());
        Linked { branch: format!("crew/{name}"), root: dir.path().join(&name), name }
    }

    fn ready(&self) -> String {
        // No name has a dot, so this is nobody's.
        format!("{}.ready", self.name)
    }
}

/// A task's id as a part of a branch's and of a file's name: letters, digits, `-` and `_` stand for themselves.
fn encoded(id: &str) -> String {
    let mut name = String::new();
    for c in id.chars() {
        match c.is_alphanumeric() || c == '_' || (c == '-' && !name.is_empty()) {
            true => name.push(c),
            false => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| name.push_str(&format!("%{byte:02X}"))),
        }
    }
    match name.len() > LONGEST {
        true => {
            let end = (0..=LONGEST - 17).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            format!("{}%{:016x}", &name[..end], place::fnv(id.as_bytes()))
        }
        false => name,
    }
}

/// So long may a name be for git to lock it, in bytes.
const LONGEST: usize = 240;

/// Whether the main tree's HEAD has a commit.
fn is_merged(main: &WorkTree, commit: git2::Oid) -> Git<bool> {
    let Some(head) = main.head()? else { return Ok(false) };
    Ok(head.id() == commit || main.repository.graph_descendant_of(head.id(), commit)?)
}

/// Whether a working tree has commits that are not merged, or files that are not committed.
fn holds_work(main: &WorkTree, tree: &WorkTree) -> Git<bool> {
    let tip = tree.head()?;
    if let Some(tip) = tip
        && !is_merged(main, tip.id())?
    {
        return Ok(true);
    }
    let mut options = StatusOptions::new();
    options.include_untracked(true).include_ignored(false);
    Ok(!tree.repository.statuses(Some(&mut options))?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_a_name_of_its_own() {
        for (id, name) in
            [("12", "12"), ("a-b_c", "a-b_c"), ("-x", "%2Dx"), ("a.lock", "a%2Elock"), ("ünï 漢", "ünï%20漢"), ("a@{b}~^:?*[", "a%40%7Bb%7D%7E%5E%3A%3F%2A%5B")]
        {
            assert_eq!(encoded(id), name);
            assert!(git2::Reference::is_valid_name(&format!("refs/heads/crew/{name}")), "{name}");
        }
        let [one, two] = ["x", "y"].map(|end| encoded(&format!("{}{end}", "é ".repeat(66))));
        assert!(one != two && one.len() <= LONGEST, "{one}");
    }
}
