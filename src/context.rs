//! What every command is told: where it stands and how to answer.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::path::PathBuf;

use board::Board;
use board::name::Name;
use board::place::{Place, Surroundings};
use board::presence::Record;
use board::task_id::TaskId;
use teammates::ancestors;
use teammates::batch::SEAT;

use crate::arming::Voice;
use crate::exit::Failure;
use crate::run::planning;
use crate::view::escape;

/// The runner of what a person executes by `crew exec`.
pub(crate) const EXEC: &str = "exec";

/// So much output is written at once.
const BUFFER: usize = 64 << 10;

/// The surroundings of a command. Commands read them here and nowhere else.
#[derive(Debug)]
pub(crate) struct Context {
    /// Whether data is printed as JSON.
    pub(crate) json: bool,
    directory: PathBuf,
    surroundings: Surroundings,
}

/// Who acts: an option that verbs share.
#[derive(Debug, clap::Args)]
pub(crate) struct Acting {
    /// Who acts: a teammate's name, or your own
    #[arg(long = "as", value_name = "NAME", env = "CREW_AS")]
    pub(crate) name: Name,
}

/// What the environment says of the turn that a process is part of.
#[derive(Debug, Clone)]
pub(crate) struct Within {
    /// The turn; `None`: it is part of none.
    pub(crate) turn: Option<String>,
    /// The task that it holds.
    pub(crate) task: Option<TaskId>,
    /// Whether somebody waits for the end of what it is part of.
    pub(crate) is_attempt: bool,
}

impl Context {
    /// That of this process.
    pub(crate) fn of_process(json: bool) -> Context {
        Context { json, directory: ".".into(), surroundings: Surroundings::of_process() }
    }

    /// Where the command stands.
    pub(crate) fn directory(&self) -> &PathBuf {
        &self.directory
    }

    /// What decides where boards are.
    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Opens the board that is meant.
    pub(crate) fn board(&self) -> Result<Board, Failure> {
        Ok(Board::open(Place::find(&self.directory, &self.surroundings)?)?)
    }

    /// Opens the board that is meant and sees all of it.
    pub(crate) fn seen_board(&self) -> Result<Board, Failure> {
        let mut board = self.board_on_every_core()?;
        board.look()?;
        Ok(board)
    }

    /// Opens the board that is meant for one thing that may be much: it is done on every core.
    pub(crate) fn board_on_every_core(&self) -> Result<Board, Failure> {
        let mut board = self.board()?;
        board.set_threads(std::thread::available_parallelism().map_or(1, usize::from));
        Ok(board)
    }

    /// The turn that this process is part of, where that is a turn on this task: `CREW_TURN`, which `crew` sets for
    /// what it runs. The turn of another task says nothing about this one.
    pub(crate) fn turn_on(&self, id: &TaskId) -> Option<String> {
        let same_task = variable("CREW_TASK_ID").is_none_or(|task| task == id.as_str());
        self.turn().filter(|_| same_task)
    }

    /// The turn that this process is part of, whichever it is.
    #[allow(clippy::unused_self)] // Commands read their surroundings here and nowhere else.
    pub(crate) fn turn(&self) -> Option<String> {
        variable("CREW_TURN")
    }

    /// The turn that this process is part of, with what of it the environment says.
    pub(crate) fn within(&self) -> Result<Within, Failure> {
        let task = variable("CREW_TASK_ID").map(|id| id.parse().map_err(|e| Failure::Usage(format!("CREW_TASK_ID: {e}"))));
        Ok(Within { turn: self.turn(), task: task.transpose()?, is_attempt: variable("CREW_LOG_DIR").is_some() })
    }

