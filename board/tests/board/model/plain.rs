//! The board as plain data in memory, from the specification: what every verb must answer, and how the tasks stand then.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use board::Rule;
use board::ready::{Claimant, Fit, Takes};
use board::task::{Outcome, Status, Tier};
use board::task_id::TaskId;

use super::step::{By, Change, Edit, Spec, Step, Time};

/// Those who work. The first two are teammates with a presence, the others shells that name their process.
pub(crate) const WHO: [&str; 4] = ["ann", "bob", "cyd", "dan"];
pub(crate) const PRESENT: [&str; 2] = ["ann", "bob"];

pub(crate) fn claimant(who: &str) -> Claimant {
    let fit = |tier, role: &str, capabilities: &[&str]| {
        Some(Fit { tier: Some(tier), role: role.into(), capabilities: capabilities.iter().map(|c| (*c).into()).collect() })
    };
    let (takes, fit) = match who {
        "ann" => (Takes::Everything, fit(Tier::Mid, "coder", &["write"])),
        "bob" => (Takes::Commands, fit(Tier::Cheap, "tester", &[])),
        "dan" => (Takes::Briefs, fit(Tier::Top, "coder", &["write", "browser"])),
        _ => (Takes::Everything, None),
    };
    Claimant { name: who.into(), takes, fit }
}

/// A turn, by the order of the claims.
pub(crate) type Turn = usize;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub(crate) turn: Turn,
    pub(crate) by: &'static str,
    pub(crate) dispatched: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tried {
    pub(crate) turn: Turn,
    pub(crate) by: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) to: Option<&'static str>,
    pub(crate) dispatched: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Doc {
    /// `None`: the file does not spell it out, which means pending.
    pub(crate) status: Option<Status>,
    pub(crate) owner: Option<&'static str>,
    pub(crate) blocked_by: Vec<TaskId>,
    pub(crate) blocks: Vec<TaskId>,
    pub(crate) depends_on: Option<Vec<TaskId>>,
    pub(crate) priority: i64,
    pub(crate) tier: Option<Tier>,
    pub(crate) role: Option<&'static str>,
    pub(crate) needs: Vec<&'static str>,
    pub(crate) runs: bool,
    pub(crate) retries: u32,
    pub(crate) retried_after: usize,
    pub(crate) claim: Option<Held>,
    pub(crate) parked: Option<Time>,
    pub(crate) attempts: Vec<Tried>,
    /// Whether it says that it was reopened, and why.
    pub(crate) reopened: bool,
}

impl Doc {
    pub(crate) fn status(&self) -> Status {
        self.status.clone().unwrap_or(Status::Pending)
    }

    fn is(&self, status: &Status) -> bool {
        self.status() == *status
    }

    /// Every edge that there ever was.
    fn edges(&self) -> Vec<TaskId> {
        let mut edges = self.depends_on.clone().unwrap_or_default();
        edges.extend(self.blocked_by.iter().filter(|id| !self.depends_on.as_ref().is_some_and(|full| full.contains(id))).cloned());
        edges
    }

    /// What every writing of ours puts right.
    fn touch(&mut self) {
        if self.blocked_by.iter().any(|id| !self.depends_on.as_ref().is_some_and(|full| full.contains(id))) {
            self.depends_on = Some(self.edges());
        }
    }

    fn set_edges(&mut self, edges: Vec<TaskId>) {
        let mut full = self.edges();
        full.extend(edges.iter().filter(|edge| !full.contains(edge)).cloned().collect::<Vec<_>>());
        (self.blocked_by, self.depends_on) = (edges, Some(full));
    }

    fn back_to_pending(&mut self) {
        self.status = Some(Status::Pending);
        if let Some(last) = self.attempts.last() {
            self.owner = last.dispatched.then_some(last.by);
        }
        (self.claim, self.parked) = (None, None);
    }

    fn begin_counting_anew(&mut self) {
        self.retried_after = self.attempts.len();
    }
}

#[allow(clippy::large_enum_variant)] // A model of a few tasks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum File {
    Task(Doc),
    /// No task: of that kind of brokenness.
    Broken(usize),
}

