//! `crew post`: a teammate's move.

use board::post::{Kind, USER};
use board::run::{Move, Run};
use board::task_id::TaskId;

use crate::context::{Acting, Context};
use crate::exit::{Exit, Failure};
use crate::run::lane_post::{self, Whence};
use crate::run::posting::{self, Shown};

/// Post in the thread: a teammate's move, which ends its turn. Prints the post's number
///
/// say        talk; with --handoff user a question, and the run stops until it is answered
/// work_done  the repository changed; the tree is what shows it
/// handoff    somebody else's turn: --handoff NAME
/// wait       something outside has to happen first; looked at again later
/// gate       an irreversible step needs an answer
/// done       the goal is reached: an audit accepts that, or says what is missing
///
/// Accepted once, from whoever holds the open turn; with --task, or inside a task, from whoever holds that task.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Post {
    #[command(flatten)]
    acting: Acting,

    /// What it does: say, work_done, handoff, wait, gate or done
    #[arg(long)]
    kind: Kind,

    /// Who is to speak next, or `user`
    #[arg(long, value_name = "NAME")]
    handoff: Option<String>,

    /// The task that the turn holds
    #[arg(long, env = "CREW_TASK_ID", value_name = "ID")]
    task: Option<TaskId>,

    /// The turn that it ends
    #[arg(long, env = "CREW_TURN", value_name = "ID", hide_env_values = true)]
    turn: Option<String>,

    /// What it says; `-`: what comes on standard input
    #[arg(default_value = "")]
    text: String,
}

impl Post {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let text = context.words(&self.text)?;
        self.check(&text)?;
        let mut board = context.board()?;
        context.check_acting(&board, &self.acting.name)?;
        let run = Run::of(board.place())?;
        let said = Move { kind: self.kind, text: text.trim_end().to_owned(), handoff: self.handoff, credited: None };
        let who = self.acting.name.as_str();
        let turn = self.turn.as_deref().filter(|turn| !turn.is_empty());
        let appended = match &self.task {
            Some(task) => lane_post::post(&mut board, &run, &self.acting.name, task, turn, said, whence(task))?,
            None => posting::post(board.place(), &run, who, turn, said, Shown::ByTree)?,
        };
        match context.json {
            true => context.print(serde_json::json!(appended.post))?,
            false => context.print(appended.post.seq)?,
        }
        Ok(Exit::DONE)
    }

    fn check(&self, text: &str) -> Result<(), Failure> {
        let usage = |message: &str| Err(Failure::Usage(message.to_owned()));
        if text.trim().is_empty() && self.kind != Kind::Handoff {
            return usage("a post says something: give it a text");
        }
        match (self.kind, self.handoff.as_deref()) {
            (Kind::Handoff, Some(USER)) => usage("a question to the user is `--kind say --handoff user`"),
            _ => Ok(()),
        }
    }
}

/// Whether somebody waits for a command to end of which this is part.
fn whence(id: &TaskId) -> Whence {
    let of_this_attempt = std::env::var_os("CREW_TASK_ID").is_some_and(|task| task == id.as_str()) && std::env::var_os("CREW_LOG_DIR").is_some();
    if of_this_attempt { Whence::Command } else { Whence::Shell }
}
