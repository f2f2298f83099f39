//! `crew mcp`: the crew's tools for a client that speaks the Model Context Protocol.

use std::io::IsTerminal as _;

use crate::context::{Acting, Context};
use crate::exit::{Exit, Failure};
use crate::mcp;

/// What `crew mcp --help` shows last.
const EXAMPLE: &str = "\
Example, in the configuration of a client:
    {\"mcpServers\": {\"crew\": {\"command\": \"crew\", \"args\": [\"-C\", \"/path/to/project\", \"mcp\", \"--as\", \"me\"]}}}";

/// Offer the team's tools to an MCP client, by standard input and output
///
/// Meant to be started by the client. Whoever is named with --as makes every call; no call can say another name. Within a
/// turn (CREW_TURN) the calls are that turn's, and after its post nothing but reading is done. Without one it is somebody at
/// a desk: reading, messages, memory and new tasks work at any time, claim_task claims like `crew claim`, and a post ends
/// what was claimed; without a claim it is the move of NAME in the thread, when it is NAME's turn.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Mcp {
    #[command(flatten)]
    acting: Acting,
}

impl Mcp {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let board = context.board()?;
        context.check_acting(&board, &self.acting.name)?;
        if std::io::stdin().is_terminal() {
            context.say("an MCP client is to speak here, not a person: put this command into its configuration; Ctrl-C ends it");
        }
        mcp::serve(board, self.acting.name, context.within()?)
    }
}
