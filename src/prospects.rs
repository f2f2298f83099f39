//! Which tasks can still be finished without anybody changing the board by hand, and why the others cannot: pure.

use std::collections::{BTreeMap, BTreeSet};

use board::facts::{Facts, Phase};
use board::index::{Entry, Index};
use board::ready::{Blocker, Claimant};
use board::task::Parked;
use board::task_id::TaskId;

/// The unfinished tasks that can still be finished: those that are ready for somebody, held by a living holder or
/// parked until a time, and those that wait for nothing but such tasks.
///
/// `stale` are the tasks whose holders are gone.
pub(crate) fn going_on<'a>(index: &'a Index, stale: &BTreeSet<TaskId>) -> BTreeSet<&'a TaskId> {
    let held = |id: &&TaskId| {
        let facts = index.get(id).and_then(Entry::facts);
        !stale.contains(*id) && facts.is_some_and(|facts| !matches!(facts.parked(), Some(Parked::Ask { .. })))
    };
    let mut going: BTreeSet<&TaskId> = index.open().chain(index.in_progress().filter(held)).collect();
    let mut front: Vec<&TaskId> = going.iter().copied().collect();
    // For each task that waits, what of that cannot yet be counted on.
    let mut missing: BTreeMap<&TaskId, Vec<Blocker>> = BTreeMap::new();
    while let Some(id) = front.pop() {
        for dependant in index.dependants(id) {
            let waits = index.get(dependant).and_then(Entry::facts).is_some_and(|facts| facts.status == Phase::Pending);
            if !waits || going.contains(dependant) {
                continue;
            }
            let left = missing.entry(dependant).or_insert_with(|| index.blockers(dependant));
            left.retain(|blocker| !matches!(blocker, Blocker::Unfinished(of, _) if of == id));
            if left.is_empty() {
                going.insert(dependant);
                front.push(dependant);
            }
        }
    }
    going
}

/// Why a task that is not going on cannot be finished.
pub(crate) fn why_stuck(index: &Index, stale: &BTreeSet<TaskId>, id: &TaskId) -> String {
    let Some(facts) = index.get(id).map(Entry::facts) else { return "it is gone".into() };
    let Some(facts) = facts else { return "its file is no valid task; `crew doctor` says why".into() };
    if stale.contains(id) {
        return format!("its holder {} is gone; `crew work` or a teammate takes it up again", holder(facts));
    }
    match index.why_not(id, &Claimant::shell(facts.owner.as_deref().unwrap_or_default())) {
        Err(no) => no.why,
        Ok(()) => "it is ready".into(),
    }
}

fn holder(facts: &Facts) -> &str {
    facts.turn().map(|(_, by)| by).or(facts.owner.as_deref()).unwrap_or("somebody")
}
