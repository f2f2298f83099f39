//! What the run has spent, counted from the ledger of calls as it grows.

use std::sync::Arc;

use board::Result;
use board::ledger::Ledger;

use super::Daemon;

impl Daemon {
    /// Counts the calls that are new. What earlier runs have spent is not this one's.
    pub(super) fn count_spending(&mut self) -> Result<()> {
        let ledger = Ledger::of_run(Arc::clone(self.run.dir()));
        let Some(counted) = self.state.counted else {
            let size = ledger.size()?;
            return self.change_state(|state| state.counted = Some(size));
        };
        if ledger.size()? == counted {
            return Ok(());
        }
        let (calls, end) = ledger.since(counted)?;
        let usd: f64 = calls.iter().filter_map(|call| call.usd).sum();
        // The sum and the place that it reaches to are one change: no call is counted twice.
        self.change_state(|state| {
            state.counted = Some(end);
            state.spent_usd += usd;
        })
    }
}
