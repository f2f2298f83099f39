//! `crew init`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use board::place::TASKS;
use board::{Board, Durability};

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Make a board: the directory .tasks/ here
///
/// Does nothing to tasks that are there already; on an existing board it sets what a reported success survives.
#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Faster, and a power cut may cost the progress of the last seconds (never a task)
    #[arg(long)]
    relaxed: bool,
}

impl Init {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let project = project(context)?;
        let existed = project.join(TASKS).is_dir();
        let durability = if self.relaxed { Durability::Relaxed } else { Durability::Full };
        let board = Board::init(&project, durability, context.surroundings())?;
        let path = board.place().tasks().display();
        match context.json {
            true => context.print(serde_json::json!({ "board": board.place().tasks(), "durability": durability, "made": !existed }))?,
            false if existed => context.say(format!("{path} was there already; what it survives now: {}", word(durability))),
            false => context.say(format!("made {path}; `crew add \"what is to be done\"` adds a task")),
        }
        Ok(Exit::DONE)
    }
}

/// Where the board is to be: here, or where `CREW_BOARD` says.
fn project(context: &Context) -> Result<PathBuf, Failure> {
    let Some(board) = &context.surroundings().board else { return Ok(context.directory().clone()) };
    let board = Path::new(board);
    match (board.file_name() == Some(OsStr::new(TASKS)), board.parent()) {
        (true, Some(parent)) => Ok(context.directory().join(parent)),
        _ => Err(Failure::Usage(format!("CREW_BOARD is {}, and a board's directory is named {TASKS}; unset it or set it to such a path", board.display()))),
    }
}

fn word(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "a power cut costs nothing that was reported as added or finished (full)",
        Durability::Relaxed => "a power cut may cost the progress of the last seconds (relaxed)",
    }
}
