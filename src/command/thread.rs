//! `crew thread`.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use board::disk::Dir;
use board::name::Name;
use board::post::Post;
use board::{run, thread};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::rules::scheduler::{self, Seat, Situation};
use crate::run::{next, roster};
use crate::view::escape;

/// Print what was said in the thread
///
/// One post after the other, oldest first; with --json one object a line, as the thread's file has it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Thread {
    /// Only posts after the one of that number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,

    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Next(Next),
}

/// Say who speaks next, and by which rule
///
/// Changes nothing. With --json {"next":NAME or null,"rule":1 to 6,"why":…}, and "warn" where a handoff was ignored.
/// Exit code 6: nobody speaks, for now.
#[derive(Debug, clap::Args)]
struct Next {
    /// Decide over the thread in FILE
    #[arg(long, value_name = "FILE", requires = "team")]
    thread: Option<PathBuf>,

    /// Decide among these teammates; by default those that have a file in .crew/teammates
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    team: Vec<Name>,
}

impl Thread {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        match self.what {
            Some(What::Next(next)) => next.run(context),
            None => print(context, &of_run(context, self.since)?),
        }
    }
}

impl Next {
    fn run(self, context: &Context) -> Result<Exit, Failure> {
        let next = match &self.thread {
            Some(file) => self.over(in_file(file)?, self.seats()),
            None => {
                let board = context.board()?;
                let roster = if self.team.is_empty() { roster::of(&board)? } else { self.seats() };
                if roster.is_empty() {
                    let profiles = board.place().profiles();
                    return Err(Failure::Usage(format!("nobody can take a turn: no file in {} has a `command`; name a team with --team", profiles.display())));
                }
                match run::Run::existing(board.place())? {
                    Some(run) => next::among(&run, &roster)?,
                    None => self.over(Vec::new(), roster),
                }
            }
        };
        if context.json {
            context.print(serde_json::json!(next))?;
        } else {
            next.warn.iter().for_each(|warn| context.say(warn));
            context.say(format!("{} (rule {})", next.why, next.rule));
            if let Some(name) = &next.next {
                context.print(name)?;
            }
        }
        Ok(if next.next.is_some() { Exit::DONE } else { Exit::NOTHING_TO_DO })
    }

    fn seats(&self) -> Vec<Seat> {
        self.team.iter().map(|name| Seat { name: name.to_string(), free: true, writes: true, limit: None }).collect()
    }

    fn over(&self, mut posts: Vec<Post>, roster: Vec<Seat>) -> scheduler::Next {
        for (post, place) in posts.iter_mut().zip(1..) {
            // A file may leave numbers out: then they count from 1.
            post.seq = if post.seq == 0 { place } else { post.seq };
        }
        posts.retain(|post| post.task.is_none());
        scheduler::next(Situation { posts: &posts, last_seq: &scheduler::last_seqs(&posts), roster: &roster })
    }
}

/// The run's posts after one of that number. Reading makes nothing: a project for which nothing was ever kept has none.
fn of_run(context: &Context, since: u64) -> Result<Vec<Post>, Failure> {
    Ok(run::Run::existing(context.board()?.place())?.map(|run| run.thread.since(since)).transpose()?.unwrap_or_default())
}

fn in_file(file: &Path) -> Result<Vec<Post>, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| Failure::Usage(format!("cannot read the thread {}: {why}", file.display()));
    if let Err(e) = std::fs::metadata(file) {
        return Err(unreadable(&e));
    }
    let name = file.file_name().and_then(OsStr::to_str).ok_or_else(|| unreadable(&"its name is no text"))?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(thread::Thread::in_file(Arc::new(Dir::open(parent)?), name).all()?)
}

fn print(context: &Context, posts: &[Post]) -> Result<Exit, Failure> {
    let mut out = context.out();
    for post in posts {
        match context.json {
            true => writeln!(out, "{}", escape::json(serde_json::json!(post).to_string()))?,
            false => writeln!(out, "{}", line(post))?,
        }
    }
    if posts.is_empty() && !context.json {
        context.say("nothing was said yet");
    }
    out.flush()?;
    Ok(Exit::DONE)
}

/// A post for people: who, what, to whom, and the text below.
fn line(post: &Post) -> String {
    let to = post.handoff.as_deref().map(|to| format!(" → {}", escape::line(to))).unwrap_or_default();
    let task = post.task.as_deref().map(|task| format!(" (task {})", escape::line(task))).unwrap_or_default();
    let uncredited = if post.credited == Some(false) { ", not credited" } else { "" };
    let text = escape::block(&post.text).replace('\n', "\n    ");
    format!("{} {} {}{uncredited}{to}{task}\n    {text}", post.seq, escape::line(&post.from), post.kind)
}
