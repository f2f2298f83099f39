//! Where there is no Landlock.

use std::io;

use super::{Allowed, Support};

/// Nothing can be made of this type here.
#[derive(Debug)]
pub enum Confinement {}

impl Confinement {
    /// Always an error here.
    pub fn new(_allowed: &Allowed) -> io::Result<Confinement> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Landlock"))
    }
}

/// What this system can do: nothing.
pub fn support() -> Support {
    Support { landlock: None, keeps: false }
}
