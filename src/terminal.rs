//! What stdout and stderr are: how wide, and whether colours mean anything there.

use std::io::IsTerminal as _;

/// How many columns lines may have: `$COLUMNS`, else the terminal's. `None`: a pipe or a file, where nothing is cut.
pub(crate) fn width() -> Option<u16> {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.or_else(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col)).filter(|&columns| columns > 0)
}

/// Whether stdout shows colours: a terminal that can, and nobody said no.
pub(crate) fn colours() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    is_terminal() && !unwanted && !dumb
}

/// Whether stdout is a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}
