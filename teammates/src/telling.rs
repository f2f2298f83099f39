//! In which order a batch tells what happened to a task: the end of an attempt before the beginning of the next.
//!
//! An end is told when it is on disk, and a lane does not wait for that before it claims again. So the next attempt at
//! the same task may begin earlier than the end of the last one can be told.

use std::collections::{HashMap, VecDeque};

use board::locked::Claimed;
use board::task::Status;
use board::task_id::TaskId;
use board::transition::Ending;

use crate::batch::Event;

/// An attempt that has ended on the board, and on disk.
pub(crate) struct Settled {
    /// The task as it was claimed, and the turn.
    pub(crate) claimed: Claimed,
    /// How the attempt ended.
    pub(crate) ending: Ending,
    /// What the task is now; `None`: it was taken away meanwhile.
    pub(crate) status: Option<Status>,
}

/// What is still to be told, for each task that has an end on its way.
#[derive(Default)]
pub(crate) struct Telling {
    untold: HashMap<TaskId, VecDeque<Told>>,
}

enum Told {
    Began { subject: String, attempt: usize },
    Ended { turn: String, settled: Option<Box<Settled>> },
}

impl Telling {
    /// An attempt began.
    pub(crate) fn began(&mut self, claimed: &Claimed, show: &mut dyn FnMut(Event<'_>)) {
        let (task, attempt) = (&claimed.task, claimed.attempt);
        match self.untold.get_mut(&task.id) {
            Some(before) => before.push_back(Told::Began { subject: task.subject.clone(), attempt }),
            None => show(Event::Began { task: &task.id, subject: &task.subject, attempt }),
        }
    }

    /// An attempt has ended, and that is on its way to the disk.
    pub(crate) fn ends(&mut self, claimed: &Claimed) {
        self.untold.entry(claimed.task.id.clone()).or_default().push_back(Told::Ended { turn: claimed.turn.clone(), settled: None });
    }

    /// It is on disk.
    pub(crate) fn ended(&mut self, ended: Settled, show: &mut dyn FnMut(Event<'_>)) {
        let id = ended.claimed.task.id.clone();
        let Some(untold) = self.untold.get_mut(&id) else { return };
        let is_its = |told: &&mut Told| matches!(told, Told::Ended { turn, .. } if *turn == ended.claimed.turn);
        if let Some(Told::Ended { settled, .. }) = untold.iter_mut().find(is_its) {
            *settled = Some(Box::new(ended));
        }
        while let Some(told) = untold.pop_front() {
            match told {
                Told::Began { subject, attempt } => show(Event::Began { task: &id, subject: &subject, attempt }),
                Told::Ended { settled: Some(settled), .. } => {
                    let Settled { claimed, ending, status } = *settled;
                    show(Event::Ended { task: &id, subject: &claimed.task.subject, ending: &ending, status: status.as_ref() });
                }
                waits => {
                    untold.push_front(waits);
                    return;
                }
            }
        }
        self.untold.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::document::Document;
    use board::task::{Outcome, Task};

    fn claimed(id: &str, attempt: usize) -> Claimed {
        let document = Document::parse(br#"{"subject":"x"}"#).unwrap();
        let task = Task::read(&TaskId::new(id).unwrap(), &document).unwrap();
        Claimed { task, turn: format!("{id}-{attempt}"), attempt, at: board::clock::now() }
    }

    #[test]
    fn each_end_before_the_next_beginning() {
        let mut told: Vec<String> = Vec::new();
        let mut show = |event: Event<'_>| {
            told.push(match event {
                Event::Began { task, attempt, .. } => format!("began {task} {attempt}"),
                Event::Ended { task, .. } => format!("ended {task}"),
                Event::Returned(_) => "returned".into(),
            });
        };
        let settled = |id, attempt| Settled { claimed: claimed(id, attempt), ending: Ending::of(Outcome::Failed), status: Some(Status::Pending) };
        let mut telling = Telling::default();
        telling.began(&claimed("1", 1), &mut show);
        telling.ends(&claimed("1", 1));
        telling.began(&claimed("1", 2), &mut show);
        telling.began(&claimed("2", 1), &mut show);
        telling.ends(&claimed("1", 2));
        telling.began(&claimed("1", 3), &mut show);
        telling.ended(settled("1", 2), &mut show);
        telling.ended(settled("1", 1), &mut show);
        telling.ends(&claimed("1", 3));
        telling.ended(settled("1", 3), &mut show);
        telling.began(&claimed("1", 4), &mut show);
        assert_eq!(told, ["began 1 1", "began 2 1", "ended 1", "began 1 2", "ended 1", "began 1 3", "ended 1", "began 1 4"]);
    }
}
