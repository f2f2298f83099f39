//! `crew archive`.

use std::time::Duration;

use board::clock;
use board::duration;
use board::task::Status;
use board::task_id::TaskId;
use jiff::Timestamp;

use super::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rehearsal::once;

/// So many tasks are moved before others get the lock.
const BATCH: usize = 128;

/// Move finished tasks out of the way, into .tasks/.board/archive/
///
/// Completed and cancelled tasks are moved, whole. `crew show` still finds them, and tasks that waited for a completed
/// one are not blocked by its going.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
pub(crate) struct Archive {
    /// The tasks; of several all are moved or none
    #[arg(value_name = "ID", group = "which")]
    ids: Vec<TaskId>,

    /// All completed and cancelled tasks, but for cancelled ones that others wait for
    #[arg(long, group = "which", conflicts_with = "ids")]
    all_finished: bool,

    /// The same, of those that nobody changed for so long ("90m", "168h")
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, group = "which", conflicts_with = "ids")]
    older_than: Option<Duration>,
}

impl Archive {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board_on_every_core()?;
        let ids = if self.ids.is_empty() {
            let before = self.older_than.map(|age| clock::now().checked_sub(age).map_err(|e| Failure::Usage(format!("--older-than: {e}"))));
            let before = before.transpose()?;
            let finished = board.survey(|document, task| {
                let updated: Option<Timestamp> = document.get("updated").and_then(|updated| serde_json::from_str(updated).ok());
                matches!(task.status, Status::Completed | Status::Cancelled).then_some(updated)
            })?;
            let old_enough = |id: &TaskId, updated: Option<Timestamp>| match before {
                None => true,
                // A file that says nothing of it: when it was last written.
                Some(before) => updated.or_else(|| written(&board, id)).is_some_and(|updated| updated < before),
            };
            let finished = finished.into_iter().filter_map(|(id, updated)| updated.map(|updated| (id, updated)));
            let old: Vec<TaskId> = finished.filter(|(id, updated)| old_enough(id, *updated)).map(|(id, _)| id).collect();
            old.into_iter().filter(|id| board.check_archive(id).is_ok()).collect()
        } else {
            board.look()?;
            let ids = once(self.ids);
            ids.iter().try_for_each(|id| board.check_archive(id))?;
            ids
        };
        for batch in ids.chunks(BATCH) {
            let mut locked = board.lock(PATIENCE)?;
            for id in batch {
                locked.archive(id)?;
            }
            locked.unlock()?.settle()?;
        }
        match context.json {
            true => context.print(serde_json::json!({ "archived": ids }))?,
            false => context.confirm(format!("{} archived in {}", count(ids.len()), board.place().ours().join("archive").display())),
        }
        Ok(Exit::DONE)
    }
}

fn written(board: &board::Board, id: &TaskId) -> Option<Timestamp> {
    let written = std::fs::metadata(board.place().tasks().join(id.file_name())).ok()?.modified().ok()?;
    Timestamp::try_from(written).ok()
}

fn count(tasks: usize) -> String {
    match tasks {
        1 => "1 task".to_owned(),
        tasks => format!("{tasks} tasks"),
    }
}
