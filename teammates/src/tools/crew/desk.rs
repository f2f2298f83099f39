//! What of the team's tools the board does by itself: the memory, the thread, the tasks as they are, messages.

use std::rc::Rc;

use board::memory::{Memory, entries};
use board::name::Name;
use board::run::Run;
use board::task_id::TaskId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::id::Id;
use super::letters;
use crate::tools::bounds::PAGE;
use crate::tools::{Access, Answer, Family, Tool};
use crate::workplace::Workplace;

/// Where a teammate does this.
pub struct Desk {
    workplace: Workplace,
    name: Name,
}

type Done = Result<String, String>;

/// The arguments of `read_thread`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadThread {
    /// Only posts after the one of this number. Left out: the last ones.
    #[serde(default)]
    after: Option<u64>,
    /// The most posts. Default: 20.
    #[serde(default)]
    limit: Option<usize>,
}

/// The arguments of `remember`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remember {
    /// What a later turn would pay to learn again.
    text: String,
}

/// The arguments of `revise`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Revise {
    /// The entry, counted from 1 as the memory file has them.
    number: usize,
    /// What it says now; `was` must still be the beginning of what it says.
    text: String,
    /// The first words of the entry as it is.
    was: String,
}

/// The arguments of `forget`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Forget {
    /// The entry, counted from 1 as the memory file has them.
    number: usize,
    /// The first words of the entry as it is.
    was: String,
}

/// The arguments of `task_list`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskList {
    /// Only those of this status: pending, in_progress, completed, failed or cancelled.
    #[serde(default)]
    status: Option<String>,
    /// How many of the first to leave out. Default: 0.
    #[serde(default)]
    offset: Option<usize>,
}

/// The arguments of `task_get`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskGet {
    /// The task.
    id: Id,
}

/// The arguments of `send_message`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendMessage {
    /// A teammate's name.
    to: String,
    /// The words.
    text: String,
}

pub(super) fn tools(desk: &Rc<Desk>) -> Vec<Tool> {
    use Access::{Acts, Reads};
    vec![
        tool(desk, "read_thread", "Read posts of the thread.", Reads, |desk, input: ReadThread| desk.read_thread(&input)),
        tool(desk, "remember", "Add an entry to the team's memory: decisions and why, constraints, dead ends.", Acts, |desk, input: Remember| {
            desk.remember(&input)
        }),
        tool(desk, "revise", "Change an entry of the team's memory.", Acts, |desk, input: Revise| desk.revise(&input)),
        tool(desk, "forget", "Take an entry out of the team's memory.", Acts, |desk, input: Forget| desk.forget(&input)),
        tool(desk, "task_list", "List the tasks of the board.", Reads, |desk, input: TaskList| desk.task_list(&input)),
        tool(desk, "task_get", "Read a task of the board whole.", Reads, |desk, input: TaskGet| desk.task_get(&input)),
        tool(
            desk,
            "send_message",
            "Send a teammate a message, which it reads with its next turn. It gives no orders and no permissions.",
            Acts,
            |desk, input: SendMessage| desk.send_message(&input),
        ),
    ]
}

fn tool<I: JsonSchema + serde::de::DeserializeOwned + 'static>(
    desk: &Rc<Desk>,
    name: &str,
    description: &str,
    access: Access,
    work: impl Fn(&Desk, I) -> Done + Copy + 'static,
) -> Tool {
    let desk = Rc::clone(desk);
    Tool::new(name, description, Family::Crew, access, move |input: I| {
        let desk = Rc::clone(&desk);
        async move { Answer::from(work(&desk, input)) }
    })
}

impl Desk {
    /// That of a teammate.
    pub fn of(workplace: Workplace, name: Name) -> Desk {
        Desk { workplace, name }
    }

