//! The thread: what everybody on the team says, one post a line, appended under a lock and never rewritten.
//!
//! Reading needs no lock and costs what is read, from the end. A post is on disk when [`LockedThread::append`] returns.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock;
use crate::crash;
use crate::disk::{self, Dir};
use crate::error::{Error, Refusal, Result, Rule};
use crate::events::Events;
use crate::lines::Lines;
use crate::lock::{Held, LockFile, Mode};
use crate::post::{Decision, Kind, Post};

/// The longest text of a post, in bytes.
pub const LONGEST_TEXT: usize = 64 << 10;

const FILE: &str = "thread.jsonl";
const LOCK: &str = "thread.lock";
/// Where the numbers of a thread that was begun anew go on from.
const BASE: &str = "thread.base";

/// A thread that can be read.
#[derive(Debug)]
pub struct Thread {
    dir: Arc<Dir>,
    file: String,
    /// Whether it is a run's, and not any file that somebody names.
    is_of_run: bool,
}

/// What is to be appended; its number and its time come with the append.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// A teammate, or `user`, `system` or `audit`.
    pub from: String,
    /// What it does; `None`: `say`.
    pub kind: Option<Kind>,
    /// What it says.
    pub text: String,
    /// Who is to speak next.
    pub handoff: Option<String>,
    /// The turn that it ends.
    pub turn: Option<String>,
    /// The task that the turn holds.
    pub task: Option<String>,
    /// On `work_done`: whether the work was found in the tree.
    pub credited: Option<bool>,
    /// The number of the post that it answers.
    pub re: Option<u64>,
    /// Of a gate or a proposal: the answer.
    pub decision: Option<Decision>,
    /// Of the user's: the id of the message in the inbox that it was.
    pub message: Option<String>,
}

/// What was appended.
#[derive(Debug)]
pub struct Appended {
    /// The post, as it stands in the thread.
    pub post: Post,
    /// What a writer had left that died in the middle of its append; it is gone now, and was told in the events.
    pub torn: Vec<u8>,
}

impl Thread {
    /// The thread of a run, in the directory where its state is kept.
    pub fn of_run(state: Arc<Dir>) -> Thread {
        Thread { dir: state, file: FILE.into(), is_of_run: true }
    }

    /// Any file that holds a thread, for reading.
    pub fn in_file(dir: Arc<Dir>, file: &str) -> Thread {
        Thread { dir, file: file.into(), is_of_run: false }
    }

    /// Its file: whoever waits for a post watches it.
    pub fn path(&self) -> PathBuf {
        self.dir.join(&self.file)
    }

    /// The posts after the one of that number, oldest first. Costs those posts, not the thread.
    ///
    /// An error names the line that is no post.
    pub fn since(&self, seq: u64) -> Result<Vec<Post>> {
        self.take_while(|post| post.seq > seq)
    }

    /// The post that ended a turn on a task, which was claimed at that moment; `None`: it has none yet.
    ///
    /// Costs the posts since the claim, and those of an hour before: clocks are put back now and then.
    pub fn of_turn(&self, turn: &str, claimed: Timestamp) -> Result<Option<Post>> {
        let earliest = claimed.saturating_sub(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MIN);
        Ok(self.back_to(earliest)?.into_iter().rev().find(|post| post.turn.as_deref() == Some(turn) && post.is_of_teammate()))
    }

    /// The posts that were appended at a moment or later, by the clock then, oldest first. Costs those posts.
    pub fn back_to(&self, earliest: Timestamp) -> Result<Vec<Post>> {
        self.take_while(|post| post.ts.is_none_or(|ts| ts >= earliest))
    }

    /// The last so many posts, oldest first.
    pub fn last(&self, count: usize) -> Result<Vec<Post>> {
        let mut left = count;
        self.take_while(|_| {
            let wanted = left > 0;
            left = left.saturating_sub(1);
            wanted
        })
    }

    /// Every post, oldest first. Costs the whole thread.
    pub fn all(&self) -> Result<Vec<Post>> {
        self.take_while(|_| true)
    }

    fn take_while(&self, mut wanted: impl FnMut(&Post) -> bool) -> Result<Vec<Post>> {
        let Some(lines) = Lines::open_existing(&self.dir, &self.file)? else { return Ok(Vec::new()) };
        let mut posts = Vec::new();
        for (line, behind) in lines.backwards()?.zip(0..) {
            let post = self.read(&lines, &line?, behind)?;
            if !wanted(&post) {
                break;
            }
            posts.push(post);
        }
        posts.reverse();
        Ok(posts)
    }

