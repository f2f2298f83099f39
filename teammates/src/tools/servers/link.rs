//! A teammate's connection to the host of the servers. It lasts: while it is there, the host does not end.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use board::disk::Dir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::meeting;
use super::wire::{Got, Request, Said, Wish, line};
use crate::children::Children;
use crate::detach;

/// How long a host may take to begin: one that ends takes some seconds to end its servers.
const BEGIN: Duration = Duration::from_secs(20);
/// Between two tries to reach it, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// What it says beside its answers.
const LOG: &str = "servers.log";

/// How a host is started.
#[derive(Debug, Clone)]
pub struct HostCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// The connection, made when it is needed.
pub(super) struct Link {
    dir: Arc<Dir>,
    command: HostCommand,
    children: Children,
    open: tokio::sync::Mutex<Option<Arc<Open>>>,
}

/// One that is there, or was.
struct Open {
    tell: mpsc::UnboundedSender<String>,
    heard: Arc<Mutex<Heard>>,
    next: AtomicU64,
    tasks: [JoinHandle<()>; 2],
}

#[derive(Default)]
struct Heard {
    /// Those who wait for an answer; `None`: nothing is heard any more.
    waiting: Option<HashMap<u64, oneshot::Sender<Result<Got, String>>>>,
    changed: BTreeSet<String>,
}

/// Why there is no connection.
enum NotOpen {
    /// Nobody listens.
    Nobody(io::Error),
    /// The host does not want to hear this process.
    Refused(String),
}

impl Link {
    pub(super) fn of(dir: Arc<Dir>, command: HostCommand, children: Children) -> Link {
        Link { dir, command, children, open: tokio::sync::Mutex::default() }
    }

    /// Asks for something. Dropping this takes it back.
    pub(super) async fn ask(&self, wish: Wish) -> Result<Got, String> {
        let open = self.open().await?;
        let id = open.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let lost = || "the process that has the MCP servers ended meanwhile: whether this was done is not known; the next call starts it again".to_owned();
        open.heard().waiting.as_mut().ok_or_else(lost)?.insert(id, answer);
        let _asking = Asking { open: &open, id };
        let _ = open.tell.send(line(&Request { id, wish }));
        answered.await.unwrap_or_else(|_| Err(lost()))
    }

    /// The servers that have begun anew since this was last asked; `None`: all of them, for there is no connection.
    pub(super) async fn take_changed(&self) -> Option<BTreeSet<String>> {
        let open = self.open.lock().await;
        let mut heard = open.as_ref()?.heard();
        heard.waiting.as_ref()?;
        Some(std::mem::take(&mut heard.changed))
    }

    async fn open(&self) -> Result<Arc<Open>, String> {
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_ref().filter(|open| open.heard().waiting.is_some()) {
            return Ok(Arc::clone(open));
        }
        let (since, mut pause) = (Instant::now(), FIRST_PAUSE);
        let mut host: Option<std::process::Child> = None;
        loop {
            let why = match Open::connect(&self.dir).await {
                Ok(new) => return Ok(Arc::clone(open.insert(Arc::new(new)))),
                Err(NotOpen::Refused(why)) => return Err(format!("the process that has the MCP servers does not hear this one: {why}")),
                Err(NotOpen::Nobody(e)) => e,
            };
            if since.elapsed() > BEGIN {
                return Err(format!("the process that has the MCP servers does not begin ({why}); its log is {}", self.dir.join(LOG).display()));
            }
            // One that ends at once has found another.
            if host.as_mut().is_none_or(|host| !matches!(host.try_wait(), Ok(None))) {
                host = Some(self.start()?);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn start(&self) -> Result<std::process::Child, String> {
        let failed = |e: &dyn std::fmt::Display| format!("the process that has the MCP servers cannot be started: {e}");
        let log = self.dir.open_append(LOG, 0o600).map_err(|e| failed(&e))?;
        let host = detach::start(&self.command.program, &self.command.arguments, &log).map_err(|e| failed(&e))?;
        // It is for all teammates, and outlives this one.
        self.children.spare(host.id());
        Ok(host)
    }
}

impl Open {
    async fn connect(dir: &Dir) -> Result<Open, NotOpen> {
        let stream: UnixStream = meeting::connect(dir).await.map_err(NotOpen::Nobody)?;
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        // One that ends just now accepts nobody any more, and its socket is closed.
        let first = tokio::time::timeout(BEGIN, lines.next_line()).await.map_err(|e| NotOpen::Nobody(e.into()))?;
        let first = first.map_err(NotOpen::Nobody)?.ok_or_else(|| NotOpen::Nobody(io::ErrorKind::UnexpectedEof.into()))?;
        match serde_json::from_str(&first) {
            Ok(Said::Hello) => {}
            Ok(Said::Refused(why)) => return Err(NotOpen::Refused(why)),
            Ok(_) | Err(_) => return Err(NotOpen::Refused("it is another version".into())),
        }
        let heard = Arc::new(Mutex::new(Heard { waiting: Some(HashMap::new()), ..Heard::default() }));
        let (tell, mut told) = mpsc::unbounded_channel::<String>();
        let writing = tokio::spawn(async move {
            while let Some(line) = told.recv().await {
                if write.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let hears = Arc::clone(&heard);
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(said) = serde_json::from_str(&line) else { break };
                hear(&mut lock(&hears), said);
            }
            lock(&hears).waiting = None;
        });
        Ok(Open { tell, heard, next: AtomicU64::new(1), tasks: [writing, reading] })
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }
}

fn hear(heard: &mut Heard, said: Said) {
    match said {
        Said::Answer { id, answer } => {
            if let Some(waits) = heard.waiting.as_mut().and_then(|waiting| waiting.remove(&id)) {
                let _ = waits.send(answer);
            }
        }
        Said::Changed(name) => drop(heard.changed.insert(name)),
        Said::Hello | Said::Refused(_) => {}
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Open {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A request under way. Dropped before its answer came, the host is told.
struct Asking<'a> {
    open: &'a Open,
    id: u64,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let waited = self.open.heard().waiting.as_mut().and_then(|waiting| waiting.remove(&self.id));
        if waited.is_some() {
            let _ = self.open.tell.send(line(&Request { id: self.id, wish: Wish::Cancel }));
        }
    }
}
