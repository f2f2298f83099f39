//! `crew fail`.

use board::task::Outcome;
use board::transition::Ending;

use super::finish::Ends;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Say that an attempt at a task that you hold has failed
///
/// While the task has retries left it is pending again; then it has failed, until somebody retries it.
#[derive(Debug, clap::Args)]
pub(crate) struct Fail {
    #[command(flatten)]
    ends: Ends,

    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// What came of it all the same
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,

    /// The exit code of what was run
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    exit: Option<i32>,
}

impl Fail {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let ending = Ending { reason: self.reason, summary: self.summary, exit: self.exit, ..Ending::of(Outcome::Failed) };
        self.ends.run(context, &ending)
    }
}