    /// Locks it for appending. The lock comes after the board's and before an inbox's.
    pub fn lock(&self, patience: Duration) -> Result<LockedThread<'_>> {
        let held = LockFile::open(&self.dir, LOCK)?.lock(Mode::Exclusive, patience)?;
        let lines = Lines::open(&self.dir, &self.file)?;
        Ok(LockedThread { thread: self, lines, _held: held })
    }

    /// The last post's number; before the first, that of the last post of the run before.
    pub fn last_seq(&self) -> Result<u64> {
        match self.last(1)?.pop() {
            Some(post) => Ok(post.seq),
            None => self.base(),
        }
    }

    /// Whether it has no line, of whatever kind.
    pub fn is_empty(&self) -> Result<bool> {
        let Some(lines) = Lines::open_existing(&self.dir, &self.file)? else { return Ok(true) };
        Ok(lines.backwards()?.next().transpose()?.is_none())
    }

    /// A number that no post is above, whatever some lines have become: that of the last post that can be read, and one
    /// more for each line behind it, which may have been a post.
    fn highest_seq(&self) -> Result<u64> {
        let mut behind = 0_u64;
        if let Some(lines) = Lines::open_existing(&self.dir, &self.file)? {
            for line in lines.backwards()? {
                if let Ok(post) = serde_json::from_slice::<Post>(&line?) {
                    return Ok(post.seq.saturating_add(behind));
                }
                behind += 1;
            }
        }
        Ok(self.base()?.saturating_add(behind))
    }

    /// A line as a post. `behind`: how many lines follow it.
    fn read(&self, lines: &Lines, line: &[u8], behind: u64) -> Result<Post> {
        serde_json::from_slice(line).map_err(|e| {
            let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
            // Counted only now: the thread is read from its end.
            let number = lines.count().map_or_else(|_| String::new(), |count| format!(":{}", count.saturating_sub(behind)));
            let instead = if self.is_of_run { ", or put the thread away with `crew new-run`" } else { "" };
            let message = format!("{}{number}: {shown:?} is no post: {e}; mend that line with an editor or take it out{instead}", lines.path().display());
            Refusal::board(Rule::NotValid, message)
        })
    }

    /// The number of the last post before this thread was begun: numbers go on over `crew new-run`.
    fn base(&self) -> Result<u64> {
        let text = self.dir.read(BASE)?.unwrap_or_default();
        Ok(std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0))
    }
}

/// The thread, while nobody else appends to it.
#[derive(Debug)]
pub struct LockedThread<'t> {
    thread: &'t Thread,
    lines: Lines,
    _held: Held,
}

