//! What is on the board as last seen: facts of every task, which of them stand open, and who waits for whom.
//!
//! Nothing here touches the disk: `put` and `take_out` are told what was read, everything else
//! follows. Sets are kept up to date all the time, so that a claim costs the same on a board of a hundred and
//! of a hundred thousand tasks: those that stand open and unblocked, by priority (and those of an owner by that), and those
//! in progress.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use jiff::Timestamp;

use crate::clock;
use crate::disk::Stamp;
use crate::document::Problem;
use crate::facts::{Facts, Phase};
use crate::ready::{self, Blocker, Claimant, NotReady};
use crate::task::Parked;
use crate::task_id::TaskId;

/// A task's file as it was last seen.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The file's stamp at its reading.
    pub stamp: Stamp,
    /// Whether the file may have changed since without a trace in its stamp, so that it is read again.
    pub doubtful: bool,
    /// What it says.
    pub state: State,
}

/// What a file in `.tasks/` says.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// A task.
    Task(Facts),
    /// Nothing yet, or the beginning of something: its writer may be at work.
    Unsettled(Box<Problem>),
    /// No task.
    Invalid(Box<Problem>),
}

impl Entry {
    /// The facts, where it is a task.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.state {
            State::Task(facts) => Some(facts),
            _ => None,
        }
    }
}

/// The board as last seen.
#[derive(Debug, Default)]
pub struct Index {
    entries: BTreeMap<TaskId, Entry>,
    /// Files that look like tasks and can have no id.
    nameless: BTreeMap<String, Problem>,
    /// For each id the tasks that it stands in the way of, by their `blockedBy` or its own `blocks`.
    dependants: HashMap<TaskId, Vec<TaskId>>,
    /// For each id the tasks whose `blocks` name it.
    blocked_from: HashMap<TaskId, Vec<TaskId>>,
    open: BTreeSet<(Reverse<i64>, TaskId)>,
    /// Those of them that have an owner, by it.
    dispatched: Dispatched,
    in_progress: BTreeSet<TaskId>,
    /// Parked tasks that wait for a time, by that time.
    timed: BTreeSet<(Timestamp, TaskId)>,
    /// Tasks that somebody may come back for.
    lost: BTreeSet<TaskId>,
    untidy: BTreeSet<TaskId>,
    /// Turns that began and that nobody said have ended.
    turns: BTreeMap<TaskId, (String, String)>,
    /// Turns that are over, by their hashes: a few bytes each.
    over: HashSet<u64>,
    /// Completed tasks that were archived and that some task still names.
    archived: BTreeMap<TaskId, bool>,
    /// Ids that some task named when there was no file of theirs: a few to ask about, where all edges are many.
    unknown: BTreeSet<TaskId>,
    version: u64,
}

