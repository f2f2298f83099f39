//! What a repository's files would run here, shown and asked before anything of it does.
//!
//! A cloned repository may bring tasks with commands. Tasks that are tracked by git come from whoever wrote the
//! repository; the person at this machine has not seen them. So nothing of them runs before they were shown and
//! allowed: at a terminal by an answer, elsewhere by `--yes`.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use board::Board;
use board::facts::Phase;
use board::index::Entry;
use board::place::Place;

use crate::exit::Failure;
use crate::view::escape;

/// A command that a file of the repository would run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Brought {
    /// The file, relative to the project.
    pub(crate) file: PathBuf,
    /// The command.
    pub(crate) command: String,
}

/// Which of the commands that a repository brings a verb would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of tasks and of teammates.
    Everything,
    /// The checks of tasks: the work itself is the caller's own.
    Checks,
}

/// Shows what the repository's files would run here and asks, unless that is allowed already.
pub(crate) fn allow(board: &mut Board, scope: Scope, yes: bool, verb: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let brought = brought(board, scope)?;
    if brought.is_empty() {
        return Ok(());
    }
    let refused = |message: String| Err(Failure::Refused { rule: "not-armed", message });
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let some: Vec<String> = brought.iter().take(3).map(print).collect();
        return refused(format!(
            "the repository's files would run {} commands here that nobody on this machine has allowed, such as:\n{}\nlook at them, then `{verb} --yes` runs them",
            brought.len(),
            some.join("\n")
        ));
    }
    eprintln!("The repository's files would run these commands here, as you:");
    brought.iter().for_each(|brought| eprintln!("{}", print(brought)));
    eprint!("Run them? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => refused("not allowed; nothing was run".into()),
    }
}

fn print(brought: &Brought) -> String {
    escape::block(&format!("  {}: {}", brought.file.display(), brought.command)).into_owned()
}

/// The commands that the repository brings: of unfinished tasks that git tracks, and of `.crew/teammates/`.
fn brought(board: &mut Board, scope: Scope) -> board::Result<Vec<Brought>> {
    let mut found = if scope == Scope::Everything { of_profiles(board.place()) } else { Vec::new() };
    let tracked = tracked_tasks(board.place());
    if tracked.is_empty() {
        return Ok(found);
    }
    board.look()?;
    // One that has failed may be retried while this runs.
    let is_over = |entry: &Entry| entry.facts().is_some_and(|facts| matches!(facts.status, Phase::Completed | Phase::Cancelled));
    let ids: Vec<_> = board.index().entries().filter(|(id, entry)| tracked.contains(&id.file_name()) && !is_over(entry)).map(|(id, _)| id.clone()).collect();
    for id in ids {
        let Ok((_, task)) = board.read_task(&id) else { continue };
        let file = PathBuf::from(board::place::TASKS).join(id.file_name());
        let work = task.run.iter().filter(|_| scope == Scope::Everything);
        found.extend(work.chain(&task.check).map(|command| Brought { file: file.clone(), command: command.to_string() }));
    }
    Ok(found)
}

fn of_profiles(place: &Place) -> Vec<Brought> {
    let Ok(files) = std::fs::read_dir(place.project().join(".crew/teammates")) else { return Vec::new() };
    let mut found = Vec::new();
    for file in files.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let profile = teammates::profile::parse(&text, &file, teammates::profile::Origin::Crew);
        let Some(command) = profile.ok().and_then(|profile| profile.command) else { continue };
        let file = file.strip_prefix(place.project()).map(PathBuf::from).unwrap_or(file);
        found.push(Brought { file, command: command.to_string() });
    }
    found.sort_by(|a, b| a.file.cmp(&b.file));
    found
}

/// The names of the task files that git tracks. No repository: none.
fn tracked_tasks(place: &Place) -> HashSet<String> {
    let Ok(repository) = git2::Repository::discover(place.project()) else { return HashSet::new() };
    let Some(root) = repository.workdir().and_then(|root| root.canonicalize().ok()) else { return HashSet::new() };
    let (Ok(index), Ok(tasks)) = (repository.index(), place.tasks().strip_prefix(&root)) else { return HashSet::new() };
    let prefix = tasks.as_os_str().as_encoded_bytes();
    let inside = |path: &[u8]| path.strip_prefix(prefix)?.strip_prefix(b"/").map(|name| String::from_utf8_lossy(name).into_owned());
    index.iter().filter_map(|entry| inside(&entry.path)).collect()
}
