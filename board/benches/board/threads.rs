//! A thread that has become long costs no more than a short one.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use board::disk::Dir;
use board::thread::{Draft, Thread};

use crate::ground::{Ground, PATIENCE};
use crate::measure::{Outcome, Pairs, Target, micros, timed};

/// Posts in one turn of a pair.
const BATCH: usize = 10;
const FEW: usize = 100;
const MANY: usize = 1_000_000;
const TEXT: &str = "The parser reads the new syntax now; the tests of the old one pass, and there are eleven for the new.";

struct Written {
    directory: PathBuf,
    thread: Thread,
    last: u64,
}

impl Written {
    /// A thread of so many posts, written as a run would have.
    fn of(ground: &Ground, posts: usize) -> Outcome<Written> {
        let directory = ground.directory()?;
        let mut file = std::io::BufWriter::new(std::fs::File::create(directory.join("thread.jsonl"))?);
        for seq in 1..=posts {
            writeln!(file, r#"{{"seq":{seq},"from":"alice","kind":"say","text":"{TEXT}","handoff":null,"ts":"2026-01-02T03:04:05Z","turn":"t-{seq}"}}"#)?;
        }
        file.into_inner()?.sync_all()?;
        let thread = Thread::of_run(Arc::new(Dir::open(&directory)?));
        Ok(Written { directory, thread, last: posts as u64 })
    }

    fn append(&mut self) -> Outcome<f64> {
        let taken = timed(|| {
            for _ in 0..BATCH {
                let draft = Draft { from: "alice".into(), text: TEXT.into(), turn: Some("t".into()), ..Draft::default() };
                self.last = self.thread.lock(PATIENCE)?.append(draft)?.post.seq;
            }
            Ok(())
        })?;
        Ok(taken / BATCH as f64)
    }

    /// What a turn shows: the last posts that are new.
    fn read_new(&self) -> Outcome<f64> {
        let taken = timed(|| {
            for _ in 0..BATCH {
                let new = self.thread.since(self.last - 8)?;
                if new.len() != 8 {
                    return Err(format!("8 posts are new, and {} were read", new.len()).into());
                }
            }
            Ok(())
        })?;
        Ok(taken / BATCH as f64)
    }
}

/// Appending, and reading what is new, at a million posts and at a hundred.
pub(crate) fn growth(ground: &Ground) -> Outcome<()> {
    let (mut few, mut many) = (Written::of(ground, FEW)?, Written::of(ground, MANY)?);
    let (mut appends, mut reads) = (Pairs::default(), Pairs::default());
    for _ in 0..100 {
        let of_few = few.append()?;
        appends.add(many.append()?, of_few);
        let of_few = few.read_new()?;
        reads.add(many.read_new()?, of_few);
    }
    appends.tell("a post appended, 1,000,000 posts : 100 posts", micros, Target::AtMost(1.2));
    reads.tell("the last 8 posts read, 1,000,000 posts : 100 posts", micros, Target::AtMost(1.2));
    for directory in [few.directory, many.directory] {
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}
