//! Cycles in the graph of who waits for whom: pure, and without recursion, since people build long chains.

use std::collections::{BTreeMap, BTreeSet};

use crate::task_id::TaskId;

/// Every cycle among the tasks, each as the ids on one way round that begins at its first id.
///
/// `edges` names, for each task, those that it waits for; what is in no key is no task and in no cycle.
pub fn cycles(edges: &BTreeMap<TaskId, Vec<TaskId>>) -> Vec<Vec<TaskId>> {
    let mut found: Vec<Vec<TaskId>> = Vec::new();
    for component in components(edges) {
        let members: BTreeSet<&TaskId> = component.iter().copied().collect();
        let Some(first) = members.first() else { continue };
        let inside = |id: &TaskId| edges.get(id).into_iter().flatten().filter(|to| members.contains(to)).cloned().collect();
        if let Some(way) = path(first, first, inside) {
            found.push(way);
        }
    }
    found.sort();
    found
}

/// A cycle that leads through one of these tasks, as the ids on a way round that begins there.
pub fn cycle_through(ids: &BTreeSet<&TaskId>, edges: &BTreeMap<TaskId, Vec<TaskId>>) -> Option<Vec<TaskId>> {
    components(edges).into_iter().find_map(|component| {
        let members: BTreeSet<&TaskId> = component.into_iter().collect();
        let first = members.iter().find(|id| ids.contains(*id))?;
        path(first, first, |id| edges.get(id).into_iter().flatten().filter(|to| members.contains(to)).cloned().collect())
    })
}

/// The way round that an edge `from → to` would close: `from`, `to`, …, back to `from` (not repeated).
pub fn would_close(from: &TaskId, to: &TaskId, edges: impl Fn(&TaskId) -> Vec<TaskId>) -> Option<Vec<TaskId>> {
    if from == to {
        return Some(vec![from.clone()]);
    }
    let mut way = vec![from.clone()];
    way.extend(path(to, from, edges)?);
    Some(way)
}

/// A shortest way along the edges from one task to another, without the last; at least one edge long.
fn path(from: &TaskId, to: &TaskId, edges: impl Fn(&TaskId) -> Vec<TaskId>) -> Option<Vec<TaskId>> {
    let mut came_from: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    let mut front = vec![from.clone()];
    while !front.is_empty() {
        let mut next = Vec::new();
        for id in front {
            for neighbour in edges(&id) {
                if neighbour == *to {
                    let mut way = vec![id];
                    while let Some(before) = way.last().filter(|last| *last != from).and_then(|last| came_from.get(last)) {
                        way.push(before.clone());
                    }
                    way.reverse();
                    return Some(way);
                }
                if neighbour != *from && !came_from.contains_key(&neighbour) {
                    came_from.insert(neighbour.clone(), id.clone());
                    next.push(neighbour);
                }
            }
        }
        front = next;
    }
    None
}

/// Strongly connected components (Tarjan, with a stack of its own).
fn components(edges: &BTreeMap<TaskId, Vec<TaskId>>) -> Vec<Vec<&TaskId>> {
    struct Node {
        low: usize,
        on_stack: bool,
    }
    let mut nodes: BTreeMap<&TaskId, Node> = BTreeMap::new();
    let (mut stack, mut found) = (Vec::new(), Vec::new());
    for root in edges.keys() {
        if nodes.contains_key(root) {
            continue;
        }
        // (task, its number, the next of its edges to follow)
        let mut calls = vec![(root, nodes.len(), 0usize)];
        nodes.insert(root, Node { low: nodes.len(), on_stack: true });
        stack.push(root);
        while let Some((id, number, next)) = calls.pop() {
            let neighbour = edges[id].get(next).and_then(|to| edges.get_key_value(to)).map(|(to, _)| to);
            if next < edges[id].len() {
                calls.push((id, number, next + 1));
                let Some(to) = neighbour else { continue };
                match nodes.get(to).map(|node| (node.low, node.on_stack)) {
                    None => {
                        let number = nodes.len();
                        nodes.insert(to, Node { low: number, on_stack: true });
                        stack.push(to);
                        calls.push((to, number, 0));
                    }
                    Some((low, true)) => lower(&mut nodes, id, low, |node| &mut node.low),
                    Some((_, false)) => {}
                }
                continue;
            }
            let low = nodes[id].low;
            if let Some((caller, _, _)) = calls.last() {
                lower(&mut nodes, caller, low, |node| &mut node.low);
            }
            if low == number {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    if let Some(node) = nodes.get_mut(member) {
                        node.on_stack = false;
                    }
                    component.push(member);
                    if member == id {
                        break;
                    }
                }
                found.push(component);
            }
        }
    }
    return found;

    fn lower<'a, N>(nodes: &mut BTreeMap<&'a TaskId, N>, id: &'a TaskId, to: usize, low: impl Fn(&mut N) -> &mut usize) {
        if let Some(node) = nodes.get_mut(id) {
            let low = low(node);
            *low = (*low).min(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::new(text).unwrap()
    }

    fn graph(edges: &[(&str, &[&str])]) -> BTreeMap<TaskId, Vec<TaskId>> {
        edges.iter().map(|(from, to)| (id(from), to.iter().map(|to| id(to)).collect())).collect()
    }

    fn texts(cycles: &[Vec<TaskId>]) -> Vec<String> {
        cycles.iter().map(|way| way.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn every_cycle_once() {
        let board = graph(&[("1", &["2"]), ("2", &["3", "404"]), ("3", &[]), ("7", &["7"]), ("8", &["9"]), ("9", &["8"]), ("10", &["8"])]);
        assert_eq!(texts(&cycles(&board)), ["7", "8 9"]);
        let knot = graph(&[("a", &["b"]), ("b", &["c", "a"]), ("c", &["a"])]);
        assert_eq!(cycles(&knot).len(), 1);
        assert!(cycles(&graph(&[("1", &["2"]), ("2", &[])])).is_empty());
    }

    #[test]
    fn a_cycle_beside_another_one_is_found() {
        // 1 and 2 wait for each other, and 2 and 3 do.
        let board = graph(&[("1", &["2"]), ("2", &["1", "3"]), ("3", &["2"]), ("4", &["1"])]);
        let through = |text: &str| cycle_through(&[&id(text)].into(), &board);
        assert_eq!(texts(&[through("3").unwrap()]), ["3 2"]);
        assert!(through("4").is_none());
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let mut board: BTreeMap<TaskId, Vec<TaskId>> = (0..40_000).map(|n: u32| (id(&n.to_string()), vec![id(&(n + 1).to_string())])).collect();
        assert!(cycles(&board).is_empty());
        board.insert(id("40000"), vec![id("0")]);
        assert_eq!(cycles(&board)[0].len(), 40_001);
    }

    #[test]
    fn an_edge_that_would_close_a_cycle_is_named_with_the_way_round() {
        let board = graph(&[("1", &["2"]), ("2", &["3"]), ("3", &[])]);
        let edges = |id: &TaskId| board.get(id).cloned().unwrap_or_default();
        assert_eq!(texts(&[would_close(&id("3"), &id("1"), edges).unwrap()]), ["3 1 2"]);
        assert!(would_close(&id("1"), &id("3"), edges).is_none());
        assert_eq!(texts(&[would_close(&id("5"), &id("5"), edges).unwrap()]), ["5"]);
    }
}
