//! `crew graph`.

use std::collections::BTreeSet;
use std::io::Write as _;

use board::graph::cycles;
use board::ready::Blocker;
use board::task_id::TaskId;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::terminal;
use crate::view::graph::{self as view, Node};

/// Show which task waits for which
///
/// Every edge that there ever was is shown, so that the graph survives completion.
#[derive(Debug, clap::Args)]
pub(crate) struct Graph {
    /// For Graphviz: crew graph --dot | dot -Tsvg > board.svg
    #[arg(long)]
    dot: bool,

    /// For Mermaid, as Markdown files on many sites show it
    #[arg(long, conflicts_with = "dot")]
    mermaid: bool,
}

impl Graph {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board_on_every_core()?;
        let tasks = board.survey(|_, task| {
            let waits_for = task.edges().cloned().collect();
            let node = Node { subject: task.subject.chars().take(200).collect(), status: task.status.as_str().to_owned(), waits_for };
            (node, task.blocks.clone())
        })?;
        let index = board.index();
        let mut graph = view::Graph::new();
        let mut from_other_side = Vec::new();
        for (id, (node, blocks)) in tasks {
            from_other_side.extend(blocks.into_iter().map(|dependant| (id.clone(), dependant)));
            graph.insert(id, node);
        }
        for (blocker, dependant) in from_other_side {
            if let Some(node) = graph.get_mut(&dependant).filter(|node| !node.waits_for.contains(&blocker)) {
                node.waits_for.push(blocker);
            }
        }
        // What was archived is done; what never existed is in the way.
        let present: BTreeSet<TaskId> = graph.keys().cloned().collect();
        for (id, node) in &mut graph {
            let absent: Vec<TaskId> =
                index.blockers(id).into_iter().filter_map(|blocker| if let Blocker::Absent(id) = blocker { Some(id) } else { None }).collect();
            node.waits_for.retain(|blocker| present.contains(blocker) || absent.contains(blocker));
        }

        let mut out = context.out();
        if self.dot {
            write!(out, "{}", view::dot(&graph))?;
        } else if self.mermaid {
            write!(out, "{}", view::mermaid(&graph))?;
        } else if context.json {
            for (id, node) in &graph {
                let waits_for: Vec<_> = node.waits_for.iter().collect();
                let line = serde_json::json!({ "id": id, "subject": node.subject, "status": node.status, "waitsFor": waits_for });
                writeln!(out, "{}", crate::view::escape::json(line.to_string()))?;
            }
        } else {
            for line in view::text(&graph, &cycles(&index.waiting_graph()), terminal::width(), terminal::colours()) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()?;
        Ok(Exit::DONE)
    }
}
