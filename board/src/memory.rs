//! What a team has learned and wants to know again: `.crew/memory.md`, a Markdown file that people write in as well.
//!
//! Entries are its list items (see [`entries`]). They are edited under a lock, and the file is replaced in one step;
//! what somebody saved in between is kept, and the edit made anew on it.

use std::path::PathBuf;

use crate::disk::{self, Dir, Kind};
use crate::error::{Error, Refusal, Result, Rule};
use crate::lock::{Held, LockFile, Mode, PATIENCE};
use crate::place::Place;

mod entries;

pub use entries::{Entry, entries};

/// The longest entry, in bytes: whoever begins a turn reads all of them.
pub const LONGEST_ENTRY: usize = 16 << 10;

const FILE: &str = "memory.md";
/// Where a new version is written, beside the file. One that is left there is of a writer that died.
const BESIDE: &str = ".memory.md.new";
const LOCK: &str = "memory.lock";
/// So many edits in a row that come between are taken over.
const EDITS: usize = 8;

/// The memory of a project. Reading needs no lock.
#[derive(Debug)]
pub struct Memory {
    crew: PathBuf,
    state: PathBuf,
}

impl Memory {
    /// That of a project.
    pub fn of(place: &Place) -> Memory {
        Memory { crew: place.project().join(".crew"), state: place.state().to_path_buf() }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.crew.join(FILE)
    }

    /// What it says; nothing where there is none yet.
    pub fn text(&self) -> Result<String> {
        match Dir::open(&self.crew) {
            Ok(crew) => Ok(self.read(&crew)?.unwrap_or_default()),
            Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(String::new()),
            Err(e) => Err(e),
        }
    }

    /// Makes it, empty, where it is missing.
    pub fn make(&self) -> Result<()> {
        self.edit(|text| Ok((text.to_owned(), ())))
    }

    /// Adds an entry at the end, and returns its number.
    pub fn remember(&self, said: &str) -> Result<usize> {
        checked(said)?;
        let in_code = || {
            let message = format!("{} ends within a code block that is not closed: close it first", self.path().display());
            Refusal::board(Rule::NotValid, message)
        };
        self.edit(|text| entries::with_new(text, said).ok_or_else(in_code))
    }

    /// Gives an entry other words.
    pub fn revise(&self, number: usize, said: &str) -> Result<()> {
        checked(said)?;
        self.edit(|text| Ok((self.with_other(text, number, Some(said))?, ())))
    }

    /// Takes an entry out. The numbers of those behind it become one less.
    pub fn forget(&self, number: usize) -> Result<()> {
        self.edit(|text| Ok((self.with_other(text, number, None)?, ())))
    }

    fn with_other(&self, text: &str, number: usize, said: Option<&str>) -> Result<String> {
        entries::with_other(text, number, said).ok_or_else(|| {
            let count = entries(text).len();
            let message = format!("{} has no entry {number}, it has {count}; `crew memory --json` lists them", self.path().display());
            Refusal::board(Rule::UnknownId, message)
        })
    }

    /// Puts what `change` makes of the file in its place.
    fn edit<T>(&self, change: impl Fn(&str) -> Result<(String, T)>) -> Result<T> {
        let _held = self.lock()?;
        let crew = Dir::make(&self.crew, 0o777)?;
        for _ in 0..EDITS {
            let before = self.read(&crew)?;
            let (after, answer) = change(before.as_deref().unwrap_or_default())?;
            if before.as_deref() == Some(after.as_str()) || self.put(&crew, before.as_deref(), &after)? {
                return Ok(answer);
            }
        }
        Err(Refusal::board(Rule::NotValid, format!("somebody else is writing {} all the time; try again", self.path().display())))
    }

    /// Replaces the file, durably. `false`: it was no longer as it was before, and stays as it is.
    fn put(&self, crew: &Dir, before: Option<&str>, after: &str) -> Result<bool> {
        crew.remove(BESIDE)?;
        let (new, path) = (crew.write_new(BESIDE, after.as_bytes(), 0o666)?, crew.join(BESIDE));
        let put = match before {
            None => disk::sync_file(&new, &path).and_then(|()| disk::rename_new(crew, BESIDE, crew, FILE)),
            Some(before) => self.exchange(crew, &new, before),
        };
        crew.remove(BESIDE)?;
        crew.sync()?;
        put
    }

