//! What a CLI prints, as it comes, and what follows from it.

use std::time::{Duration, Instant};

use board::run::{Counted, Session};
use tokio::time::Instant as Moment;

use super::Under;
use super::heard::Heard;
use super::lines::Lines;
use crate::clis::events::{self, Event};
use crate::process::{Ended, Ending, Running};
use crate::provider::{self, Delta, Usage};
use crate::thinking::Mind;
use crate::thinking::journal::Journal;

/// Between SIGTERM and SIGKILL: a CLI ends its own tools meanwhile.
const GRACE: Duration = Duration::from_secs(3);
/// How long it may take to end by itself after its post.
const AFTER_POST: Duration = Duration::from_secs(15);
/// How often it is looked whether there is a post, besides when a tool's result comes.
const LOOK: Duration = Duration::from_secs(2);
/// How long what it printed is waited for when it has ended: what it left running may hold its output open.
const LAST_LINES: Duration = Duration::from_millis(500);
/// What is shorter is no key, and may stand in any line.
const SHORTEST_KEY: usize = 8;
/// The longest id of a session, in bytes.
const LONGEST_ID: usize = 200;

impl Under<'_> {
    /// Listens until it has ended.
    pub(super) async fn listen(
        &self,
        running: Running,
        printed: &mut Lines,
        complained: &mut Lines,
        heard: &mut Heard,
        mind: &mut Mind,
        journal: &mut Journal,
    ) -> Result<Ended, String> {
        let (stop, stopped) = provider::cancel();
        let cancel = async {
            tokio::select! {
                () = self.go.cancel.cancelled() => {}
                () = stopped.cancelled() => {}
            }
        };
        let ending = Ending { timeout: None, grace: GRACE, keep: false };
        let mut waiting = std::pin::pin!(running.wait(ending, cancel));
        let mut posted: Option<Moment> = None;
        let mut ended: Option<Result<Ended, String>> = None;
        let mut last_lines = Moment::now();
        // Its streams, as long as somebody may still write to them.
        let (mut prints, mut complains) = (true, true);
        while ended.is_none() || ((prints || complains) && Moment::now() < last_lines) {
            let until = match (&ended, posted) {
                (Some(_), _) => last_lines,
                (None, Some(posted)) => posted + AFTER_POST,
                (None, None) => Moment::now() + LOOK,
            };
            let mut is_complaint = false;
            let line = tokio::select! {
                line = printed.next(), if prints => {
                    prints = line.is_some();
                    line
                }
                line = complained.next(), if complains => {
                    complains = line.is_some();
                    is_complaint = true;
                    line.map(|line| {
                        let line = String::from_utf8_lossy(&line).into_owned();
                        heard.complained(&line);
                        events::of_stderr(&line)
                    })
                }
                how = &mut waiting, if ended.is_none() => {
                    ended = Some(how.map_err(|e| e.to_string()));
                    last_lines = Moment::now() + LAST_LINES;
                    None
                }
                () = tokio::time::sleep_until(until) => {
                    match (&ended, posted) {
                        // What it left running holds its streams open.
                        (Some(_), _) => {}
                        (None, None) if self.has_post() => posted = Some(Moment::now()),
                        (None, None) if heard.gives_up(Instant::now()) => stop.cancel(),
                        (None, None) => {}
                        (None, Some(_)) => {
                            stop.cancel();
                            posted = Some(Moment::now());
                        }
                    }
                    None
                }
            };
            let Some(line) = line.map(|line| self.without_keys(line)) else { continue };
            for event in events::read(&self.agent.cli.events, &line) {
                // What its tools say gets to its standard error, too: once it has begun, that is no word on its beginning.
                if is_complaint && heard.began() && matches!(event, Event::NoSession | Event::NoTools(_)) {
                    continue;
                }
                if matches!(&event, Event::Result { .. }) && posted.is_none() && self.has_post() {
                    posted = Some(Moment::now());
                }
                self.heard(event, heard, mind, journal);
            }
            if heard.cannot_go_on() {
                stop.cancel();
            }
        }
        ended.unwrap_or_else(|| Err("it is not known how it ended".into()))
    }

    /// A line without the keys that it was given: vendors say which one they do not accept.
    fn without_keys(&self, line: Vec<u8>) -> Vec<u8> {
        let kept = self.agent.kept.iter().map(|(_, value)| value.as_str());
        let keys: Vec<&str> = self.agent.key.iter().map(|key| key.expose()).chain(kept).filter(|key| key.len() >= SHORTEST_KEY).collect();
        if keys.is_empty() {
            return line;
        }
        let text = String::from_utf8_lossy(&line);
        match keys.iter().any(|key| text.contains(key)) {
            true => keys.iter().fold(text.into_owned(), |text, key| text.replace(key, "[key]")).into_bytes(),
            false => line,
        }
    }

    fn heard(&self, event: Event, heard: &mut Heard, mind: &mut Mind, journal: &mut Journal) {
        let Under { thinker, go, agent, .. } = self;
        match &event {
            // What would be an option the next time is no id.
            Event::Session(id) if id.starts_with('-') || id.len() > LONGEST_ID => {}
            Event::Session(id) => {
                let goes_on = mind.session.as_ref().is_some_and(|session| session.id == *id);
                // Every line of some names it: it is written down once.
                if !(goes_on && heard.began()) {
                    match &mut mind.session {
                        // It was told again who it is with this turn.
                        Some(session) if goes_on => session.compacted = false,
                        other => *other = Some(Session { id: id.clone(), dir: self.dir.to_path_buf(), compacted: false, counted: Counted::default() }),
                    }
                    self.keep(mind.session.as_ref());
                }
            }
            Event::Compacted => {
                go.diary.note("its conversation was made shorter");
                if let Some(session) = &mut mind.session {
                    session.compacted = true;
                }
                self.keep(mind.session.as_ref());
            }
            Event::Said(text) => {
                go.diary.delta(Delta::Text(text));
                go.diary.delta(Delta::Text("\n"));
            }
            Event::Calls { name, input, .. } => {
                thinker.say(Some(name));
                go.diary.call(name, input);
            }
            Event::Result { id, text, is_error } => {
                thinker.say(Some(&agent.runner));
                if let Some(call) = heard.take_call(id) {
                    go.diary.result(&call.name, text, *is_error);
                    if !is_error && let Some(own) = agent.cli.own_tool(&call) {
                        journal.add(&own, text);
                    }
                }
            }
            Event::Used(used) => {
                let before = mind.session.as_ref().map(|session| session.counted).unwrap_or_default();
                let (new, counted) = used.after(before);
                if let Some(session) = &mut mind.session {
                    session.counted = counted;
                }
                self.keep(mind.session.as_ref());
                self.spent(&new, heard.since);
            }
            Event::Trouble(text) => {
                thinker.say(Some(&format!("{}: {text}", agent.runner)));
                go.diary.note(text);
            }
            Event::Failed { text, .. } if !text.is_empty() => go.diary.note(text),
            _ => {}
        }
        heard.add(event);
    }

    fn spent(&self, used: &events::Used, began: Instant) {
        let Under { thinker, go, agent, .. } = self;
        let [input, output, cache_read, cache_write] = used.tokens;
        let usage = Usage { input, output, cache_read, cache_write };
        if usage == Usage::default() && used.micro_usd.is_none() {
            return;
        }
        let spending = thinker.spending(&go.turn.at, (*agent).into());
        match used.micro_usd {
            #[allow(clippy::cast_precision_loss)] // exact up to 2^53
            Some(micro_usd) => spending.put_down_as(&usage, Some(micro_usd as f64 / 1e6), began),
            None => spending.put_down(&usage, began),
        }
    }
}
