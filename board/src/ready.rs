//! When a task is ready for a teammate: pure rules, in the order in which they are told.

use jiff::{SignedDuration, Timestamp};

use crate::error::Rule;
use crate::facts::{Facts, Phase};
use crate::task::{Parked, Tier};
use crate::task_id::TaskId;

/// For so long, in seconds, a task whose attempt was cut short is left to the teammate that had it: as long as one that
/// dies takes to be there again, and no longer than one with nothing to do stays.
const LEFT: SignedDuration = SignedDuration::from_secs(60);

/// Who asks for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub takes: Takes,
    /// What it is; `None`: shells and `crew work`, which fit every tier, role and need.
    pub fit: Option<Fit>,
}

/// Which tasks a claimant can work at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Those with a `run` and those without.
    Everything,
    /// Those with a `run`: teammates that only execute.
    Commands,
    /// Those without: teammates that think.
    Briefs,
}

/// What a teammate is and can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// Its tier; `None`: it was not said, and no task that names a tier is for it.
    pub tier: Option<Tier>,
    /// Its role.
    pub role: String,
    /// Its capabilities.
    pub capabilities: Vec<String>,
}

impl Claimant {
    /// A shell: takes everything.
    pub fn shell(name: &str) -> Self {
        Claimant { name: name.to_owned(), takes: Takes::Everything, fit: None }
    }
}

/// Why a task is not ready: the rule and the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    /// The rule.
    pub rule: Rule,
    /// For people: what is in the way.
    pub why: String,
}

impl NotReady {
    /// Says why, by a rule.
    pub fn because(rule: Rule, why: impl Into<String>) -> Self {
        NotReady { rule, why: why.into() }
    }
}

/// Whether a task stands open at all: pending and not parked. Says nothing of what blocks it.
pub fn standing(facts: &Facts) -> Result<(), NotReady> {
    let owner = facts.owner.as_deref().unwrap_or("somebody");
    match facts.status {
        Phase::Pending => {}
        Phase::InProgress if facts.parked().is_some() => {}
        Phase::InProgress => return Err(NotReady::because(Rule::OneHolder, format!("in progress: {owner} holds it"))),
        Phase::Completed => return Err(NotReady::because(Rule::IllegalTransition, "it is completed")),
        Phase::Failed => return Err(NotReady::because(Rule::IllegalTransition, "it has failed; `crew retry` puts it back")),
        Phase::Cancelled => return Err(NotReady::because(Rule::IllegalTransition, "it is cancelled; `crew reopen` puts it back")),
        Phase::Unknown => return Err(NotReady::because(Rule::NotValid, "its status is none that this board knows")),
    }
    match facts.parked() {
        None => Ok(()),
        Some(Parked::Ask { .. }) => Err(NotReady::because(Rule::Parked, format!("parked by {owner}: it waits for an answer"))),
        Some(Parked::Until { until: Some(until), .. }) => Err(NotReady::because(Rule::Parked, format!("parked by {owner} until {until}"))),
        Some(Parked::Until { until: None, .. }) => Err(NotReady::because(Rule::Parked, format!("parked by {owner}"))),
    }
}

/// Whether the time that a parked task waits for has come.
pub fn is_due(facts: &Facts, now: Timestamp) -> bool {
    matches!(facts.parked(), Some(Parked::Until { until: Some(until), .. }) if *until <= now)
}

/// Until when a task is left to somebody else than this teammate; `None`: it is not, or not any more. To a person it is
/// never closed. Pure: a clock that was put back leaves it to nobody.
pub fn left_until(facts: &Facts, claimant: &Claimant, now: Timestamp) -> Option<Timestamp> {
    let lost = facts.lost().filter(|lost| claimant.fit.is_some() && lost.by != claimant.name && lost.at <= now)?;
    lost.at.checked_add(LEFT).ok().filter(|until| now < *until)
}

