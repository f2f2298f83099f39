//! What calls of a model took, put into the ledger.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Instant;

use board::clock;
use board::ledger::{Call, Ledger};

use super::Model;
use crate::provider::Usage;
use crate::provider::prices::Prices;

/// For whom a model is called.
#[derive(Debug, Clone, Copy)]
pub struct Spending<'a> {
    /// Where it is put down.
    pub ledger: &'a Ledger,
    /// What it costs.
    pub prices: &'a Prices,
    /// The model.
    pub model: &'a Model,
    /// For whom.
    pub teammate: &'a str,
    /// The task that the turn holds.
    pub task: Option<&'a str>,
    /// The turn.
    pub turn: &'a str,
}

impl Spending<'_> {
    /// Puts down a call that began then and failed. Most of what fails takes nothing, and is none.
    pub fn failed(&self, usage: &Usage, began: Instant) {
        if *usage != Usage::default() {
            self.put_down(usage, began);
        }
    }

    /// Puts down a call that began then and was answered.
    pub fn put_down(&self, usage: &Usage, began: Instant) {
        let Spending { ledger, prices, model, teammate, task, turn } = self;
        let call = Call {
            ts: clock::now(),
            teammate: (*teammate).to_owned(),
            account: model.account.clone(),
            provider: model.provider.clone(),
            model: model.name.clone(),
            task: task.map(str::to_owned),
            turn: (*turn).to_owned(),
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            usd: prices.cost(&model.name, usage),
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        // What was spent is spent, also where it cannot be put down.
        if let Err(e) = ledger.append(&call) {
            tracing::error!("a call of {model:?} is not in the ledger: {e}");
        }
    }
}

/// A number by chance that is the same for the same word: waits of different teammates and turns differ by it.
pub fn chance(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}
