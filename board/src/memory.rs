//! What a team has learned and wants to know again: `.crew/memory.md`, a Markdown file that people write in as well.
//! Its entries are the list items in it (see [`entries`]).

use std::path::PathBuf;

use crate::crew_file::CrewFile;
use crate::error::{Refusal, Result, Rule};
use crate::place::Place;

mod entries;

pub use entries::{Entry, entries};

/// The longest entry, in bytes: whoever begins a turn reads all of them.
pub const LONGEST_ENTRY: usize = 16 << 10;

/// The memory of a project. Reading needs no lock.
#[derive(Debug)]
pub struct Memory {
    file: CrewFile,
}

impl Memory {
    /// That of a project.
    pub fn of(place: &Place) -> Memory {
        Memory { file: CrewFile::of(place, "memory") }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// What it says; nothing where there is none yet.
    pub fn text(&self) -> Result<String> {
        Ok(self.file.read()?.unwrap_or_default())
    }

    /// Makes it, empty, where it is missing.
    pub fn make(&self) -> Result<()> {
        self.file.edit(|text| Ok((text.unwrap_or_default().to_owned(), ())))
    }

    /// Empties it, where it is there.
    pub fn empty(&self) -> Result<()> {
        match self.file.read()? {
            Some(_) => self.file.edit(|_| Ok((String::new(), ()))),
            None => Ok(()),
        }
    }

    /// Adds an entry at the end, and returns its number.
    pub fn remember(&self, said: &str) -> Result<usize> {
        checked(said)?;
        let in_code = || {
            let message = format!("{} ends within a code block that is not closed: close it first", self.path().display());
            Refusal::board(Rule::NotValid, message)
        };
        self.file.edit(|text| entries::with_new(text.unwrap_or_default(), said).ok_or_else(in_code))
    }

    /// Gives an entry other words.
    pub fn revise(&self, number: usize, said: &str) -> Result<()> {
        checked(said)?;
        self.change(number, Some(said))
    }

    /// Takes an entry out. The numbers of those behind it become one less.
    pub fn forget(&self, number: usize) -> Result<()> {
        self.change(number, None)
    }

    fn change(&self, number: usize, said: Option<&str>) -> Result<()> {
        self.file.edit(|text| {
            let text = text.unwrap_or_default();
            let other = entries::with_other(text, number, said).ok_or_else(|| {
                let count = entries(text).len();
                let message = format!("{} has no entry {number}, it has {count}; `crew memory --json` lists them", self.path().display());
                Refusal::board(Rule::UnknownId, message)
            })?;
            Ok((other, ()))
        })
    }
}

fn checked(said: &str) -> Result<()> {
    match said.trim().len() {
        1..=LONGEST_ENTRY => Ok(()),
        bytes => Err(Refusal::board(Rule::BadValue, format!("an entry has between 1 and {LONGEST_ENTRY} bytes; this one has {bytes}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::place::Surroundings;

    #[test]
    fn entries_are_remembered_revised_and_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tasks")).unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("state").into()), ..Surroundings::default() };
        let memory = Memory::of(&Place::at(&temp.path().join(".tasks"), &surroundings).unwrap());
        assert_eq!(memory.text().unwrap(), "");
        assert!(!memory.path().exists(), "reading makes nothing");
        memory.make().unwrap();
        assert_eq!(std::fs::read_to_string(memory.path()).unwrap(), "");
        assert_eq!(memory.remember("one").unwrap(), 1);
        assert_eq!(memory.remember("two\nand more").unwrap(), 2);
        memory.make().unwrap();
        memory.revise(1, "1").unwrap();
        assert_eq!(memory.text().unwrap(), "- 1\n- two\n  and more\n");
        memory.forget(1).unwrap();
        assert_eq!(memory.text().unwrap(), "- two\n  and more\n");
        let too_long = "x".repeat(LONGEST_ENTRY + 1);
        for refused in [memory.forget(2), memory.revise(0, "x"), memory.remember(" \n").map(drop), memory.remember(&too_long).map(drop)] {
            assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        }
        assert_eq!(memory.text().unwrap(), "- two\n  and more\n");
        std::fs::write(memory.path(), "```\n").unwrap();
        assert!(memory.remember("x").unwrap_err().to_string().contains("not closed"));
    }
}
