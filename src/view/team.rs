//! The team as a table.

use board::task_id::TaskId;
use jiff::Timestamp;
use serde::Serialize;

use crate::view::escape;
use crate::view::table::{self, Line, Shade};

/// A teammate, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// `working`, `idle`, `stopped`, `shutdown` or `dead`.
    pub(crate) status: &'static str,
    /// The tasks that it holds.
    pub(crate) tasks: Vec<TaskId>,
    /// Since when it does that.
    pub(crate) since: Option<jiff::Timestamp>,
    /// Its process.
    pub(crate) pid: Option<u32>,
    /// What performs its turns.
    pub(crate) runner: Option<String>,
}

/// The lines of the table, one a teammate.
pub(crate) fn table(members: &[Member], now: Timestamp, width: Option<u16>, colours: bool) -> Vec<String> {
    let row = |member: &Member| {
        let since = member.since.map(|since| age(now, since)).unwrap_or_default();
        let pid = member.pid.map(|pid| pid.to_string()).unwrap_or_default();
        let shade = match member.status {
            "working" => Shade::Active,
            "idle" => Shade::Ready,
            "dead" | "stopped" => Shade::Wrong,
            _ => Shade::Quiet,
        };
        let tasks = escape::line(&member.tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")).into_owned();
        Line { cells: vec![member.name.clone(), member.status.to_owned(), since, pid, tasks], shade }
    };
    table::lay_out(&["NAME", "STATUS", "FOR", "PID", "TASK"], members.iter().map(row).collect(), width, colours)
}

/// How long something has been so, in its largest unit.
fn age(now: Timestamp, since: Timestamp) -> String {
    let seconds = (now.as_second() - since.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_teammate() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let member = |name: &str, status, seconds| Member {
            name: name.into(),
            status,
            tasks: vec!["7".parse().unwrap()],
            since: Some(now - jiff::SignedDuration::from_secs(seconds)),
            pid: Some(42),
            runner: None,
        };
        let lines = table(&[member("alice", "working", 59), member("bob", "dead", 7200)], now, None, false);
        assert_eq!(lines, ["NAME   STATUS   FOR  PID  TASK", "alice  working  59s  42   7", "bob    dead     2h   42   7"]);
    }
}