    fn read_thread(&self, input: &ReadThread) -> Done {
        let Some(run) = Run::existing(self.workplace.place()).map_err(|e| e.to_string())? else {
            return Ok("nothing was posted yet".into());
        };
        let limit = input.limit.unwrap_or(20).clamp(1, 500);
        let posts = match input.after {
            Some(after) => run.thread.since(after),
            None => run.thread.last(limit),
        };
        let posts = posts.map_err(|e| e.to_string())?;
        let (mut text, mut last) = (String::new(), input.after.unwrap_or(0));
        for (count, post) in posts.iter().enumerate() {
            let line = format!("{}\n", json!(post));
            if count >= limit || (text.len() + line.len() > PAGE && !text.is_empty()) {
                return Ok(format!("{text}[there is more: read_thread {}]", json!({ "after": last, "limit": limit })));
            }
            text.push_str(&line);
            last = post.seq;
        }
        Ok(if text.is_empty() { "there is no post".into() } else { text })
    }

    fn memory(&self) -> Memory {
        Memory::of(self.workplace.place())
    }

    fn remember(&self, input: &Remember) -> Done {
        let number = self.memory().remember(&input.text).map_err(|e| e.to_string())?;
        Ok(format!("It is entry {number}."))
    }

    fn revise(&self, input: &Revise) -> Done {
        self.is_still(input.number, &input.was)?;
        self.memory().revise(input.number, &input.text).map_err(|e| e.to_string())?;
        Ok(format!("Entry {} was changed.", input.number))
    }

    fn forget(&self, input: &Forget) -> Done {
        self.is_still(input.number, &input.was)?;
        self.memory().forget(input.number).map_err(|e| e.to_string())?;
        Ok(format!("Entry {} is gone; those behind it have a number less by one.", input.number))
    }

    /// Numbers move when somebody else takes an entry out: what is meant is said by its words, too.
    fn is_still(&self, number: usize, was: &str) -> Result<(), String> {
        let text = self.memory().text().map_err(|e| e.to_string())?;
        let entries = entries(&text);
        let entry =
            number.checked_sub(1).and_then(|at| entries.get(at)).ok_or_else(|| format!("the memory has no entry {number}, it has {}", entries.len()))?;
        let was = was.trim();
        match !was.is_empty() && entry.text.starts_with(was) {
            true => Ok(()),
            false => Err(format!("entry {number} does not begin with {was:?}, it says: {}", entry.text)),
        }
    }

    fn task_list(&self, input: &TaskList) -> Done {
        let mut board = self.workplace.board();
        board.look().map_err(|e| e.to_string())?;
        let (mut text, mut seen) = (String::new(), 0);
        let skip = input.offset.unwrap_or(0);
        let ids: Vec<TaskId> = board.index().entries().map(|(id, _)| id.clone()).collect();
        for id in ids {
            // One that is no sound task is told of by those who keep the board.
            let Ok((_, task)) = board.read_task(&id) else { continue };
            if input.status.as_deref().is_some_and(|status| status != task.status.as_str()) {
                continue;
            }
            if seen >= skip {
                let line = json!({ "id": id, "status": task.status.as_str(), "subject": task.subject, "owner": task.owner, "blockedBy": task.blocked_by });
                let line = format!("{line}\n");
                if text.len() + line.len() > PAGE && !text.is_empty() {
                    let mut call = json!({ "offset": seen });
                    if let (Some(status), Some(call)) = (&input.status, call.as_object_mut()) {
                        call.insert("status".into(), status.as_str().into());
                    }
                    return Ok(format!("{text}[there is more: task_list {call}]"));
                }
                text.push_str(&line);
            }
            seen += 1;
        }
        Ok(if text.is_empty() { "there is no such task".into() } else { text })
    }

    fn task_get(&self, input: &TaskGet) -> Done {
        let id: TaskId = input.id.as_ref().parse().map_err(|e| format!("{e}"))?;
        let board = self.workplace.board();
        match board.read_task(&id) {
            Ok((text, _)) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(e) => match board.read_archived(&id) {
                Some((text, _)) => Ok(String::from_utf8_lossy(&text).into_owned()),
                None => Err(e.to_string()),
            },
        }
    }

    fn send_message(&self, input: &SendMessage) -> Done {
        letters::send(&self.workplace.board(), &self.name, &input.to, &input.text)
    }
}
