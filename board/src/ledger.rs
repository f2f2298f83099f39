//! What was asked of models: one line a call in `quota.jsonl`, never rotated.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::Dir;
use crate::error::{Error, Refusal, Result, Rule};
use crate::lines::Lines;
use crate::lock::{LockFile, Mode, PATIENCE};

const FILE: &str = "quota.jsonl";
const LOCK: &str = "quota.lock";

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// When it ended.
    pub ts: Timestamp,
    /// For whom.
    pub teammate: String,
    /// Who paid.
    pub account: String,
    /// Whose model.
    pub provider: String,
    /// The model, as its provider calls it.
    pub model: String,
    /// The task that the turn held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The turn.
    pub turn: String,
    /// Tokens read anew.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens taken from the provider's cache.
    pub cache_read: u64,
    /// Tokens put into the provider's cache.
    pub cache_write: u64,
    /// What it cost, in US dollars, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// The calls of a project.
#[derive(Debug)]
pub struct Ledger {
    dir: Arc<Dir>,
}

impl Ledger {
    /// That of a run, in the directory where its state is kept.
    pub fn of_run(state: Arc<Dir>) -> Ledger {
        Ledger { dir: state }
    }

    /// Appends a call and puts it on disk. Returns what a writer had left that died in the middle of its append.
    pub fn append(&self, call: &Call) -> Result<Vec<u8>> {
        let line = serde_json::to_vec(call).map_err(|e| Error::io("append to", self.dir.join(FILE), std::io::Error::from(e)))?;
        let _held = LockFile::open(&self.dir, LOCK)?.lock(Mode::Exclusive, PATIENCE)?;
        Lines::open(&self.dir, FILE)?.append(&line)
    }

    /// How long it is, in bytes.
    pub fn size(&self) -> Result<u64> {
        Lines::open_existing(&self.dir, FILE)?.map_or(Ok(0), |lines| lines.size())
    }

    /// The calls from a place on, oldest first, and where the next one will begin. A line that is no call is left out:
    /// [`Ledger::each`] tells of it.
    pub fn since(&self, place: u64) -> Result<(Vec<Call>, u64)> {
        let Some(lines) = Lines::open_existing(&self.dir, FILE)? else { return Ok((Vec::new(), 0)) };
        let (bytes, end) = lines.from(place)?;
        Ok((bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect(), end))
    }

    /// Tells every call, the last one first. A torn last line is none; any other that is no call is an error that names
    /// the line.
    pub fn each(&self, mut tell: impl FnMut(Call)) -> Result<()> {
        let Some(lines) = Lines::open_existing(&self.dir, FILE)? else { return Ok(()) };
        let mut backwards = lines.backwards()?;
        while let Some(line) = backwards.next() {
            match serde_json::from_slice(&line?) {
                Ok(call) => tell(call),
                Err(e) => {
                    let number = backwards.count() + 1;
                    // The place within the line says `line 1`, which it is not.
                    let problem = e.to_string();
                    let problem = problem.split(" at line ").next().unwrap_or(&problem);
                    let message = format!("{}:{number}: no call of a model: {problem}; mend the line or take it out", lines.path().display());
                    return Err(Refusal::board(Rule::NotValid, message));
                }
            }
        }
        Ok(())
    }
}

/// What calls amount to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    /// How many.
    pub calls: u64,
    /// Tokens read anew.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens taken from the provider's cache.
    pub cache_read: u64,
    /// Tokens put into the provider's cache.
    pub cache_write: u64,
    /// What those cost together, in US dollars, of which it is known; `None`: of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Of how many calls the cost is not known.
    pub unpriced: u64,
    /// How long they took together, in milliseconds.
    pub ms: u64,
}

impl Sum {
    /// Adds a call.
    pub fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.input_tokens = self.input_tokens.saturating_add(call.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(call.output_tokens);
        self.cache_read = self.cache_read.saturating_add(call.cache_read);
        self.cache_write = self.cache_write.saturating_add(call.cache_write);
        match call.usd {
            Some(usd) => self.usd = Some(self.usd.unwrap_or(0.0) + usd),
            None => self.unpriced += 1,
        }
        self.ms = self.ms.saturating_add(call.ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        (temp, Ledger::of_run(dir))
    }

    #[test]
    fn the_calls_since_a_place() {
        let (temp, ledger) = ledger();
        assert_eq!(ledger.since(0).unwrap(), (Vec::new(), 0));
        ledger.append(&call(1, None)).unwrap();
        let (calls, place) = ledger.since(0).unwrap();
        assert_eq!((calls.len(), place), (1, ledger.size().unwrap()));
        ledger.append(&call(2, Some(0.5))).unwrap();
        // A writer that dies in the middle of an append.
        let file = temp.path().join(FILE);
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, [whole.as_slice(), b"{\"ts\":"].concat()).unwrap();
        let (calls, end) = ledger.since(place).unwrap();
        assert_eq!((calls.iter().map(|call| call.input_tokens).collect::<Vec<_>>(), end), (vec![2], whole.len() as u64));
        assert_eq!(ledger.since(end).unwrap(), (Vec::new(), end));
        assert_eq!(ledger.since(1_000_000).unwrap().0, [], "a place behind its end");
    }

    fn call(input_tokens: u64, usd: Option<f64>) -> Call {
        let words = |word: &str| word.to_owned();
        let (teammate, account, provider, model) = (words("alice"), words("work"), words("acme"), words("large"));
        let ts = "2026-01-02T03:04:05Z".parse().unwrap();
        Call {
            ts,
            teammate,
            account,
            provider,
            model,
            task: None,
            turn: words("t-1"),
            input_tokens,
            output_tokens: 2,
            cache_read: 3,
            cache_write: 4,
            usd,
            ms: 5,
        }
    }

    fn sum(ledger: &Ledger) -> Result<Sum> {
        let mut sum = Sum::default();
        ledger.each(|call| sum.add(&call)).map(|()| sum)
    }

    #[test]
    fn calls_are_summed_and_a_torn_one_is_none() {
        let (temp, ledger) = ledger();
        assert_eq!(sum(&ledger).unwrap(), Sum::default());
        ledger.append(&call(10, None)).unwrap();
        assert_eq!(sum(&ledger).unwrap().usd, None);
        ledger.append(&call(20, Some(0.5))).unwrap();
        ledger.append(&call(u64::MAX, Some(0.25))).unwrap();
        let file = temp.path().join("quota.jsonl");
        std::fs::write(&file, [std::fs::read(&file).unwrap(), b"{\"ts\":".to_vec()].concat()).unwrap();
        let expected = Sum { calls: 3, input_tokens: u64::MAX, output_tokens: 6, cache_read: 9, cache_write: 12, usd: Some(0.75), unpriced: 1, ms: 15 };
        assert_eq!(sum(&ledger).unwrap(), expected);
        assert_eq!(ledger.append(&call(1, None)).unwrap(), b"{\"ts\":");
        assert_eq!(sum(&ledger).unwrap().calls, 4);
    }

    #[test]
    fn a_line_that_is_no_call_is_named() {
        let (temp, ledger) = ledger();
        ledger.append(&call(1, None)).unwrap();
        let file = temp.path().join("quota.jsonl");
        let good = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{good}{}{good}", good.replace("\"inputTokens\":1", "\"inputTokens\":-1"))).unwrap();
        let message = sum(&ledger).unwrap_err().to_string();
        assert!(message.contains("quota.jsonl:2: no call of a model: invalid value"), "{message}");
    }
}
