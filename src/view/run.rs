//! How a run stands, as text.

use board::run::{AskKind, OpenTurn, RunState, State};
use jiff::Timestamp;

use super::escape;
use crate::run::needs::Need;

/// Something that waits for a person, on two or three lines.
pub(crate) fn need(need: &Need) -> String {
    let id = need.id.as_str().map_or_else(|| need.id.to_string(), str::to_owned);
    let task = need.task.as_deref().filter(|task| *task != id).map(|task| format!(" (task {})", escape::line(task))).unwrap_or_default();
    let holds = need.holds.as_deref().map(|holds| format!(", holds {holds}")).unwrap_or_default();
    let from = if need.from.is_empty() { String::new() } else { format!(" of {}", escape::line(&need.from)) };
    // A plan has lines of its own.
    let text = match need.kind {
        AskKind::Proposal => escape::block(&need.text).replace('\n', "\n  "),
        _ => shortened(&escape::line(&need.text), 300),
    };
    format!("{} {}{from}{task}{holds}: {text}\n    {}", need.kind.as_str(), escape::line(&id), need.commands.join("  ·  "))
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Where the run is, why, and whose turn it is.
pub(crate) fn state(state: &State, turn: Option<&OpenTurn>, next: Option<&str>, now: Timestamp) -> String {
    let alive = state.is_alive();
    let word = match (state.state.is_active(), alive) {
        (true, false) => format!("stopped (it was {} when its daemon died; `crew` begins it again)", state.state),
        _ => state.state.to_string(),
    };
    let mut lines = vec![format!("run: {word}")];
    if let Some(reason) = &state.reason {
        let is_named = |who: &&str| !reason.text.starts_with(who);
        let who = reason.who.as_deref().filter(is_named).map(|who| format!("{}: ", escape::line(who))).unwrap_or_default();
        lines.push(format!("  {who}{}", escape::block(&reason.text).replace('\n', "\n  ")));
        if let Some(until) = reason.until.filter(|_| alive) {
            let left = std::time::Duration::from_secs(u64::try_from(until.duration_since(now).as_secs()).unwrap_or(0));
            lines.push(format!("  next look in {}", board::duration::print(left)));
        }
    } else if !state.state.is_active() && state.state == RunState::Idle {
        lines.push("  `crew start` begins it".into());
    }
    if let Some(turn) = turn {
        let since = Timestamp::duration_since(now, turn.opened);
        let since = board::duration::print(std::time::Duration::from_secs(u64::try_from(since.as_secs()).unwrap_or(0)));
        let how = match (&turn.begun, &turn.stop) {
            _ if !alive => "open, and nobody looks after it,",
            (_, Some(_)) => "ending",
            (Some(_), None) => "at work",
            (None, None) => "not taken up yet",
        };
        lines.push(format!("  turn of {}: {how} for {since}", escape::line(&turn.of)));
    } else if let Some(next) = next.filter(|_| !matches!(state.state, RunState::Completed | RunState::Idle)) {
        lines.push(format!("  next: {}", escape::line(next)));
    }
    lines.join("\n")
}