/// Whether a task that stands open and unblocked is one for this claimant, and may be claimed now.
pub fn fits(facts: &Facts, claimant: &Claimant, now: Timestamp) -> Result<(), NotReady> {
    is_for(facts, claimant)?;
    match (facts.lost(), left_until(facts, claimant, now)) {
        (Some(lost), Some(until)) => {
            Err(NotReady::because(Rule::Left, format!("its last attempt was cut short: it is left to {} until {until}, then anybody's", lost.by)))
        }
        _ => Ok(()),
    }
}

/// Whether it is one for this claimant, now or later.
pub(crate) fn is_for(facts: &Facts, claimant: &Claimant) -> Result<(), NotReady> {
    if let Some(owner) = facts.owner.as_deref().filter(|owner| *owner != claimant.name) {
        return Err(NotReady::because(Rule::Dispatched, format!("dispatched to {owner}")));
    }
    match (claimant.takes, facts.runs) {
        (Takes::Commands, false) => return Err(NotReady::because(Rule::Runner, "it has no command; it needs a teammate that thinks")),
        (Takes::Briefs, true) => return Err(NotReady::because(Rule::Runner, "it has a command; it is for command teammates and shells")),
        _ => {}
    }
    let Some(rare) = &facts.rare else { return Ok(()) };
    if rare.handed_off_by.as_deref() == Some(&claimant.name) {
        return Err(NotReady::because(Rule::HandedOff, format!("{} handed it off to anybody else", claimant.name)));
    }
    let Some(fit) = &claimant.fit else { return Ok(()) };
    if let Some(tier) = rare.tier.filter(|tier| fit.tier.is_none_or(|own| *tier > own)) {
        return Err(NotReady::because(Rule::Tier, format!("it wants tier {} or higher", tier.as_str())));
    }
    if let Some(role) = rare.role.as_ref().filter(|role| **role != fit.role) {
        return Err(NotReady::because(Rule::Role, format!("it wants role {role}")));
    }
    if let Some(need) = rare.needs.iter().find(|need| !fit.capabilities.contains(need)) {
        return Err(NotReady::because(Rule::Needs, format!("it needs `{need}`")));
    }
    Ok(())
}

/// What stands in a task's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// It is not finished; the word says how it stands.
    Unfinished(TaskId, &'static str),
    /// There is no such task.
    Absent(TaskId),
    /// It is itself.
    Itself,
}

impl std::fmt::Display for Blocker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Blocker::Unfinished(id, "") => write!(f, "{id}"),
            Blocker::Unfinished(id, how) => write!(f, "{id} ({how})"),
            Blocker::Absent(id) => write!(f, "{id}, which does not exist"),
            Blocker::Itself => f.write_str("itself"),
        }
    }
}

