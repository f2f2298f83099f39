//! What is different for whoever works by hand, at a client of `crew mcp`: no run gives them a task, and none ends their
//! turn. Each does what a verb does for a shell: `crew claim`, `crew finish`, `crew release`.

use board::locked::Terms;
use board::post::Kind;
use board::ready::{Claimant, Takes};
use board::run::Move;
use board::task::Outcome;
use board::task_id::TaskId;
use board::transition::{By, Ending};
use teammates::cleaning;
use teammates::tools::crew::ClaimTask;

use super::tasks::{read_id, told};
use super::{Done, OfTurn, words};
use crate::claiming;
use crate::config;
use crate::run::PATIENCE;
use crate::run::lane_post::Whence;

impl OfTurn {
    /// Whether no run gives this teammate its tasks.
    pub(super) fn is_by_hand(&self) -> bool {
        self.teammate.whence == Whence::Shell
    }

    /// Why there is nothing that could be moved.
    pub(super) fn has_no_turn(&self) -> String {
        let name = self.name();
        format!(
            "it is not the turn of '{name}' in the thread, and '{name}' has claimed no task from here: `claim_task` takes one, and `send_message` reaches a teammate"
        )
    }

    pub(super) fn take(&self, claim: &ClaimTask) -> Done {
        let wanted = claim.id.as_ref().map(read_id).transpose()?;
        let mut board = self.teammate.workplace.board();
        config::apply(&mut board).map_err(words)?;
        cleaning::return_stale_claims(&mut board).map_err(told)?;
        let way_on = "`post` says what came of it, `idle` gives it back";
        // One with a command is taken by its id alone: whoever is given the best one is not to pass over that.
        let takes = if wanted.is_some() { self.teammate.claimant.takes } else { Takes::Briefs };
        let claimant = Claimant { takes, ..self.teammate.claimant.clone() };
        let claimed = claiming::claim(&mut board, &claimant, wanted.as_ref(), &Terms::default(), Some(way_on)).map_err(words)?;
        match claimed {
            Some(claimed) => {
                let command = claimed.task.run.as_ref().map(|run| format!(" It is done by its command, which is yours to run: {run}")).unwrap_or_default();
                Ok(format!("Task {} is yours: {}{command}\n{way_on}; `task_get` reads it whole.", claimed.task.id, claimed.task.subject))
            }
            None => Err("there is no task that you could claim; `task_list` shows all of them".into()),
        }
    }

    /// A post, and what it says of the task.
    pub(super) fn on_task_by_hand(&self, id: &TaskId, said: Move) -> Done {
        let (kind, text) = (said.kind, said.text.clone());
        let seq = self.on_task(id, Some(&self.at.turn), said)?.post.seq;
        let (_, task) = self.teammate.workplace.board().read_task(id).map_err(told)?;
        let is_held = task.claim.as_ref().is_some_and(|claim| claim.turn == self.at.turn);
        let finish = format!("`crew finish {id} --as {}`", self.name());
        Ok(match (is_held && matches!(kind, Kind::WorkDone | Kind::Done), &task.check) {
            (true, None) => match self.end(id, &Ending { summary: Some(text), ..Ending::of(Outcome::Done) }) {
                Ok(status) => format!("This is post {seq}. Task {id} is {status}."),
                Err(why) => format!("This is post {seq}. Task {id} is not completed: {why}; you still hold it, and {finish} completes it."),
            },
            (true, Some(check)) => {
                format!(
                    "This is post {seq}. Task {id} has a check, which nobody runs here, so you still hold it: when {check} succeeds, {finish} completes it."
                )
            }
            (false, _) => format!("This is post {seq}. Task {id} is {} now.", task.status),
        })
    }

    /// Gives back what is held from here: there is nothing more to do. `None`: nothing was held.
    pub(super) fn give_back(&self) -> Result<Option<String>, String> {
        let Some(id) = self.at.task.as_ref() else { return Ok(None) };
        let status = self.end(id, &Ending::because(Outcome::Released, "idle"))?;
        Ok(Some(format!("Task {id} is given back: it is {status}.")))
    }

    fn end(&self, id: &TaskId, ending: &Ending) -> Result<board::task::Status, String> {
        let mut board = self.teammate.workplace.board();
        let mut locked = board.lock(PATIENCE).map_err(told)?;
        let ended = locked.end(id, &By::Holder { name: self.name().as_str(), turn: Some(&self.at.turn) }, ending);
        locked.unlock().and_then(board::locked::Unlocked::settle).map_err(told)?;
        ended.map_err(told)
    }
}
