//! `crew edit`.

use board::clock;
use board::edits;
use board::task_id::TaskId;

use super::PATIENCE;
use super::task_options::TaskOptions;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::rehearse;

/// Change what a task says
///
/// An editor does it as well: the file is the task. Where it stands (its status, its claim, its attempts, its edges)
/// is changed by the verbs for that.
#[derive(Debug, clap::Args)]
pub(crate) struct Edit {
    /// The task
    #[arg(value_name = "ID")]
    id: TaskId,

    /// What is to be done, in one line
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,

    #[command(flatten)]
    options: TaskOptions,

    /// Any other key, with a JSON value
    #[arg(long, value_name = "KEY=JSON", value_parser = key_value)]
    set: Vec<(String, String)>,

    /// Take keys out, so that their defaults hold
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    unset: Vec<String>,
}

impl Edit {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let subject = self.subject.iter().map(|subject| ("subject".to_owned(), Some(serde_json::json!(subject).to_string())));
        let options = self.options.keys().into_iter().map(|(key, value)| (key.to_owned(), Some(value)));
        let set = self.set.into_iter().map(|(key, value)| (key, Some(value)));
        let unset = self.unset.into_iter().map(|key| (key, None));
        let keys: Vec<(String, Option<String>)> = subject.chain(options).chain(set).chain(unset).collect();
        let mut board = context.board()?;
        let id = &self.id;
        if keys.is_empty() {
            let file = board.place().tasks().join(id.file_name());
            return Err(Failure::Usage(format!("say what to change (`crew edit --help`), or open {} in an editor", file.display())));
        }
        rehearse(&board, std::slice::from_ref(id), |document, task| edits::edit(document, task, &keys, clock::now()))?;
        let mut locked = board.lock(PATIENCE)?;
        locked.edit(id, &keys)?;
        locked.unlock()?.settle()?;
        match context.json {
            true => {
                let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
                context.print(serde_json::json!({ "id": id, "changed": names }))?;
            }
            false => context.confirm(format!("task {id}: changed")),
        }
        Ok(Exit::DONE)
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("write it as KEY=JSON")?;
    let raw: &serde_json::value::RawValue =
        serde_json::from_str(value).map_err(|e| format!("{value} is no JSON ({e}); texts need their quotes: {key}='\"…\"'"))?;
    Ok((key.to_owned(), raw.get().to_owned()))
}