/// The words for what blocks a task.
pub fn blocked(blockers: &[Blocker]) -> NotReady {
    let list: Vec<String> = blockers.iter().map(Blocker::to_string).collect();
    NotReady::because(Rule::Blocked, format!("blocked by {}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::task::Task;

    fn facts(json: &str) -> Facts {
        let text = format!("{{\"subject\":\"x\",{json}}}");
        Facts::of(&Task::read(&TaskId::new("1").unwrap(), &Document::parse(text.as_bytes()).unwrap()).unwrap())
    }

    fn bob(tier: Tier) -> Claimant {
        Claimant { name: "bob".into(), takes: Takes::Everything, fit: Some(Fit { tier: Some(tier), role: "coder".into(), capabilities: vec!["write".into()] }) }
    }

    #[test]
    fn each_rule_refuses_and_passes() {
        let attempt = |by: &str, to: &str| {
            let at = "2026-01-02T03:04:05Z";
            format!(r#""attempts":[{{"turn":"t","by":"{by}","started":"{at}","ended":"{at}","outcome":"handoff"{to}}}]"#)
        };
        let fitting = |json: &str, claimant: &Claimant| fits(&facts(json), claimant, Timestamp::MAX).err().map(|no| no.rule);
        let mid = bob(Tier::Mid);
        for (json, expected) in [
            (r#""owner":"bob""#.to_owned(), None),
            (r#""owner":"alice""#.to_owned(), Some(Rule::Dispatched)),
            (r#""tier":"cheap""#.to_owned(), None),
            (r#""tier":"mid""#.to_owned(), None),
            (r#""tier":"top""#.to_owned(), Some(Rule::Tier)),
            (r#""role":"coder""#.to_owned(), None),
            (r#""role":"tester""#.to_owned(), Some(Rule::Role)),
            (r#""needs":["write"]"#.to_owned(), None),
            (r#""needs":["write","browser"]"#.to_owned(), Some(Rule::Needs)),
            (attempt("bob", ""), Some(Rule::HandedOff)),
            (attempt("alice", ""), None),
            (attempt("bob", r#","to":"bob""#), None),
        ] {
            assert_eq!(fitting(&json, &mid), expected, "{json}");
        }
        let shell = Claimant::shell("me");
        assert_eq!(fitting(r#""tier":"top","role":"x","needs":["y"]"#, &shell), None, "shells fit everything");
        let commands = Claimant { takes: Takes::Commands, ..shell.clone() };
        assert_eq!(fitting(r#""priority":1"#, &commands), Some(Rule::Runner));
        assert_eq!(fitting(r#""run":"true""#, &commands), None);
        let briefs = Claimant { takes: Takes::Briefs, ..shell };
        assert_eq!(fitting(r#""run":"true""#, &briefs), Some(Rule::Runner));
        assert_eq!(fitting(r#""priority":1"#, &briefs), None);
    }

    #[test]
    fn a_lost_task_is_left_to_whoever_had_it_for_a_minute() {
        let lost = |by: &str, rest: &str| {
            let attempt = format!(r#"{{"turn":"t","by":"{by}","started":"2026-01-01T00:00:00Z","ended":"2026-01-01T01:00:00Z","outcome":"lost"{rest}}}"#);
            format!(r#""attempts":[{attempt}]"#)
        };
        let rule = |json: &str, claimant: &Claimant, time: &str| fits(&facts(json), claimant, time.parse().unwrap()).err().map(|no| no.rule);
        let (mid, soon) = (bob(Tier::Mid), "2026-01-01T01:00:59Z");
        let logged = r#","log":"/l""#;
        for (json, time, expected) in [
            (lost("ana", logged), soon, Some(Rule::Left)),
            (lost("ana", logged), "2026-01-01T01:00:00Z", Some(Rule::Left)),
            (lost("ana", logged), "2026-01-01T01:01:00Z", None),
            (lost("ana", logged), "2026-01-01T00:59:59Z", None),
            (lost("bob", logged), soon, None),
            // It had begun nothing, or was claimed by a shell.
            (lost("ana", ""), soon, None),
            (format!(r#"{},"run":"true""#, lost("ana", logged)), soon, None),
            (format!(r#"{},"owner":"bob""#, lost("ana", logged)), soon, None),
        ] {
            assert_eq!(rule(&json, &mid, time), expected, "{json} at {time}");
        }
        assert_eq!(rule(&lost("ana", logged), &Claimant::shell("me"), soon), None, "a person decides for themselves");
        let text = fits(&facts(&lost("ana", logged)), &mid, soon.parse().unwrap()).unwrap_err().why;
        assert!(text.contains("ana") && text.contains("2026-01-01T01:01:00Z"), "{text}");
    }

    #[test]
    fn only_pending_tasks_stand_open() {
        for (status, rule) in [
            ("pending", None),
            ("in_progress", Some(Rule::OneHolder)),
            ("completed", Some(Rule::IllegalTransition)),
            ("failed", Some(Rule::IllegalTransition)),
            ("cancelled", Some(Rule::IllegalTransition)),
            ("wip", Some(Rule::NotValid)),
        ] {
            assert_eq!(standing(&facts(&format!(r#""status":"{status}""#))).err().map(|no| no.rule), rule, "{status}");
        }
        let parked = facts(r#""status":"in_progress","owner":"bob","parked":{"on":"until","until":"2026-01-02T03:04:05Z"}"#);
        assert_eq!(standing(&parked).unwrap_err().rule, Rule::Parked);
        assert!(is_due(&parked, "2026-01-02T03:04:05Z".parse().unwrap()));
        assert!(!is_due(&parked, "2026-01-02T03:04:04Z".parse().unwrap()));
    }
}
