//! The graph of who waits for whom: as text in the order of the work, for Graphviz, and for Mermaid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use board::task_id::TaskId;

use super::escape::{cut, line};
use super::table::{Line, Shade, lay_out};

/// No subject is shown longer than this.
const LONGEST: usize = 60;

/// A task in the graph.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// One line.
    pub(crate) subject: String,
    /// Its status.
    pub(crate) status: String,
    /// Every edge that it ever had; ids of tasks that do not exist too.
    pub(crate) waits_for: Vec<TaskId>,
}

/// The tasks of a board by their ids.
pub(crate) type Graph = BTreeMap<TaskId, Node>;

/// Step by step: what can be done at first, then what that makes possible.
pub(crate) fn text(graph: &Graph, cycles: &[Vec<TaskId>], width: Option<u16>, colours: bool) -> Vec<String> {
    let steps = steps(graph);
    let waited_for: BTreeSet<&TaskId> = graph.values().flat_map(|node| &node.waits_for).collect();
    let alone = |id: &TaskId, node: &Node| node.waits_for.is_empty() && !waited_for.contains(id);
    let mut rows: Vec<(usize, &TaskId, &Node)> =
        graph.iter().filter(|(id, node)| !alone(id, node)).map(|(id, node)| (steps.get(id).copied().unwrap_or(usize::MAX), id, node)).collect();
    rows.sort_by_key(|(step, ..)| *step);
    let rows: Vec<Line> = rows
        .into_iter()
        .map(|(step, id, node)| {
            let step = if step == usize::MAX { "never".to_owned() } else { (step + 1).to_string() };
            let waits_for = cut(&names(&node.waits_for), LONGEST).into_owned();
            let cells = vec![step, line(id.as_str()).into_owned(), line(&node.status).into_owned(), waits_for, label(node)];
            Line { cells, shade: shade(&node.status) }
        })
        .collect();
    let mut lines = if rows.is_empty() { Vec::new() } else { lay_out(&["STEP", "ID", "STATUS", "WAITS FOR", "SUBJECT"], rows, width, colours) };
    lines.extend(cycles.iter().map(|cycle| format!("in a cycle, never ready: {}", line(&board::add::print_cycle(cycle)))));
    let free: Vec<TaskId> = graph.iter().filter(|(id, node)| alone(id, node)).map(|(id, _)| id.clone()).collect();
    if !free.is_empty() {
        lines.push(format!("waiting for none, and none for them: {}", names(&free)));
    }
    lines
}

/// For `dot`: an arrow leads from a task to those that wait for it.
pub(crate) fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph board {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    for (id, node) in graph {
        let label = format!("{}\n{}", line(id.as_str()), label(node));
        let _ = writeln!(out, "  {} [label={}, fillcolor=\"{}\"];", quoted(id.as_str()), quoted(&label), colour(&node.status));
    }
    for (blocker, id) in edges(graph) {
        let _ = writeln!(out, "  {} -> {};", quoted(blocker.as_str()), quoted(id.as_str()));
    }
    out.push_str("}\n");
    out
}

/// For Mermaid, which knows only plain names: nodes are numbered.
pub(crate) fn mermaid(graph: &Graph) -> String {
    let absent: BTreeSet<&TaskId> = edges(graph).map(|(blocker, _)| blocker).filter(|id| !graph.contains_key(*id)).collect();
    let numbers: BTreeMap<&TaskId, usize> = graph.keys().chain(absent.iter().copied()).zip(1..).collect();
    let text = |text: &str| text.replace('#', "#35;").replace('&', "#amp;").replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;");
    let mut out = String::from("flowchart LR\n");
    for (id, node) in graph {
        let _ = writeln!(out, "  n{}[\"{}: {}\"]:::{}", numbers[id], text(&line(id.as_str())), text(&label(node)), class(&node.status));
    }
    for id in absent {
        let _ = writeln!(out, "  n{}[\"{}: does not exist\"]:::other", numbers[id], text(&line(id.as_str())));
    }
    for (blocker, id) in edges(graph) {
        let _ = writeln!(out, "  n{} --> n{}", numbers[blocker], numbers[id]);
    }
    for status in ["pending", "in_progress", "completed", "failed", "cancelled", "other"] {
        let _ = writeln!(out, "  classDef {status} fill:{}", colour(status));
    }
    out
}

