//! The team as a table.

use board::task_id::TaskId;
use jiff::Timestamp;
use serde::Serialize;

use crate::view::escape;
use crate::view::table::{self, Line, Shade};

/// A teammate, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
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
    /// What of its work it does at this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) doing: Option<String>,
    /// Since when it does that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) doing_since: Option<jiff::Timestamp>,
    /// The commands that it has in the background.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) background: Vec<String>,
}

/// The lines of the table, one a teammate.
pub(crate) fn table(members: &[Member], now: Timestamp, width: Option<u16>, colours: bool) -> Vec<String> {
    let any_does = members.iter().any(|member| member.doing.is_some() || !member.background.is_empty());
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
        let mut cells = vec![member.name.clone(), member.status.to_owned(), since, pid, tasks];
        if any_does {
            cells.push(doing(member, now));
        }
        Line { cells, shade }
    };
    let heads = ["NAME", "STATUS", "FOR", "PID", "TASK", "DOING"];
    let heads = if any_does { &heads[..] } else { &heads[..5] };
    table::lay_out(heads, members.iter().map(row).collect(), width, colours)
}

/// What a teammate does at this moment, and what it has in the background.
fn doing(member: &Member, now: Timestamp) -> String {
    let since = member.doing_since.map(|since| format!(" ({})", age(now, since))).unwrap_or_default();
    let does = member.doing.as_deref().map(|doing| format!("{}{since}", escape::line(doing)));
    let background = member.background.iter().map(|command| format!("in the background: {}", escape::line(command)));
    does.into_iter().chain(background).collect::<Vec<_>>().join("; ")
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
            doing: None,
            doing_since: None,
            background: Vec::new(),
        };
        let lines = table(&[member("alice", "working", 59), member("bob", "dead", 7200)], now, None, false);
        assert_eq!(lines, ["NAME   STATUS   FOR  PID  TASK", "alice  working  59s  42   7", "bob    dead     2h   42   7"]);
        let busy = Member { doing: Some("bash make".into()), doing_since: Some(now), background: vec!["serve (7)".into()], ..member("alice", "working", 1) };
        let lines = table(&[busy], now, None, false);
        assert_eq!(lines[1], "alice  working  1s   42   7     bash make (0s); in the background: serve (7)");
    }
}
