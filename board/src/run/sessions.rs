//! The sessions that coding CLIs keep of their conversations: by teammate and provider, so that a process that begins
//! anew goes on where the last one was. A new run forgets them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::disk::Dir;
use crate::error::Result;
use crate::record::{Durable, Record};

/// A conversation that a CLI keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// As the CLI calls it.
    pub id: String,
    /// Where it was begun: some are found from there alone.
    pub dir: PathBuf,
    /// The CLI has made it shorter since its teammate was last told who it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compacted: bool,
    /// What the CLI has counted of it from its beginning, as far as that is in the ledger.
    #[serde(default)]
    pub counted: Counted,
}

/// What a conversation has taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counted {
    /// Tokens in (besides those of a cache), out, read from a cache, written to one.
    pub tokens: [u64; 4],
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

/// `sessions.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    /// By teammate, then by provider.
    #[serde(default)]
    sessions: BTreeMap<String, BTreeMap<String, Session>>,
}

/// The record.
#[derive(Debug)]
pub struct Sessions {
    record: Record<File>,
}

const FILE: &str = "sessions.json";

impl Sessions {
    pub(super) fn of(dir: Arc<Dir>) -> Sessions {
        Sessions { record: Record::of(dir, FILE, Durable::No) }
    }

    /// The last one of a teammate with a provider that was begun in that directory.
    pub fn last(&self, teammate: &str, provider: &str, dir: &Path) -> Result<Option<Session>> {
        let all = self.record.read()?.sessions;
        Ok(all.get(teammate).and_then(|of| of.get(provider)).filter(|session| session.dir == dir).cloned())
    }

    /// Says which one it is now; `None`: what there was is not to be gone on with.
    pub fn set(&self, teammate: &str, provider: &str, session: Option<&Session>) -> Result<()> {
        let known = |file: &File| file.sessions.get(teammate).and_then(|of| of.get(provider)).cloned();
        if known(&self.record.read()?).as_ref() == session {
            return Ok(());
        }
        self.record.update(|file| {
            let of = file.sessions.entry(teammate.to_owned()).or_default();
            match session {
                Some(session) => of.insert(provider.to_owned(), session.clone()),
                None => of.remove(provider),
            };
            file.sessions.retain(|_, of| !of.is_empty());
        })
    }

    /// Forgets all of them.
    pub fn forget(&self) -> Result<()> {
        self.record.update(|file| file.sessions.clear())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_by_teammate_and_provider_where_it_was_begun() {
        let temp = tempfile::tempdir().unwrap();
        let sessions = Sessions::of(Dir::open(temp.path()).map(Arc::new).unwrap());
        let session = |id: &str| Session { id: id.into(), dir: "/project".into(), compacted: false, counted: Counted::default() };
        let last = |who: &str, with: &str, dir: &str| sessions.last(who, with, Path::new(dir)).unwrap().map(|session| session.id);
        assert_eq!(last("alice", "claude-code", "/project"), None);
        sessions.set("alice", "claude-code", Some(&session("a"))).unwrap();
        sessions.set("alice", "codex", Some(&session("b"))).unwrap();
        sessions.set("bob", "codex", Some(&session("c"))).unwrap();
        assert_eq!(last("alice", "claude-code", "/project").as_deref(), Some("a"));
        assert_eq!(last("alice", "claude-code", "/elsewhere"), None);
        assert_eq!(last("bob", "claude-code", "/project"), None);
        sessions.set("alice", "claude-code", None).unwrap();
        sessions.set("bob", "claude-code", None).unwrap();
        assert_eq!(last("alice", "claude-code", "/project"), None);
        assert_eq!((last("alice", "codex", "/project").as_deref(), last("bob", "codex", "/project").as_deref()), (Some("b"), Some("c")));
        let written = std::fs::read_to_string(temp.path().join(FILE)).unwrap();
        assert!(written.contains("\"format\""), "{written}");
    }
}
