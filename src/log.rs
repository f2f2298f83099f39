//! What goes on below while a command works, as lines on stderr: in a teammate's log, or for the person who watches.

use std::io;

use tracing_subscriber::filter::LevelFilter;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// Every attempt, with its time: a teammate's log.
    Diary,
    /// What is not as it should be: beside a command's own words.
    Warnings,
}

/// Begins to tell, for the rest of this process.
pub(crate) fn begin(log: Log) {
    // A reader that went away must not end the work.
    let lines = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).with_target(false).log_internal_errors(false);
    // There is one already only where a process begins twice.
    let _ = match log {
        Log::Diary => lines.with_max_level(LevelFilter::INFO).try_init(),
        Log::Warnings => lines.with_max_level(LevelFilter::WARN).without_time().try_init(),
    };
}
