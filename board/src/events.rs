//! The activity log: what happens on this machine, one event a line, for people and for the feed.
//!
//! It may be lost in part and nothing else depends on it, so it is not synced, and it rotates: `events.jsonl` is the
//! present, `events.1.jsonl` what was before, and so on to [`KEPT`].

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::clock;
use crate::disk::{self, Dir};
use crate::error::Result;
use crate::lines::Lines;
use crate::lock::{LockFile, Mode, PATIENCE};

/// Above so many bytes the file makes room for a new one.
pub const LARGEST: u64 = 8 << 20;

/// So many older files are kept.
pub const KEPT: usize = 4;

const LOCK: &str = "events.lock";

/// The events of a run.
#[derive(Debug)]
pub struct Events {
    dir: Arc<Dir>,
    largest: u64,
}

impl Events {
    /// The events of a run, in the directory where its state is kept.
    pub fn of_run(state: Arc<Dir>) -> Events {
        Events { dir: state, largest: LARGEST }
    }

    /// Appends `{"ts":…,"event":what, …details}`. `details` is an object; its own `ts` and `event` are left out, and
    /// anything else than an object stands under `details`.
    pub fn tell(&self, what: &str, details: Value) -> Result<()> {
        let _held = LockFile::open(&self.dir, LOCK)?.lock(Mode::Exclusive, PATIENCE)?;
        let lines = Lines::open(&self.dir, &file(0))?;
        let torn = append(&lines, what, details)?;
        if !torn.is_empty() {
            append(&lines, "torn", of_torn(&file(0), &torn))?;
        }
        // Afterwards, since what is moved away then consists of whole lines.
        if lines.size()? > self.largest { self.rotate() } else { Ok(()) }
    }

    /// Tells that the last line of another log was torn, and is cut off now.
    pub fn torn(&self, file: &str, bytes: &[u8]) -> Result<()> {
        self.tell("torn", of_torn(file, bytes))
    }

    /// The last so many events, oldest first. A line that is no JSON comes as an event `malformed` with its text.
    pub fn last(&self, count: usize) -> Result<Vec<Value>> {
        let mut events = Vec::new();
        for lines in self.files()? {
            for line in lines.backwards()?.take(count - events.len()) {
                events.push(read(&line?));
            }
        }
        events.reverse();
        Ok(events)
    }

    /// The files, the present one first, none of them twice: they are opened while nobody moves them.
    fn files(&self) -> Result<Vec<Lines>> {
        let Some(lock) = LockFile::open_existing(&self.dir, LOCK)? else { return Ok(Vec::new()) };
        let _held = lock.lock(Mode::Shared, PATIENCE)?;
        (0..=KEPT).filter_map(|age| Lines::open_existing(&self.dir, &file(age)).transpose()).collect()
    }

    /// Moves each file to the next age. One that is missing, after a crash in the middle of this, is room enough.
    fn rotate(&self) -> Result<()> {
        let mut room = 1;
        while room < KEPT && self.dir.stat(&file(room))?.is_some() {
            room += 1;
        }
        self.dir.remove(&file(room))?;
        for age in (0..room).rev() {
            disk::rename_new(&self.dir, &file(age), &self.dir, &file(age + 1))?;
        }
        Ok(())
    }
}

/// The name of the file of that age; the present one has age 0.
fn file(age: usize) -> String {
    match age {
        0 => "events.jsonl".into(),
        age => format!("events.{age}.jsonl"),
    }
}

fn of_torn(file: &str, bytes: &[u8]) -> Value {
    serde_json::json!({ "file": file, "bytes": String::from_utf8_lossy(bytes) })
}

/// Appends an event; what was torn comes back.
fn append(lines: &Lines, what: &str, details: Value) -> Result<Vec<u8>> {
    let mut details = match details {
        Value::Object(details) => details,
        Value::Null => Map::new(),
        other => Map::from_iter([("details".to_owned(), other)]),
    };
    details.remove("ts");
    details.remove("event");
    // By hand, so that time and name come first, where people look.
    let mut line = format!("{{\"ts\":{},\"event\":{}", serde_json::json!(clock::now()), serde_json::json!(what)).into_bytes();
    for (key, value) in &details {
        line.extend(format!(",{}:{value}", serde_json::json!(key)).into_bytes());
    }
    line.push(b'}');
    lines.append_unsynced(&line)
}

