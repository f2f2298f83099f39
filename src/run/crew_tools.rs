//! What the run does for a model that calls the team's tools. The rules are those of the verbs that people use; on top of
//! them, a model moves only within the turn that it was given, and no task of its making runs a command unless its profile
//! says so.
//!
//! Whoever calls is never an argument: it is the teammate of this process, in the turn that it is in.

mod by_hand;
mod tasks;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use board::name::Name;
use board::post::USER;
use board::ready::Claimant;
use board::run::{Move, Run};
use board::task_id::TaskId;
use teammates::profile::Profile;
use teammates::teammate;
use teammates::tools::crew::{Ask, At, ClaimTask, Crew, Crews, Doing, Move as Said, Notify, Post, TaskCreate, TaskUpdate, TellUser, letters};
use teammates::workplace::Workplace;

use crate::exit::Failure;
use crate::run::lane_post::{self, Whence};
use crate::run::noticing::{self, Notice};
use crate::run::posting::{self, Shown};

/// The words for a question to the user by the tool that is for teammates.
const A_QUESTION: &str = "a question to the user is `post` with kind say and handoff user: it ends your turn, and the answer opens the next";

/// What the run does for the turns of one teammate.
pub(crate) struct CrewTools {
    teammate: Rc<Teammate>,
}

struct Teammate {
    workplace: Workplace,
    claimant: Claimant,
    may_run: bool,
    whence: Whence,
}

/// The same for one of its turns.
struct OfTurn {
    teammate: Rc<Teammate>,
    at: At,
}

type Done = Result<String, String>;

impl CrewTools {
    /// For the teammate of a profile, in this process.
    pub(crate) fn of(workplace: Workplace, profile: &Profile) -> CrewTools {
        CrewTools::whence(workplace, teammate::claimant(profile), profile.may_run, Whence::Model)
    }

    /// For whoever claims as this claimant, and posts on tasks from there. From a shell: it claims by hand, and its post
    /// ends its turn.
    pub(crate) fn whence(workplace: Workplace, claimant: Claimant, may_run: bool, whence: Whence) -> CrewTools {
        CrewTools { teammate: Rc::new(Teammate { workplace, claimant, may_run, whence }) }
    }

    /// What `idle` brings about for what was claimed by hand, in words; `None`: nothing was, or whoever runs the turn ends it.
    pub(crate) fn give_back(&self, at: &At) -> Result<Option<String>, String> {
        let turn = OfTurn { teammate: Rc::clone(&self.teammate), at: at.clone() };
        if turn.is_by_hand() { turn.give_back() } else { Ok(None) }
    }
}

impl Crews for CrewTools {
    fn of_turn(&self, at: &At) -> Rc<dyn Crew> {
        Rc::new(OfTurn { teammate: Rc::clone(&self.teammate), at: at.clone() })
    }
}

impl Crew for OfTurn {
    fn post(&self, post: Post) -> Doing<'_> {
        Box::pin(async move { self.posted(post) })
    }

    fn tell_user(&self, notice: TellUser) -> Doing<'_> {
        Box::pin(async move { self.told(&notice.text, notice.holds) })
    }

    fn task_create(&self, task: TaskCreate) -> Doing<'_> {
        Box::pin(async move { self.create(task) })
    }

    fn task_update(&self, change: TaskUpdate) -> Doing<'_> {
        Box::pin(async move { self.update(&change) })
    }

    fn claim_task(&self, claim: ClaimTask) -> Doing<'_> {
        Box::pin(async move { if self.is_by_hand() { self.take(&claim) } else { self.claim(&claim) } })
    }

    fn ask(&self, question: Ask) -> Doing<'_> {
        Box::pin(async move {
            match question.to.trim() {
                USER => Err(A_QUESTION.into()),
                to => self.send(to, &format!("{}\n\n({} asks for an answer: `send_message` to {}.)", question.text.trim_end(), self.at.name, self.at.name)),
            }
        })
    }

    fn notify(&self, news: Notify) -> Doing<'_> {
        Box::pin(async move {
            match news.to.trim() {
                USER => self.told(&news.text, None),
                to => self.send(to, &news.text),
            }
        })
    }
}

impl OfTurn {
    fn name(&self) -> &Name {
        &self.at.name
    }

    fn posted(&self, post: Post) -> Done {
        let handoff = post.handoff.map(|to| to.trim().to_owned()).filter(|to| !to.is_empty());
        if post.kind == Said::Handoff && handoff.as_deref() == Some(USER) {
            return Err(A_QUESTION.into());
        }
        let said = Move { kind: post.kind.into(), text: post.text.trim_end().to_owned(), handoff, credited: None };
        let turn = Some(self.at.turn.as_str());
        let appended = match (&self.at.task, self.at.of_thread) {
            (Some(task), _) if self.is_by_hand() => return self.on_task_by_hand(task, said),
            (Some(task), _) => self.on_task(task, turn, said)?,
            (None, true) => {
                let place = self.teammate.workplace.place();
                let run = Run::of(place).map_err(|e| e.to_string())?;
                posting::post(place, &run, self.name().as_str(), turn, said, Shown::ByTree).map_err(words)?
            }
            (None, false) if self.is_by_hand() => return Err(self.has_no_turn()),
            (None, false) => {
                let ways = "it ends with `idle`; to answer a teammate is `send_message`, and in your next turn of the thread or on a task you can post";
                return Err(format!("this turn is over messages, and posts nothing: {ways}"));
            }
        };
        Ok(format!("This is post {}.", appended.post.seq))
    }

    fn on_task(&self, task: &TaskId, turn: Option<&str>, said: Move) -> Result<board::thread::Appended, String> {
        let mut board = self.teammate.workplace.board();
        // Whom a task is handed to is the only one who may claim it.
        if let Some(to) = said.handoff.as_deref().filter(|to| *to != USER) {
            letters::on_team(&board, to)?;
        }
        let run = Run::of(board.place()).map_err(|e| e.to_string())?;
        lane_post::post(&mut board, &run, self.name(), task, turn, said, self.teammate.whence).map_err(words)
    }

    fn told(&self, text: &str, holds: Option<String>) -> Done {
        if self.at.task.is_none() && !self.at.of_thread {
            if self.is_by_hand() {
                return Err(self.has_no_turn());
            }
            return Err("this turn is over messages, and tells the user nothing: your next turn of the thread or on a task can".into());
        }
        let mut board = self.teammate.workplace.board();
        let run = Run::of(board.place()).map_err(|e| e.to_string())?;
        let notice = Notice { who: self.name(), turn: Some(&self.at.turn), task: self.at.task.as_ref(), text, holds };
        let number = noticing::raise(&mut board, &run, notice).map_err(words)?;
        Ok(format!("The user is told (notice {number}). An answer comes in a later turn."))
    }

    fn send(&self, to: &str, text: &str) -> Done {
        letters::send(&self.teammate.workplace.board(), self.name(), to, text)
    }
}

fn words(failure: Failure) -> String {
    failure.message()
}
