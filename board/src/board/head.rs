//! `board.json`: the format of what is ours, and what a reported success survives.

use serde::{Deserialize, Serialize};

use super::Dirs;
use crate::disk::Dir;
use crate::error::{Refusal, Result, Rule};
use crate::place::OURS;

/// The newest format of `.tasks/.board/` that is known here.
pub const FORMAT: u64 = 1;

pub(super) const HEAD: &str = "board.json";

/// What a reported success survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A power cut costs nothing that was reported as added or finished.
    #[default]
    Full,
    /// A power cut may cost the progress of the last seconds, never a task.
    Relaxed,
}

impl Durability {
    /// The word in `board.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Durability::Full => "full",
            Durability::Relaxed => "relaxed",
        }
    }
}

/// `board.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) format: u64,
    #[serde(default)]
    pub(super) durability: Durability,
}

pub(super) fn read_head(dirs: &Dirs) -> Result<Option<Head>> {
    let Ok(dir) = Dir::open(&dirs.tasks.join(OURS)) else { return Ok(None) };
    let Some(bytes) = dir.read(HEAD)? else { return Ok(None) };
    match serde_json::from_slice(&bytes) {
        Ok(head) => Ok(Some(head)),
        // A newer format may look like anything but for its number.
        Err(_) => match serde_json::from_slice::<serde_json::Value>(&bytes).ok().and_then(|head| head.get("format")?.as_u64()) {
            Some(format) if format > FORMAT => Ok(Some(Head { format, durability: Durability::Full })),
            _ => Err(Refusal::board(Rule::NotValid, format!("{} cannot be read; remove it, and the next writer makes it anew", dir.join(HEAD).display()))),
        },
    }
}
