//! `crew ls`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::iter::Peekable;

use board::ready::{Claimant, NotReady};
use board::task::{Status, Task};
use board::task_id::TaskId;
use board::{Board, Rule, clock};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Pages, write_pieces};
use crate::prospects;
use crate::terminal;
use crate::view::{document, list};

/// List the tasks
///
/// With --json one object a line: the task's own document with its id, "ready", and where it is not, "why". A file
/// that is no valid task comes as {"file":…,"invalid":{"reason":…,"line":…,"column":…}}, or with "unsettled" instead
/// of "invalid" while its writer may still be at work. Several filters all have to hold.
#[derive(Debug, clap::Args)]
pub(crate) struct Ls {
    /// Only tasks of these statuses: pending, in_progress, completed, failed, cancelled
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<String>,

    /// Only tasks that NAME holds or is to do
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    /// Only tasks of this plan
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,

    /// Only tasks that can be claimed now, by a teammate that can do everything
    #[arg(long)]
    ready: bool,

    /// Only files that are no valid task
    #[arg(long, conflicts_with_all = ["status", "owner", "plan", "ready"])]
    invalid: bool,
}

impl Ls {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board_on_every_core()?;
        match context.json {
            true => self.print_objects(&mut board)?,
            false => self.print_table(context, &mut board)?,
        }
        // The process ends here: taking the board apart piece by piece would only take time.
        std::mem::forget(board);
        Ok(Exit::DONE)
    }

    fn print_objects(&self, board: &mut Board) -> Result<(), Failure> {
        let pages = Pages::default();
        let tasks = board.survey(|document, task| self.keeps(task).then(|| pages.put(&document::open(document, task))))?;
        let pages = pages.into_texts();
        let gone = self.gone(board)?;
        let lines = self.entries(board, tasks, &gone).flat_map(|entry| match entry {
            Entry::Task(_, line, ready) => [pages[line.page][line.range].into(), document::end(&ready)],
            Entry::NoTask(file, key, problem) => [document::no_task(&file, key, problem).into(), "\n".into()],
        });
        Ok(write_pieces(lines)?)
    }

    fn print_table(&self, context: &Context, board: &mut Board) -> Result<(), Failure> {
        let tasks = board.survey(|_, task| self.keeps(task).then(|| list::Shown::of(task)))?;
        let gone = self.gone(board)?;
        let entries: Vec<list::Entry> = self
            .entries(board, tasks, &gone)
            .map(|entry| match entry {
                Entry::Task(id, shown, ready) => list::Entry::Task(id, shown, ready),
                Entry::NoTask(file, key, problem) => list::Entry::NoTask(file, key, problem.clone()),
            })
            .collect();
        if entries.is_empty() {
            context.say(if board.index().entries().next().is_some() { "no task is like that; `crew ls` shows all" } else { "no tasks here" });
            return Ok(());
        }
        let mut out = context.out();
        for line in list::lines(entries, terminal::width(), terminal::colours()) {
            writeln!(out, "{line}")?;
        }
        Ok(out.flush()?)
    }

    /// Whether a task may be shown, as far as its own file tells.
    fn keeps(&self, task: &Task) -> bool {
        !self.invalid
            && (self.status.is_empty() || self.status.iter().any(|status| status == task.status.as_str()))
            && self.owner.as_deref().is_none_or(|owner| task.owner.as_deref() == Some(owner))
            && self.plan.as_deref().is_none_or(|plan| task.plan.as_deref() == Some(plan))
            && (!self.ready || task.status == Status::Pending)
    }

    /// The tasks whose holders are gone. Only looks: the next writer puts them back.
    fn gone(&self, board: &mut Board) -> Result<BTreeSet<TaskId>, Failure> {
        let stale = if self.ready || self.invalid { Vec::new() } else { board.stale_claims(clock::now())? };
        Ok(stale.into_iter().map(|stale| stale.task).collect())
    }

    /// What is to be shown, in natural order of the ids; files without one come last.
    fn entries<'b, T>(&'b self, board: &'b Board, tasks: Vec<(TaskId, Option<T>)>, gone: &'b BTreeSet<TaskId>) -> impl Iterator<Item = Entry<'b, T>> {
        let anybody = Claimant::shell("");
        let no_tasks = self.status.is_empty() && self.owner.is_none() && self.plan.is_none() && !self.ready;
        let mut tasks = tasks.into_iter().peekable();
        let with_id = board.index().entries().filter_map(move |(id, entry)| match document::problem_of(&entry.state) {
            Some((key, problem)) => no_tasks.then(|| Entry::NoTask(id.file_name(), key, problem)),
            None => {
                let shown = digest_of(&mut tasks, id)??;
                let ready = match gone.contains(id) {
                    true => Err(NotReady::because(Rule::OneHolder, prospects::why_stuck(board.index(), gone, id))),
                    false => board.why_not_of(id, Some(entry), &anybody),
                };
                (!self.ready || ready.is_ok()).then(|| Entry::Task(id.clone(), shown, ready))
            }
        });
        let nameless = board.index().nameless().filter(move |_| no_tasks);
        with_id.chain(nameless.map(|(file, problem)| Entry::NoTask(file.to_owned(), "invalid", problem)))
    }
}

/// One line of the list.
enum Entry<'b, T> {
    Task(TaskId, T, Result<(), NotReady>),
    NoTask(String, &'static str, &'b board::document::Problem),
}

/// Both the board's entries and the digests come in the order of the ids.
fn digest_of<T>(tasks: &mut Peekable<impl Iterator<Item = (TaskId, T)>>, id: &TaskId) -> Option<T> {
    while tasks.next_if(|(other, _)| other < id).is_some() {}
    tasks.next_if(|(other, _)| other == id).map(|(_, digest)| digest)
}
