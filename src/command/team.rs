//! `crew team`: who is at work.

use board::alive::Liveness;
use board::presence::{Activity, Seen};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::terminal;
use crate::view;
use crate::view::team::Member;

/// Show the teammates: what each does, on which task, and since when.
#[derive(Debug, clap::Args)]
pub(crate) struct Team {
    /// Also those that have ended
    #[arg(short, long)]
    all: bool,
}

impl Team {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let members = board.teammates()?.iter().map(member).filter(|member| self.all || member.status != "shutdown").collect::<Vec<_>>();
        match context.json {
            true => {
                let lines: Vec<String> = members.iter().filter_map(|member| serde_json::to_string(member).ok()).collect();
                if !lines.is_empty() {
                    context.print(lines.join("\n"))?;
                }
            }
            false if members.is_empty() => context.say("nobody is at work; `crew spawn NAME` starts a teammate, `crew work` works here and now"),
            false => context.print(view::team::table(&members, board::clock::now(), terminal::width(), terminal::colours()).join("\n"))?,
        }
        Ok(Exit::DONE)
    }
}

/// What can be said of a teammate from outside: the kernel's word before its own.
fn member(seen: &Seen) -> Member {
    let record = seen.record.as_ref();
    let status = match (seen.living, record) {
        (true, Some(record)) if record.process.is_stopped() => "stopped",
        (true, Some(record)) => record.status.as_str(),
        (true, None) => "working",
        (false, Some(record)) if record.status == Activity::Shutdown || record.process.liveness() == Liveness::Unknown => "shutdown",
        (false, _) => "dead",
    };
    let at_work = !matches!(status, "shutdown" | "dead");
    Member {
        name: seen.name.to_string(),
        status,
        tasks: record
            .filter(|record| at_work && record.status == Activity::Working)
            .map(|record| record.holds.iter().map(|hold| hold.task.to_string()).collect())
            .unwrap_or_default(),
        since: record.map(|record| record.since),
        pid: record.filter(|_| at_work).map(|record| record.process.pid),
        runner: record.map(|record| record.runner.clone()),
    }
}
