//! `crew goal`.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use board::disk::Dir;
use board::place::Place;
use serde_json::json;
use teammates::goal::{Goal as Kept, GoalError};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::view::escape;

/// Print what the team works for, .crew/goal.md, or set it
///
/// With --json {"file":…,"text":… or null,"checks":[…]}.
#[derive(Debug, clap::Args)]
pub(crate) struct Goal {
    /// The goal; `-` reads it from standard input
    text: Vec<String>,

    /// A command that exits with 0 when the goal is reached. Given several times, all of them; those that were there go
    #[arg(long = "check", value_name = "COMMAND")]
    checks: Vec<String>,

    /// Open the file in $VISUAL or $EDITOR
    #[arg(long, conflicts_with_all = ["text", "checks"])]
    edit: bool,
}

impl Goal {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        let place = board.place();
        if self.edit {
            context.only_for_a_person(&board, "goal --edit")?;
            return Err(edit(place));
        }
        if self.text.is_empty() && self.checks.is_empty() {
            return print(context, place);
        }
        context.only_for_a_person(&board, "goal \"…\"")?;
        if let Some(text) = written(&self.text)? {
            Kept::set_text(place, &text).map_err(refused)?;
        }
        if !self.checks.is_empty() {
            Kept::set_checks(place, &self.checks).map_err(refused)?;
        }
        match context.json {
            true => context.print(json!({ "file": Kept::path(place) }))?,
            false => context.confirm(format!("{}: changed", Kept::path(place).display())),
        }
        Ok(Exit::DONE)
    }
}

/// The text that is given, in words or on standard input.
fn written(words: &[String]) -> Result<Option<String>, Failure> {
    let text = match words {
        [] => return Ok(None),
        [dash] if dash == "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map_err(|e| Failure::Failed(format!("cannot read the goal from standard input: {e}")))?;
            text
        }
        words => words.join(" "),
    };
    match text.trim().is_empty() {
        true => Err(Failure::Usage("a goal says something; to have none, remove its text in an editor (`crew goal --edit`)".into())),
        false => Ok(Some(text)),
    }
}

fn print(context: &Context, place: &Place) -> Result<Exit, Failure> {
    let goal = Kept::read(place).map_err(refused)?;
    if context.json {
        let (text, checks) = goal.map(|goal| (goal.text, goal.checks)).unzip();
        let all = json!({ "file": Kept::path(place), "text": text, "checks": checks.unwrap_or_default() });
        context.print(escape::json(all.to_string()))?;
        return Ok(Exit::DONE);
    }
    let goal = goal.unwrap_or_default();
    if goal.text.is_empty() {
        context.say("there is no goal yet; `crew goal TEXT` sets it");
    } else {
        context.print(escape::block(&goal.text))?;
    }
    if !goal.checks.is_empty() {
        let checks: Vec<String> = goal.checks.iter().map(|check| format!("  {}", escape::line(&check.to_string()))).collect();
        context.print(format!("{}checks:\n{}", if goal.text.is_empty() { "" } else { "\n" }, checks.join("\n")))?;
    }
    Ok(Exit::DONE)
}

/// Becomes the editor, which so has the terminal as if it had been started by hand. Returns only why it did not.
fn edit(place: &Place) -> Failure {
    let file = Kept::path(place);
    let told = ["VISUAL", "EDITOR"].into_iter().filter_map(std::env::var_os).find(|editor| !editor.is_empty());
    let Some(editor) = told else {
        return Failure::Usage(format!("neither VISUAL nor EDITOR says which editor; set one, or open {}", file.display()));
    };
    if let Err(e) = Dir::make(file.parent().unwrap_or(Path::new(".")), 0o777) {
        return e.into();
    }
    // As git does it: the editor may be several words, the file is one whatever is in its name.
    let mut line = editor;
    line.push(" \"$@\"");
    let error = Command::new("sh").arg("-c").arg(line).arg("crew-goal").arg(&file).exec();
    Failure::Failed(format!("cannot start the editor: {error}"))
}

fn refused(error: GoalError) -> Failure {
    match error {
        GoalError::Board(error) => error.into(),
        error => Failure::Refused { rule: "goal", message: error.to_string() },
    }
}
