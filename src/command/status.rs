//! `crew status`: how everything stands, on one screen.

use board::checkpoints::Checkpoints;
use board::run::Run;
use board::{Board, clock};
use serde_json::json;

use super::team;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::needs::{self, Need};
use crate::run::next;
use crate::terminal;
use crate::view::summary::Counts;
use crate::view::{self, escape};

/// Say how the run, the board and the team stand, and what waits for you
///
/// With --json {"run":{…},"board":{…},"team":[…],"needs":[…]}.
#[derive(Debug, clap::Args)]
pub(crate) struct Status {}

/// So many of what waits are shown.
const MOST_NEEDS: usize = 8;

impl Status {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.seen_board()?;
        print(context, &board)?;
        Ok(Exit::DONE)
    }
}

/// Prints it.
pub(super) fn print(context: &Context, board: &Board) -> Result<(), Failure> {
    let now = clock::now();
    let run = Run::existing(board.place())?;
    let state = run.as_ref().map(|run| run.standing()).transpose()?.unwrap_or_default();
    let turn = run.as_ref().map(|run| run.open_turn()).transpose()?.flatten();
    let next = run.as_ref().map(|run| next::speaker(board, run)).transpose()?.flatten().map(|next| next.next);
    let members = team::members(board, false, now)?;
    let needs = needs::all(board, run.as_ref())?;
    let counts = Counts::of(board);
    if context.json {
        let run = json!({
            "state": state.state.as_str(),
            "alive": state.is_alive(),
            "reason": state.reason,
            "turn": turn.as_ref().map(|turn| &turn.turn),
            "speaker": turn.as_ref().map(|turn| &turn.of),
            "next": next.flatten(),
        });
        let document = json!({ "run": run, "board": counts.json(), "team": members, "needs": needs.iter().map(Need::json).collect::<Vec<_>>() });
        return context.print(escape::json(document.to_string()));
    }
    let mut parts = vec![view::run::state(&state, turn.as_ref(), next.flatten().as_deref(), now), counts.text()];
    if Checkpoints::of(board.place()).is_cut_short()? {
        parts.insert(0, "a restore was cut short, so the working tree is in between; `crew start` completes it".into());
    }
    if !members.is_empty() {
        parts.push(view::team::table(&members, now, terminal::width(), terminal::colours()).join("\n"));
    }
    if needs.is_empty() {
        parts.push("nothing waits for you".into());
    } else {
        let mut shown: Vec<String> = needs.iter().take(MOST_NEEDS).map(view::run::need).collect();
        if needs.len() > MOST_NEEDS {
            shown.push(format!("… and {} more: `crew needs`", needs.len() - MOST_NEEDS));
        }
        parts.push(format!("waiting for you:\n{}", shown.join("\n")));
    }
    context.print(parts.join("\n\n"))
}
