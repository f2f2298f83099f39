//! Whether the machine is put to sleep when a run has ended (`suspendOnCompletion`).

use board::run::{Reason, RunState};

/// What else may need the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Others {
    /// Another run of this user is active.
    pub(crate) runs: bool,
    /// Somebody is logged in and not idle. What cannot be found out counts as busy.
    pub(crate) sessions: bool,
}

/// Whether it may sleep: the run has ended, or waits for its user, by itself; who stopped it sits there.
pub(crate) fn may(state: RunState, reason: Option<&Reason>, others: Others) -> bool {
    let by_a_person = state == RunState::Stopped || reason.is_some_and(|reason| matches!(reason.code.as_str(), "stop" | "pause"));
    !state.is_active() && !by_a_person && !others.runs && !others.sessions
}

/// Whether a session of this description (as `loginctl show-session` prints it) is somebody at work.
pub(crate) fn is_busy(session: &str) -> bool {
    let says = |key: &str| session.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or_default();
    let is_person = matches!(says("Class"), "user" | "");
    is_person && says("State") != "closing" && says("IdleHint") != "yes"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_when_nobody_needs_the_machine() {
        let nobody = Others { runs: false, sessions: false };
        let reason = |code: &str| Reason { code: code.into(), who: None, text: String::new(), at: jiff::Timestamp::UNIX_EPOCH, until: None };
        for (state, code, others, slept) in [
            (RunState::Completed, "accepted", nobody, true),
            (RunState::Gated, "gate", nobody, true),
            (RunState::AwaitingUser, "question", nobody, true),
            (RunState::Paused, "talk", nobody, true),
            (RunState::Paused, "pause", nobody, false),
            (RunState::Stopped, "stop", nobody, false),
            (RunState::Waiting, "waiting", nobody, false),
            (RunState::RateLimited, "limit", nobody, false),
            (RunState::Completed, "accepted", Others { runs: true, ..nobody }, false),
            (RunState::Completed, "accepted", Others { sessions: true, ..nobody }, false),
        ] {
            assert_eq!(may(state, Some(&reason(code)), others), slept, "{state} {code} {others:?}");
        }
    }

    #[test]
    fn who_is_at_work() {
        assert!(is_busy("Class=user\nState=active\nIdleHint=no\n"));
        assert!(!is_busy("Class=user\nState=active\nIdleHint=yes\n"));
        assert!(!is_busy("Class=greeter\nState=active\nIdleHint=no\n"));
        assert!(!is_busy("Class=user\nState=closing\nIdleHint=no\n"));
        assert!(is_busy(""), "what says nothing counts as busy");
    }
}
