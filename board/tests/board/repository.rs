//! A project in a git repository, a home beside it, and the words in which tests speak of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use board::place::{Place, Surroundings};
use tempfile::TempDir;

use crate::scratch::temporary;

/// A project, gone when this is dropped.
pub(crate) struct Repository {
    temp: TempDir,
}

/// What a path is: a directory, a link to somewhere, or a file with its bytes and whether it can be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Thing {
    Directory,
    Link(PathBuf),
    File(Vec<u8>, bool),
}

/// Nobody's configuration of git but the repository's own, for this process.
pub(crate) fn without_configuration() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        for level in [git2::ConfigLevel::System, git2::ConfigLevel::Global, git2::ConfigLevel::XDG, git2::ConfigLevel::ProgramData] {
            // SAFETY: once, before anything of git is used in this process.
            unsafe { git2::opts::set_search_path(level, "").unwrap() };
        }
        // SAFETY: as above. A worker that is another user looks at its test's repository.
        unsafe { git2::opts::set_verify_owner_validation(false).unwrap() };
    });
}

/// The place of the board of a project whose home is beside it.
pub(crate) fn place(project: &Path) -> Place {
    without_configuration();
    let home = project.parent().unwrap().join("home");
    Place::at(&project.join(".tasks"), &Surroundings { crewboard_home: Some(home.into()), ..Surroundings::default() }).unwrap()
}

impl Repository {
    /// A directory with a board, in no repository.
    pub(crate) fn none() -> Repository {
        let made = Repository { temp: temporary() };
        std::fs::create_dir_all(made.path().join(".tasks")).unwrap();
        made
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Repository {
        let made = Repository::none();
        made.git(&["init", "--quiet", "--initial-branch", "main"]);
        made
    }

    /// A repository with a commit of these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Repository {
        let made = Repository::empty();
        files.iter().for_each(|(name, text)| made.put(name, text));
        made.commit("first");
        made
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn place(&self) -> Place {
        place(&self.path())
    }

    /// Runs git in the project, as somebody who is not configured; what it says.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path(), arguments)
    }

    pub(crate) fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.git_command(directory, arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A git that may fail.
    pub(crate) fn git_command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.current_dir(directory).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]).args(arguments);
        git
    }

    /// Commits everything but the board.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all", "--", ".", ":!.tasks", ":!.crew"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
    }

    pub(crate) fn put(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path().join(name).symlink_metadata().is_ok()
    }

    pub(crate) fn remove(&self, name: &str) {
        let path = self.path().join(name);
        match path.symlink_metadata().unwrap().is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
    }

    pub(crate) fn permit(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn link(&self, name: &str, to: &str) {
        std::os::unix::fs::symlink(to, self.path().join(name)).unwrap();
    }

    /// Everything below the project but git's objects, its refs of checkpoints and what `left_out` begins.
    pub(crate) fn everything(&self, left_out: &[&str]) -> BTreeMap<PathBuf, Thing> {
        let (mut all, mut open) = (BTreeMap::new(), vec![self.path()]);
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(self.path()).unwrap().to_owned();
                if left_out.iter().any(|out| name.starts_with(out)) {
                    continue;
                }
                let metadata = entry.metadata().unwrap();
                let thing = if metadata.is_dir() {
                    open.push(path);
                    Thing::Directory
                } else if metadata.is_symlink() {
                    Thing::Link(std::fs::read_link(path).unwrap())
                } else {
                    Thing::File(std::fs::read(path).unwrap(), metadata.permissions().mode() & 0o100 != 0)
                };
                all.insert(name, thing);
            }
        }
        all
    }

    /// All files that are work or ignored.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Thing> {
        self.everything(&[".git"])
    }

    /// What nothing but git's user changes: the index, HEAD, branches, tags.
    pub(crate) fn git_state(&self) -> (Vec<u8>, String, String) {
        let index = std::fs::read(self.path().join(".git/index")).unwrap_or_default();
        let head = std::fs::read_to_string(self.path().join(".git/HEAD")).unwrap();
        (index, head, self.git(&["for-each-ref", "refs/heads", "refs/tags"]))
    }

    /// What git makes of the working tree, in an index of its own.
    pub(crate) fn tree_by_git(&self) -> String {
        let script = "set -e; export GIT_INDEX_FILE=.git/oracle; rm -f .git/oracle; [ ! -e .git/index ] || cp .git/index .git/oracle
            git -c advice.addEmbeddedRepo=false add --all . >&2; git rm -r -q --cached --ignore-unmatch .tasks .crew >&2; git write-tree; rm .git/oracle";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(self.path()).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn tree(&self) -> String {
        board::tree::sha(&self.place()).unwrap().unwrap()
    }

    #[track_caller]
    pub(crate) fn agrees(&self, when: &str) -> String {
        let ours = self.tree();
        assert_eq!(ours, self.tree_by_git(), "{when}");
        ours
    }
}

/// A name that is no text.
pub(crate) fn no_text(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
