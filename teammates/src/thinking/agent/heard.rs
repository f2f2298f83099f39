//! What was heard of a coding CLI in a turn, and what that means for the turn. Pure.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use board::run::Lasts;
use jiff::Timestamp;

use crate::clis::Cli;
use crate::clis::events::Event;
use crate::conversation::ToolCall;
use crate::opening::one_line;
use crate::process::{Ended, SpawnError};

/// How long it may try again and again.
const LONGEST_TROUBLE: Duration = Duration::from_secs(5 * 60);
/// So many calls without a result, and tools that it may not use, are kept.
const MOST: usize = 200;
/// So many of the last lines of standard error are kept, for people.
const LAST: usize = 5;

/// What was heard so far.
pub(super) struct Heard {
    /// When it was started.
    pub(super) since: Instant,
    /// What it may not use, each once.
    pub(super) denied: Vec<String>,
    session: bool,
    no_session: bool,
    no_tools: Option<String>,
    limit: Option<(Option<Timestamp>, String)>,
    failed: Option<(Option<u16>, String)>,
    used: bool,
    calls: HashMap<String, ToolCall>,
    complaints: Vec<String>,
    /// Since when it says nothing but that it is in trouble, and what.
    trouble: Option<(Instant, String)>,
}

/// What it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// It has its post.
    Posted,
    /// It ended without one, and how.
    Silent(String),
    /// It cannot go on, and the same again would not either.
    Failed(String),
    /// Its conversation cannot be gone on with; a new one can.
    Anew(String),
    /// It is not to be asked now.
    Stopped {
        /// That is its account's, not its model's alone.
        whole_account: bool,
        lasts: Lasts,
        why: String,
    },
}

impl Default for Heard {
    fn default() -> Heard {
        Heard {
            since: Instant::now(),
            denied: Vec::new(),
            session: false,
            no_session: false,
            no_tools: None,
            limit: None,
            failed: None,
            used: false,
            calls: HashMap::new(),
            complaints: Vec::new(),
            trouble: None,
        }
    }
}

impl Heard {
    /// Something more.
    pub(super) fn add(&mut self, event: Event) {
        match &event {
            Event::Trouble(text) => self.trouble = Some((self.trouble.take().map_or_else(Instant::now, |(since, _)| since), text.clone())),
            Event::Session(_) => {}
            _ => self.trouble = None,
        }
        match event {
            Event::Session(_) => self.session = true,
            Event::NoSession => self.no_session = true,
            Event::NoTools(why) => self.no_tools = Some(why),
            Event::Limit { until, text } => self.limit = Some((until, text)),
            Event::Failed { status, text } => {
                // What is said with a status says more than what is said without.
                let (had, said) = self.failed.take().unwrap_or_default();
                self.failed = Some((had.or(status), if text.is_empty() { said } else { text }));
            }
            Event::Denied(tool) if !self.denied.contains(&tool) && self.denied.len() < MOST => self.denied.push(tool),
            // Of so many without a result none is waited for.
            Event::Calls { .. } if self.calls.len() >= MOST => self.calls.clear(),
            Event::Calls { id, name, input } => drop(self.calls.insert(id.clone(), ToolCall { id, name, input, malformed: None })),
            Event::Used(_) => self.used = true,
            Event::Denied(_) | Event::Said(_) | Event::Result { .. } | Event::Compacted | Event::Trouble(_) => {}
        }
    }

    /// A line of its standard error.
    pub(super) fn complained(&mut self, line: &str) {
        if self.complaints.len() == LAST {
            self.complaints.remove(0);
        }
        self.complaints.push(one_line(line, 300));
    }

    /// The call of that id, whose result has come.
    pub(super) fn take_call(&mut self, id: &str) -> Option<ToolCall> {
        self.calls.remove(id)
    }

    /// Whether its conversation has begun.
    pub(super) fn began(&self) -> bool {
        self.session
    }

    /// Whether its model has answered.
    pub(super) fn is_answered(&self) -> bool {
        self.used && self.failed.is_none() && self.limit.is_none()
    }

