//! `crew add`.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use board::Error;
use board::add::Draft;
use board::document::Document;
use board::task::Status;
use board::task_id::TaskId;

use super::PATIENCE;
use super::task_options::TaskOptions;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::planning;
use crate::template;

/// What `crew add --help` shows last.
const EXAMPLES: &str = "\
Examples:
    crew add \"write the parser\" --description \"See notes.md\" --priority 5
    ls photos/*.jpg | crew add --run 'convert {} -resize 800 small/{/}' --subject 'resize {/}'
    crew add --jsonl tasks.jsonl";

/// Add tasks; prints their ids, one a line
///
/// Where stdin is no terminal and the subject or --run has {} in it, every line of stdin becomes a task: {} stands for
/// the line, {/} for its last path component. In --run and --check they come quoted for the shell, one word each; in
/// --subject, --description and --id as they are.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["words", "subject", "run", "jsonl"]))]
pub(crate) struct Add {
    /// What is to be done, in one line
    #[arg(value_name = "SUBJECT")]
    words: Vec<String>,

    /// The same, as an option (default: the command of --run)
    #[arg(long, value_name = "TEXT", conflicts_with = "words")]
    subject: Option<String>,

    #[command(flatten)]
    options: TaskOptions,

    /// Tasks that must be completed before
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    blocked_by: Vec<TaskId>,

    /// The id that it gets (default: the next number)
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Whole tasks from a file (-: stdin), one JSON object a line: all are added or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "subject", "TaskOptions", "blocked_by", "id", "null", "literal"])]
    jsonl: Option<PathBuf>,

    /// Items on stdin end with NUL instead of a newline (find -print0)
    #[arg(short = '0', long)]
    null: bool,

    /// {} is no place for a line: read nothing from stdin
    #[arg(long)]
    literal: bool,
}

impl Add {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board_on_every_core()?;
        let mut drafts = self.drafts()?;
        if drafts.is_empty() {
            context.say("nothing was added: there was no line on stdin (--literal adds one task with {} as it is)");
            return Ok(Exit::DONE);
        }
        if planning::is_planned(&board, context.turn().as_deref(), &context.teammate_above(&board)?.unwrap_or_default())? {
            for draft in &mut drafts {
                draft.text = planning::as_proposal(&draft.text, &draft.origin)?;
            }
            context.say("part of the proposal of this turn: nobody works on what was added before a person has approved it");
        }
        let ids = board.add(&drafts, PATIENCE).map_err(|error| match error {
            Error::NotATask { file: origin, problem } => {
                // Only in what others wrote is the place one that they know.
                let why = if self.jsonl.is_some() { problem.to_string() } else { problem.reason };
                Failure::Refused { rule: board::Rule::NotValid.name(), message: format!("{origin}: {why}; nothing was added") }
            }
            other => other.into(),
        })?;
        let mut out = context.out();
        for id in &ids {
            match context.json {
                true => writeln!(out, "{}", serde_json::json!({ "id": id }))?,
                false => writeln!(out, "{id}")?,
            }
        }
        out.flush()?;
        Ok(Exit::DONE)
    }

    fn drafts(&self) -> Result<Vec<Draft>, Failure> {
        if let Some(file) = &self.jsonl {
            return documents(file);
        }
        let given = if self.words.is_empty() { self.subject.clone() } else { Some(self.words.join(" ")) };
        let run = self.options.run.as_deref();
        let subject = given.or_else(|| run.map(str::to_owned)).unwrap_or_default();
        let is_template = template::is_template(&subject) || run.is_some_and(template::is_template);
        if !is_template || self.literal || std::io::stdin().is_terminal() {
            return Ok(vec![self.draft(&subject, "the new task".to_owned(), None)?]);
        }
        let (bytes, end) = (read(Path::new("-"))?, if self.null { b'\0' } else { b'\n' });
        let items = items(&bytes, end).map(|(number, item)| {
            let line = std::str::from_utf8(item).map_err(|_| not_utf8(&format!("stdin:{number}")))?;
            self.draft(&subject, format!("stdin:{number}"), Some(line))
        });
        items.collect()
    }

    /// The document of a task; `line` is what its templates are filled with.
    fn draft(&self, subject: &str, origin: String, line: Option<&str>) -> Result<Draft, Failure> {
        let plain = |text: &str| line.map_or_else(|| text.to_owned(), |line| template::fill(text, line));
        let command = |text: &str| line.map_or_else(|| text.to_owned(), |line| template::fill_command(text, line));
        let mut document = Document::default();
        if let Some(id) = &self.id {
            let id: TaskId = plain(id).parse().map_err(|e| Failure::Usage(format!("--id: {e}")))?;
            document.set("id", &id);
        }
        // A subject is one line.
        document.set("subject", &plain(subject).replace(['\n', '\r'], " "));
        let options = TaskOptions {
            description: self.options.description.as_deref().map(plain),
            run: self.options.run.as_deref().map(command),
            check: self.options.check.as_deref().map(command),
            ..self.options.clone()
        };
        // People read these first.
        if let Some(description) = &options.description {
            document.set("description", description);
        }
        document.set("status", &Status::Pending);
        options.keys().into_iter().for_each(|(key, value)| document.set_raw(key, value));
        if !self.blocked_by.is_empty() {
            document.set("blockedBy", &self.blocked_by);
        }
        Ok(Draft { text: document.compact(), origin })
    }
}

/// The drafts of a file with a document a line.
fn documents(file: &Path) -> Result<Vec<Draft>, Failure> {
    let bytes = read(file)?;
    let name = if file == OsStr::new("-") { "stdin".into() } else { file.display().to_string() };
    let lines = items(&bytes, b'\n').filter(|(_, line)| !line.trim_ascii().is_empty());
    let drafts = lines.map(|(number, line)| {
        let origin = format!("{name}:{number}");
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Draft { text: text.to_owned(), origin }),
            Err(_) => Err(not_utf8(&origin)),
        }
    });
    drafts.collect()
}

fn not_utf8(origin: &str) -> Failure {
    Failure::Refused { rule: board::Rule::NotValid.name(), message: format!("{origin}: it is not UTF-8, and tasks are; nothing was added") }
}

/// The pieces that end with a byte, with their numbers from 1; empty ones are passed over.
fn items(bytes: &[u8], end: u8) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(move |&byte| byte == end).enumerate().map(|(index, item)| (index + 1, item)).filter(|(_, item)| !item.is_empty())
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match file == OsStr::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => std::fs::File::open(file).and_then(|mut opened| opened.read_to_end(&mut bytes)).map(drop),
    };
    match read {
        Ok(()) => Ok(bytes),
        Err(e) => Err(Failure::Usage(format!("cannot read {}: {e}", file.display()))),
    }
}
