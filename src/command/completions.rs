//! `crew completions`.

use std::io::Write as _;

use clap_complete::Shell;

use crate::cli;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// What `crew completions --help` shows last.
const PLACES: &str = "\
Where the scripts go:
    crew completions bash > ~/.local/share/bash-completion/completions/crew
    crew completions zsh > _crew     (moved into a directory of $fpath)
    crew completions fish > ~/.config/fish/completions/crew.fish";

/// Print a script that completes crew's commands in a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = PLACES)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    shell: For,
}

/// The shells that are known.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum For {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let shell = match self.shell {
            For::Bash => Shell::Bash,
            For::Zsh => Shell::Zsh,
            For::Fish => Shell::Fish,
        };
        // It writes without a word about failures: into memory first.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut cli::definition(), "crew", &mut script);
        let mut out = context.out();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Exit::DONE)
    }
}
