//! `crew show`.

use board::Board;
use board::document::Document;
use board::task_id::TaskId;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::terminal;
use crate::view::document::{self, Found};
use crate::view::task;

/// Show a task: its brief, its attempts, and what it waits for
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The task
    #[arg(value_name = "ID")]
    id: TaskId,
}

impl Show {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let id = &self.id;
        let board = context.seen_board()?;
        let Found { file, bytes, task, ready } = Found::of(&board, id)?;
        let mut document = Document::parse(&bytes).map_err(|problem| board::Error::NotATask { file: id.file_name(), problem })?;
        if context.json {
            context.print(document::whole(&mut document, &task, &ready))?;
            return Ok(Exit::DONE);
        }
        let description = document.get("description").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let log = task.claim.as_ref().map(|claim| board.place().log(id, &claim.turn)).filter(|log| log.is_file());
        let picture = task::Picture {
            description,
            ready,
            waits_for: task.edges().map(|edge| (edge.clone(), status_of(&board, edge))).collect(),
            waited_for_by: board.index().dependants(id).to_vec(),
            file,
            log,
            task: &task,
        };
        context.print(task::text(&picture, terminal::colours()).trim_end())?;
        Ok(Exit::DONE)
    }
}

/// How another task stands, in a word. `None`: there is none of that id.
fn status_of(board: &Board, id: &TaskId) -> Option<String> {
    if board.index().get(id).is_none() {
        return board.read_archived(id).map(|(_, task)| format!("{}, archived", task.status));
    }
    Some(board.read_task(id).map_or_else(|_| "no valid task".to_owned(), |(_, task)| task.status.as_str().to_owned()))
}
