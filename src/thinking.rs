//! What a teammate that thinks is given: its models, and what the run does for its turns.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use board::disk::Dir;
use board::name::Name;
use board::place::Place;
use teammates::account::Account;
use teammates::config::Config;
use teammates::gatekeeper::Gates;
use teammates::models::{self, Model, Sources, Way};
use teammates::profile::{Profile, Runner};
use teammates::provider::prices::Prices;
use teammates::provider::recorder::{Recorder, Recording};
use teammates::provider::recording::names::Names;
use teammates::provider::recording::{FORMAT, Head, RecordingError};
use teammates::provider::retry::Patience;
use teammates::provider::script::Script;
use teammates::provider::{Http, Proxies, Timeouts};
use teammates::thinking::Thinking;
use teammates::tools::servers::{Servers, found};
use teammates::workplace::Workplace;

use crate::config;
use crate::exit::{Failure, start};
use crate::machine;
use crate::run::crew_tools::CrewTools;
use crate::run::servers;

/// What a teammate needs to think; `None`: its runner is no model. `record`: where what its model says is recorded.
pub(crate) fn of(workplace: &Workplace, profile: &Profile, record: Option<&Path>) -> Result<Option<Thinking>, Failure> {
    if !profile.thinks() {
        return Ok(None);
    }
    let place = workplace.place();
    let config = config::read(place)?;
    let file = config_file(place);
    let mut ways = usable_ways(place, &config, profile)?;
    if let Some(file) = record {
        ways = vec![recorded(place, ways, file).map_err(|e| refused(&profile.name, &e))?.into()];
    }
    let all = config::servers(place)?;
    let servers = match all.is_empty() {
        true => None,
        false => Some(Servers::of(place, profile, all, servers::command(place).map_err(start)?, workplace.children())?),
    };
    let prices = Prices::of(&config.prices).map_err(|e| config::refused(format!("{file}: {e}")))?;
    Ok(Some(Thinking {
        ways,
        program: machine::program().map_err(start)?.into(),
        crews: Rc::new(CrewTools::of(workplace.clone(), profile)),
        gatekeeper: Rc::new(Gates::of(place.clone(), profile.name.clone())),
        hidden: key_files(&config),
        servers,
        prices,
        compact_at: config.compact_at.get(),
        most_usd: config.max_spend_usd.map(teammates::config::Usd::get),
        patience: Patience::default(),
    }))
}

/// Refused where a teammate's models and CLIs cannot be turned to as they are described, or none of them is installed: before
/// it is begun.
pub(crate) fn check(place: &Place, profile: &Profile) -> Result<(), Failure> {
    usable_ways(place, &config::read(place)?, profile).map(drop)
}

/// The models and coding CLIs of a teammate. Refused where it has nothing but CLIs that are not there.
fn usable_ways(place: &Place, config: &Config, profile: &Profile) -> Result<Vec<Way>, Failure> {
    let ways = ways_of(place, config, profile)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_missing = |way: &Way| matches!(way, Way::Agent(agent) if found(&agent.cli.program, place.project(), &path).is_none());
    match ways.first() {
        Some(Way::Agent(first)) if ways.iter().all(is_missing) => {
            Err(refused(&profile.name, &format!("its program `{}` is not found{}", first.cli.program, first.cli.to_install())))
        }
        _ => Ok(ways),
    }
}

/// The models and coding CLIs of a teammate, or the recording in their place.
pub(crate) fn ways_of(place: &Place, config: &Config, profile: &Profile) -> Result<Vec<Way>, Failure> {
    match profile.runner {
        _ if !profile.thinks() => Ok(Vec::new()),
        Runner::Script => Ok(vec![played(place, profile)?.into()]),
        _ => with_sources(place, config, |sources| models::of_profile(profile, sources).map_err(|e| refused(&profile.name, &e))),
    }
}

/// A recording in the place of a model.
fn played(place: &Place, profile: &Profile) -> Result<Model, Failure> {
    let no_file = || refused(&profile.name, &"no recording is named: put `script: FILE` into its file, a path in the project");
    let file = place.project().join(profile.script.as_ref().ok_or_else(no_file)?);
    let script = Script::open(&file, names(place)).map_err(|e| refused(&profile.name, &e))?;
    let (name, context) = (script.head().model.clone(), script.head().context);
    let mut model = Model::played(Box::new(script), &name, &file);
    model.context = context.unwrap_or(model.context);
    Ok(model)
}

/// The first of the models, recorded: a recording is of one.
fn recorded(place: &Place, ways: Vec<Way>, file: &Path) -> Result<Model, RecordingError> {
    let unwritable = |source| RecordingError::Io { file: file.to_owned(), source };
    let mut ways = ways.into_iter();
    let mut model = match (ways.next(), ways.next()) {
        (Some(Way::Model(model)), None) => *model,
        (Some(Way::Agent(agent)), _) => return Err(unwritable(std::io::Error::other(format!("{} keeps its conversations itself", agent.runner)))),
        _ => return Err(unwritable(std::io::Error::other("a recording is of one model: take out its `fallback`"))),
    };
    let file = std::path::absolute(file).map_err(unwritable)?;
    let (Some(parent), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str())) else {
        return Err(unwritable(std::io::ErrorKind::InvalidInput.into()));
    };
    let head = Head { format: FORMAT, api: model.api.api().to_owned(), model: model.name.clone(), context: Some(model.context) };
    let recording = Arc::new(Recording::open(&Dir::open(parent)?, name, &head)?);
    model.api = Box::new(Recorder::new(model.api, recording, names(place)));
    Ok(model)
}

fn names(place: &Place) -> Names {
    Names::of_place(place, home().as_deref())
}

/// The files of every account's key, not of the teammate's own alone.
fn key_files(config: &Config) -> Vec<PathBuf> {
    let home = home();
    let accounts = config.accounts.iter().filter_map(|(name, table)| Account::of(name, table).ok());
    accounts.filter_map(|account| account.key_file(home.as_deref())).collect()
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

fn config_file(place: &Place) -> String {
    teammates::config::path(place).display().to_string()
}

/// What models are made of on this machine: keys by the environment, connections by the proxies that it names.
pub(crate) fn with_sources<T>(place: &Place, config: &Config, make: impl FnOnce(&Sources<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    let http = Http::new(Timeouts::default(), Proxies::OfEnvironment).map_err(|e| start(std::io::Error::other(e)))?;
    let home = home();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    make(&Sources { config, project: place.project(), home: home.as_deref(), variable: &variable, http })
}

fn refused(name: &Name, why: &dyn std::fmt::Display) -> Failure {
    Failure::Refused { rule: "model", message: format!("{name}: {why}") }
}
