//! A task as JSON: its own document, with its id, and whether it is ready.

use std::borrow::Cow;
use std::path::PathBuf;

use board::document::{Document, Problem};
use board::index::State;
use board::ready::{Claimant, NotReady};
use board::task::Task;
use board::task_id::TaskId;
use board::{Board, Error, Rule};

use super::escape;

/// A task's file, on the board or in the archive.
pub(crate) struct Found {
    /// Where it is.
    pub(crate) file: PathBuf,
    /// What is in it.
    pub(crate) bytes: Vec<u8>,
    /// The task.
    pub(crate) task: Task,
    /// Whether it is ready for a teammate that can do everything.
    pub(crate) ready: Result<(), NotReady>,
}

impl Found {
    /// That of an id.
    pub(crate) fn of(board: &Board, id: &TaskId) -> board::Result<Found> {
        match board.read_task(id) {
            Ok((bytes, task)) => Ok(Found { file: board.place().tasks().join(id.file_name()), bytes, task, ready: board.why_not(id, &Claimant::shell("")) }),
            Err(Error::NoSuchTask(_)) => {
                let (bytes, task) = board.read_archived(id).ok_or_else(|| Error::NoSuchTask(id.clone()))?;
                let ready = Err(NotReady::because(Rule::IllegalTransition, "it is archived"));
                Ok(Found { file: board.place().ours().join("archive").join(id.file_name()), bytes, task, ready })
            }
            Err(e) => Err(e),
        }
    }
}

/// A task's document in one line, still open at its end for [`end`].
pub(crate) fn open(document: &mut Document<'_>, task: &Task) -> String {
    say_id(document, task);
    let mut text = escape::json(document.compact());
    text.pop();
    text
}

/// What ends a line that [`open`] began: whether the task is ready for a teammate that can do everything, or why not.
pub(crate) fn end(ready: &Result<(), NotReady>) -> Cow<'static, str> {
    match ready {
        Ok(()) => ",\"ready\":true}\n".into(),
        Err(no) => format!(",\"ready\":false,\"why\":{}}}\n", escape::json(serde_json::json!(no.why).to_string())).into(),
    }
}

/// The same, laid out for reading.
pub(crate) fn whole(document: &mut Document<'_>, task: &Task, ready: &Result<(), NotReady>) -> String {
    say_id(document, task);
    document.set("ready", &ready.is_ok());
    if let Err(no) = ready {
        document.set("why", &no.why);
    }
    escape::json(document.pretty().trim_end().to_owned())
}

/// The file's name says the id. Keys of the author's that bear the names of ours give way.
fn say_id(document: &mut Document<'_>, task: &Task) {
    document.remove("ready");
    document.remove("why");
    let said = document.get("id").is_some_and(|id| id != "null") && task.other_id.is_none();
    if !said {
        document.set_first("id", &task.id);
    }
}

/// What is said of a file that is no task: `{"file":…,"invalid":{"reason":…,"line":…,"column":…}}`, or `"unsettled"`
/// while its writer may still be at work. Line and column are 0 where the file as a whole is meant.
pub(crate) fn no_task(file: &str, key: &str, problem: &Problem) -> String {
    let problem = serde_json::to_string(problem).unwrap_or_else(|_| "{}".into());
    escape::json(format!("{{\"file\":{},\"{key}\":{problem}}}", serde_json::json!(file)))
}

/// The key and the problem of a file that is no task.
pub(crate) fn problem_of(state: &State) -> Option<(&'static str, &Problem)> {
    match state {
        State::Task(_) => None,
        State::Unsettled(problem) => Some(("unsettled", problem)),
        State::Invalid(problem) => Some(("invalid", problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::Rule;
    use board::task_id::TaskId;

    fn line(id: &str, text: &str, ready: Result<(), NotReady>) -> String {
        let mut document = Document::parse(text.as_bytes()).unwrap();
        let task = Task::read(&TaskId::new(id).unwrap(), &document).unwrap();
        format!("{}{}", open(&mut document, &task), end(&ready)).trim_end().to_owned()
    }

    #[test]
    fn the_file_name_says_the_id_and_nothing_stands_twice() {
        assert_eq!(line("7", r#"{"subject":"x", "n":1.10}"#, Ok(())), r#"{"id":7,"subject":"x","n":1.10,"ready":true}"#);
        assert_eq!(line("7", r#"{"subject":"x","id":"7"}"#, Ok(())), r#"{"subject":"x","id":"7","ready":true}"#);
        assert_eq!(line("7", r#"{"subject":"x","id":99}"#, Ok(())), r#"{"subject":"x","id":7,"ready":true}"#);
        assert_eq!(line("a b", r#"{"id":null,"subject":"x","ready":"mine","why":2}"#, Ok(())), r#"{"id":"a b","subject":"x","ready":true}"#);
        let no = NotReady { rule: Rule::Blocked, why: "blocked by \"1\"".into() };
        assert_eq!(line("1", r#"{"id":1,"subject":"x"}"#, Err(no)), r#"{"id":1,"subject":"x","ready":false,"why":"blocked by \"1\""}"#);
    }
}
