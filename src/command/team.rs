//! `crew team`: who is at work.

use board::Board;
use board::alive::Liveness;
use board::presence::{Activity, Hold, Seen};
use jiff::Timestamp;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::terminal;
use crate::view;
use crate::view::team::Member;

/// Show the teammates: what each does, on which task, and since when
///
/// Those that have shut down are left out, and those that died when nothing was heard of them for a day and their
/// tasks are on the board again. --all shows them, too.
#[derive(Debug, clap::Args)]
pub(crate) struct Team {
    /// Also those that have ended, however long ago
    #[arg(short, long)]
    all: bool,
}

impl Team {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let now = board::clock::now();
        let members = members(&board, self.all, now)?;
        match context.json {
            true => {
                let lines: Vec<String> = members.iter().filter_map(|member| serde_json::to_string(member).ok()).collect();
                if !lines.is_empty() {
                    context.print(lines.join("\n"))?;
                }
            }
            false if members.is_empty() => context.say("nobody is at work; `crew spawn NAME` starts a teammate, `crew work` works here and now"),
            false => context.print(view::team::table(&members, now, terminal::width(), terminal::colours()).join("\n"))?,
        }
        Ok(Exit::DONE)
    }
}

/// The teammates of a board; without `all` those that have ended are left out.
pub(super) fn members(board: &Board, all: bool, now: Timestamp) -> Result<Vec<Member>, Failure> {
    let seen = board.teammates()?;
    let members = seen.iter().map(|seen| (seen, member(seen))).filter(|(seen, member)| match member.status {
        "shutdown" => all,
        "dead" => all || !is_long_gone(board, seen, now),
        _ => true,
    });
    Ok(members.map(|(_, member)| member).collect())
}

/// For so long the dead are shown, in hours.
const DEAD_SHOWN: i64 = 24;

/// Whether a dead teammate was not heard of for long, and nothing of what it held still waits for being cleaned up.
fn is_long_gone(board: &Board, seen: &Seen, now: Timestamp) -> bool {
    let Some(record) = &seen.record else { return true };
    let holds = |hold: &Hold| board.read_task(&hold.task).is_ok_and(|(_, task)| task.claim.is_some_and(|claim| claim.turn == hold.turn));
    now.duration_since(record.since).as_hours() >= DEAD_SHOWN && !record.holds.iter().any(holds)
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
    let doing = record.filter(|_| at_work).and_then(|record| record.doing.as_ref());
    Member {
        name: seen.name.to_string(),
        status,
        tasks: record
            .filter(|record| at_work && record.status == Activity::Working)
            .map(|record| record.holds.iter().map(|hold| hold.task.clone()).collect())
            .unwrap_or_default(),
        since: record.map(|record| record.since),
        pid: record.filter(|_| at_work).map(|record| record.process.pid),
        runner: record.map(|record| record.runner.clone()),
        doing: doing.map(|doing| doing.what.clone()),
        doing_since: doing.map(|doing| doing.since),
        background: record.filter(|_| at_work).map(|record| record.background.clone()).unwrap_or_default(),
    }
}