    fn exchange(&self, crew: &Dir, new: &std::fs::File, before: &str) -> Result<bool> {
        let path = crew.join(BESIDE);
        let Some(old) = crew.open_file(FILE)? else { return Ok(false) };
        disk::permit_like(new, &path, &old)?;
        disk::sync_file(new, &path)?;
        match disk::exchange(crew, BESIDE, crew, FILE) {
            // It was taken away meanwhile.
            Err(e) if e.io_kind() == Some(std::io::ErrorKind::NotFound) => return Ok(false),
            exchanged => exchanged?,
        }
        // A link or a special file, put there meanwhile, cannot be read: it goes back, too.
        let displaced = crew.read(BESIDE).ok().flatten();
        let is_ours = displaced.as_deref() == Some(before.as_bytes());
        if !is_ours {
            disk::exchange(crew, BESIDE, crew, FILE)?;
        }
        Ok(is_ours)
    }

    fn lock(&self) -> Result<Held> {
        LockFile::open(&Dir::make(&self.state, 0o700)?, LOCK)?.lock(Mode::Exclusive, PATIENCE)
    }

    fn read(&self, crew: &Dir) -> Result<Option<String>> {
        let refused = |what: &str| -> Error { Refusal::board(Rule::NotValid, format!("{} is {what}", self.path().display())) };
        match crew.stat(FILE)? {
            None => return Ok(None),
            Some((Kind::File, _)) => {}
            Some((Kind::Link, _)) => return Err(refused("a symbolic link, which is not followed: put the file itself there")),
            Some((Kind::Directory | Kind::Special, _)) => return Err(refused("no regular file: move it away")),
        }
        let Some(bytes) = crew.read(FILE)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| refused("no UTF-8 text: save it as UTF-8"))
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
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::place::Surroundings;

    fn memory() -> (tempfile::TempDir, Memory) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tasks")).unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("state").into()), ..Surroundings::default() };
        let memory = Memory::of(&Place::at(&temp.path().join(".tasks"), &surroundings).unwrap());
        (temp, memory)
    }

    #[test]
    fn entries_are_remembered_revised_and_forgotten() {
        let (_temp, memory) = memory();
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
        for refused in [memory.forget(2), memory.revise(0, "x"), memory.remember(" \n").map(drop), memory.remember(&"x".repeat(LONGEST_ENTRY + 1)).map(drop)] {
            assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        }
        assert_eq!(std::fs::read_dir(memory.crew).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn the_file_keeps_its_permissions() {
        let (_temp, memory) = memory();
        memory.remember("one").unwrap();
        for mode in [0o666, 0o600] {
            std::fs::set_permissions(memory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            memory.revise(1, &format!("{mode}")).unwrap();
            assert_eq!(std::fs::metadata(memory.path()).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn what_is_no_text_file_is_refused_and_stays() {
        let (temp, memory) = memory();
        std::fs::create_dir(&memory.crew).unwrap();
        std::fs::write(temp.path().join("elsewhere"), "- theirs\n").unwrap();
        let message = |memory: &Memory| memory.remember("x").unwrap_err().to_string();
        std::os::unix::fs::symlink(temp.path().join("elsewhere"), memory.path()).unwrap();
        assert!(message(&memory).contains("symbolic link"), "{}", message(&memory));
        assert!(memory.text().is_err());
        assert_eq!(std::fs::read_to_string(temp.path().join("elsewhere")).unwrap(), "- theirs\n");
        std::fs::remove_file(memory.path()).unwrap();
        std::fs::create_dir(memory.path()).unwrap();
        assert!(message(&memory).contains("no regular file"), "{}", message(&memory));
        std::fs::remove_dir(memory.path()).unwrap();
        std::fs::write(memory.path(), b"\xff").unwrap();
        assert!(message(&memory).contains("UTF-8"), "{}", message(&memory));
    }

    #[test]
    fn an_edit_that_came_between_is_kept() {
        let (_temp, memory) = memory();
        memory.remember("one").unwrap();
        let saved = std::cell::Cell::new(false);
        let edited = memory.edit(|text| {
            // A person saves between our reading and our writing.
            if !saved.replace(true) {
                std::fs::write(memory.path(), format!("# Head\n{text}")).unwrap();
            }
            Ok((format!("{text}- two\n"), ()))
        });
        edited.unwrap();
        assert_eq!(memory.text().unwrap(), "# Head\n- one\n- two\n");
        std::fs::remove_file(memory.path()).unwrap();
        saved.set(false);
        let made = memory.edit(|text| {
            if !saved.replace(true) {
                std::fs::write(memory.path(), "theirs\n").unwrap();
            }
            Ok((format!("{text}ours\n"), ()))
        });
        made.unwrap();
        assert_eq!(memory.text().unwrap(), "theirs\nours\n");
    }

    #[test]
    fn a_crowd_loses_nothing() {
        let (_temp, memory) = memory();
        let mut numbers: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|n| {
                    scope.spawn({
                        let memory = &memory;
                        move || memory.remember(&format!("{n}")).unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    }
}