impl LockedThread<'_> {
    /// The directory where it lies.
    pub(crate) fn dir(&self) -> &Arc<Dir> {
        &self.thread.dir
    }

    /// The posts after the one of that number.
    pub fn since(&self, seq: u64) -> Result<Vec<Post>> {
        self.thread.since(seq)
    }

    /// Moves the thread away, under another name in another directory, so that the next append begins a new one. The
    /// numbers go on. What it says does not matter: a thread that nobody can read is moved as well.
    pub fn archive(self, to: &Dir, name: &str) -> Result<()> {
        let last = self.thread.highest_seq()?;
        // First: numbers that are never used again do no harm, one that comes twice does.
        self.dir().replace(BASE, last.to_string().as_bytes(), 0o600, true)?;
        crash::point("archive.based");
        disk::rename_new(self.dir(), &self.thread.file, to, name)?;
        self.dir().sync()?;
        to.sync()
    }

    /// The last post; `None`: there is none yet.
    pub fn last(&self) -> Result<Option<Post>> {
        self.lines.backwards()?.next().map(|line| self.thread.read(&self.lines, &line?, 0)).transpose()
    }

    /// Appends a post under the next number and puts it on disk.
    pub fn append(&mut self, draft: Draft) -> Result<Appended> {
        if draft.text.len() > LONGEST_TEXT {
            let message = format!("the text has {} bytes, and a post has at most {LONGEST_TEXT}; put the rest into a file and name it", draft.text.len());
            return Err(Refusal::board(Rule::NotValid, message));
        }
        let Draft { from, kind, text, handoff, turn, task, credited, re, decision, message } = draft;
        let seq = self.last()?.map_or_else(|| self.thread.base(), |post| Ok(post.seq))? + 1;
        let post = Post { seq, from, kind: kind.unwrap_or(Kind::Say), text, handoff, ts: Some(clock::now()), turn, task, credited, re, decision, message };
        let line = serde_json::to_vec(&post).map_err(|e| Error::io("append to", self.lines.path(), std::io::Error::from(e)))?;
        let torn = self.lines.append(&line)?;
        crash::point("post.appended");
        if !torn.is_empty() {
            // The post stands, whether that can be told or not.
            let _ = Events::of_run(Arc::clone(&self.thread.dir)).torn(&self.thread.file, &torn);
        }
        Ok(Appended { post, torn })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn thread() -> (tempfile::TempDir, Thread) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        (temp, Thread::of_run(dir))
    }

    fn say(thread: &Thread, text: &str) -> Appended {
        thread.lock(PATIENCE).unwrap().append(Draft { from: "alice".into(), text: text.into(), ..Draft::default() }).unwrap()
    }

    #[test]
    fn numbers_only_grow_and_have_no_holes() {
        let (temp, thread) = thread();
        assert!(thread.all().unwrap().is_empty());
        for number in 1..=20 {
            assert_eq!(say(&thread, &format!("post {number}")).post.seq, number);
        }
        let seqs = |posts: Vec<Post>| posts.iter().map(|post| post.seq).collect::<Vec<_>>();
        assert_eq!(seqs(thread.all().unwrap()), (1..=20).collect::<Vec<_>>());
        assert_eq!(seqs(thread.since(17).unwrap()), [18, 19, 20]);
        assert_eq!(seqs(thread.last(2).unwrap()), [19, 20]);
        assert!(thread.since(20).unwrap().is_empty());

        // A crash in mid-append.
        let file = temp.path().join(FILE);
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() - 10]).unwrap();
        assert_eq!(seqs(thread.last(1).unwrap()), [19], "half a post is none");
        let appended = say(&thread, "again");
        assert_eq!(appended.post.seq, 20);
        assert!(appended.torn.starts_with(b"{\"seq\":20,"), "{:?}", String::from_utf8_lossy(&appended.torn));
    }

    #[test]
    fn writers_side_by_side_use_no_number_twice() {
        let (_temp, thread) = thread();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|n| drop(say(&thread, &n.to_string()))));
            }
        });
        assert_eq!(thread.all().unwrap().iter().map(|post| post.seq).collect::<Vec<_>>(), (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_too_long_or_no_post_is_refused_and_changes_nothing() {
        let (temp, thread) = thread();
        say(&thread, &"x".repeat(LONGEST_TEXT));
        let before = std::fs::read(temp.path().join(FILE)).unwrap();
        let long = Draft { from: "alice".into(), text: "x".repeat(LONGEST_TEXT + 1), ..Draft::default() };
        assert!(thread.lock(PATIENCE).unwrap().append(long).unwrap_err().is_refusal());
        assert_eq!(std::fs::read(temp.path().join(FILE)).unwrap(), before);

        std::fs::write(temp.path().join(FILE), b"{\"seq\":1,\"from\":\"alice\",\"kind\":\"shout\"}\n").unwrap();
        let error = thread.all().unwrap_err().to_string();
        assert!(error.contains("thread.jsonl:1: ") && error.contains("shout"), "{error}");
    }

    #[test]
    fn a_line_that_is_no_post_is_named_and_the_thread_can_be_put_away() {
        let (temp, thread) = thread();
        let away = Dir::open(temp.path()).unwrap().make_dir("away").unwrap();
        for (garbage, line) in [("GARBAGE\n", 3), ("\n\n\u{0}\n", 5)] {
            let first = say(&thread, "one").post.seq;
            say(&thread, "two");
            let file = temp.path().join(FILE);
            std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + garbage).unwrap();
            for error in [thread.last(1).unwrap_err(), thread.lock(PATIENCE).unwrap().append(Draft::default()).unwrap_err()] {
                let error = error.to_string();
                assert!(error.contains(&format!("thread.jsonl:{line}: ")) && error.contains("crew new-run"), "{error}");
            }
            assert!(!thread.is_empty().unwrap());
            thread.lock(PATIENCE).unwrap().archive(&away, &line.to_string()).unwrap();
            assert!(thread.is_empty().unwrap());
            assert_eq!(thread.last_seq().unwrap(), first + line - 1, "no number comes twice");
        }
        assert!(std::fs::read_to_string(temp.path().join("away/3")).unwrap().ends_with("}\nGARBAGE\n"));
        // A file that somebody names is no run's.
        let error = Thread::in_file(Arc::new(away), "3").all().unwrap_err().to_string();
        assert!(error.contains("3:3: ") && !error.contains("new-run"), "{error}");
    }
}
