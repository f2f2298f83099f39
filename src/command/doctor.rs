//! `crew doctor`.

use board::Board;
use board::Error;
use teammates::cleaning;

use super::PATIENCE;
use crate::config;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::health::{self, Finding, Level};
use crate::terminal;
use crate::view::findings;

/// Look for what is wrong with the board, its disk and its team
///
/// Tries the locks of this filesystem with two processes, and whatever else the board relies on. Exit code 1: there
/// are problems. --fix repairs only what is safe: claims of dead holders go back, edges and ids are put right. Files
/// that are no valid tasks are never touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Put right what is safe to put right
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        if let Some(tried) = health::lock_trial::as_the_other() {
            return tried;
        }
        let mut board = context.board_on_every_core()?;
        if self.fix {
            board.check_format()?;
        }
        let mut found = vec![format(&board)];
        found.extend(health::filesystem::findings(&board));
        found.extend(health::board::findings(&mut board)?);
        found.extend(health::team::findings(&board));
        if self.fix {
            fix(&mut board, &found)?;
            let left = health::board::findings(&mut board)?;
            // What is not found again was put right.
            let fixable =
                |finding: &Finding| FIXED.contains(&finding.check) && !left.iter().any(|other| other.check == finding.check && other.task == finding.task);
            found.iter_mut().filter(|finding| fixable(finding)).for_each(|finding| finding.level = Level::Fixed);
        }
        let healthy = !found.iter().any(|finding| finding.level == Level::Problem);
        match context.json {
            true => {
                let report = serde_json::json!({ "board": board.place().tasks(), "healthy": healthy, "findings": found });
                context.print(crate::view::escape::json(report.to_string()))?;
            }
            false => context.print(findings::lines(&found, terminal::colours()).join("\n"))?,
        }
        Ok(if healthy { Exit::DONE } else { Exit::FAILED })
    }
}

/// Checks whose findings are put right by `--fix`.
const FIXED: [&str; 5] = ["id", "stale-claim", "edges", "overwritten-claim", "leftover"];

fn format(board: &Board) -> Finding {
    match board.check_format() {
        Ok(()) => Finding::of(Level::Ok, "format", format!("{} is {}", board.place().tasks().display(), board.durability().as_str())),
        Err(e) => Finding::of(Level::Problem, "format", e.to_string()),
    }
}

/// Returns claims of dead holders, and puts ids and edges right.
fn fix(board: &mut Board, found: &[Finding]) -> Result<(), Failure> {
    config::apply(board)?;
    cleaning::return_stale_claims(board)?;
    let mut locked = board.lock(PATIENCE)?;
    locked.see()?;
    for id in health::board::with_other_id(found) {
        // Whatever is written puts the id right. A file that is being edited at this moment keeps it.
        match locked.edit(&id, &[]) {
            Ok(()) | Err(Error::NotATask { .. } | Error::NoSuchTask(_)) => {}
            Err(e) => return Err(e.into()),
        }
    }
    locked.unlock()?.settle()?;
    Ok(())
}