/// From blocker to dependant.
fn edges(graph: &Graph) -> impl Iterator<Item = (&TaskId, &TaskId)> {
    graph.iter().flat_map(|(id, node)| node.waits_for.iter().map(move |blocker| (blocker, id)))
}

/// How many tasks must be done one after the other before each. A task that can never be reached has no step: it is
/// in a cycle, behind one, or waits for what does not exist.
fn steps(graph: &Graph) -> BTreeMap<&TaskId, usize> {
    let mut missing: BTreeMap<&TaskId, usize> = graph.iter().map(|(id, node)| (id, node.waits_for.len())).collect();
    let mut dependants: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for (blocker, id) in edges(graph) {
        dependants.entry(blocker).or_default().push(id);
    }
    let mut front: Vec<&TaskId> = missing.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    let (mut steps, mut step) = (BTreeMap::new(), 0);
    while !front.is_empty() {
        let mut next = Vec::new();
        for id in front {
            steps.insert(id, step);
            for dependant in dependants.get(id).into_iter().flatten() {
                if let Some(count) = missing.get_mut(dependant) {
                    *count -= 1;
                    if *count == 0 {
                        next.push(*dependant);
                    }
                }
            }
        }
        (front, step) = (next, step + 1);
    }
    steps
}

fn names(ids: &[TaskId]) -> String {
    line(&ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")).into_owned()
}

fn label(node: &Node) -> String {
    line(&cut(&node.subject, LONGEST)).into_owned()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn class(status: &str) -> &str {
    match status {
        "pending" | "in_progress" | "completed" | "failed" | "cancelled" => status,
        _ => "other",
    }
}

fn colour(status: &str) -> &'static str {
    match status {
        "pending" => "#ffffff",
        "in_progress" => "#ffe9a8",
        "completed" => "#c9ecc9",
        "failed" => "#f6c2c2",
        "cancelled" => "#dddddd",
        _ => "#e8d4f2",
    }
}

fn shade(status: &str) -> Shade {
    match status {
        "pending" => Shade::Plain,
        "in_progress" => Shade::Active,
        "completed" | "cancelled" => Shade::Quiet,
        _ => Shade::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> Graph {
        let id = |text: &&str| TaskId::new(text).unwrap();
        let node = |to: &[&str]| Node { subject: "a \"quoted\" <subject>".into(), status: "pending".into(), waits_for: to.iter().map(id).collect() };
        edges.iter().map(|(from, to)| (id(from), node(to))).collect()
    }

    #[test]
    fn tasks_stand_in_the_order_of_the_work() {
        let board = graph(&[("1", &["3"]), ("2", &["1", "3"]), ("3", &[]), ("4", &[]), ("5", &["5"]), ("6", &["404"])]);
        let cycles = [vec![TaskId::new("5").unwrap()]];
        let lines = text(&board, &cycles, None, false);
        let firsts: Vec<String> = lines.iter().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(firsts, ["STEP ID", "1 3", "2 1", "3 2", "never 5", "never 6", "in a", "waiting for"]);
        assert!(lines[6].ends_with("5 → 5") && lines[7].ends_with(": 4"), "{lines:#?}");
    }

    #[test]
    fn other_programs_can_read_it() {
        let board = graph(&[("1", &[]), ("a b", &["1", "404"])]);
        let dot = dot(&board);
        assert!(dot.contains("\"1\" -> \"a b\";") && dot.contains("a \\\"quoted\\\" <subject>"), "{dot}");
        let mermaid = mermaid(&board);
        assert!(mermaid.contains("n1 --> n2") && mermaid.contains("n3 --> n2") && mermaid.contains("#quot;quoted#quot; #lt;subject#gt;"), "{mermaid}");
        assert!(mermaid.contains("404: does not exist"), "{mermaid}");
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let names: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
        let edges: Vec<(&str, Vec<&str>)> =
            names.iter().enumerate().map(|(n, name)| (name.as_str(), names[n + 1..].first().map(String::as_str).into_iter().collect())).collect();
        let edges: Vec<(&str, &[&str])> = edges.iter().map(|(name, to)| (*name, to.as_slice())).collect();
        assert_eq!(steps(&graph(&edges)).values().max(), Some(&19_999));
    }
}
