//! `crew ls` for people.

use board::document::Problem;
use board::ready::NotReady;
use board::task::{Status, Task};
use board::task_id::TaskId;

use super::escape::{cut, line};
use super::table::{Line, Shade, lay_out};

/// No cell is longer: a subject may have megabytes.
const LONGEST: usize = 72;
/// From this width on there is room to say why a task is not ready, and whose it is.
const ROOMY: u16 = 72;

/// What the list shows of a task.
#[derive(Debug)]
pub(crate) struct Shown {
    status: Status,
    owner: String,
    subject: String,
}

impl Shown {
    /// Takes it from a task.
    pub(crate) fn of(task: &Task) -> Shown {
        let text = |text: &str| line(&cut(text, LONGEST)).into_owned();
        Shown { status: task.status.clone(), owner: task.owner.as_deref().map(text).unwrap_or_default(), subject: text(&task.subject) }
    }
}

/// One entry of the list.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A task, and whether it is ready.
    Task(TaskId, Shown, Result<(), NotReady>),
    /// A file that is no task: its name, how it is, and why.
    NoTask(String, &'static str, Problem),
}

/// The list's lines.
pub(crate) fn lines(entries: Vec<Entry>, width: Option<u16>, colours: bool) -> Vec<String> {
    let roomy = width.is_none_or(|width| width >= ROOMY);
    let header: &[&str] = if roomy { &["ID", "STATUS", "OWNER", "SUBJECT", "READY"] } else { &["ID", "STATUS", "SUBJECT"] };
    let rows = entries.into_iter().map(|entry| row(entry, roomy)).collect();
    lay_out(header, rows, width, colours)
}

fn row(entry: Entry, roomy: bool) -> Line {
    let (id, status, owner, subject, ready, shade) = match entry {
        Entry::Task(id, shown, ready) => {
            let shade = match (&shown.status, &ready) {
                (Status::Pending, Ok(())) => Shade::Ready,
                (Status::InProgress, _) => Shade::Active,
                (Status::Failed | Status::Unknown(_), _) => Shade::Wrong,
                _ => Shade::Quiet,
            };
            let why = match (&shown.status, ready) {
                (_, Ok(())) => "ready".to_owned(),
                // The status says it all.
                (Status::Completed | Status::Failed | Status::Cancelled, Err(_)) => String::new(),
                (_, Err(no)) => line(&cut(&no.why, LONGEST)).into_owned(),
            };
            let status = line(&cut(shown.status.as_str(), LONGEST)).into_owned();
            (line(id.as_str()).into_owned(), status, shown.owner, shown.subject, why, shade)
        }
        Entry::NoTask(file, status, problem) => {
            let subject = format!("{}: {}", line(&file), line(&cut(&problem.to_string(), LONGEST)));
            (String::from("-"), status.to_owned(), String::new(), subject, String::new(), Shade::Wrong)
        }
    };
    let cells = if roomy { vec![id, status, owner, subject, ready] } else { vec![id, status, subject] };
    Line { cells, shade }
}
