//! How far a wait is: a bar on a terminal, else a line now and then; nothing where data is wanted.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two lines.
const LINES: Duration = Duration::from_secs(30);

/// Progress of a wait, on stderr.
pub(crate) enum Countdown {
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere: what was said last, and when.
    Lines(usize, Instant),
    /// For scripts that read JSON.
    Silent,
}

impl Countdown {
    /// Begins to show.
    pub(crate) fn begin(json: bool) -> Countdown {
        match (json, std::io::stderr().is_terminal()) {
            (true, _) => Countdown::Silent,
            (false, true) => Countdown::Bar(bar()),
            (false, false) => Countdown::Lines(0, Instant::now()),
        }
    }

    /// So many of so many tasks are over.
    pub(crate) fn show(&mut self, over: usize, all: usize) {
        match self {
            Countdown::Bar(bar) => {
                bar.set_length(all as u64);
                bar.set_position(over as u64);
            }
            Countdown::Lines(said, at) => {
                if over != *said && at.elapsed() >= LINES {
                    (*said, *at) = (over, Instant::now());
                    // Nobody to tell: stderr is closed.
                    let _ = writeln!(std::io::stderr(), "{over} of {all} tasks are finished");
                }
            }
            Countdown::Silent => {}
        }
    }
}

impl Drop for Countdown {
    /// Takes the bar away, also when the wait is interrupted.
    fn drop(&mut self) {
        if let Countdown::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    // An invalid template would be a mistake in this line; the default style shows as much.
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} finished, {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style)
}
