//! `checkpoints.json`: the list. Only its lock's holder writes it; what it says that is not known here stays.

use serde_json::{Map, Value};

use super::Checkpoint;
use crate::disk::Dir;
use crate::error::{Error, Refusal, Result, Rule};

/// The newest format that is known here.
const FORMAT: u64 = 1;
const NAME: &str = "checkpoints.json";
const KEY: &str = "checkpoints";

/// The list, read.
pub(super) struct List {
    /// By number.
    pub(super) checkpoints: Vec<Checkpoint>,
    document: Map<String, Value>,
    changed: bool,
}

impl List {
    /// Reads it. A newer format's entries are taken as far as they are understood.
    pub(super) fn read(state: &Dir) -> Result<List> {
        let Some(bytes) = state.read(NAME)? else { return Ok(List { checkpoints: Vec::new(), document: Map::new(), changed: false }) };
        let broken = |why: &dyn std::fmt::Display| {
            let message = format!("{} is no list of checkpoints ({why}); move it away, and the next checkpoint makes it anew", state.join(NAME).display());
            Refusal::board(Rule::NotValid, message)
        };
        let document: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|e| broken(&e))?;
        let newer = format_of(&document) > FORMAT;
        let mut checkpoints = Vec::new();
        for entry in document.get(KEY).and_then(Value::as_array).into_iter().flatten() {
            match serde_json::from_value(entry.clone()) {
                Ok(checkpoint) => checkpoints.push(checkpoint),
                Err(_) if newer => {}
                Err(e) => return Err(broken(&e)),
            }
        }
        checkpoints.sort_by_key(|checkpoint: &Checkpoint| checkpoint.number);
        Ok(List { checkpoints, document, changed: false })
    }

    /// Reads it to change it, which one of a newer format is not.
    pub(super) fn read_to_write(state: &Dir) -> Result<List> {
        let list = List::read(state)?;
        match format_of(&list.document) {
            found if found > FORMAT => Err(Error::NewerFormat { path: state.join(NAME), found, known: FORMAT }),
            _ => Ok(list),
        }
    }

    /// Adds one.
    pub(super) fn push(&mut self, checkpoint: Checkpoint) {
        let entry = serde_json::json!(checkpoint);
        match self.document.entry(KEY).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(entries) => entries.push(entry),
            other => *other = Value::Array(vec![entry]),
        }
        self.checkpoints.push(checkpoint);
        self.checkpoints.sort_by_key(|checkpoint| checkpoint.number);
        self.changed = true;
    }

    /// Writes it where it has changed; on disk when this returns.
    pub(super) fn write(mut self, state: &Dir) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        self.document.insert("format".into(), FORMAT.into());
        state.replace(NAME, Value::Object(self.document).to_string().as_bytes(), 0o600, true)
    }
}

fn format_of(document: &Map<String, Value>) -> u64 {
    document.get("format").and_then(Value::as_u64).unwrap_or(FORMAT)
}
