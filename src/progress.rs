//! How a batch shows what it does: a bar on a terminal, plain lines otherwise, objects with `--json`.

use std::io::{IsTerminal as _, Write as _};

use board::task::{Outcome, Status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use teammates::batch::{Count, Event};

use crate::view::escape;
use crate::view::left::{self, Left};

/// Progress of one batch, on stderr (with `--json` on stdout).
pub(crate) struct Progress {
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    Lines,
    Json,
}

impl Progress {
    /// Begins to show, with so many tasks to be done.
    pub(crate) fn begin(tasks: usize, json: bool) -> Progress {
        let shown = match (json, std::io::stderr().is_terminal()) {
            (true, _) => Shown::Json,
            (false, true) => Shown::Bar(bar(tasks)),
            (false, false) => Shown::Lines,
        };
        Progress { shown }
    }

    /// Shows an event.
    pub(crate) fn show(&mut self, event: &Event<'_>) {
        match &self.shown {
            Shown::Json => print_json(event),
            Shown::Lines => line(event).into_iter().for_each(|line| say(&line)),
            Shown::Bar(bar) => {
                match event {
                    Event::Began { task, subject, .. } => bar.set_message(format!("{task} {}", escape::cut(&escape::line(subject), 60))),
                    Event::Ended { status: Some(Status::Completed | Status::Failed), .. } => bar.inc(1),
                    _ => {}
                }
                // What went well needs no line of its own.
                let told = !matches!(event, Event::Ended { status: Some(Status::Completed), .. });
                if let Some(line) = line(event).filter(|_| told) {
                    bar.println(line);
                }
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    /// Says what came of it all, and what is left.
    pub(crate) fn summary(&self, count: &Count, left: &Left, interrupted: bool) {
        if matches!(self.shown, Shown::Json) {
            let Count { completed, failed, again, taken_away } = *count;
            return print_object(&json!({
                "event": "summary",
                "completed": completed,
                "failed": failed,
                "again": again,
                "takenAway": taken_away,
                "interrupted": interrupted,
                "left": left.objects(),
            }));
        }
        let begin = if interrupted { "interrupted: " } else { "" };
        let again = Some(count.again).filter(|again| *again > 0).map(|again| format!(", {} did not settle it", left::count(again, "attempt")));
        let taken_away = Some(count.taken_away).filter(|taken| *taken > 0).map(|taken| format!(", {taken} taken away"));
        say(&format!("{begin}{} completed, {} failed{}{}", count.completed, count.failed, again.unwrap_or_default(), taken_away.unwrap_or_default()));
        left.lines().iter().for_each(|line| say(&format!("  {line}")));
    }
}

fn bar(tasks: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(tasks as u64), ProgressDrawTarget::stderr_with_hz(10));
    // An invalid template would be a mistake in this line; the default style shows as much.
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style)
}

/// What is told of an event in a line; nothing of a beginning.
fn line(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Began { .. } => return None,
        Event::Returned(returned) => {
            let ended = match returned.ended {
                0 => String::new(),
                1 => ", 1 process of it ended".into(),
                many => format!(", {many} processes of it ended"),
            };
            {
                let now = if returned.status == Status::Pending { "to be done again".to_owned() } else { returned.status.to_string() };
                format!("{}: lost by {}, now {now}{ended}", returned.task, escape::line(&returned.by))
            }
        }
        Event::Ended { task, subject, ending, status } => {
            let why = ending.reason.as_deref().map(|why| format!(": {}", escape::line(why))).unwrap_or_default();
            let now = match status {
                Some(status) => format!("{} → {status}{why}", ending.outcome.as_str()),
                // It was cut short for that, and its reason says so.
                None if ending.outcome == Outcome::Released => format!("ended{why}"),
                None => format!("{}, but the task was taken away meanwhile{why}", ending.outcome.as_str()),
            };
            format!("{task}: {now} ({})", escape::cut(&escape::line(subject), 60))
        }
    })
}

fn print_json(event: &Event<'_>) {
    let object = match event {
        Event::Began { task, attempt, .. } => json!({ "event": "began", "task": task, "attempt": attempt }),
        Event::Returned(returned) => json!({ "event": "returned", "task": returned.task, "by": returned.by, "status": returned.status }),
        Event::Ended { task, ending, status, .. } => {
            json!({ "event": "ended", "task": task, "outcome": ending.outcome, "exit": ending.exit, "reason": ending.reason, "status": status })
        }
    };
    print_object(&object);
}

fn print_object(object: &Value) {
    // A reader that went away has what it wanted; the work goes on.
    let _ = std::io::stdout().write_all(format!("{}\n", escape::json(object.to_string())).as_bytes());
}

fn say(line: &str) {
    // Nobody to tell: stderr is closed.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