    /// Refuses, within a teammate's turn on this board or below its process, what only a person may do: nothing that a
    /// teammate says answers for one.
    pub(crate) fn only_for_a_person(&self, board: &Board, verb: &str) -> Result<(), Failure> {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let here = |tasks: PathBuf| tasks.canonicalize().is_ok_and(|tasks| tasks == board.place().tasks());
        let in_a_turn = is_set("CREW_TURN") && std::env::var_os("CREW_BOARD").is_some_and(|tasks| here(tasks.into()));
        match in_a_turn || !ancestors::teammates(board)?.is_empty() {
            true => Err(Failure::Refused {
                rule: "only-a-person",
                message: format!("`crew {verb}` is a person's; a teammate asks with `crew post` and `crew notice --tell`"),
            }),
            false => Ok(()),
        }
    }

    /// The teammate below whose process this one runs, by each name that it has; `None`: a person works here, or what a
    /// person runs with `crew exec` and `crew work`.
    pub(crate) fn teammate_above(&self, board: &Board) -> Result<Option<Vec<Name>>, Failure> {
        let is_a_persons = |(name, record): &(Name, Record)| name.as_str().starts_with(SEAT) || record.runner == EXEC;
        let mut above = ancestors::teammates(board)?.into_iter().filter(|teammate| !is_a_persons(teammate)).peekable();
        let Some(nearest) = above.peek().map(|(_, record)| record.process.clone()) else { return Ok(None) };
        Ok(Some(above.take_while(|(_, record)| record.process == nearest).map(|(name, _)| name).collect()))
    }

    /// Refuses, to whoever is planning, what makes a task pending that nobody has approved.
    pub(crate) fn not_while_it_plans(&self, board: &Board, verb: &str) -> Result<(), Failure> {
        match planning::is_planned(board, self.turn().as_deref(), &self.teammate_above(board)?.unwrap_or_default())? {
            true => Err(Failure::Refused {
                rule: "planning",
                message: format!("`crew {verb}` is not for a turn that plans: `crew add` proposes the task, and a person approves it"),
            }),
            false => Ok(()),
        }
    }

    /// Whose word allows what a repository's files bring: below the process of a teammate nobody's.
    pub(crate) fn voice(&self, board: &Board, yes: bool) -> Result<Voice, Failure> {
        Ok(match (self.teammate_above(board)?, yes) {
            (Some(_), _) => Voice::Nobody,
            (None, true) => Voice::Yes,
            (None, false) => Voice::Asked,
        })
    }

    /// Refuses to act under a name, below the process of a teammate that has another.
    pub(crate) fn check_acting(&self, board: &Board, name: &Name) -> Result<(), Failure> {
        match self.teammate_above(board)? {
            Some(names) if !names.contains(name) => {
                let who = names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
                Err(Failure::Refused { rule: "another", message: format!("this runs below the process of {who}, and so acts as {who} only, not as {name}") })
            }
            _ => Ok(()),
        }
    }

    /// Words of the command line; `-`: what comes on standard input.
    pub(crate) fn words(&self, given: &str) -> Result<String, Failure> {
        if given != "-" {
            return Ok(given.to_owned());
        }
        io::read_to_string(io::stdin()).map_err(|e| Failure::Usage(format!("the text cannot be read: {e}")))
    }

    /// Where data goes. To be flushed at the end, so that a failure is seen.
    pub(crate) fn out(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::with_capacity(BUFFER, io::stdout().lock())
    }

    /// Prints lines of data.
    pub(crate) fn print(&self, text: impl std::fmt::Display) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(format!("{text}\n").as_bytes())?;
        Ok(out.flush()?)
    }

    /// Confirms what was done: for people only. A script knows by the exit code, and its log stays readable.
    pub(crate) fn confirm(&self, text: impl AsRef<str>) {
        if io::stderr().is_terminal() {
            self.say(text);
        }
    }

    /// Talks: to stderr, where it disturbs no script.
    pub(crate) fn say(&self, text: impl AsRef<str>) {
        // Nobody to tell: stderr is closed.
        let _ = io::stderr().write_all(format!("{}\n", escape::block(text.as_ref())).as_bytes());
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
