//! What a repository's files would run here, shown and asked before anything of it does.
//!
//! A cloned repository may bring tasks with commands. Tasks that are tracked by git come from whoever wrote the
//! repository; the person at this machine has not seen them. So nothing of them runs before they were shown and
//! allowed: at a terminal by an answer, elsewhere by `--yes`.

mod consent;
mod record;
mod tracked;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use board::Board;
use board::facts::Phase;
use board::index::Entry;
use board::place::Place;
use board::task::Task;
use teammates::goal::Goal;
use teammates::models::agents;
use teammates::profile::{Origin, Profile, Runner};
use teammates::profiles;

pub(crate) use self::consent::Consent;
use self::record::Record;
use self::tracked::Tracked;
use crate::claimants;
use crate::config;
use crate::exit::Failure;
use crate::view::escape;

/// A command that a file of the repository would run here.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Brought {
    /// The file, relative to the project.
    pub(crate) file: PathBuf,
    /// The command.
    pub(crate) command: String,
}

/// Which of the commands that a repository brings a verb would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of tasks, their checks, and those of teammates.
    Everything,
    /// Those of tasks that have one, and the checks of these.
    Commands,
    /// The checks of tasks: the work itself is the caller's own.
    Checks,
}

/// Who may say now that what a repository brings may be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// A person has: `--yes`.
    Yes,
    /// A person is asked, where one is there.
    Asked,
    /// Nobody: only what is allowed already may be.
    Nobody,
}

/// Shows what the repository's files would run here and asks, unless that is allowed already. The answer is what may
/// be run from now on. `named`: a teammate's file that the command line names, wherever it lies.
pub(crate) fn allow(board: &mut Board, scope: Scope, voice: Voice, verb: &str, named: Option<&Path>) -> Result<Consent, Failure> {
    if voice == Voice::Yes {
        return Ok(Consent::Everything);
    }
    // A file that cannot be used runs nothing until it is mended, and whoever begins its teammate then is asked.
    let mut brought: Vec<Brought> = match scope {
        Scope::Everything => of_profiles(board.place(), named)?.into_iter().flatten().chain(of_config(board.place())?).collect(),
        Scope::Commands | Scope::Checks => Vec::new(),
    };
    let mut of_git = Vec::new();
    let consent = match Tracked::find(board.place()) {
        None => Consent::Everything,
        Some(tracked) => {
            board.look()?;
            of_git = of_tasks(board, &tracked, Scope::Everything);
            let shown = of_tasks(board, &tracked, scope);
            brought.extend(shown.iter().flat_map(|task| commands(task, scope)));
            Consent::of(board, tracked, &shown)
        }
    };
    // A file that only the command line names was part of no such question.
    let is_allowed = || match Record::read(board.place()).filter(|_| named.is_none()) {
        Some(allowed) => Ok(Record::of(board.place(), &of_git)?.is_within(&allowed)),
        None => Ok::<_, Failure>(false),
    };
    if !brought.is_empty() && !is_allowed()? {
        if voice == Voice::Nobody {
            return Err(refused_to_run(&brought, "a person allows them from now on with `crew arm`"));
        }
        ask(&brought, &format!("`{verb} --yes` runs them, `crew arm` allows them from now on"), "Run them?")?;
    }
    Ok(consent)
}

/// Shows everything that the repository's files would run here, asks unless it is allowed already, and records the answer:
/// from now on that runs without a question, until it changes. Returns what there is.
pub(crate) fn arm(board: &mut Board, yes: bool, verb: &str) -> Result<Vec<Brought>, Failure> {
    // Before the question, so that what changes while somebody reads is not what he has allowed.
    let (brought, shown) = survey(board)?;
    if !is_allowed(board.place(), &brought, &shown) && !yes {
        ask(&brought, &format!("`{verb} --yes` allows them from now on"), "Allow them from now on?")?;
    }
    shown.write(board.place())?;
    Ok(brought)
}

/// Refused (`not-armed`) where the repository's files would run something here that was not allowed.
pub(crate) fn check(board: &mut Board) -> Result<(), Failure> {
    let (brought, shown) = survey(board)?;
    match is_allowed(board.place(), &brought, &shown) {
        true => Ok(()),
        false => Err(refused_to_run(&brought, "`crew arm` allows them from now on")),
    }
}

/// What may be run by a record of what was allowed: the tasks that git tracks as they were then, and what it does not
/// track.
pub(crate) fn on_record(board: &mut Board) -> Result<Consent, Failure> {
    let Some(tracked) = Tracked::find(board.place()) else { return Ok(Consent::Everything) };
    board.look()?;
    let allowed = Record::read(board.place()).unwrap_or_default();
    let tasks = tracked.on(board).into_iter().filter_map(|id| board.read_task(&id).ok()).map(|(_, task)| task);
    let shown: Vec<Task> = tasks.filter(|task| commands(task, Scope::Everything).is_empty() || allowed.allows(task)).collect();
    Ok(Consent::of(board, tracked, &shown))
}

fn is_allowed(place: &Place, brought: &[Brought], shown: &Record) -> bool {
    brought.is_empty() || Record::read(place).is_some_and(|allowed| shown.is_within(&allowed))
}

/// Everything that the repository's files would run here, and the state of the files that say so.
fn survey(board: &mut Board) -> Result<(Vec<Brought>, Record), Failure> {
    // What cannot be read cannot be allowed: that is refused, with its file and line.
    let mut brought: Vec<Brought> = of_profiles(board.place(), None)?.into_iter().collect::<Result<_, _>>()?;
    brought.extend(of_run(board.place())?);
    let mut tasks = Vec::new();
    if let Some(tracked) = Tracked::find(board.place()) {
        board.look()?;
        tasks = of_tasks(board, &tracked, Scope::Everything);
        brought.extend(tasks.iter().flat_map(|task| commands(task, Scope::Everything)));
    }
    let shown = Record::of(board.place(), &tasks)?;
    Ok((brought, shown))
}

