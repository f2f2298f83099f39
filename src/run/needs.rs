//! What waits for a person, each with the command that answers it.

use board::Board;
use board::facts::Phase;
use board::run::{Ask, AskKind, Run};
use serde_json::{Value, json};

use crate::exit::Failure;

/// Something that waits.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    /// Its number, where it is an ask; a failed task has its id.
    pub(crate) id: Value,
    /// What it is.
    pub(crate) kind: AskKind,
    /// Who asks.
    pub(crate) from: String,
    /// Which task waits.
    pub(crate) task: Option<String>,
    /// What it says.
    pub(crate) text: String,
    /// A capability that it holds.
    pub(crate) holds: Option<String>,
    /// Since when.
    pub(crate) at: Option<jiff::Timestamp>,
    /// The commands that answer it.
    pub(crate) commands: Vec<String>,
}

/// All of them: what was asked, oldest first, then the tasks that have failed.
pub(crate) fn all(board: &Board, run: Option<&Run>) -> Result<Vec<Need>, Failure> {
    let asks = run.map(|run| run.asks.all()).transpose()?.unwrap_or_default();
    let waiting = asks.into_iter().filter(|ask| ask.answer.is_none() || ask.is_holding());
    Ok(waiting.map(of_ask).chain(failed(board)).collect())
}

fn of_ask(ask: Ask) -> Need {
    let id = ask.id;
    let mut commands = match ask.kind {
        AskKind::Gate | AskKind::Proposal => vec![format!("crew approve {id}"), format!("crew deny {id}")],
        _ if ask.answer.is_none() => vec![format!("crew answer {id} \"…\"")],
        _ => Vec::new(),
    };
    if ask.is_holding() {
        commands.push(format!("crew notice {id} --release"));
    }
    let task = ask.task.map(|task| task.to_string());
    Need { id: id.into(), kind: ask.kind, from: ask.from, task, text: ask.text, holds: ask.holds, at: Some(ask.at), commands }
}

/// A task that has failed for good waits for a person too.
fn failed(board: &Board) -> impl Iterator<Item = Need> + '_ {
    let failed = board.index().entries().filter(|(_, entry)| entry.facts().is_some_and(|facts| facts.status == Phase::Failed));
    failed.filter_map(|(id, _)| board.read_task(id).ok()).map(|(_, task)| {
        let id = task.id.to_string();
        let why = task.result.map(|result| result.summary).unwrap_or_default();
        let text = format!("{}: {}", task.subject, why.lines().next().unwrap_or_default());
        let (from, at) = task.attempts.last().map_or((String::new(), None), |last| (last.by.clone(), Some(last.ended)));
        let commands = vec![format!("crew retry {id}"), format!("crew cancel {id}")];
        Need { id: json!(task.id), kind: AskKind::Failure, from, task: Some(id), text, holds: None, at, commands }
    })
}

impl Need {
    /// As data.
    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id, "kind": self.kind.as_str(), "from": self.from, "task": self.task, "text": self.text,
            "holds": self.holds, "at": self.at, "commands": self.commands,
        })
    }
}
