//! A document of the run: small, one value, read whole, changed under a lock and replaced in one step.
//!
//! It carries its format. One that a newer crewboard wrote is read as far as it is understood, and never changed.
//! Keys that this one does not know stay where the value's type keeps them.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::disk::Dir;
use crate::error::{Error, Refusal, Result, Rule};
use crate::lock::{Held, LockFile, Mode};

/// The format that is written here.
pub const FORMAT: u64 = 1;

/// How long a record's lock is waited for; it is held for moments.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a change must be on disk when [`Record::update`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// It must: nothing else tells it.
    Yes,
    /// It can be made again from what is on disk.
    No,
}

/// A document of that name in a directory. `T`'s default is what a missing file says.
#[derive(Debug)]
pub struct Record<T> {
    dir: Arc<Dir>,
    file: &'static str,
    durable: Durable,
    of: PhantomData<fn() -> T>,
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    #[serde(default)]
    format: u64,
    #[serde(flatten)]
    value: T,
}

impl<T: Serialize + DeserializeOwned + Default + PartialEq + Clone> Record<T> {
    /// The document of that file name.
    pub fn of(dir: Arc<Dir>, file: &'static str, durable: Durable) -> Record<T> {
        Record { dir, file, durable, of: PhantomData }
    }

    /// What it says. A file that is none of these is an error that names the place; nothing is changed.
    pub fn read(&self) -> Result<T> {
        self.read_versioned().map(|read| read.value)
    }

    fn read_versioned(&self) -> Result<Versioned<T>> {
        match self.dir.read(self.file)? {
            None => Ok(Versioned { format: FORMAT, value: T::default() }),
            // A power cut may leave nothing of what need not be on disk.
            Some(bytes) if self.durable == Durable::No && bytes.trim_ascii().is_empty() => Ok(Versioned { format: FORMAT, value: T::default() }),
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|e| {
                let message = format!("{} cannot be read: {e}; mend it, or move it away to begin without it", self.dir.join(self.file).display());
                Refusal::board(Rule::NotValid, message)
            }),
        }
    }

    /// Refused where a newer crewboard wrote it: for whoever changes other things before this one.
    pub fn check_format(&self) -> Result<()> {
        match self.read_versioned()?.format {
            newer if newer > FORMAT => Err(self.newer(newer)),
            _ => Ok(()),
        }
    }

    fn newer(&self, found: u64) -> Error {
        Error::NewerFormat { path: self.dir.join(self.file), found, known: FORMAT }
    }

    /// Changes it under its lock; the answer is `change`'s. What is left as it was is not written.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R> {
        self.try_update(|value| Ok(change(value)))
    }

    /// The same where the change may be refused: then nothing is written.
    pub fn try_update<R>(&self, change: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let _held = self.lock()?;
        let Versioned { format, mut value } = self.read_versioned()?;
        let before = value.clone();
        let answer = change(&mut value)?;
        if value != before {
            if format > FORMAT {
                return Err(self.newer(format));
            }
            self.write(value)?;
        }
        Ok(answer)
    }

    fn write(&self, value: T) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(&Versioned { format: FORMAT, value })
            .map_err(|e| Error::io("write", self.dir.join(self.file), std::io::Error::from(e)))?;
        text.push(b'\n');
        self.dir.replace(self.file, &text, 0o600, self.durable == Durable::Yes)
    }

    fn lock(&self) -> Result<Held> {
        LockFile::open(&self.dir, &format!("{}.lock", self.file.trim_end_matches(".json")))?.lock(Mode::Exclusive, PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Count {
        #[serde(default)]
        count: u64,
        #[serde(flatten)]
        others: Map<String, Value>,
    }

    fn record() -> (tempfile::TempDir, Record<Count>) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        (temp, Record::of(dir, "count.json", Durable::Yes))
    }

    #[test]
    fn changes_are_kept_and_unknown_keys_stay() {
        let (temp, record) = record();
        assert_eq!(record.read().unwrap().count, 0);
        record.update(|count| count.count += 1).unwrap();
        let file = temp.path().join("count.json");
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap().replace("\"count\"", "\"new\": [1.5],\n  \"count\"")).unwrap();
        record.update(|count| count.count += 1).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"count\": 2") && text.contains("1.5") && text.contains("\"format\": 1"), "{text}");
    }

    #[test]
    fn a_newer_format_is_read_and_not_changed() {
        let (temp, record) = record();
        let newer = "{\"format\":2,\"count\":7,\"sort\":\"new\"}";
        std::fs::write(temp.path().join("count.json"), newer).unwrap();
        assert_eq!(record.read().unwrap().count, 7);
        let refused = record.update(|count| count.count = 0).unwrap_err();
        assert!(matches!(refused, Error::NewerFormat { found: 2, .. }), "{refused}");
        assert_eq!(std::fs::read_to_string(temp.path().join("count.json")).unwrap(), newer);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_left_alone() {
        let (temp, record) = record();
        std::fs::write(temp.path().join("count.json"), "{\"count\":").unwrap();
        assert!(record.update(|count| count.count = 0).unwrap_err().to_string().contains("count.json"));
        assert_eq!(std::fs::read_to_string(temp.path().join("count.json")).unwrap(), "{\"count\":");
    }
}
