//! How a turn of the thread is opened, and what has become of the one that is open.

use std::time::Duration;

use board::alive::Liveness;
use board::post::{Kind, Post};
use board::run::{Cursor, Ended, Move, OnlyWork, OpenTurn, Run, Silent};
use board::{Result, clock, turn};
use teammates::attempt::TRY_LATER;

use super::Daemon;
use crate::exit::Failure;
use crate::rules::planning;
use crate::run::PATIENCE;
use crate::run::posting::{self, Shown};

/// How long a turn that is to end may take before its teammate's process is killed.
const STOP_GRACE: Duration = Duration::from_secs(8);

/// So many looks by the clock, of which there is one every five seconds, a teammate has for taking its turn up.
const MOST_LOOKS: u32 = 24;

/// What has become of the open turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// There is none.
    None,
    /// It goes on.
    GoesOn,
    /// It has ended, and is closed.
    Closed,
}

/// How a turn ended.
enum End {
    Posted(u64),
    Silent(String),
    Lost(String),
    Limited(String),
    Stopped,
}

impl Daemon {
    /// Gives a turn to a teammate.
    pub(super) fn open_turn(&mut self, who: &str, planning: bool, only_work: Option<OnlyWork>) -> Result<()> {
        let taken = self.take_tree();
        let thread = self.run.thread.lock(PATIENCE)?;
        let turn = OpenTurn {
            turn: turn::fresh(),
            of: who.to_owned(),
            opened: clock::now(),
            after: self.window.last(),
            only_work,
            base: taken.state.clone(),
            shared: self.is_tree_shared(),
            planning,
            again: self.cut_short.remove(who),
            begun: None,
            ended: None,
            notice: None,
            refused: false,
            stop: None,
        };
        thread.set_open_turn(Some(&turn))?;
        drop(thread);
        self.tell("turn", serde_json::json!({ "who": who, "turn": turn.turn }));
        self.record(&taken);
        Ok(())
    }

    /// Looks after the open turn.
    pub(super) fn advance_turn(&mut self, new: &[Post], stop: bool) -> Result<Turn, Failure> {
        let Some(open) = self.run.open_turn()? else { return Ok(Turn::None) };
        let is_its = |post: &&Post| post.turn.as_ref() == Some(&open.turn);
        let posted = match new.iter().find(is_its) {
            // It may have been read before this process began.
            None if self.is_new => self.run.thread.since(open.after)?.iter().find(is_its).map(|post| post.seq),
            posted => posted.map(|post| post.seq),
        };
        if let Some(seq) = posted {
            self.close(&open, &End::Posted(seq))?;
            return Ok(Turn::Closed);
        }
        if let Some(ended) = &open.ended {
            return self.ended(&open, ended, stop);
        }
        if stop {
            return self.stop_turn(&open);
        }
        let shared = open.shared || self.is_tree_shared();
        if shared != open.shared {
            self.change_open(&open.turn, |turn| turn.shared = true)?;
        }
        if open.begun.is_none() && self.is_overdue(&open.turn) {
            self.close(&open, &End::Silent("it was not taken up; `crew logs` and the teammate's own log may say why".into()))?;
            return Ok(Turn::Closed);
        }
        Ok(Turn::GoesOn)
    }

    /// Whether a teammate works on a task at this moment. What a person has claimed by hand says nothing: it may lie for
    /// days.
    fn is_tree_shared(&self) -> bool {
        let claims = self.board.index().in_progress().filter_map(|id| self.board.read_task(id).ok()).filter_map(|(_, task)| task.claim);
        claims.into_iter().any(|claim| claim.process.is_some())
    }

    /// Whether a turn that nobody has taken up has been looked at often enough. Looks are counted, not time: a machine
    /// that was suspended has not looked.
    fn is_overdue(&mut self, turn: &str) -> bool {
        let (of, looks) = self.untaken.get_or_insert_with(|| (turn.to_owned(), 0));
        if of != turn {
            (*of, *looks) = (turn.to_owned(), 0);
        }
        *looks += u32::from(self.slept);
        *looks > MOST_LOOKS
    }

    /// Its command has ended, without a post as far as was read.
    fn ended(&mut self, open: &OpenTurn, ended: &Ended, stop: bool) -> Result<Turn, Failure> {
        if self.run.thread.since(self.window.last())?.iter().any(|post| post.turn.as_ref() == Some(&open.turn)) {
            // It did post, after the thread was read.
            return Ok(Turn::Closed);
        }
        let implied = match ended.exit {
            Some(0) => Kind::WorkDone,
            Some(TRY_LATER) => Kind::Wait,
            _ => {
                let end = match ended {
                    _ if stop || open.stop.is_some() => End::Stopped,
                    Ended { lost: true, how, .. } => End::Lost(how.clone()),
                    Ended { limited: true, how, .. } => End::Limited(how.clone()),
                    Ended { how, .. } => End::Silent(how.clone()),
                };
                if ended.exit.is_none() {
                    self.cut_short.insert(open.of.clone());
                }
                self.close(open, &end)?;
                return Ok(Turn::Closed);
            }
        };
        let text = match teammates::attempt::last_lines(&self.board.place().turn_log(&open.turn)) {
            said if said.is_empty() => ended.how.clone(),
            said => said,
        };
        // What says the same as the last time has done nothing new: an exit code alone would go on for ever.
        let says_the_same = self.window.posts.iter().rfind(|post| post.from == open.of).is_some_and(|last| last.text == text);
        let shown = if says_the_same || open.refused { Shown::ByTree } else { Shown::ByExit { writes: self.writes(&open.of)? } };
        let said = Move { kind: implied, text, handoff: None, credited: None };
        match posting::post(self.board.place(), &self.run, &open.of, Some(&open.turn), said, shown) {
            // It did post, just before it ended.
            Err(Failure::Board(e)) if matches!(&e, board::Error::Refused(refusal) if refusal.rule == board::Rule::SecondPost) => Ok(Turn::GoesOn),
            // What the turn does not accept is no move.
            Err(Failure::Board(e)) if e.is_refusal() => {
                self.close(open, &End::Silent(e.to_string()))?;
                Ok(Turn::Closed)
            }
            other => other.map(|_| Turn::GoesOn),
        }
    }

