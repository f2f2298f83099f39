//! Messages to a teammate: one file a recipient, appended under a lock, consumed when the turn that read them ends.
//!
//! What a message says is data: it grants nothing, approves nothing and ends nobody. Requests of the harness
//! (shutdown) travel the same way and are answered by the harness, never by what the teammate is.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::{self, Dir};
use crate::error::Result;
use crate::lock::{LockFile, Mode};
use crate::name::Name;
use crate::post::USER;
use crate::turn;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Who sent it: a teammate or `user`.
    pub from: String,
    /// To whom.
    pub to: String,
    /// When.
    pub at: Timestamp,
    /// What it is: words, or a request that the harness answers.
    pub kind: Kind,
    /// The words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Of the user to the run: the thread's last number when it was sent. The post that it becomes comes after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Words, for the teammate.
    Say,
    /// A request to end, for its harness.
    Shutdown,
}

/// What waits in an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// In the order of their sending.
    pub messages: Vec<Message>,
    /// Ids of messages that a turn read which was cut short.
    pub again: Vec<String>,
    /// Lines that are no messages; they were set aside in `<name>.malformed`.
    pub malformed: usize,
}

/// How long an inbox's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A teammate's inbox.
#[derive(Debug)]
pub struct Inbox {
    dir: Arc<Dir>,
    name: String,
    lock: Arc<LockFile>,
}

impl Inbox {
    /// Opens an inbox, making it where it is missing.
    pub fn open(dir: Arc<Dir>, name: &Name) -> Result<Inbox> {
        Inbox::named(dir, name.as_str())
    }

    /// The inbox of what the user says to the run: no teammate can bear that name.
    pub fn of_user(dir: Arc<Dir>) -> Result<Inbox> {
        Inbox::named(dir, USER)
    }

    fn named(dir: Arc<Dir>, name: &str) -> Result<Inbox> {
        let lock = LockFile::open(&dir, &format!("{name}.lock"))?;
        Ok(Inbox { dir, name: name.to_owned(), lock })
    }

    fn file(&self) -> String {
        format!("{}.jsonl", self.name)
    }

    /// Sends a message; returns its id. On disk when this returns.
    pub fn send(&self, from: &str, kind: Kind, text: &str, now: Timestamp) -> Result<String> {
        self.put(Message { id: turn::fresh(), from: from.to_owned(), to: self.name.clone(), at: now, kind, text: text.to_owned(), after: None })
    }

    /// Sends what the user says to the run. `after`: the thread's last number now.
    pub fn send_to_run(&self, text: &str, after: u64, now: Timestamp) -> Result<String> {
        let (id, to) = (turn::fresh(), self.name.clone());
        self.put(Message { id, from: USER.into(), to, at: now, kind: Kind::Say, text: text.to_owned(), after: Some(after) })
    }

    fn put(&self, message: Message) -> Result<String> {
        let mut line = serde_json::to_vec(&message).unwrap_or_default();
        line.push(b'\n');
        let _held = self.lock.lock(Mode::Exclusive, PATIENCE)?;
        let (file, path) = (self.dir.open_record(&self.file(), 0o600)?, self.dir.join(&self.file()));
        let size = disk::stamp(&file, &path)?.size;
        let mut last = [b'\n'];
        if size > 0 {
            disk::read_at(&file, &path, &mut last, size - 1)?;
        }
        // A writer that died in mid-append left half a line: it becomes a malformed one of its own.
        if last != *b"\n" {
            line.insert(0, b'\n');
        }
        disk::write_at(&file, &path, &line, size)?;
        disk::sync_file(&file, &path)?;
        Ok(message.id)
    }

    /// Whether anything waits. Costs one look at the file's size.
    pub fn is_empty(&self) -> bool {
        self.dir.stat(&self.file()).ok().flatten().is_none_or(|(_, stamp)| stamp.size == 0)
    }