    /// What it goes on doing leads nowhere.
    pub(super) fn cannot_go_on(&self) -> bool {
        self.no_tools.is_some() || self.no_session
    }

    /// Whether it has said nothing but that it is in trouble for too long: then it does not reach its model.
    pub(super) fn gives_up(&mut self, now: Instant) -> bool {
        let too_long = |(since, _): &&(Instant, String)| now.saturating_duration_since(*since) > LONGEST_TROUBLE;
        let Some((_, text)) = self.trouble.as_ref().filter(too_long) else { return false };
        self.failed = Some((Some(503), text.clone()));
        true
    }

    /// The limit that it has reached.
    pub(super) fn limit(&self) -> Option<(Option<Timestamp>, &str)> {
        self.limit.as_ref().map(|(until, text)| (*until, text.as_str()))
    }

    fn complaint(&self) -> String {
        self.complaints.iter().filter(|line| !line.trim().is_empty()).cloned().collect::<Vec<_>>().join(" / ")
    }
}

impl Judged {
    /// It could not be started. Where its program is not there, that is a person's to mend.
    pub(super) fn not_started(cli: &Cli, error: &SpawnError, no_program: bool) -> Judged {
        match no_program {
            true => Judged::Stopped { whole_account: true, lasts: Lasts::UntilMended, why: format!("{error}{}", cli.to_install()) },
            false => Judged::Failed(error.to_string()),
        }
    }
}

