//! Tasks that are a proposal: on the board, where a person reads and edits them, and nobody's to claim before a person has
//! approved them.
//!
//! One is parked on an ask, with a mark. As long as the turn that makes them goes on, the ask has no number; with the
//! number it belongs to that proposal for good, so that an answer is never one to tasks that came later.

use serde_json::{Value, json};

use crate::board::Board;
use crate::document::Document;
use crate::error::{Refusal, Result, Rule};
use crate::facts::Facts;
use crate::index::Entry;
use crate::locked::LockedBoard;
use crate::task::{Parked, Status, Task};
use crate::task_id::TaskId;
use crate::transition;

/// The mark, beside what a parked task waits for.
const MARK: &str = "proposed";

/// Makes the document of a new task one of a proposal.
pub fn park(document: &mut Document<'_>) {
    document.set("status", &Status::InProgress);
    document.remove("claim");
    set(document, None);
}

fn set(document: &mut Document<'_>, ask: Option<u64>) {
    let ask = ask.map_or_else(|| json!({ "on": "ask", MARK: true }), |ask| json!({ "on": "ask", "ask": ask, MARK: true }));
    document.set("parked", &ask);
}

/// The ask that a task waits for as part of a proposal: `Some(None)` as long as that has no number.
fn ask_of(document: &Document<'_>, task: &Task) -> Option<Option<u64>> {
    let Some(Parked::Ask { ask }) = &task.parked else { return None };
    let parked: Value = serde_json::from_str(document.get("parked")?).ok()?;
    (parked[MARK] == true && task.claim.is_none() && task.status == Status::InProgress).then_some(*ask)
}

impl Board {
    /// The tasks of the proposal with that number, by their ids; `None`: those that are part of none yet.
    pub fn proposed(&self, number: Option<u64>) -> Vec<TaskId> {
        let may_be = |facts: &Facts| matches!(facts.parked(), Some(Parked::Ask { ask }) if *ask == number);
        let parked = self.index().entries().filter(|(_, entry)| Entry::facts(entry).is_some_and(may_be)).map(|(id, _)| id);
        parked.filter(|id| self.read_task(id).is_ok_and(|(text, task)| is_of(&text, &task, number))).cloned().collect()
    }
}

fn is_of(text: &[u8], task: &Task, number: Option<u64>) -> bool {
    Document::parse(text).is_ok_and(|document| ask_of(&document, task) == Some(number))
}

impl LockedBoard<'_> {
    /// Makes a task that is part of no proposal yet one of this proposal. Refused for any other.
    pub fn number_proposed(&mut self, id: &TaskId, number: u64) -> Result<()> {
        let now = self.moment().now;
        self.change(id, &|document, task| {
            if ask_of(document, task) != Some(None) {
                return Err(Refusal::of(Rule::IllegalTransition, id, "it is not part of a proposal that is being made"));
            }
            set(document, Some(number));
            transition::touch(document, task, now);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::add::Draft;
    use crate::board::Durability;
    use crate::place::Surroundings;
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn one_belongs_to_the_proposal_that_it_was_numbered_for() {
        let temp = tempfile::tempdir().unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("home").into()), ..Surroundings::default() };
        let mut board = Board::init(temp.path(), Durability::Relaxed, &surroundings).unwrap();
        let mut add = |text: &str, parked: bool| {
            let mut document = Document::parse(text.as_bytes()).unwrap();
            if parked {
                park(&mut document);
            }
            board.add(&[Draft { text: document.compact(), origin: "test".into() }], PATIENCE).unwrap().remove(0)
        };
        let (first, second) = (add(r#"{"subject":"x","owner":"bob"}"#, true), add(r#"{"subject":"y","status":"completed"}"#, true));
        let (open, by_hand) = (add(r#"{"subject":"z"}"#, false), add(r#"{"subject":"z","status":"in_progress","parked":{"on":"ask"}}"#, false));
        board.sweep().unwrap();
        assert_eq!(board.proposed(None), [first.clone(), second.clone()]);
        let mut locked = board.lock(PATIENCE).unwrap();
        locked.number_proposed(&first, 7).unwrap();
        for other in [&first, &open, &by_hand] {
            assert!(locked.number_proposed(other, 8).unwrap_err().is_refusal());
        }
        locked.unlock().unwrap().settle().unwrap();
        assert_eq!((board.proposed(None), board.proposed(Some(7))), (vec![second], vec![first.clone()]));
        let mut locked = board.lock(PATIENCE).unwrap();
        locked.unpark(&first, true).unwrap();
        locked.unlock().unwrap().settle().unwrap();
        let (_, task) = board.read_task(&first).unwrap();
        assert_eq!((task.status, task.owner.as_deref(), task.parked), (Status::Pending, Some("bob"), None));
        assert!(board.proposed(Some(7)).is_empty());
    }
}
