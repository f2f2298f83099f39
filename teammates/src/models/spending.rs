//! What calls of a model took, put into the ledger.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Instant;

use board::clock;
use board::ledger::{Call, Ledger};

use super::{Agent, Model};
use crate::provider::Usage;
use crate::provider::prices::Prices;

/// For whom a model is called.
#[derive(Debug, Clone, Copy)]
pub struct Spending<'a> {
    /// Where it is put down.
    pub ledger: &'a Ledger,
    /// What it costs.
    pub prices: &'a Prices,
    /// Who is paid, and by whom.
    pub paid: Paid<'a>,
    /// For whom.
    pub teammate: &'a str,
    /// The task that the turn holds.
    pub task: Option<&'a str>,
    /// The turn.
    pub turn: &'a str,
}

/// Who is paid, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Paid<'a> {
    /// The account.
    pub account: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// The model.
    pub model: &'a str,
}

impl<'a> From<&'a Model> for Paid<'a> {
    fn from(model: &'a Model) -> Paid<'a> {
        Paid { account: &model.account, provider: &model.provider, model: &model.name }
    }
}

impl<'a> From<&'a Agent> for Paid<'a> {
    fn from(agent: &'a Agent) -> Paid<'a> {
        Paid { account: &agent.account, provider: &agent.runner, model: agent.name() }
    }
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
        self.put_down_as(usage, self.prices.cost(self.paid.model, usage), began);
    }

    /// The same of which it is known what it cost, in US dollars.
    pub fn put_down_as(&self, usage: &Usage, usd: Option<f64>, began: Instant) {
        let Spending { ledger, paid, teammate, task, turn, .. } = self;
        let call = Call {
            ts: clock::now(),
            teammate: (*teammate).to_owned(),
            account: paid.account.to_owned(),
            provider: paid.provider.to_owned(),
            model: paid.model.to_owned(),
            task: task.map(str::to_owned),
            turn: (*turn).to_owned(),
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            usd,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        // What was spent is spent, also where it cannot be put down.
        if let Err(e) = ledger.append(&call) {
            tracing::error!("a call of {paid:?} is not in the ledger: {e}");
        }
    }
}

/// A number by chance that is the same for the same word: waits of different teammates and turns differ by it.
pub fn chance(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}