impl Index {
    /// A number that grows with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether nothing is known yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.entries.is_empty() && self.turns.is_empty()
    }

    /// Every file with an id, in natural order.
    pub fn entries(&self) -> impl Iterator<Item = (&TaskId, &Entry)> {
        self.entries.iter()
    }

    /// One of them.
    pub fn get(&self, id: &TaskId) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Files that look like tasks and can have no id, with the reason.
    pub fn nameless(&self) -> impl Iterator<Item = (&str, &Problem)> {
        self.nameless.iter().map(|(name, problem)| (name.as_str(), problem))
    }

    pub(crate) fn set_nameless(&mut self, nameless: BTreeMap<String, Problem>) {
        self.nameless = nameless;
    }

    /// Tasks in progress, parked ones too.
    pub fn in_progress(&self) -> impl Iterator<Item = &TaskId> {
        self.in_progress.iter()
    }

    /// Tasks whose edges the next writer puts right.
    pub fn untidy(&self) -> impl Iterator<Item = &TaskId> {
        self.untidy.iter()
    }

    /// The turn on a task that began and that nobody said has ended: `(turn, by)`.
    pub(crate) fn turn(&self, id: &TaskId) -> Option<(&str, &str)> {
        self.turns.get(id).map(|(turn, by)| (turn.as_str(), by.as_str()))
    }

    pub(crate) fn begin_turn(&mut self, id: &TaskId, turn: &str, by: &str) {
        self.turns.insert(id.clone(), (turn.to_owned(), by.to_owned()));
    }

    pub(crate) fn end_turn(&mut self, id: &TaskId) {
        self.turns.remove(id);
    }

    /// Remembers that a turn is over: a file that names it all the same is an old version.
    pub(crate) fn turn_is_over(&mut self, turn: &str) {
        if self.over.len() >= MOST_OVER {
            self.over.clear();
        }
        self.over.insert(hash(turn));
    }

    /// Whether a turn is known to be over. Of turns that ended long ago, or before the first look, nothing is known.
    pub(crate) fn is_over(&self, turn: &str) -> bool {
        self.over.contains(&hash(turn))
    }

    /// Tasks that this one stands in the way of, finished or not.
    pub fn dependants(&self, id: &TaskId) -> &[TaskId] {
        self.dependants.get(id).map_or(&[], Vec::as_slice)
    }

    /// The tasks that a claimant may claim, its own before any other, then best first: ready by every rule that reads no
    /// file.
    pub fn ready_for<'a>(&'a self, claimant: &'a Claimant) -> impl Iterator<Item = &'a TaskId> {
        let own = self.dispatched.get(claimant.name.as_str()).into_iter().flatten().map(|(_, id)| id);
        let facts = |id: &TaskId| self.entries.get(id).and_then(Entry::facts);
        let is_own = move |id: &&TaskId| facts(id).is_some_and(|facts| facts.owner.as_deref() == Some(&claimant.name));
        let others = self.open.iter().map(|(_, id)| id).filter(move |id| !is_own(id));
        let now = clock::now();
        own.chain(others).filter(move |id| facts(id).is_some_and(|facts| ready::fits(facts, claimant, now).is_ok()))
    }

    /// When the first of the tasks can be claimed that are for this claimant, and that are left to somebody else for now.
    pub fn left_until(&self, claimant: &Claimant, now: Timestamp) -> Option<Timestamp> {
        let facts = self.lost.iter().filter_map(|id| self.entries.get(id)?.facts().filter(|facts| self.stands_open(id, facts)));
        facts.filter(|facts| ready::is_for(facts, claimant).is_ok()).filter_map(|facts| ready::left_until(facts, claimant, now)).min()
    }

    /// Tasks that stand open and unblocked, for whomever.
    pub fn open(&self) -> impl Iterator<Item = &TaskId> {
        self.open.iter().map(|(_, id)| id)
    }

    /// Why a task is not ready for a claimant, by every rule that reads no file.
    pub fn why_not(&self, id: &TaskId, claimant: &Claimant) -> Result<(), NotReady> {
        self.why_not_of(id, self.entries.get(id), claimant)
    }

    /// The same of a task of which the entry is at hand.
    pub(crate) fn why_not_of(&self, id: &TaskId, entry: Option<&Entry>, claimant: &Claimant) -> Result<(), NotReady> {
        let Some(facts) = entry.and_then(Entry::facts) else {
            return Err(NotReady::because(crate::Rule::NotValid, "its file is no valid task"));
        };
        ready::standing(facts)?;
        let blockers = self.blockers_of(id, facts);
        if !blockers.is_empty() {
            return Err(ready::blocked(&blockers));
        }
        ready::fits(facts, claimant, clock::now())
    }

    /// What stands in a task's way now.
    pub fn blockers(&self, id: &TaskId) -> Vec<Blocker> {
        self.entries.get(id).and_then(Entry::facts).map_or_else(Vec::new, |facts| self.blockers_of(id, facts))
    }

    fn blockers_of(&self, id: &TaskId, facts: &Facts) -> Vec<Blocker> {
        let other_side = self.edges_from_other_side(id, facts);
        facts.blocked_by.iter().chain(other_side).filter_map(|blocker| self.in_the_way(id, blocker)).collect()
    }

    /// Tasks that name this one in their `blocks` and that its own edges do not know.
    fn edges_from_other_side<'a>(&'a self, id: &TaskId, facts: &'a Facts) -> impl Iterator<Item = &'a TaskId> {
        let known = move |blocker: &&TaskId| !facts.depends_on().contains(blocker) && !facts.blocked_by.contains(blocker);
        self.blocked_from.get(id).into_iter().flatten().filter(known)
    }

    fn in_the_way(&self, id: &TaskId, blocker: &TaskId) -> Option<Blocker> {
        if blocker == id {
            return Some(Blocker::Itself);
        }
        let how = match self.entries.get(blocker).map(Entry::facts) {
            None if self.archived.get(blocker) == Some(&true) => return None,
            None => return Some(Blocker::Absent(blocker.clone())),
            Some(None) => "no valid task",
            Some(Some(facts)) => match facts.status {
                Phase::Completed => return None,
                Phase::Failed => "failed",
                Phase::Cancelled => "cancelled",
                Phase::Unknown => "of unknown status",
                Phase::Pending | Phase::InProgress => "",
            },
        };
        Some(Blocker::Unfinished(blocker.clone(), how))
    }

    /// Ids that tasks name and of which there is no file: whether they were archived is to be looked up.
    pub(crate) fn unknown_blockers(&self) -> Vec<TaskId> {
        let named = |id: &&TaskId| self.dependants.contains_key(*id) || self.blocked_from.contains_key(*id);
        self.unknown.iter().filter(named).cloned().collect()
    }

    /// The same for the ids that one task waits for.
    pub(crate) fn absent_blockers(&self, id: &TaskId) -> Vec<TaskId> {
        let blockers = self.entries.get(id).and_then(Entry::facts).map_or(&[][..], |facts| &facts.blocked_by);
        blockers.iter().filter(|other| !self.entries.contains_key(*other) && !self.archived.contains_key(*other)).cloned().collect()
    }

    /// Says whether an absent id is that of a completed task in the archive.
    pub(crate) fn set_archived(&mut self, id: TaskId, completed: bool) {
        self.unknown.remove(&id);
        self.archived.insert(id.clone(), completed);
        self.refresh_dependants(&id);
    }

    /// The graph of unfinished tasks: each with those that it waits for.
    pub fn waiting_graph(&self) -> BTreeMap<TaskId, Vec<TaskId>> {
        let unfinished =
            self.entries.iter().filter_map(|(id, entry)| entry.facts().map(|facts| (id, facts))).filter(|(_, facts)| facts.status != Phase::Completed);
        unfinished.map(|(id, facts)| (id.clone(), facts.blocked_by.iter().chain(self.edges_from_other_side(id, facts)).cloned().collect())).collect()
    }

    /// Tells at once what all the files say, in the order of their ids: the same as [`Index::put`] for each of them,
    /// for a first look at a board of which nothing is known yet.
    pub(crate) fn fill(&mut self, entries: Vec<(TaskId, Entry)>) {
        self.version += entries.len() as u64;
        for (id, entry) in &entries {
            if let State::Task(facts) = &entry.state {
                self.link(id, facts);
            }
        }
        self.entries = entries.into_iter().collect();
        let named = self.dependants.keys().chain(self.blocked_from.keys());
        self.unknown = named.filter(|other| !self.entries.contains_key(*other) && !self.archived.contains_key(*other)).cloned().collect();
        let (mut open, mut dispatched, mut untidy) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (id, facts) in self.entries.iter().filter_map(|(id, entry)| Some((id, entry.facts()?))) {
            if self.stands_open(id, facts) {
                open.push((Reverse(facts.priority), id.clone()));
                dispatch(&mut dispatched, facts.owner.clone(), (Reverse(facts.priority), id.clone()));
            }
            if self.is_untidy(id, facts) {
                untidy.push(id.clone());
            }
        }
        // By id they are sorted already, and sorting what is sorted costs little.
        open.sort_by_key(|(priority, _)| *priority);
        (self.open, self.dispatched, self.untidy) = (open.into_iter().collect(), dispatched, untidy.into_iter().collect());
    }

    /// Tells what a file says.
    pub(crate) fn put(&mut self, id: &TaskId, entry: Entry) {
        self.version += 1;
        let was_completed = self.is_completed(id);
        let mut further: Vec<TaskId> = self.get(id).and_then(Entry::facts).map(|facts| facts.blocks().to_vec()).unwrap_or_default();
        self.unlink(id);
        if let State::Task(facts) = &entry.state {
            let named = facts.blocked_by.iter().chain(facts.blocks());
            self.unknown.extend(named.filter(|other| !self.entries.contains_key(*other) && !self.archived.contains_key(*other)).cloned());
            self.link(id, facts);
        }
        further.extend(entry.facts().map(|facts| facts.blocks().to_vec()).unwrap_or_default());
        let appeared = self.entries.insert(id.clone(), entry).is_none();
        self.unknown.remove(id);
        self.refresh(id);
        further.iter().for_each(|dependant| self.refresh(dependant));
        if appeared || was_completed != self.is_completed(id) {
            self.refresh_dependants(id);
        }
    }

    /// A claim that somebody journaled: the file changed in nothing else.
    pub(crate) fn put_claim(&mut self, id: &TaskId, stamp: Stamp, turn: &str, by: &str) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let State::Task(facts) = &mut entry.state else { return };
        facts.status = Phase::InProgress;
        let owner = facts.owner.replace(by.into());
        if let Some(until) = waits_until(facts) {
            self.timed.remove(&(until, id.clone()));
        }
        let rare = facts.rare.get_or_insert_default();
        rare.turn = Some((turn.to_owned(), by.to_owned()));
        (rare.parked, rare.lost) = (None, None);
        (entry.stamp, entry.doubtful) = (stamp, true);
        let priority = facts.priority;
        self.close(id, priority, owner);
        self.version += 1;
        self.lost.remove(id);
        self.in_progress.insert(id.clone());
        self.begin_turn(id, turn, by);
    }

    /// A completion that somebody journaled: the file changed in nothing else that readiness needs.
    pub(crate) fn put_done(&mut self, id: &TaskId, stamp: Stamp) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let State::Task(facts) = &mut entry.state else { return };
        facts.status = Phase::Completed;
        if let Some(until) = waits_until(facts) {
            self.timed.remove(&(until, id.clone()));
        }
        if let Some(rare) = &mut facts.rare {
            (rare.turn, rare.parked, rare.lost) = (None, None, None);
        }
        (entry.stamp, entry.doubtful) = (stamp, true);
        let (priority, owner) = (facts.priority, facts.owner.clone());
        self.version += 1;
        self.close(id, priority, owner);
        self.in_progress.remove(id);
        self.lost.remove(id);
        self.untidy.remove(id);
        self.turns.remove(id);
        self.refresh_dependants(id);
    }

    /// The file is gone. A turn on it is not: editors take a file away before they put its new version there.
    pub(crate) fn take_out(&mut self, id: &TaskId) {
        self.unlink(id);
        if let Some(entry) = self.entries.remove(id) {
            self.version += 1;
            self.archived.remove(id);
            if self.dependants.contains_key(id) || self.blocked_from.contains_key(id) {
                self.unknown.insert(id.clone());
            }
            entry.facts().map(|facts| facts.blocks().to_vec()).unwrap_or_default().iter().for_each(|dependant| self.refresh(dependant));
            self.refresh_dependants(id);
        }
    }

    fn is_completed(&self, id: &TaskId) -> bool {
        self.entries.get(id).and_then(Entry::facts).is_some_and(|facts| facts.status == Phase::Completed)
    }

    /// Notes what follows from what a file says, but for what follows from those of others too.
    fn link(&mut self, id: &TaskId, facts: &Facts) {
        for blocker in &facts.blocked_by {
            self.dependants.entry(blocker.clone()).or_default().push(id.clone());
        }
        for dependant in facts.blocks() {
            self.dependants.entry(id.clone()).or_default().push(dependant.clone());
            self.blocked_from.entry(dependant.clone()).or_default().push(id.clone());
        }
        if facts.status == Phase::InProgress {
            self.in_progress.insert(id.clone());
            self.timed.extend(waits_until(facts).map(|until| (until, id.clone())));
        }
        if facts.lost().is_some() {
            self.lost.insert(id.clone());
        }
    }

    /// Takes back everything that follows from what a file said.
    fn unlink(&mut self, id: &TaskId) {
        let Some(facts) = self.entries.get(id).and_then(Entry::facts) else { return };
        let (priority, owner) = (facts.priority, facts.owner.clone());
        let (blocked_by, blocks) = (facts.blocked_by.clone(), facts.blocks().to_vec());
        if let Some(until) = waits_until(facts) {
            self.timed.remove(&(until, id.clone()));
        }
        self.close(id, priority, owner);
        self.in_progress.remove(id);
        self.lost.remove(id);
        self.untidy.remove(id);
        for blocker in &blocked_by {
            forget(&mut self.dependants, blocker, id);
        }
        for dependant in &blocks {
            forget(&mut self.dependants, id, dependant);
            forget(&mut self.blocked_from, dependant, id);
        }
    }

    fn refresh_dependants(&mut self, id: &TaskId) {
        let dependants = self.dependants.get(id).cloned().unwrap_or_default();
        dependants.iter().for_each(|dependant| self.refresh(dependant));
    }

    /// A task does not stand open any more; `owner`: the one that it had as long as it did. `false`: it did not.
    fn close(&mut self, id: &TaskId, priority: i64, owner: Option<Arc<str>>) -> bool {
        let place = (Reverse(priority), id.clone());
        if let Some(owner) = owner
            && let Some(own) = self.dispatched.get_mut(&owner)
        {
            own.remove(&place);
            if own.is_empty() {
                self.dispatched.remove(&owner);
            }
        }
        self.open.remove(&place)
    }

    /// Decides anew whether a task stands open, and whether its edges are to be put right.
    fn refresh(&mut self, id: &TaskId) {
        let Some(facts) = self.entries.get(id).and_then(Entry::facts) else { return };
        let (priority, owner) = (facts.priority, facts.owner.clone());
        let (open, untidy) = (self.stands_open(id, facts), self.is_untidy(id, facts));
        let changed = match open {
            true => {
                dispatch(&mut self.dispatched, owner, (Reverse(priority), id.clone()));
                self.open.insert((Reverse(priority), id.clone()))
            }
            false => self.close(id, priority, owner),
        };
        match untidy {
            true => self.untidy.insert(id.clone()),
            false => self.untidy.remove(id),
        };
        self.version += u64::from(changed);
    }

    fn stands_open(&self, id: &TaskId, facts: &Facts) -> bool {
        ready::standing(facts).is_ok() && self.blockers_of(id, facts).is_empty()
    }

    fn is_untidy(&self, id: &TaskId, facts: &Facts) -> bool {
        let finished = || facts.blocked_by.iter().any(|blocker| self.is_finished(id, blocker));
        let missing = || self.edges_from_other_side(id, facts).any(|blocker| self.in_the_way(id, blocker).is_some());
        facts.status != Phase::Completed && (finished() || missing())
    }

    fn is_finished(&self, id: &TaskId, blocker: &TaskId) -> bool {
        self.in_the_way(id, blocker).is_none()
    }

    /// The edges that a task should have: without what is finished, with what names it from the other side.
    pub(crate) fn tidy_edges(&self, id: &TaskId) -> Option<Vec<TaskId>> {
        let facts = self.entries.get(id)?.facts()?;
        let own = facts.blocked_by.iter().filter(|blocker| self.in_the_way(id, blocker).is_some());
        let added = self.edges_from_other_side(id, facts).filter(|blocker| self.in_the_way(id, blocker).is_some());
        Some(own.chain(added).cloned().collect())
    }

    /// Parked tasks whose time has come, the longest due first.
    pub fn due(&self, now: Timestamp) -> Vec<TaskId> {
        self.timed.iter().take_while(|(until, _)| *until <= now).map(|(_, id)| id.clone()).collect()
    }
}

