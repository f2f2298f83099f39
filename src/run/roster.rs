//! Who is on the team: everybody who has a file in `.crew/teammates`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use board::Board;
use board::name::Name;
use board::place::Place;
use teammates::profile::{Origin, Profile};
use teammates::profiles;

use crate::claimants;
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
pub(crate) fn seats(board: &Board, profiles: &[&Profile]) -> Result<Vec<Seat>, Failure> {
    let teammates = board.teammates()?;
    let is_busy =
        |name: &Name| teammates.iter().any(|seen| seen.name == *name && seen.living && seen.record.as_ref().is_some_and(|record| !record.holds.is_empty()));
    let speakers = profiles.iter().filter(|profile| profile.can_speak());
    Ok(speakers.map(|profile| Seat { name: profile.name.to_string(), free: !is_busy(&profile.name), writes: profile.writes }).collect())
}

/// The same, for whoever looks once.
pub(crate) fn of(board: &Board) -> Result<Vec<Seat>, Failure> {
    seats(board, &Profiles::default().read(board.place())?)
}
