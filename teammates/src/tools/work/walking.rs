//! The files below a directory, in the order of their paths: without what `.gitignore` leaves out, without `.git/` and the
//! board's tasks, and without following a link. Every directory is opened below the one that it is in.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::workspace::regular;

/// Never looked into, unless the walk begins there.
const PASSED_OVER: [&str; 2] = [".git", board::place::TASKS];
/// How deep directories are looked into.
const DEEPEST: usize = 128;
/// The longest list of what is ignored, in bytes.
const LONGEST_LIST: u64 = 1 << 20;

/// What is ignored in a directory, after what is above it.
type Ignored = Vec<Arc<Gitignore>>;

/// Tells of each file its path, seen from the workspace, and the directory that it is in. `false`: it is enough.
pub(super) fn files(dir: Dir, path: &Path, above: &Dir, each: &mut dyn FnMut(&Path, &Dir) -> bool) -> io::Result<()> {
    let mut ignored = Vec::new();
    let mut walked = PathBuf::new();
    // The lists of the directories that the walk does not begin in count, too.
    for part in path.components() {
        let list = above.open_dir(if walked.as_os_str().is_empty() { Path::new(".") } else { &walked });
        ignored.extend(list.ok().and_then(|list| list_of(&list, &walked)).map(Arc::new));
        walked.push(part);
    }
    walk(&dir, path, &ignored, 0, each).map(drop)
}

fn walk(dir: &Dir, path: &Path, above: &Ignored, depth: usize, each: &mut dyn FnMut(&Path, &Dir) -> bool) -> io::Result<bool> {
    let mut ignored = above.clone();
    ignored.extend(list_of(dir, path).map(Arc::new));
    let mut entries: Vec<(std::ffi::OsString, bool)> = Vec::new();
    for entry in dir.entries()? {
        // What goes away meanwhile is no file of it.
        let Ok(entry) = entry else { continue };
        match entry.file_type() {
            Ok(kind) if kind.is_file() || kind.is_dir() => entries.push((entry.file_name(), kind.is_dir())),
            _ => {}
        }
    }
    entries.sort();
    for (name, is_dir) in entries {
        let inside = path.join(&name);
        if is_ignored(&ignored, &inside, is_dir) || (is_dir && PASSED_OVER.iter().any(|passed| name == *passed)) {
            continue;
        }
        let goes_on = match is_dir {
            false => each(&inside, dir),
            true if depth >= DEEPEST => true,
            // One that cannot be opened, or became a link that leads out, is passed over.
            true => {
                match dir.symlink_metadata(&name).and_then(|kind| if kind.is_dir() { dir.open_dir(&name) } else { Err(io::ErrorKind::NotADirectory.into()) }) {
                    Ok(next) => walk(&next, &inside, &ignored, depth + 1, each).unwrap_or(true),
                    Err(_) => true,
                }
            }
        };
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The innermost list that says anything of a path decides.
fn is_ignored(lists: &Ignored, path: &Path, is_dir: bool) -> bool {
    let said = lists.iter().rev().map(|list| list.matched(path, is_dir)).find(|said| !said.is_none());
    said.is_some_and(|said| said.is_ignore())
}

fn list_of(dir: &Dir, path: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(path);
    let mut any = false;
    for list in [".gitignore", ".ignore", ".git/info/exclude"] {
        let Ok(file) = regular(dir, Path::new(list)) else { continue };
        let mut text = Vec::new();
        file.take(LONGEST_LIST).read_to_end(&mut text).ok()?;
        any = true;
        for line in String::from_utf8_lossy(&text).lines() {
            // A line that is no pattern ignores nothing.
            let _ = builder.add_line(None, line);
        }
    }
    any.then(|| builder.build().ok()).flatten()
}
