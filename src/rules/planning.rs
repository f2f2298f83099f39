//! A run that begins with a plan: when a turn plans, what comes of its post, and how the proposal reads.

use board::post::{Decision, Kind, Post};
use board::run::{Ask, AskKind};

/// Where a run stands with its plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// None is wanted, or it is decided.
    #[default]
    Over,
    /// The next turn plans.
    Due {
        /// The proposal that was denied last, and who made it.
        denied: Option<(u64, String)>,
    },
    /// A proposal waits for a person: its number, and who made it.
    Proposed(u64, String),
}

/// Says so. `wanted`: by the configuration; `ended`: whether a planning turn had nothing to propose.
pub(crate) fn stage(wanted: bool, ended: bool, asks: &[Ask]) -> Stage {
    let Some(last) = asks.iter().rfind(|ask| ask.kind == AskKind::Proposal) else {
        return if wanted && !ended { Stage::Due { denied: None } } else { Stage::Over };
    };
    match last.answer.as_ref().map(|answer| answer.decision) {
        // What waits, waits, also where nobody wants a plan any more.
        None => Stage::Proposed(last.id, last.from.clone()),
        Some(Some(Decision::Denied)) if wanted && !ended => Stage::Due { denied: Some((last.id, last.from.clone())) },
        Some(_) => Stage::Over,
    }
}

impl Stage {
    /// Who is to plan whatever the rules of speaking say: whoever made the proposal that was denied, as long as nobody has
    /// spoken since. `last`: the last post of a teammate.
    pub(crate) fn again(&self, last: Option<u64>) -> Option<&str> {
        match self {
            Stage::Due { denied: Some((number, who)) } if last == Some(*number) => Some(who),
            _ => None,
        }
    }
}

/// What comes of the post that ended a planning turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its tasks are proposed.
    Proposal,
    /// There is nothing to propose, and the run goes on as one without a plan.
    Over,
    /// The next turn plans, too.
    GoesOn,
}

/// Says so. `tasks`: how many there are to propose.
///
/// A post that asks the person something is answered first: its number is that of the question or the gate, and what was
/// made so far waits for the rest. Without tasks a wait and a handoff only put the planning off, and the limits of waits
/// and talk hold. Whoever posts anything else and has made no task, plans nothing: to ask again would go on for ever.
pub(crate) fn outcome(post: &Post, tasks: usize) -> Outcome {
    match (post.is_gate() || post.is_question(), tasks, post.kind) {
        (true, _, _) | (false, 0, Kind::Wait | Kind::Handoff) => Outcome::GoesOn,
        (false, 0, _) => Outcome::Over,
        (false, _, _) => Outcome::Proposal,
    }
}

/// A task of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposed {
    /// Its id.
    pub(crate) id: String,
    /// What is to be done.
    pub(crate) subject: String,
    /// What it waits for.
    pub(crate) after: Vec<String>,
    /// Whose it is to be.
    pub(crate) owner: Option<String>,
    /// Its commands, which are run when it is worked on.
    pub(crate) commands: Vec<String>,
}

/// So many tasks are named; the others are counted.
const MOST: usize = 100;

/// The proposal in words: what its post says, then the tasks, one a line, as a graph.
pub(crate) fn text(said: &str, tasks: &[Proposed]) -> String {
    let count = if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) };
    let mut lines = vec![format!("{count}: {}", said.lines().next().unwrap_or_default().trim())];
    lines.extend(tasks.iter().take(MOST).map(line));
    if tasks.len() > MOST {
        lines.push(format!("  and {} more", tasks.len() - MOST));
    }
    lines.join("\n")
}

fn line(task: &Proposed) -> String {
    let after = if task.after.is_empty() { String::new() } else { format!(" ← {}", task.after.join(", ")) };
    let owner = task.owner.as_ref().map(|owner| format!(" [{owner}]")).unwrap_or_default();
    let commands: String = task.commands.iter().map(|command| format!(" `{command}`")).collect();
    format!("  {}{after}  {}{owner}{commands}", task.id, task.subject)
}

