//! `crew start`: begins the run.

use std::time::Duration;

use board::checkpoints::{Checkpoints, Restored};
use board::run::Run;

use crate::arming;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::run::roster::Profiles;
use crate::run::settings::Settings;
use crate::run::starting::{self, Started, Why};
use crate::run::{audit, daemon, servers, supervisor};
use crate::thinking;

/// Begin the run, or let it go on: turns in the thread, and tasks beside them
///
/// It goes on in the background, detached from this terminal. `crew status` says how it stands, `crew stop` ends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Start {
    /// Allow what the repository's files would run here, from now on, without asking
    #[arg(short, long)]
    yes: bool,

    /// Be the supervisor
    #[arg(long, hide = true)]
    supervisor: bool,

    /// Be the daemon
    #[arg(long, hide = true)]
    daemon: bool,

    /// Be an audit
    #[arg(long, hide = true, value_name = "ID")]
    audit: Option<String>,

    /// Be the process that has the MCP servers
    #[arg(long, hide = true)]
    servers: bool,

    /// How long that waits for somebody to need them
    #[arg(long, hide = true, value_name = "DURATION", default_value = "60s", value_parser = board::duration::parse)]
    idle: Duration,
}

impl Start {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        if self.servers {
            // A teammate starts it; it does nothing but for teammates.
            return servers::live(board, self.idle);
        }
        context.only_for_a_person(&board, "start")?;
        if self.supervisor {
            return supervisor::live(context);
        }
        if self.daemon {
            return daemon::live(context);
        }
        if let Some(id) = &self.audit {
            return audit::judge(context, id);
        }
        Settings::read(&mut board)?;
        arming::arm(&mut board, self.yes, "crew start")?;
        for profile in Profiles::default().read(board.place())? {
            thinking::check(board.place(), profile)?;
        }
        if let Some(Restored { before, .. }) = Checkpoints::of(board.place()).finish_restore()? {
            context.say(format!("a restore that was cut short is completed; what was there before is checkpoint {before}"));
        }
        let run = Run::of(board.place())?;
        let (word, state) = match starting::begin(&board, &run, Why::Person)? {
            Started::Now(state) => ("started", state),
            Started::Already(state) => ("at work already", state),
        };
        if board::tree::sha(board.place()).is_ok_and(|tree| tree.is_none()) {
            context.say("there is no git repository here: work is credited by exit codes alone, and there are no checkpoints; `git init` makes one");
        }
        match context.json {
            true => context.print(serde_json::json!({ "started": word == "started", "state": state.state.as_str() }))?,
            false => context.say(format!("the run is {word} ({}); `crew status` says how it stands", state.state)),
        }
        Ok(Exit::DONE)
    }
}