/// What a verb must answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Done,
    Ids(Vec<TaskId>),
    /// Cancelled; these wait for it.
    Waiting(BTreeSet<TaskId>),
    Claimed(TaskId, Turn),
    NothingToClaim,
    Ended(Status),
    Refused(Rule),
    NoSuchTask,
    NotATask,
    /// The system said no.
    Io,
}

/// The board.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) files: BTreeMap<TaskId, File>,
    pub(crate) archive: BTreeMap<TaskId, Doc>,
    /// Every version that a file ever had, for whoever saves an old one.
    pub(crate) history: BTreeMap<TaskId, Vec<Doc>>,
    /// What the presence records name: by, task, turn.
    holds: Vec<(&'static str, TaskId, Turn)>,
    /// Turns of which it was said that they are over.
    over: BTreeSet<Turn>,
    pub(crate) turns: usize,
    /// The highest number ever given; `None`: none yet.
    watermark: Option<u64>,
    /// What the last step must answer.
    pub(crate) answer: Answer,
    /// Which task and turn the last step meant.
    pub(crate) meant: (TaskId, Turn),
    /// Who held that task before the step.
    pub(crate) holder_before: Option<&'static str>,
    /// Which other tasks it meant.
    pub(crate) others: Vec<TaskId>,
    /// The new tasks that it meant.
    pub(crate) drafted: Vec<Doc>,
    /// What a person wrote into the file.
    pub(crate) written: Option<File>,
}

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

type Refused<T = ()> = Result<T, Answer>;

fn refuse<T>(rule: Rule) -> Refused<T> {
    Err(Answer::Refused(rule))
}

impl Plain {
    pub(crate) fn new() -> Plain {
        Plain {
            files: BTreeMap::new(),
            archive: BTreeMap::new(),
            history: BTreeMap::new(),
            holds: Vec::new(),
            over: BTreeSet::new(),
            turns: 0,
            watermark: None,
            answer: Answer::Done,
            meant: (id("none"), 0),
            holder_before: None,
            others: Vec::new(),
            drafted: Vec::new(),
            written: None,
        }
    }

    // ---- what is true now -------------------------------------------------------------------------------------

    fn doc(&self, id: &TaskId) -> Option<&Doc> {
        match self.files.get(id) {
            Some(File::Task(doc)) => Some(doc),
            _ => None,
        }
    }

    pub(crate) fn docs(&self) -> impl Iterator<Item = (&TaskId, &Doc)> {
        self.files.keys().filter_map(|id| Some((id, self.doc(id)?)))
    }

    fn find(&self, id: &TaskId) -> Refused<&Doc> {
        match self.files.get(id) {
            None => Err(Answer::NoSuchTask),
            Some(File::Broken(_)) => Err(Answer::NotATask),
            Some(File::Task(doc)) => Ok(doc),
        }
    }

    fn is_in_the_way(&self, id: &TaskId, blocker: &TaskId) -> bool {
        let completed = |doc: &Doc| doc.is(&Status::Completed);
        blocker == id || !self.doc(blocker).map_or_else(|| !self.files.contains_key(blocker) && self.archive.get(blocker).is_some_and(completed), completed)
    }

    /// Tasks whose `blocks` name this one, and that its own edges do not know.
    fn other_side_of(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(doc) = self.doc(id) else { return Vec::new() };
        let known = |blocker: &TaskId| doc.blocked_by.contains(blocker) || doc.depends_on.as_ref().is_some_and(|full| full.contains(blocker));
        self.docs().filter(|(other, theirs)| theirs.blocks.contains(id) && !known(other)).map(|(other, _)| other.clone()).collect()
    }

    /// Everything that it waits for, finished or not.
    fn waits_for(&self, id: &TaskId) -> Vec<TaskId> {
        self.doc(id).map(|doc| doc.blocked_by.iter().cloned().chain(self.other_side_of(id)).collect()).unwrap_or_default()
    }

    fn is_blocked(&self, id: &TaskId) -> bool {
        self.waits_for(id).iter().any(|blocker| self.is_in_the_way(id, blocker))
    }

    fn is_untidy(&self, id: &TaskId) -> bool {
        self.doc(id).is_some_and(|doc| {
            let finished = doc.blocked_by.iter().any(|blocker| !self.is_in_the_way(id, blocker));
            let missing = self.other_side_of(id).iter().any(|blocker| self.is_in_the_way(id, blocker));
            !doc.is(&Status::Completed) && (finished || missing)
        })
    }