#[cfg(test)]
mod tests {
    use super::super::tests::post;
    use super::*;
    use board::run::Answer;

    fn proposal(id: u64, decision: Option<Decision>) -> Ask {
        let answer = decision.map(|decision| Answer { at: board::clock::now(), decision: Some(decision), text: None });
        let raised = post(id, "alice", Kind::Say, None);
        Ask { answer, ..Ask::of(AskKind::Proposal, &raised, "alice".into(), String::new()) }
    }

    #[test]
    fn it_is_planned_until_a_proposal_is_approved() {
        let denied = |id| Stage::Due { denied: Some((id, "alice".into())) };
        let gate = Ask { kind: AskKind::Gate, ..proposal(1, Some(Decision::Approved)) };
        for (wanted, ended, asks, expected) in [
            (false, false, vec![], Stage::Over),
            (true, false, vec![], Stage::Due { denied: None }),
            (true, true, vec![], Stage::Over),
            (true, false, vec![gate], Stage::Due { denied: None }),
            (true, false, vec![proposal(1, None)], Stage::Proposed(1, "alice".into())),
            (false, false, vec![proposal(1, None)], Stage::Proposed(1, "alice".into())),
            (true, false, vec![proposal(1, Some(Decision::Approved))], Stage::Over),
            (true, false, vec![proposal(1, Some(Decision::Denied))], denied(1)),
            (false, false, vec![proposal(1, Some(Decision::Denied))], Stage::Over),
            (true, true, vec![proposal(1, Some(Decision::Denied))], Stage::Over),
            (true, false, vec![proposal(1, Some(Decision::Denied)), proposal(3, None)], Stage::Proposed(3, "alice".into())),
            (true, false, vec![proposal(1, Some(Decision::Denied)), proposal(3, Some(Decision::Approved))], Stage::Over),
        ] {
            assert_eq!(stage(wanted, ended, &asks), expected, "{wanted} {ended} {asks:?}");
        }
        assert_eq!((denied(3).again(Some(3)), denied(3).again(Some(4)), denied(3).again(None)), (Some("alice"), None, None));
        assert_eq!(Stage::Due { denied: None }.again(Some(3)), None);
    }

    #[test]
    fn what_comes_of_the_post() {
        use Outcome::{GoesOn, Over, Proposal};
        for (kind, handoff, without, with) in [
            (Kind::Say, None, Over, Proposal),
            (Kind::Say, Some("bob"), Over, Proposal),
            (Kind::Say, Some("user"), GoesOn, GoesOn),
            (Kind::WorkDone, None, Over, Proposal),
            (Kind::Handoff, Some("bob"), GoesOn, Proposal),
            (Kind::Wait, None, GoesOn, Proposal),
            (Kind::Gate, None, GoesOn, GoesOn),
            (Kind::Done, None, Over, Proposal),
        ] {
            let post = post(1, "alice", kind, handoff);
            assert_eq!((outcome(&post, 0), outcome(&post, 2)), (without, with), "{kind} {handoff:?}");
        }
    }

    #[test]
    fn it_reads_as_a_graph_and_names_what_would_be_run() {
        let task = |id: &str| Proposed { id: id.into(), subject: format!("do {id}"), after: Vec::new(), owner: None, commands: Vec::new() };
        let last = Proposed { after: vec!["1".into(), "2".into()], owner: Some("bob".into()), commands: vec!["make".into()], ..task("3") };
        assert_eq!(text("in three steps\nand so on", &[task("1"), last]), "2 tasks: in three steps\n  1  do 1\n  3 ← 1, 2  do 3 [bob] `make`");
        let many: Vec<Proposed> = (0..150).map(|id| task(&id.to_string())).collect();
        let text = text("", &many);
        assert!(text.starts_with("150 tasks: \n") && text.ends_with("\n  and 50 more") && text.lines().count() == 102, "{text}");
    }
}
