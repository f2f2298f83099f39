//! What may be run after somebody was asked: what was there then, and what does not come from the repository.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use board::Board;
use board::task::{Command, Task};
use board::task_id::TaskId;
use teammates::consent;

use super::tracked::Tracked;

/// What may be run here.
pub(crate) enum Consent {
    /// Whatever comes: somebody said so, or there is no repository that could bring anything.
    Everything,
    /// What was there at the question, and what git does not track.
    Asked(Box<Asked>),
}

/// The state of things at the question.
pub(crate) struct Asked {
    tracked: Tracked,
    /// The tasks that were on the board and that git did not track: the person's own.
    own: HashSet<TaskId>,
    /// What was shown, of the tasks that git tracks.
    shown: HashMap<TaskId, [Option<Command>; 2]>,
    /// Tasks that run something else than what was shown.
    others: RefCell<HashSet<TaskId>>,
}

impl Consent {
    pub(super) fn of(board: &Board, tracked: Tracked, shown: &[Task]) -> Consent {
        let of_git = tracked.on(board);
        let own = board.index().entries().map(|(id, _)| id).filter(|id| !of_git.contains(*id)).cloned().collect();
        let shown = shown.iter().map(|task| (task.id.clone(), commands(task))).collect();
        Consent::Asked(Box::new(Asked { tracked, own, shown, others: RefCell::default() }))
    }
}

impl consent::Consent for Consent {
    fn may_claim(&self, id: &TaskId) -> bool {
        let Consent::Asked(asked) = self else { return true };
        let is_known = asked.own.contains(id) || asked.shown.contains_key(id);
        !asked.others.borrow().contains(id) && (is_known || !asked.tracked.may_be(id))
    }

    fn may_run(&self, task: &Task) -> bool {
        let Consent::Asked(asked) = self else { return true };
        let may = match asked.shown.get(&task.id) {
            Some(shown) => *shown == commands(task),
            None => asked.own.contains(&task.id) || !asked.tracked.may_be(&task.id),
        };
        if !may {
            asked.others.borrow_mut().insert(task.id.clone());
        }
        may
    }
}

fn commands(task: &Task) -> [Option<Command>; 2] {
    [task.run.clone(), task.check.clone()]
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // Tests are the other programs that write.
mod tests {
    use super::*;
    use board::Durability;
    use board::place::Surroundings;
    use std::path::Path;
    use teammates::consent::Consent as _;

    #[test]
    fn what_was_shown_and_what_git_does_not_track() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().canonicalize().unwrap();
        let surroundings = Surroundings { crewboard_home: Some(project.join("home").into()), ..Surroundings::default() };
        let mut board = Board::init(&project, Durability::Relaxed, &surroundings).unwrap();
        let put = |id: &str, run: &str| std::fs::write(project.join(format!(".tasks/task_{id}.json")), format!(r#"{{"subject":"x","run":"{run}"}}"#)).unwrap();
        let repository = git2::Repository::init(&project).unwrap();
        let track = |id: &str| {
            let mut index = repository.index().unwrap();
            index.add_path(Path::new(&format!(".tasks/task_{id}.json"))).unwrap();
            index.write().unwrap();
        };
        let id = |id: &str| TaskId::new(id).unwrap();
        put("own", "true");
        put("shown", "true");
        track("shown");
        board.sweep().unwrap();
        let shown = [board.read_task(&id("shown")).unwrap().1];
        let consent = Consent::of(&board, Tracked::find(board.place()).unwrap(), &shown);
        let may_claim = |name: &str| consent.may_claim(&id(name));
        let may_run = |name: &str| consent.may_run(&board.read_task(&id(name)).unwrap().1);

        assert!(may_claim("own") && may_run("own") && may_claim("shown") && may_run("shown"));
        put("brought", "true");
        track("brought");
        assert!(!may_claim("brought") && !may_run("brought"));
        put("added", "true");
        assert!(may_claim("added") && may_run("added"), "by somebody here");
        track("own");
        assert!(may_claim("own") && may_run("own"), "it was there, and the person's own");

        let lock = repository.path().join("index.lock");
        std::fs::write(&lock, "").unwrap();
        put("late", "true");
        assert!(!may_claim("late"), "git is writing: it may be git's");
        assert!(may_claim("own") && may_claim("shown"));
        std::fs::remove_file(lock).unwrap();
        assert!(may_claim("late"));

        put("shown", "false");
        assert!(!may_run("shown"), "that was not shown");
        assert!(!may_claim("shown"), "nor is it claimed again");
    }
}
