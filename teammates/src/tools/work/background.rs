//! What a model started in the background: lives across its turns, and ends by itself or with the teammate.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use board::name::Name;
use board::place::Place;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::shell::GRACE;
use crate::aside::aside;
use crate::children::Children;
use crate::leftovers;
use crate::process::{Ended, Ending, Running, WaitError};

/// The turn that the commands in the background of a teammate belong to. It is the same in each of its processes, and
/// nobody else's: after the teammate died, [`crate::trial::end_left`] ends what it left by this.
pub fn background_turn(place: &Place, name: &Name) -> String {
    let state = place.state().file_name().unwrap_or_default().to_string_lossy();
    let hash = state.rsplit('-').next().unwrap_or_default();
    let word: String = name.as_str().chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    format!("background-{hash}-{word}")
}

/// The commands of one teammate in the background. Dropping this kills them.
#[derive(Debug)]
pub struct Backgrounds {
    children: Children,
    turn: String,
    last: Cell<usize>,
    commands: RefCell<Vec<Background>>,
}

#[derive(Debug)]
struct Background {
    seen: Seen,
    how: Arc<Mutex<Option<Result<Ended, WaitError>>>>,
    cancel: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// A command in the background, for those who look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What the model calls it.
    pub id: String,
    /// The command.
    pub command: String,
    /// Its process group.
    pub group: i32,
    /// The name of its output.
    pub output: String,
}

impl Backgrounds {
    pub(super) fn new(children: Children, turn: String) -> Backgrounds {
        Backgrounds { children, turn, last: Cell::new(0), commands: RefCell::default() }
    }

    /// Takes a command that runs; returns what it is called.
    pub(super) fn add(&self, running: Running, command: String, output: String) -> String {
        self.last.set(self.last.get() + 1);
        let seen = Seen { id: format!("background {}", self.last.get()), command, group: running.pid(), output };
        let id = seen.id.clone();
        let (cancel, cancelled) = oneshot::channel::<()>();
        let how = Arc::new(Mutex::new(None));
        let told = Arc::clone(&how);
        let task = tokio::spawn(async move {
            // A sender that is gone cancels too.
            let cancelled = async {
                let _ = cancelled.await;
            };
            let ended = running.wait(Ending { timeout: None, grace: GRACE, keep: false }, cancelled).await;
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
        });
        self.commands.borrow_mut().push(Background { seen, how, cancel: Some(cancel), task });
        id
    }

    /// Tells one to end, by what it is called; `false`: none of that name runs.
    pub(super) fn cancel(&self, id: &str) -> bool {
        let mut commands = self.commands.borrow_mut();
        let running = commands.iter_mut().find(|command| command.seen.id == id && command.ended().is_none());
        running.is_some_and(|command| command.cancel.take().is_some())
    }

    /// What runs.
    pub fn running(&self) -> Vec<Seen> {
        self.commands.borrow().iter().filter(|command| command.ended().is_none()).map(|command| command.seen.clone()).collect()
    }

    /// Of those that have ended by themselves, what the model is to be told, each once: to be asked before each call of
    /// the model.
    pub fn take_ended(&self) -> Vec<String> {
        let mut told = Vec::new();
        self.commands.borrow_mut().retain(|command| match command.ended() {
            Some(how) => {
                let Seen { id, command, output, .. } = &command.seen;
                told.push(format!("{id} ({command}) {how}. Its output: read_file {}", json!({ "path": output })));
                false
            }
            None => true,
        });
        told
    }

    /// Ends all of them, and what they left.
    pub async fn end(&self) {
        let mut commands = self.commands.take();
        commands.iter_mut().for_each(|command| drop(command.cancel.take()));
        for command in &mut commands {
            if let Err(e) = (&mut command.task).await {
                tracing::warn!("{}: {e}", command.seen.id);
            }
        }
        if !commands.is_empty() {
            end_left(&self.children, &self.turn).await;
        }
    }
}

/// Ends what commands of a turn left outside of their process groups.
pub(super) async fn end_left(children: &Children, turn: &str) {
    if !children.orphaned().unwrap_or(true) {
        return;
    }
    let of = turn.to_owned();
    match aside(move || leftovers::end(&of, &[], GRACE)).await {
        Some(Ok(_)) => {}
        Some(Err(e)) => tracing::warn!("what commands of {turn} left: {e}"),
        None => tracing::warn!("what commands of {turn} left: ending it has failed"),
    }
}

impl Background {
    fn ended(&self) -> Option<String> {
        self.how.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|how| match how {
            Ok(Ended::Exited(code)) => format!("ended with exit code {code}"),
            Ok(Ended::Signaled(signal)) => format!("was ended by signal {signal}"),
            Ok(Ended::TimedOut | Ended::Cancelled) => "was ended".to_owned(),
            Err(e) => e.to_string(),
        })
    }
}

impl Drop for Backgrounds {
    fn drop(&mut self) {
        // What waits for a command kills its group when it is dropped.
        self.commands.borrow().iter().for_each(|command| command.task.abort());
    }
}
