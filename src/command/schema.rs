//! `crew schema`.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::schema;

/// Print the JSON Schema of a task, for editors and checks
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        context.print(format!("{:#}", schema::of_task()))?;
        Ok(Exit::DONE)
    }
}