    /// What waits. Messages that are read stay until [`Inbox::consume`]; `turn` marks them, so that after a cut they
    /// come again and say so.
    pub fn read(&self, turn: Option<&str>) -> Result<Waiting> {
        let _held = self.lock.lock(Mode::Exclusive, PATIENCE)?;
        let bytes = self.dir.read(&self.file())?.unwrap_or_default();
        let (mut waiting, mut malformed) = (Waiting::default(), Vec::new());
        for line in bytes.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match serde_json::from_slice::<Message>(line) {
                Ok(message) if message.to == self.name => waiting.messages.push(message),
                _ => malformed.push(line),
            }
        }
        if !malformed.is_empty() {
            waiting.malformed = malformed.len();
            self.set_aside(&malformed)?;
            self.write(&waiting.messages)?;
        }
        let marked = self.dir.read(&self.read_by())?.unwrap_or_default();
        let marked: Vec<String> = serde_json::from_slice(&marked).unwrap_or_default();
        waiting.again = waiting.messages.iter().map(|message| message.id.clone()).filter(|id| marked.contains(id)).collect();
        if turn.is_some() && !waiting.messages.is_empty() {
            let ids: Vec<&str> = waiting.messages.iter().map(|message| message.id.as_str()).collect();
            self.dir.replace(&self.read_by(), &serde_json::to_vec(&ids).unwrap_or_default(), 0o600, false)?;
        }
        Ok(waiting)
    }

    /// Takes out messages that were read: the turn that read them has ended.
    pub fn consume(&self, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let _held = self.lock.lock(Mode::Exclusive, PATIENCE)?;
        let bytes = self.dir.read(&self.file())?.unwrap_or_default();
        let lines = bytes.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice::<Message>(line).ok());
        let left: Vec<Message> = lines.filter(|message| !ids.contains(&message.id)).collect();
        self.write(&left)
    }

    fn read_by(&self) -> String {
        format!("{}.read", self.name)
    }

    fn write(&self, messages: &[Message]) -> Result<()> {
        let mut text = Vec::new();
        for message in messages {
            text.extend(serde_json::to_vec(message).unwrap_or_default());
            text.push(b'\n');
        }
        self.dir.replace(&self.file(), &text, 0o600, true)
    }

    fn set_aside(&self, lines: &[&[u8]]) -> Result<()> {
        let name = format!("{}.malformed", self.name);
        let (file, path) = (self.dir.open_record(&name, 0o600)?, self.dir.join(&name));
        let size = disk::stamp(&file, &path)?.size;
        let mut text = lines.join(&b'\n');
        text.push(b'\n');
        disk::write_at(&file, &path, &text, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order_and_again_after_a_cut() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        let inbox = Inbox::open(Arc::clone(&dir), &Name::new("bob").unwrap()).unwrap();
        assert!(inbox.is_empty());
        let now = crate::clock::now();
        let first = inbox.send("user", Kind::Say, "one\ntwo", now).unwrap();
        inbox.send("alice", Kind::Say, "three", now).unwrap();
        let waiting = inbox.read(Some("t1")).unwrap();
        assert_eq!(waiting.messages.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(), ["one\ntwo", "three"]);
        assert!(waiting.again.is_empty());
        assert_eq!(inbox.read(Some("t2")).unwrap().again.len(), 2, "the turn that read them was cut short");
        inbox.consume(&[first]).unwrap();
        assert_eq!(inbox.read(None).unwrap().messages.len(), 1);
    }

    #[test]
    fn what_is_no_message_is_set_aside_and_the_rest_delivered() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(temp.path()).unwrap());
        let inbox = Inbox::open(Arc::clone(&dir), &Name::new("bob").unwrap()).unwrap();
        std::fs::write(temp.path().join("bob.jsonl"), "{\"id\":\"half").unwrap();
        inbox.send("user", Kind::Say, "whole", crate::clock::now()).unwrap();
        let waiting = inbox.read(None).unwrap();
        assert_eq!((waiting.messages.len(), waiting.malformed), (1, 1));
        assert_eq!(inbox.read(None).unwrap().malformed, 0);
        assert_eq!(std::fs::read_to_string(temp.path().join("bob.malformed")).unwrap(), "{\"id\":\"half\n");
    }
}
