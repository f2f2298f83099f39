//! A text file in `.crew/` that people and programs write: replaced in one step, under a lock that programs take. What
//! a person saved in between is kept, and the edit made anew on it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::disk::{self, Dir, Kind, written};
use crate::error::{Error, Refusal, Result, Rule};
use crate::lock::{LockFile, Mode, PATIENCE};
use crate::place::Place;

/// So many edits in a row that come between are taken over.
const EDITS: usize = 8;

/// The file.
#[derive(Debug)]
pub struct CrewFile {
    crew: PathBuf,
    state: PathBuf,
    name: &'static str,
}

impl CrewFile {
    /// `.crew/<name>.md` of a project.
    pub fn of(place: &Place, name: &'static str) -> CrewFile {
        CrewFile { crew: place.project().join(".crew"), state: place.state().to_path_buf(), name }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.crew.join(self.file())
    }

    /// What it says; `None`: it is not there. A link or a special file is refused.
    pub fn read(&self) -> Result<Option<String>> {
        match Dir::open(&self.crew) {
            Ok(crew) => self.read_in(&crew),
            Err(e) if e.io_kind() == Some(ErrorKind::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Puts what `change` makes of it in its place, durably, with the permissions that it has. It and `.crew/` are made
    /// where they are missing. `change` may be asked again.
    pub fn edit<T, E: From<Error>>(&self, change: impl Fn(Option<&str>) -> Result<(String, T), E>) -> Result<T, E> {
        let _held = LockFile::open(&Dir::make(&self.state, 0o700)?, &format!("{}.lock", self.name))?.lock(Mode::Exclusive, PATIENCE)?;
        let crew = Dir::make(&self.crew, 0o777)?;
        for _ in 0..EDITS {
            let before = self.read_in(&crew)?;
            let (after, answer) = change(before.as_deref())?;
            if before.as_deref() == Some(after.as_str()) || self.put(&crew, before.as_deref(), &after)? {
                return Ok(answer);
            }
        }
        Err(self.refused("being written by somebody else all the time; try again").into())
    }

    fn file(&self) -> String {
        format!("{}.md", self.name)
    }

    /// Where a new version is written. One that is left there is of a writer that died.
    fn beside(&self) -> String {
        format!(".{}.md.new", self.name)
    }

    fn refused(&self, what: &str) -> Error {
        Refusal::board(Rule::NotValid, format!("{} is {what}", self.path().display()))
    }

    fn read_in(&self, crew: &Dir) -> Result<Option<String>> {
        match crew.stat(&self.file())? {
            None => return Ok(None),
            Some((Kind::File, stamp)) if stamp.size > written::LONGEST as u64 => return Err(written::too_long(&self.path())),
            Some((Kind::File, _)) => {}
            Some((Kind::Link, _)) => return Err(self.refused("a symbolic link, which is not followed: put the file itself there")),
            Some((Kind::Directory | Kind::Special, _)) => return Err(self.refused("no regular file: move it away")),
        }
        let Some(bytes) = crew.read(&self.file())? else { return Ok(None) };
        written::text(&self.path(), bytes).map(Some)
    }

    /// `false`: it was no longer as it was before, and stays as it is.
    fn put(&self, crew: &Dir, before: Option<&str>, after: &str) -> Result<bool> {
        let beside = self.beside();
        crew.remove(&beside)?;
        let new = crew.write_new(&beside, after.as_bytes(), 0o666)?;
        let put = match before {
            None => disk::sync_file(&new, &crew.join(&beside)).and_then(|()| disk::rename_new(crew, &beside, crew, &self.file())),
            Some(before) => self.exchange(crew, &new, before),
        };
        crew.remove(&beside)?;
        crew.sync()?;
        put
    }

    fn exchange(&self, crew: &Dir, new: &File, before: &str) -> Result<bool> {
        let (beside, file) = (self.beside(), self.file());
        let Some(old) = crew.open_file(&file)? else { return Ok(false) };
        disk::permit_like(new, &crew.join(&beside), &old)?;
        disk::sync_file(new, &crew.join(&beside))?;
        match disk::exchange(crew, &beside, crew, &file) {
            // It was taken away meanwhile.
            Err(e) if e.io_kind() == Some(ErrorKind::NotFound) => return Ok(false),
            exchanged => exchanged?,
        }
        // A link or a special file, put there meanwhile, cannot be read: it goes back, too.
        let displaced = crew.read(&beside).ok().flatten();
        let is_as_before = displaced.as_deref() == Some(before.as_bytes());
        if !is_as_before {
            disk::exchange(crew, &beside, crew, &file)?;
        }
        Ok(is_as_before)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::place::Surroundings;

    fn file() -> (tempfile::TempDir, CrewFile) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tasks")).unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("state").into()), ..Surroundings::default() };
        let file = CrewFile::of(&Place::at(&temp.path().join(".tasks"), &surroundings).unwrap(), "notes");
        (temp, file)
    }

    fn append(file: &CrewFile, line: &str) -> Result<()> {
        file.edit(|text| Ok((format!("{}{line}\n", text.unwrap_or_default()), ())))
    }

    #[test]
    fn it_is_made_and_replaced_and_nothing_is_left_beside() {
        let (_temp, file) = file();
        assert_eq!(file.read().unwrap(), None);
        append(&file, "one").unwrap();
        append(&file, "two").unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some("one\ntwo\n"));
        assert_eq!(std::fs::read_dir(file.crew).unwrap().count(), 1);
    }

    #[test]
    fn it_keeps_its_permissions() {
        let (_temp, file) = file();
        append(&file, "one").unwrap();
        for mode in [0o666, 0o600] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            append(&file, "more").unwrap();
            assert_eq!(std::fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn what_is_no_text_file_is_refused_and_stays() {
        let (temp, file) = file();
        std::fs::create_dir(&file.crew).unwrap();
        std::fs::write(temp.path().join("elsewhere"), "theirs\n").unwrap();
        let refused = || append(&file, "x").unwrap_err().to_string();
        std::os::unix::fs::symlink(temp.path().join("elsewhere"), file.path()).unwrap();
        assert!(refused().contains("symbolic link"), "{}", refused());
        assert!(file.read().is_err());
        assert_eq!(std::fs::read_to_string(temp.path().join("elsewhere")).unwrap(), "theirs\n");
        std::fs::remove_file(file.path()).unwrap();
        std::fs::create_dir(file.path()).unwrap();
        assert!(refused().contains("no regular file"), "{}", refused());
        std::fs::remove_dir(file.path()).unwrap();
        std::fs::write(file.path(), b"\xff").unwrap();
        assert!(refused().contains("UTF-8"), "{}", refused());
    }

    #[test]
    fn an_edit_that_came_between_is_kept() {
        let (_temp, file) = file();
        for expected in ["theirs\nours\n", "theirs\nours\n"] {
            let saved = std::cell::Cell::new(false);
            let edited: Result<()> = file.edit(|text| {
                // A person saves between our reading and our writing: a new file first, then another text in it.
                if !saved.replace(true) {
                    std::fs::write(file.path(), "theirs\n").unwrap();
                }
                Ok((format!("{}ours\n", text.unwrap_or_default()), ()))
            });
            edited.unwrap();
            assert_eq!(file.read().unwrap().as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_crowd_loses_nothing() {
        let (_temp, file) = file();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = &file;
                scope.spawn(move || append(file, &format!("{n}")).unwrap());
            }
        });
        let text = file.read().unwrap().unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    }
}