/// What a turn has come to.
pub(super) fn judge(heard: &Heard, posted: bool, cli: &Cli, ended: &Result<Ended, String>) -> Judged {
    let program = &cli.program;
    let stopped = |whole_account, lasts, why: String| Judged::Stopped { whole_account, lasts, why };
    if posted {
        return Judged::Posted;
    }
    if heard.no_session {
        return Judged::Anew(format!("{program} does not have it any more"));
    }
    if let Some((until, text)) = &heard.limit {
        let lasts = until.map_or(Lasts::Unknown, Lasts::Until);
        return stopped(true, lasts, format!("{program} is at its usage limit ({})", one_line(text, 200)));
    }
    if let Some(why) = &heard.no_tools {
        return Judged::Failed(format!("{program} could not start the team's tools, `crew mcp` ({})", one_line(why, 200)));
    }
    if let Some((status, text)) = &heard.failed {
        let text = if text.is_empty() { heard.complaint() } else { one_line(text, 300) };
        let why = |what: &str| format!("{program} {what}: {text}");
        let log_in = || match cli.login.as_str() {
            "" => String::new(),
            login => format!(" ({login}; then `crew start`)"),
        };
        return match status {
            Some(401 | 403) => stopped(true, Lasts::UntilMended, format!("{}{}", why("is not logged in, or its key is not accepted"), log_in())),
            Some(402) => stopped(true, Lasts::UntilMended, why("has no credit left")),
            Some(404) => stopped(false, Lasts::UntilMended, why("does not have that model")),
            Some(413) => Judged::Anew(why("has no room left in its conversation")),
            Some(408 | 429) => stopped(true, Lasts::Unknown, why("is asked too much")),
            Some(500..) => stopped(true, Lasts::Unknown, why("does not reach its model, or that is overloaded")),
            _ => Judged::Failed(why("failed")),
        };
    }
    if !heard.denied.is_empty() {
        let tools = heard.denied.join(", ");
        return Judged::Failed(format!("{program} was not allowed to use {tools}: `permissionMode` in its teammate's file allows more"));
    }
    match ended {
        // It did not even begin: where it was to go on with a conversation, that may be why.
        Ok(Ended::Exited(code)) if *code != 0 && !heard.session => Judged::Anew(format!("{program} ended with exit code {code}: {}", heard.complaint())),
        Ok(Ended::Exited(0)) => Judged::Silent(format!("{program} ended without a post")),
        Ok(Ended::Exited(code)) => Judged::Failed(format!("{program} ended with exit code {code}: {}", heard.complaint())),
        Ok(Ended::Signaled(signal)) => Judged::Failed(format!("{program} was ended by signal {signal}")),
        Ok(Ended::TimedOut | Ended::Cancelled) => Judged::Silent(format!("{program} was ended before it had a post")),
        Err(e) => Judged::Failed(e.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clis::built_in;

    fn failed(status: impl Into<Option<u16>>, text: &str) -> Event {
        Event::Failed { status: status.into(), text: text.into() }
    }

    #[test]
    fn who_only_tries_again_for_too_long_does_not_reach_its_model() {
        let later = |seconds| Instant::now() + Duration::from_secs(seconds);
        let mut heard = Heard::default();
        assert!(!heard.gives_up(later(1000)), "silence alone is none: it may run a long command");
        heard.add(Event::Trouble("waiting for network".into()));
        assert!(!heard.gives_up(later(200)));
        heard.add(Event::Said("on".into()));
        assert!(!heard.gives_up(later(1000)), "it went on");
        heard.add(Event::Trouble("a".into()));
        heard.add(Event::Trouble("waiting for network".into()));
        assert!(heard.gives_up(later(400)));
        let judged = judge(&heard, false, &built_in()["codex"], &Ok(Ended::Cancelled));
        assert!(matches!(judged, Judged::Stopped { whole_account: true, lasts: Lasts::Unknown, why } if why.contains("waiting for network")));
    }

    #[test]
    fn what_was_heard_first_of_all_is_what_a_turn_has_come_to() {
        let limit = || Event::Limit { until: None, text: "five_hour".into() };
        let judged = |events: Vec<Event>, posted, ended| {
            let mut heard = Heard::default();
            events.into_iter().for_each(|event| heard.add(event));
            match judge(&heard, posted, &built_in()["claude-code"], &Ok(ended)) {
                Judged::Posted => "posted".to_owned(),
                Judged::Silent(how) => format!("silent: {how}"),
                Judged::Failed(why) => format!("failed: {why}"),
                Judged::Anew(why) => format!("anew: {why}"),
                Judged::Stopped { whole_account, lasts, why } => format!("{} {lasts:?}: {why}", if whole_account { "account" } else { "model" }),
            }
        };
        for (events, posted, ended, expected) in [
            (vec![limit(), failed(429, "x"), Event::NoTools("failed".into())], true, Ended::Exited(1), "posted"),
            (vec![limit(), Event::NoSession], false, Ended::Exited(1), "anew: claude does not have it any more"),
            (vec![failed(401, "x"), limit()], false, Ended::Exited(1), "account Unknown: claude is at its usage limit (five_hour)"),
            // The word with the status comes before the one that says more, or after it.
            (vec![failed(401, ""), failed(None, "log in")], false, Ended::Exited(1), "account UntilMended: claude is not logged in"),
            (vec![failed(None, "log in"), failed(401, "")], false, Ended::Exited(1), "account UntilMended: claude is not logged in"),
            (vec![failed(404, "no")], false, Ended::Exited(1), "model UntilMended: claude does not have that model"),
            (vec![failed(413, "full")], false, Ended::Exited(1), "anew: claude has no room left"),
            (vec![failed(529, "busy")], false, Ended::Exited(1), "account Unknown"),
            (vec![failed(400, "what?")], false, Ended::Exited(1), "failed: claude failed: what?"),
            (vec![Event::Denied("Bash".into()), Event::Denied("Bash".into())], false, Ended::Exited(0), "failed: claude was not allowed to use Bash:"),
            (vec![], false, Ended::Exited(0), "silent: claude ended without a post"),
            (vec![], false, Ended::Exited(3), "anew: claude ended with exit code 3"),
            (vec![Event::Session("s".into())], false, Ended::Exited(3), "failed: claude ended with exit code 3"),
            (vec![], false, Ended::Signaled(9), "failed: claude was ended by signal 9"),
            (vec![], false, Ended::Cancelled, "silent: claude was ended before it had a post"),
        ] {
            let said = judged(events.clone(), posted, ended);
            assert!(said.starts_with(expected), "{events:?}: {said:?}, and not {expected:?}");
        }
    }
}
