//! The teammates' files on disk: which there are, and what one of them says.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use board::disk::{Dir, written};
use board::name::Name;
use board::place::Place;

use crate::profile::{self, Origin, Profile, ProfileError};

/// Why a teammate's file cannot be used. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It cannot be read: the system would not give it, or it is no text that could be a teammate's.
    #[error(transparent)]
    Unreadable(#[from] board::Error),
    /// What it says means nothing.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// The files in `.crew/teammates` that bear a teammate's name, in the order of the names. An error: there is such a
/// directory, and it cannot be read.
pub fn files(place: &Place) -> board::Result<Vec<PathBuf>> {
    let dir = match Dir::open(&place.profiles()) {
        Err(e) if e.io_kind() == Some(ErrorKind::NotFound) => return Ok(Vec::new()),
        dir => dir?,
    };
    let mut names: Vec<String> = dir.names()?.into_iter().filter(|(_, utf8)| *utf8).map(|(name, _)| name).collect();
    names.retain(|name| name.strip_suffix(".md").is_some_and(|stem| Name::new(stem).is_ok()));
    names.sort();
    Ok(names.iter().map(|name| dir.join(name)).collect())
}

/// What a teammate's file says; `None`: there is no such file.
pub fn read(file: &Path, origin: Origin) -> Result<Option<Profile>, Unusable> {
    Ok(written::read_text(file)?.map(|text| profile::parse(&text, file, origin)).transpose()?)
}