    pub(crate) fn is_tidy(&self) -> bool {
        !self.files.keys().any(|id| self.is_untidy(id))
    }

    fn standing(&self, doc: &Doc) -> Result<(), Rule> {
        match doc.status() {
            Status::Pending if doc.parked.is_some() => Err(Rule::Parked),
            Status::InProgress if doc.parked.is_some() => Err(Rule::Parked),
            Status::Pending => Ok(()),
            Status::InProgress => Err(Rule::OneHolder),
            Status::Unknown(_) => Err(Rule::NotValid),
            Status::Completed | Status::Failed | Status::Cancelled => Err(Rule::IllegalTransition),
        }
    }

    fn fits(doc: &Doc, who: &str) -> Result<(), Rule> {
        let claimant = claimant(who);
        if doc.owner.is_some_and(|owner| owner != who) {
            return Err(Rule::Dispatched);
        }
        if (doc.runs && claimant.takes == Takes::Briefs) || (!doc.runs && claimant.takes == Takes::Commands) {
            return Err(Rule::Runner);
        }
        if doc.attempts.last().is_some_and(|last| last.outcome == Outcome::Handoff && last.to.is_none() && last.by == who) {
            return Err(Rule::HandedOff);
        }
        let Some(fit) = claimant.fit else { return Ok(()) };
        if doc.tier > fit.tier {
            return Err(Rule::Tier);
        }
        if doc.role.is_some_and(|role| role != fit.role) {
            return Err(Rule::Role);
        }
        match doc.needs.iter().all(|need| fit.capabilities.iter().any(|can| can == need)) {
            true => Ok(()),
            false => Err(Rule::Needs),
        }
    }

    fn is_due(doc: &Doc, who: &str) -> bool {
        doc.is(&Status::InProgress) && doc.parked == Some(Time::Past) && doc.owner == Some(who) && doc.claim.is_none()
    }

    pub(crate) fn why_not(&self, id: &TaskId, who: &str) -> Result<(), Rule> {
        let Some(doc) = self.doc(id) else { return Err(Rule::NotValid) };
        self.standing(doc)?;
        match self.is_blocked(id) {
            true => Err(Rule::Blocked),
            false => Plain::fits(doc, who),
        }
    }