    fn writes(&mut self, who: &str) -> Result<bool, Failure> {
        let profiles = self.profiles.read(self.board.place())?;
        Ok(profiles.iter().find(|profile| profile.name.as_str() == who).is_none_or(|profile| profile.writes))
    }

    /// Ends it: its teammate is told, and killed when it does not listen.
    fn stop_turn(&mut self, open: &OpenTurn) -> Result<Turn, Failure> {
        let Some(begun) = &open.begun else {
            self.close(open, &End::Stopped)?;
            return Ok(Turn::Closed);
        };
        if open.stop.is_none() {
            self.change_open(&open.turn, |turn| turn.stop = Some("a person stopped the run".into()))?;
        }
        if self.stopping.get_or_insert_with(std::time::Instant::now).elapsed() > STOP_GRACE && begun.process.liveness() == Liveness::Alive {
            self.say(format!("{} does not end its turn; its process is killed", open.of));
            teammates::detach::end(&begun.process, teammates::detach::Force::Kill).map_err(crate::exit::start)?;
        }
        Ok(Turn::GoesOn)
    }

    /// A turn that nobody has taken up is none, when the run ends.
    pub(super) fn close_untaken(&self) -> Result<()> {
        let thread = self.run.thread.lock(PATIENCE)?;
        match thread.open_turn()? {
            Some(open) if open.begun.is_none() => thread.set_open_turn(None),
            _ => Ok(()),
        }
    }

    /// A planning turn has ended with that post.
    fn planned(&mut self, seq: u64) -> Result<()> {
        let Some(post) = self.run.thread.since(seq - 1)?.into_iter().next() else { return Ok(()) };
        // What was made just before the post may be newer than the last look.
        self.board.look()?;
        let proposed = [None, Some(seq)].into_iter().map(|number| self.board.proposed(number).len()).sum();
        match planning::outcome(&post, proposed) {
            planning::Outcome::Proposal => crate::run::planning::propose(&mut self.board, &self.run, &post),
            planning::Outcome::Over => self.change_state(|state| state.unplanned = true),
            planning::Outcome::GoesOn => Ok(()),
        }
    }

    fn change_open(&self, turn: &str, change: impl FnOnce(&mut OpenTurn)) -> Result<()> {
        let thread = self.run.thread.lock(PATIENCE)?;
        if let Some(mut open) = thread.open_turn()?.filter(|open| open.turn == turn) {
            change(&mut open);
            thread.set_open_turn(Some(&open))?;
        }
        Ok(())
    }

    /// Closes it. What it was shown is only passed on when it ended with a post.
    fn close(&mut self, open: &OpenTurn, end: &End) -> Result<()> {
        match end {
            End::Posted(seq) => {
                let seen = open.begun.as_ref().map_or(open.after, |begun| begun.seen);
                settle_cursor(&self.run, &open.of, seen, *seq)?;
                board::crash::point("turn.cursor");
                if open.planning {
                    self.planned(*seq)?;
                }
                let told = open.begun.as_ref().map(|begun| begun.answers.clone()).unwrap_or_default();
                if !told.is_empty() {
                    self.run.asks.change_all(|ask| {
                        if told.contains(&ask.id) {
                            ask.told_in.get_or_insert_with(|| open.turn.clone());
                        }
                    })?;
                }
                if self.state.silent.is_some() || self.state.lost.is_some() {
                    self.change_state(|state| (state.silent, state.lost) = (None, None))?;
                }
            }
            End::Silent(how) => {
                self.say(format!("the turn of {} ended with no post: {how}", open.of));
                self.tell("turn.silent", serde_json::json!({ "who": open.of, "turn": open.turn, "how": how }));
                self.change_state(|state| Silent::count(&mut state.silent, &open.of, &open.turn))?;
            }
            End::Lost(how) => {
                self.say(format!("the turn of {} is lost: {how}", open.of));
                self.tell("turn.lost", serde_json::json!({ "who": open.of, "turn": open.turn, "how": how }));
                self.change_state(|state| Silent::count(&mut state.lost, &open.of, &open.turn))?;
            }
            End::Limited(how) => self.tell("turn.limited", serde_json::json!({ "who": open.of, "turn": open.turn, "how": how })),
            End::Stopped => self.tell("turn.stopped", serde_json::json!({ "who": open.of, "turn": open.turn })),
        }
        self.stopping = None;
        self.run.thread.lock(PATIENCE)?.set_open_turn(None)
    }
}

/// Moves a teammate's cursor on, never back.
fn settle_cursor(run: &Run, who: &str, seen: u64, spoke: u64) -> Result<()> {
    run.cursors.update(|cursors| {
        let cursor = cursors.teammates.entry(who.to_owned()).or_default();
        *cursor = Cursor { seen: cursor.seen.max(seen), spoke: cursor.spoke.max(spoke) };
    })
}
