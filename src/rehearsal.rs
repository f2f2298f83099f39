//! What would be refused is refused before anything is locked or made.

use board::Board;
use board::alive;
use board::clock;
use board::document::Document;
use board::error::{Error, Result};
use board::task::Task;
use board::task_id::TaskId;
use board::transition::{MAX_LOST, Moment};

/// Tries a change on copies of all the tasks, so that of several either all are changed or none.
pub(crate) fn rehearse(board: &Board, ids: &[TaskId], change: impl Fn(&mut Document<'_>, &Task) -> Result<()>) -> Result<()> {
    ids.iter().try_for_each(|id| {
        let (bytes, task) = board.read_task(id)?;
        let mut document = Document::parse(&bytes).map_err(|problem| Error::NotATask { file: id.file_name(), problem })?;
        change(&mut document, &task)
    })
}

/// The present moment, as transitions want it.
pub(crate) fn moment() -> Moment<'static> {
    Moment { now: clock::now(), boot: alive::boot(), max_lost: MAX_LOST }
}

/// Each id once, in the order given.
pub(crate) fn once(mut ids: Vec<TaskId>) -> Vec<TaskId> {
    let mut seen = std::collections::BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}
