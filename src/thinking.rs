//! What a teammate that thinks is given: its models, and what the run does for its turns.

use std::rc::Rc;

use board::name::Name;
use board::place::Place;
use teammates::config::Config;
use teammates::gatekeeper::Gates;
use teammates::models::{self, Sources};
use teammates::profile::Profile;
use teammates::provider::prices::Prices;
use teammates::provider::retry::Patience;
use teammates::provider::{Http, Proxies, Timeouts};
use teammates::thinking::Thinking;
use teammates::tools::servers::Servers;
use teammates::workplace::Workplace;

use crate::config;
use crate::exit::{Failure, start};
use crate::run::crew_tools::CrewTools;
use crate::run::servers;

/// What a teammate needs to think; `None`: its runner is no model.
pub(crate) fn of(workplace: &Workplace, profile: &Profile) -> Result<Option<Thinking>, Failure> {
    if !profile.thinks() {
        return Ok(None);
    }
    let place = workplace.place();
    let config = config::read(place)?;
    let file = config_file(place);
    let models = with_sources(place, &config, |sources| models::of_profile(profile, sources).map_err(|e| refused(&profile.name, &e)))?;
    let all = config::servers(place)?;
    let servers = match all.is_empty() {
        true => None,
        false => Some(Servers::of(place, profile, all, servers::command(place).map_err(start)?, workplace.children())?),
    };
    let prices = Prices::of(&config.prices).map_err(|e| config::refused(format!("{file}: {e}")))?;
    Ok(Some(Thinking {
        models,
        crews: Rc::new(CrewTools::of(workplace.clone(), profile)),
        gatekeeper: Rc::new(Gates::of(place.clone(), profile.name.clone())),
        servers,
        prices,
        compact_at: config.compact_at.get(),
        patience: Patience::default(),
    }))
}

fn config_file(place: &Place) -> String {
    teammates::config::path(place).display().to_string()
}

/// What models are made of on this machine: keys by the environment, connections by the proxies that it names.
pub(crate) fn with_sources<T>(place: &Place, config: &Config, make: impl FnOnce(&Sources<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    let http = Http::new(Timeouts::default(), Proxies::OfEnvironment).map_err(|e| start(std::io::Error::other(e)))?;
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    make(&Sources { config, project: place.project(), home: home.as_deref(), variable: &variable, http })
}

fn refused(name: &Name, why: &dyn std::fmt::Display) -> Failure {
    Failure::Refused { rule: "model", message: format!("{name}: {why}") }
}
