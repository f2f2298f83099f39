//! Who is on a board, whose claims are nobody's any more, and what children recorded.

use std::fs::File;

use jiff::Timestamp;

use super::Board;
use crate::alive;
use crate::clock;
use crate::disk::{self, Dir};
use crate::error::Result;
use crate::index::Entry;
use crate::name::Name;
use crate::presence::{self, Presence};
use crate::task::{Claim, Status};
use crate::task_id::TaskId;

/// A claim whose holder is gone for certain.
#[derive(Debug, Clone, PartialEq)]
pub struct Stale {
    /// The task.
    pub task: TaskId,
    /// The claim.
    pub claim: Claim,
}

impl Board {
    /// Takes a teammate's name for this process.
    pub fn enter(&self, name: &Name, runner: &str) -> Result<Presence> {
        self.check_format()?;
        Presence::enter(&self.dirs.make_ours()?.teammates, name, runner, clock::now())
    }

    /// Every teammate that ever was on this board.
    pub fn teammates(&self) -> Result<Vec<presence::Seen>> {
        self.dirs.ours().map_or_else(|| Ok(Vec::new()), |ours| presence::all(&ours.teammates))
    }

    /// What every teammate that ever was on this board last said of itself; whether it lives is not asked.
    pub fn records(&self) -> Result<Vec<(Name, presence::Record)>> {
        self.dirs.ours().map_or_else(|| Ok(Vec::new()), |ours| presence::records(&ours.teammates))
    }

    /// Whether a teammate of that name lives.
    pub fn lives(&self, name: &Name) -> bool {
        self.dirs.ours().is_some_and(|ours| presence::lives(&ours.teammates, name))
    }

    /// Claims whose holders are gone for certain. Only looks.
    pub fn stale_claims(&mut self, now: Timestamp) -> Result<Vec<Stale>> {
        let teammates = self.dirs.ours().map(|ours| &ours.teammates);
        let mut stale = Vec::new();
        for id in self.index.in_progress() {
            // The index keeps turn and name; who holds it in full stands in the file.
            if self.index.get(id).and_then(Entry::facts).and_then(|facts| facts.turn()).is_none() {
                continue;
            }
            let Ok((_, _, task)) = self.read_with_stamp(id) else { continue };
            let claim = task.claim.filter(|_| task.status == Status::InProgress);
            if let Some(claim) = claim.filter(|claim| presence::is_stale(claim, teammates, self.dirs.coarse, now)) {
                stale.push(Stale { task: id.clone(), claim });
            }
        }
        Ok(stale)
    }

    /// The directory in which children record their process groups.
    pub fn groups(&self) -> Result<&Dir> {
        self.check_format()?;
        Ok(&self.dirs.make_ours()?.groups)
    }

    /// The file in which children of a teammate record their process groups, open for appending.
    pub fn group_record(&self, name: &Name) -> Result<File> {
        let (groups, file_name) = (self.groups()?, groups_name(name));
        let file = groups.open_record(&file_name, 0o600)?;
        let path = groups.join(&file_name);
        disk::truncate(&file, &path, 0)?;
        disk::write_at(&file, &path, format!("boot {}\n", alive::boot()).as_bytes(), 0)?;
        groups.open_append(&file_name, 0o600)
    }

    /// What children of a teammate recorded; `None`: nothing.
    pub fn groups_of(&self, name: &Name) -> Option<Vec<u8>> {
        self.dirs.ours()?.groups.read(&groups_name(name)).ok()?
    }
}

fn groups_name(name: &Name) -> String {
    format!("{name}.groups")
}