/// What a run executes of its own: the checks of the goal, the auditor, and what the configuration has for teammates.
fn of_run(place: &Place) -> Result<Vec<Brought>, Failure> {
    let goal = Goal::read(place).map_err(|e| Failure::Usage(e.to_string()))?;
    let checks = goal.iter().flat_map(|goal| &goal.checks).map(|check| Brought { file: ".crew/goal.md".into(), command: check.to_string() });
    let auditor = config::auditor(place)?.map(|auditor| Brought { file: ".crew/config.toml".into(), command: auditor.to_string() });
    Ok(checks.chain(auditor).chain(of_config(place)?).collect())
}

/// The servers whose tools teammates that think have, and the coding CLIs that are described there.
fn of_config(place: &Place) -> Result<Vec<Brought>, Failure> {
    let servers = config::servers(place)?.into_iter().map(|server| server.to_string());
    let described = config::read(place)?.clis;
    // All that it says but what lines mean: an environment can run something, too.
    let also = |name: &str| {
        let table = described.get(name).into_iter().flatten().filter(|(key, _)| !["program", "arguments", "events"].contains(&key.as_str()));
        table.map(|(key, value)| format!("; {key} = {value}")).collect::<String>()
    };
    let clis = config::clis(place)?.into_iter().map(|(name, cli)| format!("({name}) {} {}{}", cli.program, cli.arguments.join(" "), also(&name)));
    Ok(servers.chain(clis).map(|command| Brought { file: ".crew/config.toml".into(), command }).collect())
}

fn ask(brought: &[Brought], way_on: &str, question: &str) -> Result<(), Failure> {
    let refused = |message: String| Err(Failure::Refused { rule: "not-armed", message });
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(refused_to_run(brought, way_on));
    }
    eprintln!("The repository's files would run these commands here, as you:");
    brought.iter().for_each(|brought| eprintln!("{}", print(brought)));
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => refused("not allowed; nothing was run".into()),
    }
}

fn refused_to_run(brought: &[Brought], way_on: &str) -> Failure {
    let some: Vec<String> = brought.iter().take(20).map(print).collect();
    let many = match brought.len() {
        1 => "a command".to_owned(),
        many => format!("{many} commands"),
    };
    let message = format!(
        "the repository's files would run {many} here that nobody on this machine has allowed{}:\n{}\nlook at them, then {way_on}",
        if some.len() < brought.len() { ", such as" } else { "" },
        some.join("\n")
    );
    Failure::Refused { rule: "not-armed", message }
}

fn print(brought: &Brought) -> String {
    escape::block(&format!("  {}: {}", brought.file.display(), brought.command)).into_owned()
}

/// The unfinished tasks that git tracks and of which something would be run.
fn of_tasks(board: &Board, tracked: &Tracked, scope: Scope) -> Vec<Task> {
    // One that has failed may be retried while this runs.
    let is_over = |entry: &Entry| entry.facts().is_some_and(|facts| matches!(facts.status, Phase::Completed | Phase::Cancelled));
    let of_git = tracked.on(board);
    let ids = board.index().entries().filter(|(id, entry)| of_git.contains(*id) && !is_over(entry)).map(|(id, _)| id);
    let tasks = ids.filter_map(|id| board.read_task(id).ok()).map(|(_, task)| task);
    tasks.filter(|task| !commands(task, scope).is_empty()).collect()
}

fn commands(task: &Task, scope: Scope) -> Vec<Brought> {
    let file = PathBuf::from(board::place::TASKS).join(task.id.file_name());
    let work = task.run.iter().filter(|_| scope != Scope::Checks);
    let check = task.check.iter().filter(|_| scope != Scope::Commands || task.run.is_some());
    work.chain(check).map(|command| Brought { file: file.clone(), command: command.to_string() }).collect()
}

/// What a teammate would run here, in words: its command, or whatever a model thinks of.
fn runs(profile: &Profile) -> Option<String> {
    let at = || profile.base_url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default();
    let played = (profile.runner == Runner::Script).then_some("recorded answers");
    let model = || profile.model.as_deref().or(played).map(|model| format!(" {model}")).unwrap_or_default();
    let may = match (agents::runner(profile), &profile.permission_mode, profile.writes) {
        (Some(_), Some(mode), _) => format!("which runs what its permission mode {mode} allows"),
        (Some(_), None, _) => "which runs what its own permissions allow".into(),
        (None, _, true) => "which may run any command".into(),
        (None, _, false) => "which may run commands that only read".into(),
    };
    match profile.thinks() {
        true => Some(format!("({}{}{}, {may})", profile.runner, model(), at())),
        false => profile.command.as_ref().map(ToString::to_string),
    }
}

/// What the teammates' files would run, by file; of each that cannot be used, why.
fn of_profiles(place: &Place, named: Option<&Path>) -> Result<Vec<Result<Brought, Failure>>, Failure> {
    let mut files = profiles::files(place)?;
    files.extend(named.map(Path::to_owned));
    files.sort();
    let of_file = |file: PathBuf| match claimants::read_profile(&file, Origin::Crew) {
        Ok(profile) => profile.as_ref().and_then(runs).map(|command| {
            let file = file.strip_prefix(place.project()).map(PathBuf::from).unwrap_or(file);
            Ok(Brought { file, command })
        }),
        Err(e) => Some(Err(e)),
    };
    Ok(files.into_iter().filter_map(of_file).collect())
}
