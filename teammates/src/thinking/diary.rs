//! The log of a turn: what the model says as it comes, what it calls, and what came of that, for whoever follows it.

use std::cell::Cell;
use std::fs::File;
use std::io::Write as _;

use board::disk::Dir;
use board::{Result, visible};
use serde_json::Value;

use crate::opening::one_line;
use crate::provider::Delta;

/// So much of a call, and of what came of it, in characters.
const LONGEST_LINE: usize = 400;

/// The log.
pub(super) struct Diary {
    file: File,
    /// Whether the last line is not finished.
    open: Cell<bool>,
}

impl Diary {
    pub(super) fn open(logs: &Dir, turn: &str) -> Result<Diary> {
        Ok(Diary { file: logs.open_append(&format!("{turn}.log"), 0o600)?, open: Cell::new(false) })
    }

    /// What the model says, as it comes.
    pub(super) fn delta(&self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) => self.write(&visible::block(text)),
            // What it thinks is as long as it is, and nobody's to act on.
            Delta::Thinking(_) | Delta::ToolCall(_) => {}
            Delta::Restart => self.note("the call begins anew; what came of it before is void"),
        }
    }

    /// A call of a tool. The shell writes its own.
    pub(super) fn call(&self, name: &str, input: &Value) {
        if name != "bash" {
            self.line(&format!("> {name} {}", one_line(&input.to_string(), LONGEST_LINE)));
        }
    }

    /// What came of it.
    pub(super) fn result(&self, name: &str, text: &str, is_error: bool) {
        let word = if is_error { "refused: " } else { "" };
        if name != "bash" || is_error {
            self.line(&format!("< {word}{}", one_line(text, LONGEST_LINE)));
        }
    }

    /// What happened to the turn.
    pub(super) fn note(&self, text: &str) {
        self.line(&format!("[{}]", one_line(text, LONGEST_LINE)));
    }

    fn line(&self, text: &str) {
        let begin = if self.open.get() { "\n" } else { "" };
        self.write(&format!("{begin}{text}\n"));
    }

    fn write(&self, text: &str) {
        // A log that cannot be written stops no turn: the disk is full, and what counts says so itself.
        let _ = (&self.file).write_all(text.as_bytes());
        if !text.is_empty() {
            self.open.set(!text.ends_with('\n'));
        }
    }
}
