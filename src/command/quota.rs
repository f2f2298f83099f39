//! `crew quota`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use board::disk::Dir;
use board::ledger::{Call, Ledger, Sum};
use serde_json::json;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::terminal;
use crate::view::escape;
use crate::view::quota;

/// Print what was asked of models: calls, tokens, and dollars where they are known
///
/// With --json {"total":{"calls":…,"inputTokens":…,"outputTokens":…,"cacheRead":…,"cacheWrite":…,"usd":…,"unpriced":…,
/// "ms":…}}, and with --by also "by" and "sums", each of which names its "of". "unpriced" counts the calls of which
/// nobody knows the cost; "usd" is left out where that is all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Quota {
    /// One sum for each of these
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum By {
    /// Who asked
    Teammate,
    /// Who paid
    Account,
    /// For which task, if any
    Task,
    /// On which day, in UTC
    Day,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            By::Teammate => "teammate",
            By::Account => "account",
            By::Task => "task",
            By::Day => "day",
        }
    }

    /// `None`: a call outside of any task.
    fn of(self, call: &Call) -> Option<String> {
        match self {
            By::Teammate => Some(call.teammate.clone()),
            By::Account => Some(call.account.clone()),
            By::Task => call.task.clone(),
            By::Day => Some(call.ts.strftime("%Y-%m-%d").to_string()),
        }
    }
}

impl Quota {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (mut total, mut sums) = (Sum::default(), BTreeMap::<Option<String>, Sum>::new());
        let state = match Dir::open(context.board()?.place().state()) {
            Ok(state) => Some(Ledger::of_run(Arc::new(state))),
            // Nothing was ever kept of this project.
            Err(e) if e.io_kind() == Some(ErrorKind::NotFound) => None,
            Err(e) => return Err(e.into()),
        };
        if let Some(ledger) = state {
            ledger.each(|call| {
                total.add(&call);
                if let Some(by) = self.by {
                    sums.entry(by.of(&call)).or_default().add(&call);
                }
            })?;
        }
        if !context.json {
            let rows: Vec<_> = sums.into_iter().map(|(of, sum)| (of.unwrap_or_else(|| "-".into()), sum)).collect();
            let lines = quota::table(self.by.map(By::word), &rows, &total, terminal::width(), terminal::colours());
            context.print(lines.join("\n"))?;
            return Ok(Exit::DONE);
        }
        let mut all = json!({ "total": quota::json(&total) });
        if let Some(by) = self.by {
            let named = |(of, sum): (Option<String>, Sum)| {
                let mut sum = quota::json(&sum);
                sum["of"] = json!(of);
                sum
            };
            all["by"] = json!(by.word());
            all["sums"] = sums.into_iter().map(named).collect();
        }
        context.print(escape::json(all.to_string()))?;
        Ok(Exit::DONE)
    }
}