    /// Stands open and unblocked, best first.
    pub(crate) fn open(&self) -> Vec<TaskId> {
        let mut open: Vec<_> = self.docs().filter(|(id, doc)| self.standing(doc).is_ok() && !self.is_blocked(id)).collect();
        open.sort_by_key(|(id, doc)| (Reverse(doc.priority), (*id).clone()));
        open.into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// Its own before any other.
    pub(crate) fn ready_for(&self, who: &str) -> Vec<TaskId> {
        let mut open = self.open();
        open.retain(|id| self.why_not(id, who).is_ok());
        let own: BTreeSet<TaskId> = self.docs().filter(|(_, doc)| doc.owner == Some(who)).map(|(id, _)| id.clone()).collect();
        open.sort_by_key(|id| !own.contains(id));
        open
    }

    /// Unfinished tasks and what they wait for.
    fn graph(&self) -> BTreeMap<TaskId, Vec<TaskId>> {
        self.docs().filter(|(_, doc)| !doc.is(&Status::Completed)).map(|(id, _)| (id.clone(), self.waits_for(id))).collect()
    }

    fn is_known(&self, id: &TaskId) -> bool {
        self.files.contains_key(id) || self.archive.contains_key(id)
    }

    /// Unfinished tasks that wait for one.
    fn waiting(&self, id: &TaskId) -> BTreeSet<TaskId> {
        let names = |other: &TaskId, doc: &Doc| doc.blocked_by.contains(id) || self.doc(id).is_some_and(|doc| doc.blocks.contains(other));
        let unfinished = |doc: &Doc| !matches!(doc.status(), Status::Completed | Status::Cancelled);
        self.docs().filter(|(other, doc)| names(other, doc) && unfinished(doc)).map(|(other, _)| other.clone()).collect()
    }

    /// A task or an id that is none.
    fn pick(&self, choice: usize) -> TaskId {
        let mut ids: Vec<TaskId> = self.files.keys().cloned().collect();
        ids.extend(self.archive.keys().filter(|id| !self.files.contains_key(*id)).cloned());
        ids.push(id("absent"));
        ids[choice % ids.len()].clone()
    }

    /// Mostly a task of that kind, where there is one.
    fn pick_where(&self, choice: usize, kind: impl Fn(&Doc) -> bool) -> TaskId {
        let fitting: Vec<&TaskId> = self.docs().filter(|(_, doc)| kind(doc)).map(|(id, _)| id).collect();
        match fitting.is_empty() || choice.is_multiple_of(6) {
            true => self.pick(choice),
            false => fitting[choice % fitting.len()].clone(),
        }
    }

    fn pick_some(&self, choices: &[usize]) -> Vec<TaskId> {
        let mut ids: Vec<TaskId> = Vec::new();
        for choice in choices {
            let id = self.pick(*choice);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    // ---- the verbs --------------------------------------------------------------------------------------------

    /// Makes a step and says what it must answer.
    pub(crate) fn step(&mut self, step: &Step) {
        let before = self.files.clone();
        let mut after = self.clone();
        // Whoever locks the board puts claims back first.
        if !matches!(step, Step::Hand(_)) {
            after.restore();
        }
        let answer = match step {
            Step::Add(specs) => after.add(specs),
            Step::Claim { who, wanted } => after.claim(WHO[who % WHO.len()], *wanted),
            Step::End { task, by, outcome, to } => after.end(*task, *by, *outcome, *to),
            Step::Change { task, change } => after.change(*task, change),
            Step::Hand(edit) => {
                after.hand(edit);
                after.written = after.files.get(&after.meant.0).cloned();
                after.restore();
                Ok(Answer::Done)
            }
        };
        // What `add` refuses it refuses without the lock.
        let files = matches!(step, Step::Add(_)).then(|| before.clone()).filter(|_| answer.is_err());
        *self = Plain { files: files.unwrap_or_else(|| after.files.clone()), ..after };
        self.answer = answer.unwrap_or_else(|refused| refused);
        for (id, file) in &self.files {
            if let (File::Task(doc), true) = (file, before.get(id) != Some(file)) {
                self.history.entry(id.clone()).or_default().push(doc.clone());
            }
        }
    }

    fn tidy(&mut self) {
        let untidy: Vec<TaskId> = self.files.keys().filter(|id| self.is_untidy(id)).cloned().collect();
        let edges: Vec<(TaskId, Vec<TaskId>)> =
            untidy.into_iter().map(|id| (id.clone(), self.waits_for(&id).into_iter().filter(|blocker| self.is_in_the_way(&id, blocker)).collect())).collect();
        for (id, edges) in edges {
            if let Some(File::Task(doc)) = self.files.get_mut(&id) {
                doc.set_edges(edges);
            }
        }
    }

    fn new_doc(&self, spec: &Spec) -> Doc {
        let blocked_by = self.pick_some(&spec.blocked_by);
        Doc {
            status: Some(Status::Pending),
            owner: spec.owner.map(|who| WHO[who % WHO.len()]),
            depends_on: (!blocked_by.is_empty()).then(|| blocked_by.clone()),
            blocked_by,
            blocks: self.pick_some(&spec.blocks),
            priority: spec.priority,
            tier: spec.tier,
            role: spec.role,
            needs: spec.needs.clone(),
            runs: spec.runs,
            retries: spec.retries,
            retried_after: 0,
            claim: None,
            parked: None,
            attempts: Vec::new(),
            reopened: false,
        }
    }

    fn highest(&self) -> u64 {
        self.files.keys().chain(self.archive.keys()).filter_map(TaskId::number).max().unwrap_or(0)
    }

    fn add(&mut self, specs: &[Spec]) -> Refused<Answer> {
        let docs: Vec<Doc> = specs.iter().map(|spec| self.new_doc(spec)).collect();
        self.drafted = docs.clone();
        let mut ids: Vec<TaskId> = Vec::new();
        let named: Vec<TaskId> = specs.iter().filter_map(|spec| spec.named.map(|n| id(&format!("n{n}")))).collect();
        if named.iter().enumerate().any(|(index, id)| self.is_known(id) || named[..index].contains(id)) {
            return refuse(Rule::IdTaken);
        }
        let mut watermark = self.watermark.unwrap_or_else(|| self.highest());
        for spec in specs {
            if let Some(n) = spec.named {
                ids.push(id(&format!("n{n}")));
                continue;
            }
            watermark += 1;
            if self.is_known(&id(&watermark.to_string())) {
                watermark = self.highest() + 1;
            }
            ids.push(id(&watermark.to_string()));
        }
        let with_edges = docs.iter().any(|doc| !doc.blocked_by.is_empty() || !doc.blocks.is_empty());
        if with_edges {
            for (doc, id) in docs.iter().zip(&ids) {
                for other in doc.blocked_by.iter().chain(&doc.blocks) {
                    if other == id {
                        return refuse(Rule::SelfEdge);
                    }
                    if !self.is_known(other) && !ids.contains(other) {
                        return refuse(Rule::UnknownId);
                    }
                }
            }
            let mut graph = self.graph();
            for (doc, id) in docs.iter().zip(&ids) {
                graph.entry(id.clone()).or_default().extend(doc.blocked_by.clone());
                doc.blocks.iter().for_each(|dependant| graph.entry(dependant.clone()).or_default().push(id.clone()));
            }
            if ids.iter().any(|id| reaches(&graph, id, id)) {
                return refuse(Rule::Cycle);
            }
        }
        if with_edges {
            self.tidy();
        }
        self.watermark = Some(watermark);
        for (id, doc) in ids.iter().zip(docs) {
            self.files.insert(id.clone(), File::Task(doc));
        }
        Ok(Answer::Ids(ids))
    }

    fn claim(&mut self, who: &'static str, wanted: Option<usize>) -> Refused<Answer> {
        self.tidy();
        let id = match wanted.map(|choice| self.pick(choice)) {
            Some(id) => {
                self.meant = (id.clone(), 0);
                let due = Plain::is_due(self.find(&id)?, who);
                match self.why_not(&id, who) {
                    Err(rule) if !due => return refuse(rule),
                    _ => id,
                }
            }
            None => {
                // Its own parked task first, when its time has come.
                let due = self.docs().find(|(_, doc)| Plain::is_due(doc, who)).map(|(id, _)| id.clone());
                match due.or_else(|| self.ready_for(who).first().cloned()) {
                    Some(id) => id,
                    None => return Ok(Answer::NothingToClaim),
                }
            }
        };
        let turn = self.turns;
        self.turns += 1;
        let Some(File::Task(doc)) = self.files.get_mut(&id) else { return Err(Answer::NoSuchTask) };
        doc.claim = Some(Held { turn, by: who, dispatched: doc.owner.is_some() });
        (doc.status, doc.owner, doc.parked) = (Some(Status::InProgress), Some(who), None);
        doc.touch();
        if PRESENT.contains(&who) {
            self.holds.push((who, id.clone(), turn));
        }
        Ok(Answer::Claimed(id, turn))
    }

    fn end(&mut self, task: usize, by: By, outcome: Outcome, to: Option<usize>) -> Refused<Answer> {
        self.tidy();
        let id = self.pick_where(task, |doc| doc.claim.is_some());
        self.meant = (id.clone(), 0);
        let blocked = self.is_blocked(&id);
        let doc = self.find(&id)?.clone();
        let held = doc.claim.clone().filter(|_| doc.is(&Status::InProgress));
        self.holder_before = held.as_ref().map(|held| held.by);
        // Which turn the writer means: the one that holds it, or one that held it before.
        let meant = match by {
            By::Old => doc.attempts.last().map_or(usize::MAX, |last| last.turn),
            _ => held.as_ref().map_or(usize::MAX, |held| held.turn),
        };
        self.meant = (id.clone(), meant);
        if outcome == Outcome::Done && blocked {
            return refuse(Rule::Blocked);
        }
        let Some(held) = held else {
            return refuse(match by {
                By::Turn | By::Old => Rule::TurnOver,
                By::Name | By::Stranger => Rule::OneHolder,
                By::Cleaner | By::Force => Rule::IllegalTransition,
            });
        };
        let lost_before = doc.attempts.iter().any(|attempt| attempt.by == held.by && attempt.outcome == Outcome::Lost);
        match by {
            By::Old if meant != held.turn => return refuse(Rule::TurnOver),
            By::Stranger => return refuse(Rule::OneHolder),
            By::Name if lost_before => return refuse(Rule::TurnNeeded),
            _ => {}
        }
        let to = to.map(|who| WHO[who % WHO.len()]).filter(|_| outcome == Outcome::Handoff);
        let status = self.end_turn(&id, &held, outcome, to);
        // The holder itself forgets its turn; of others it learns nothing.
        if matches!(by, By::Turn | By::Old | By::Name) {
            self.holds.retain(|(_, _, turn)| *turn != held.turn);
        }
        if status == Status::Completed {
            self.tidy();
        }
        Ok(Answer::Ended(status))
    }

    fn end_turn(&mut self, id: &TaskId, held: &Held, outcome: Outcome, to: Option<&'static str>) -> Status {
        let Some(File::Task(doc)) = self.files.get_mut(id) else { return Status::Pending };
        let counted = doc.attempts.get(doc.retried_after..).unwrap_or_default();
        let spent = counted.iter().filter(|attempt| matches!(attempt.outcome, Outcome::Failed | Outcome::Timeout)).count();
        let lost = counted.iter().filter(|attempt| attempt.outcome == Outcome::Lost).count();
        let status = match outcome {
            Outcome::Done => Status::Completed,
            Outcome::Failed | Outcome::Timeout if spent >= doc.retries as usize => Status::Failed,
            Outcome::Lost if lost + 1 >= board::transition::MAX_LOST => Status::Failed,
            Outcome::Parked => Status::InProgress,
            _ => Status::Pending,
        };
        if status == Status::Pending {
            doc.owner = match (outcome, to) {
                (Outcome::Handoff, Some(to)) => Some(to),
                _ => held.dispatched.then_some(held.by),
            };
        }
        doc.parked = (outcome == Outcome::Parked).then_some(if held.turn.is_multiple_of(2) { Time::Past } else { Time::Future });
        doc.status = Some(status.clone());
        doc.claim = None;
        doc.attempts.push(Tried { turn: held.turn, by: held.by, outcome, to, dispatched: held.dispatched });
        doc.touch();
        self.over.insert(held.turn);
        status
    }

    fn change(&mut self, task: usize, change: &Change) -> Refused<Answer> {
        let id = self.pick_where(task, |doc| match change {
            Change::Retry => doc.is(&Status::Failed),
            Change::Reopen(_) | Change::Archive => matches!(doc.status(), Status::Completed | Status::Cancelled),
            Change::Unpark(_) => doc.parked.is_some(),
            Change::Block(_) => doc.is(&Status::Pending),
            Change::Unblock(_) => !doc.blocked_by.is_empty(),
            Change::Cancel | Change::Priority(_) => true,
        });
        self.meant = (id.clone(), 0);
        let looks = !matches!(change, Change::Retry | Change::Unpark(_) | Change::Priority(_));
        if looks {
            self.tidy();
        }
        let others = match change {
            Change::Block(on) => self.pick_some(on),
            Change::Unblock(from) => {
                let own = self.doc(&id).map(|doc| doc.blocked_by.clone()).unwrap_or_default();
                // Mostly edges that there are.
                let pick = |choice: &usize| if own.is_empty() || choice.is_multiple_of(5) { self.pick(*choice) } else { own[choice % own.len()].clone() };
                let mut from: Vec<TaskId> = from.iter().map(pick).collect();
                from.sort();
                from.dedup();
                from
            }
            _ => Vec::new(),
        };
        self.others = others.clone();
        if let Change::Block(_) = change {
            for blocker in &others {
                if *blocker == id {
                    return refuse(Rule::SelfEdge);
                }
                if !self.is_known(blocker) {
                    return refuse(Rule::UnknownId);
                }
                if reaches(&self.graph(), blocker, &id) {
                    return refuse(Rule::Cycle);
                }
            }
        }
        let mut doc = self.find(&id)?.clone();
        let status = doc.status();
        match change {
            Change::Retry if status != Status::Failed => return refuse(Rule::IllegalTransition),
            Change::Retry => {
                doc.back_to_pending();
                doc.begin_counting_anew();
                doc.touch();
            }
            Change::Reopen(because) => {
                let own = match (status, because) {
                    (Status::Cancelled, _) => Vec::new(),
                    (Status::Completed, true) => self.put_edges_back(&id),
                    (Status::Completed, false) => return refuse(Rule::ReasonNeeded),
                    _ => return refuse(Rule::IllegalTransition),
                };
                doc.back_to_pending();
                doc.begin_counting_anew();
                doc.touch();
                doc.reopened |= because;
                if !own.is_empty() {
                    doc.set_edges(doc.blocked_by.iter().cloned().chain(own).collect());
                }
            }
            Change::Unpark(keep_owner) => {
                if doc.parked.is_none() || doc.claim.is_some() {
                    return refuse(Rule::IllegalTransition);
                }
                match keep_owner {
                    true => (doc.status, doc.parked) = (Some(Status::Pending), None),
                    false => doc.back_to_pending(),
                }
                doc.touch();
            }
            Change::Priority(priority) => {
                doc.priority = *priority;
                doc.touch();
            }
            Change::Cancel => {
                if matches!(status, Status::Completed | Status::Cancelled) {
                    return refuse(Rule::IllegalTransition);
                }
                if let Some(held) = doc.claim.clone().filter(|_| status == Status::InProgress) {
                    self.end_turn(&id, &held, Outcome::Released, None);
                    doc = self.find(&id)?.clone();
                }
                (doc.status, doc.parked) = (Some(Status::Cancelled), None);
                doc.touch();
            }
            Change::Block(_) => {
                if status != Status::Pending {
                    return refuse(Rule::IllegalTransition);
                }
                let mut edges = doc.blocked_by.clone();
                edges.extend(others.iter().filter(|other| !doc.blocked_by.contains(other)).cloned());
                doc.set_edges(edges);
            }
            Change::Unblock(_) => {
                if others.iter().any(|other| !doc.blocked_by.contains(other)) {
                    return refuse(Rule::UnknownId);
                }
                let edges = doc.blocked_by.iter().filter(|edge| !others.is_empty() && !others.contains(edge)).cloned().collect();
                doc.set_edges(edges);
            }
            Change::Archive => {
                if !matches!(status, Status::Completed | Status::Cancelled) {
                    return refuse(Rule::IllegalTransition);
                }
                if status == Status::Cancelled && !self.waiting(&id).is_empty() {
                    return refuse(Rule::Blocked);
                }
                if self.archive.contains_key(&id) {
                    return Err(Answer::Io);
                }
                self.files.remove(&id);
                self.archive.insert(id, doc);
                return Ok(Answer::Done);
            }
        }
        self.files.insert(id.clone(), File::Task(doc));
        if let Change::Block(_) | Change::Reopen(_) = change {
            self.tidy();
        }
        Ok(match change {
            Change::Cancel => Answer::Waiting(self.waiting(&id)),
            _ => Answer::Done,
        })
    }

    /// Whoever depends on a completed task that is reopened waits for it again. Returns what it waits for again itself.
    fn put_edges_back(&mut self, id: &TaskId) -> Vec<TaskId> {
        let mut graph = self.graph();
        graph.insert(id.clone(), self.waits_for(id).into_iter().filter(|blocker| self.is_in_the_way(id, blocker)).collect());
        for (other, file) in &mut self.files {
            let File::Task(doc) = file else { continue };
            if !doc.is(&Status::Completed) && doc.edges().contains(id) && !doc.blocked_by.contains(id) && !reaches(&graph, id, other) {
                graph.entry(other.clone()).or_default().push(id.clone());
                doc.set_edges(doc.blocked_by.iter().chain([id]).cloned().collect());
            }
        }
        let (mut own, doc) = (Vec::new(), self.doc(id).cloned());
        for blocker in doc.iter().flat_map(|doc| doc.edges().into_iter().filter(|edge| !doc.blocked_by.contains(edge))) {
            let reopened = self.doc(&blocker).is_some_and(|doc| doc.reopened && !doc.is(&Status::Completed));
            if reopened && !reaches(&graph, &blocker, id) {
                graph.entry(id.clone()).or_default().push(blocker.clone());
                own.push(blocker);
            }
        }
        own
    }

    // ---- what people do ---------------------------------------------------------------------------------------

    fn hand(&mut self, edit: &Edit) {
        match edit {
            Edit::Drop { name, spec, spelled } => {
                // Sometimes the very number that `add` would give next.
                let id = if *name < 3 { id(&format!("d{name}")) } else { id(&(self.watermark.unwrap_or(0) + (*name as u64 - 2)).to_string()) };
                let mut doc = self.new_doc(spec);
                doc.depends_on = None;
                doc.status = spelled.then_some(Status::Pending);
                self.files.insert(id.clone(), File::Task(doc));
                self.meant = (id, 0);
            }
            Edit::SaveOld { task, version, .. } => {
                let ids: Vec<TaskId> = self.history.keys().cloned().collect();
                self.meant = (id("absent"), 0);
                let Some(id) = ids.get(task % ids.len().max(1)) else { return };
                let versions = &self.history[id];
                let doc = versions[version % versions.len()].clone();
                let held = self.holds.iter().find(|(_, task, turn)| task == id && !self.over.contains(turn)).map(|(_, _, turn)| *turn);
                let is_over = |turn: Turn| self.over.contains(&turn);
                // Two turns that nobody said are over, one of them in a presence record: only a newcomer could know of
                // both. And a turn that is over where nobody holds it: a newcomer would not know that.
                let other = doc.claim.as_ref().is_some_and(|claim| match held {
                    Some(held) => held != claim.turn && !is_over(claim.turn),
                    None => is_over(claim.turn),
                });
                if !other {
                    self.meant = (id.clone(), 0);
                    self.files.insert(id.clone(), File::Task(doc));
                }
            }
            Edit::Delete(task) => {
                let mut chosen = self.pick(*task);
                // An id that `add` may give again while a living teammate holds it: the new task would be held at once.
                let held = |id: &TaskId| self.holds.iter().any(|(_, task, _)| task == id);
                let free = chosen.number() > self.watermark || chosen.as_str().starts_with('n');
                if free && held(&chosen) {
                    chosen = id("absent");
                }
                let id = chosen;
                self.files.remove(&id);
                self.meant = (id, 0);
            }
            Edit::Break { task, kind } => {
                let id = self.pick(*task);
                if self.files.contains_key(&id) {
                    self.files.insert(id.clone(), File::Broken(*kind));
                }
                self.meant = (id, 0);
            }
            Edit::SetKeys { task, priority, blocked_by, status } => {
                let id = self.pick(*task);
                let blocked_by = self.pick_some(blocked_by);
                if let Some(File::Task(doc)) = self.files.get_mut(&id) {
                    doc.priority = *priority;
                    doc.blocked_by = blocked_by;
                    doc.depends_on = None;
                    if let (Some(status), None) = (status, &doc.claim) {
                        (doc.status, doc.parked) = (Some(Status::read(status)), None);
                    }
                }
                self.meant = (id, 0);
            }
        }
    }

    /// A living teammate's claim comes back where a file no longer tells of it.
    fn restore(&mut self) {
        for (by, id, turn) in self.holds.clone() {
            let Some(File::Task(doc)) = self.files.get_mut(&id) else { continue };
            let ended = self.over.contains(&turn) || doc.attempts.iter().any(|attempt| attempt.turn == turn);
            // A claim that is over says only that the version is old; one that is not stands.
            let held = doc.claim.as_ref().is_some_and(|held| !self.over.contains(&held.turn));
            if ended || held || !matches!(doc.status(), Status::Pending | Status::InProgress) {
                continue;
            }
            doc.claim = Some(Held { turn, by, dispatched: doc.owner == Some(by) });
            (doc.status, doc.owner, doc.parked) = (Some(Status::InProgress), Some(by), None);
            doc.touch();
        }
    }
}

/// Whether a way along the edges leads from one task to another, at least one edge long.
fn reaches(graph: &BTreeMap<TaskId, Vec<TaskId>>, from: &TaskId, to: &TaskId) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), graph.get(from).cloned().unwrap_or_default());
    while let Some(id) = left.pop() {
        if id == *to {
            return true;
        }
        if seen.insert(id.clone()) {
            left.extend(graph.get(&id).cloned().unwrap_or_default());
        }
    }
    false
}
