//! Who is on the team: everybody who has a file in `.crew/teammates`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use board::name::Name;
use board::place::Place;
use board::run::{Limit, Run};
use board::{Board, clock};
use jiff::Timestamp;
use teammates::config::Config;
use teammates::profile::{Origin, Profile};
use teammates::{models, profiles};

use crate::claimants;
use crate::config;
use crate::exit::Failure;
use crate::rules::scheduler::Seat;

/// The profiles of a team, read again where their files have changed.
#[derive(Debug, Default)]
pub(crate) struct Profiles(BTreeMap<PathBuf, (Stamp, Profile)>);

/// What tells two versions of a file apart.
type Stamp = (Option<SystemTime>, u64);

impl Profiles {
    /// All of them, by name. An error names the file that cannot be used, and where.
    pub(crate) fn read(&mut self, place: &Place) -> Result<Vec<&Profile>, Failure> {
        let mut files = BTreeMap::new();
        for file in profiles::files(place)? {
            if let Ok(metadata) = std::fs::metadata(&file) {
                files.insert(file, (metadata.modified().ok(), metadata.len()));
            }
        }
        self.0.retain(|file, (stamp, _)| files.get(file) == Some(stamp));
        for (file, stamp) in files {
            if !self.0.contains_key(&file)
                && let Some(profile) = claimants::read_profile(&file, Origin::Crew)?
            {
                self.0.insert(file, (stamp, profile));
            }
        }
        Ok(self.0.values().map(|(_, profile)| profile).collect())
    }
}

/// Who of them can take a turn in the thread, and whether it is free to.
pub(crate) fn seats(board: &Board, profiles: &[&Profile], limited: &Limited) -> Result<Vec<Seat>, Failure> {
    let teammates = board.teammates()?;
    let is_busy =
        |name: &Name| teammates.iter().any(|seen| seen.name == *name && seen.living && seen.record.as_ref().is_some_and(|record| !record.holds.is_empty()));
    let speakers = profiles.iter().filter(|profile| profile.can_speak());
    let seat = |profile: &&Profile| {
        let limit = limited.of(profile);
        Seat { name: profile.name.to_string(), free: limit.is_none() && !is_busy(&profile.name), writes: profile.writes, limit }
    };
    Ok(speakers.map(seat).collect())
}

/// Which models are at their limit, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Limited {
    config: Config,
    limits: BTreeMap<String, Limit>,
    now: Timestamp,
}

impl Limited {
    /// As it is known now.
    pub(crate) fn read(place: &Place, run: &Run) -> Result<Limited, Failure> {
        let limits = run.limits.all()?;
        // Most of the time there are none, and then no account matters.
        let config = if limits.is_empty() { Config::default() } else { config::read(place)? };
        Ok(Limited { config, limits, now: clock::now() })
    }

    /// What keeps every model of a teammate from being called; `None`: nothing.
    pub(crate) fn of(&self, profile: &Profile) -> Option<Limit> {
        models::limit(profile, &self.config, &self.limits, self.now)
    }
}

/// The same, for whoever looks once.
pub(crate) fn of(board: &Board) -> Result<Vec<Seat>, Failure> {
    let limited = Run::existing(board.place())?.map(|run| Limited::read(board.place(), &run)).transpose()?.unwrap_or_default();
    seats(board, &Profiles::default().read(board.place())?, &limited)
}