type Dispatched = BTreeMap<Arc<str>, BTreeSet<(Reverse<i64>, TaskId)>>;

fn dispatch(dispatched: &mut Dispatched, owner: Option<Arc<str>>, place: (Reverse<i64>, TaskId)) {
    if let Some(owner) = owner {
        dispatched.entry(owner).or_default().insert(place);
    }
}

/// The time that a parked task waits for.
fn waits_until(facts: &Facts) -> Option<Timestamp> {
    match facts.parked() {
        Some(Parked::Until { until, .. }) => *until,
        _ => None,
    }
}

/// So many turns are remembered to be over.
const MOST_OVER: usize = 100_000;

fn hash(turn: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(turn)
}

fn forget(map: &mut HashMap<TaskId, Vec<TaskId>>, key: &TaskId, value: &TaskId) {
    if let Some(list) = map.get_mut(key) {
        // One mention: an edge may be told of from both of its sides.
        if let Some(place) = list.iter().position(|id| id == value) {
            list.swap_remove(place);
        }
        if list.is_empty() {
            map.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::task::Task;

    fn entry(id: &str, json: &str) -> (TaskId, Entry) {
        let id = TaskId::new(id).unwrap();
        let text = format!("{{\"subject\":\"x\",{json}}}");
        let task = Task::read(&id, &Document::parse(text.as_bytes()).unwrap()).unwrap();
        let state = State::Task(Facts::of(&task));
        (id, Entry { stamp: Stamp::default(), doubtful: false, state })
    }

    const LOST: &str = r#""attempts":[{"turn":"t1","by":"bob","started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:01:00Z","outcome":"lost","log":"/x"}]"#;

    #[test]
    fn all_at_once_is_the_same_as_one_by_one() {
        let until = r#""status":"in_progress","owner":"bob","parked":{"on":"until","until":"2026-01-02T03:04:05Z"}"#;
        let board = || {
            let mut entries = vec![
                entry("1", r#""status":"completed""#),
                entry("2", r#""blockedBy":[1,404],"dependsOn":[1,404]"#),
                entry("3", r#""blockedBy":[1]"#),
                entry("4", r#""blocks":[5,405]"#),
                entry("5", r#""priority":7"#),
                entry("6", r#""priority":7,"blockedBy":[6]"#),
                entry("7", until),
                entry("8", r#""status":"failed""#),
                entry("9", r#""blockedBy":[8]"#),
                entry("a b", r#""priority":-1"#),
                entry("lost", LOST),
            ];
            let invalid = State::Invalid(Box::new(Problem::whole("no")));
            entries.push((TaskId::new("z").unwrap(), Entry { stamp: Stamp::default(), doubtful: false, state: invalid }));
            entries
        };
        let (mut at_once, mut one_by_one) = (Index::default(), Index::default());
        at_once.fill(board());
        board().into_iter().for_each(|(id, entry)| one_by_one.put(&id, entry));
        assert_eq!(at_once.open, one_by_one.open);
        assert_eq!(at_once.dispatched, one_by_one.dispatched);
        assert_eq!(at_once.open().map(TaskId::as_str).collect::<Vec<_>>(), ["3", "4", "lost", "a b"]);
        assert_eq!(at_once.untidy, one_by_one.untidy);
        assert_eq!(at_once.untidy().map(TaskId::as_str).collect::<Vec<_>>(), ["2", "3", "5"]);
        assert_eq!(at_once.in_progress, one_by_one.in_progress);
        assert_eq!(at_once.timed, one_by_one.timed);
        assert_eq!(at_once.lost, one_by_one.lost);
        assert_eq!(at_once.unknown, one_by_one.unknown);
        assert_eq!(at_once.dependants, one_by_one.dependants);
        assert_eq!(at_once.blocked_from, one_by_one.blocked_from);
        assert_eq!(at_once.entries.len(), one_by_one.entries.len());
    }

    #[test]
    fn what_somebody_may_come_back_for_is_known_until_it_is_claimed() {
        let (id, lost) = entry("lost", LOST);
        let mut index = Index::default();
        index.put(&id, lost);
        let fit = Some(crate::ready::Fit { tier: None, role: String::new(), capabilities: Vec::new() });
        let ana = Claimant { fit, ..Claimant::shell("ana") };
        let at = |time: &str| time.parse().unwrap();
        let until = |index: &Index, time| index.left_until(&ana, at(time));
        assert_eq!(until(&index, "2026-01-01T00:01:59Z"), Some(at("2026-01-01T00:02:00Z")));
        assert_eq!(until(&index, "2026-01-01T00:02:00Z"), None, "then it is anybody's");
        let coder = Claimant { takes: crate::ready::Takes::Commands, ..ana.clone() };
        assert_eq!(index.left_until(&coder, at("2026-01-01T00:01:59Z")), None, "it is never for one that only executes");
        index.put_claim(&id, Stamp::default(), "t2", "bob");
        assert_eq!(until(&index, "2026-01-01T00:01:59Z"), None);
    }
}