fn read(line: &[u8]) -> Value {
    let malformed = || serde_json::json!({ "event": "malformed", "text": String::from_utf8_lossy(line) });
    serde_json::from_slice(line).unwrap_or_else(|_| malformed())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    fn events(largest: u64) -> (tempfile::TempDir, Events) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        (temp, Events { dir, largest })
    }

    fn numbers(events: &[Value]) -> Vec<u64> {
        events.iter().map(|event| event["n"].as_u64().unwrap()).collect()
    }

    #[test]
    fn an_event_is_a_line_that_begins_with_its_time_and_name() {
        let (temp, events) = events(LARGEST);
        assert!(events.last(3).unwrap().is_empty(), "nothing was told yet");
        events.tell("post", json!({ "text": "a\nb", "event": "mine", "ts": 1, "\"odd\"": [] })).unwrap();
        events.tell("bare", Value::Null).unwrap();
        events.tell("list", json!([1])).unwrap();
        let text = std::fs::read_to_string(temp.path().join("events.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.starts_with("{\"ts\":\"2"), "{text}");
        assert!(text.contains("Z\",\"event\":\"post\",\"\\\"odd\\\"\":[],\"text\":\"a\\nb\"}\n"), "{text}");
        let last = events.last(2).unwrap();
        assert_eq!((&last[0]["event"], &last[1]["event"], &last[1]["details"]), (&json!("bare"), &json!("list"), &json!([1])));
        let mode = std::fs::metadata(temp.path().join("events.jsonl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_torn_is_cut_off_and_told() {
        let (temp, events) = events(LARGEST);
        std::fs::write(temp.path().join("events.jsonl"), b"{\"n\":1}\n{\"n\":\xff").unwrap();
        events.tell("next", json!({ "n": 2 })).unwrap();
        events.torn("thread.jsonl", b"{\"seq").unwrap();
        let all = events.last(9).unwrap();
        let told: Vec<(&Value, &Value, &Value)> = all.iter().map(|event| (&event["event"], &event["file"], &event["bytes"])).collect();
        let (own, other) = (json!("events.jsonl"), json!("thread.jsonl"));
        let expected = [
            (&Value::Null, &Value::Null, &Value::Null),
            (&json!("next"), &Value::Null, &Value::Null),
            (&json!("torn"), &own, &json!("{\"n\":\u{fffd}")),
            (&json!("torn"), &other, &json!("{\"seq")),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_line_that_is_no_event_hides_no_other() {
        let (temp, events) = events(LARGEST);
        events.tell("one", json!({})).unwrap();
        let file = temp.path().join("events.jsonl");
        std::fs::write(&file, [std::fs::read(&file).unwrap(), b"nonsense\n".to_vec()].concat()).unwrap();
        events.tell("two", json!({})).unwrap();
        assert_eq!(events.last(2).unwrap()[0], json!({ "event": "malformed", "text": "nonsense" }));
    }

    #[test]
    fn large_files_make_room_and_the_oldest_goes() {
        let (temp, events) = events(1000);
        // Each event is longer than half of what a file may have, so that two fill one.
        for n in 1..=13_u64 {
            events.tell("n", json!({ "n": n, "long": "x".repeat(600) })).unwrap();
            let expected: Vec<u64> = (n.saturating_sub(2).max(1)..=n).collect();
            assert_eq!(numbers(&events.last(3).unwrap()), expected);
        }
        assert_eq!(numbers(&events.last(100).unwrap()), (5..=13).collect::<Vec<u64>>());
        let mut names: Vec<String> = std::fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["events.1.jsonl", "events.2.jsonl", "events.3.jsonl", "events.4.jsonl", "events.jsonl", "events.lock"]);
    }

    #[test]
    fn a_rotation_that_was_cut_short_loses_nothing() {
        let (temp, events) = events(1);
        for n in 1..=3 {
            events.tell("n", json!({ "n": n })).unwrap();
        }
        // Everything was moved but the present file: it still stands where it stood.
        for age in (1..=3).rev() {
            std::fs::rename(temp.path().join(file(age)), temp.path().join(file(age + 1))).unwrap();
        }
        std::fs::write(temp.path().join(file(0)), "{\"n\":4}\n").unwrap();
        assert_eq!(numbers(&events.last(9).unwrap()), [1, 2, 3, 4]);
        events.tell("n", json!({ "n": 5 })).unwrap();
        assert_eq!(numbers(&events.last(9).unwrap()), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn readers_and_writers_side_by_side_see_whole_events_in_order() {
        // Every event makes room, so that files are moved all the time.
        let (_temp, events) = events(1);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (1..=2000).try_for_each(|n| events.tell("n", json!({ "n": n }))));
            while !writer.is_finished() {
                let seen = numbers(&events.last(20).unwrap());
                assert!(seen.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seen:?}");
            }
            writer.join().unwrap().unwrap();
        });
        assert_eq!(numbers(&events.last(1).unwrap()), [2000]);
    }
}
