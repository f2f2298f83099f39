//! The process that has a project's servers: it starts each once, for all teammates.
//!
//! It hears teammates of the project and nobody else: what a model runs in its shell is of the same user and may reach the
//! socket, and is not to command programs outside of its confinement. It runs what the teammates' config says, which they
//! have read, and nothing that it reads itself.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use board::disk::Dir;
use board::place::Place;
use board::run::Run;
use board::{Board, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_local};

use super::holding;
use super::meeting;
use super::server::{Means, Server};
use super::settings::Settings;
use super::wire::{Request, Said, Wish, line};
use crate::children::Children;

/// What a host is given from above.
pub struct Hosting<'a> {
    /// Whose servers they are.
    pub place: Place,
    /// What starts them.
    pub children: Children,
    /// It ends when nobody was connected for so long.
    pub idle: Duration,
    /// Whether the process of this number is a teammate.
    pub admits: &'a dyn Fn(u32) -> bool,
}

/// Whether a process is a teammate of a board.
pub fn is_teammate(board: &Board, pid: u32) -> bool {
    let process = board::alive::Process::of(pid);
    process.is_some_and(|process| board.records().is_ok_and(|records| records.iter().any(|(_, record)| record.process == process)))
}

/// Has the servers until `end`, or until nobody needs them. Within a `LocalSet`. `false`: another host is there.
pub async fn live(hosting: Hosting<'_>, end: impl Future<Output = ()>) -> Result<bool> {
    let Hosting { place, children, idle, admits } = hosting;
    let dir = Arc::new(Dir::make(place.state(), 0o700)?);
    let Some(_held) = meeting::take_place(&dir)? else { return Ok(false) };
    meeting::end_left(&dir);
    let groups = meeting::sign(&dir)?;
    let listener = meeting::listen(&dir).map_err(|source| board::Error::Io { action: "listen in", path: dir.path().to_owned(), source })?;
    let logs = Dir::make(&place.state().join("logs/servers"), 0o700)?;
    let (changed, mut changes) = mpsc::unbounded_channel();
    let means = Means { project: place.project().to_owned(), dir: Arc::clone(&dir), logs, children, groups, changed };
    let host = Rc::new(Host {
        means: Rc::new(means),
        run: Run::of(&place)?,
        servers: RefCell::default(),
        clients: watch::Sender::new(Vec::new()),
        ending: watch::Sender::new(false),
    });
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            Some(name) = changes.recv() => host.tell_all(&name),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => host.hear(stream, admits),
                Err(e) => {
                    tracing::warn!("a teammate cannot be heard: {e}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            () = host.nobody_for(idle) => if !host.is_held().await && !host.is_of_a_run() { break },
        }
    }
    meeting::vanish(&dir);
    drop(listener);
    host.end().await;
    Ok(true)
}

struct Host {
    means: Rc<Means>,
    run: Run,
    servers: RefCell<BTreeMap<Settings, Rc<Server>>>,
    /// What is to be told to each teammate that is connected.
    clients: watch::Sender<Vec<mpsc::UnboundedSender<String>>>,
    /// Whether nothing is begun any more.
    ending: watch::Sender<bool>,
}

impl Host {
    /// Begins to hear a teammate, if it is one.
    fn hear(self: &Rc<Self>, stream: UnixStream, admits: &dyn Fn(u32) -> bool) {
        let (read, mut write) = match refusal(&stream, admits) {
            None => stream.into_split(),
            Some(why) => {
                tracing::warn!("somebody is not heard: {why}");
                let _ = stream.try_write(line(&Said::Refused(why)).as_bytes());
                return;
            }
        };
        let (tell, mut told) = mpsc::unbounded_channel::<String>();
        let _ = tell.send(line(&Said::Hello));
        self.clients.send_modify(|clients| clients.push(tell.clone()));
        spawn_local(async move {
            while let Some(line) = told.recv().await {
                if write.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let host = Rc::clone(self);
        spawn_local(async move {
            let mut requests = Requests::default();
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                match serde_json::from_str(&line) {
                    Ok(request) => host.begin(request, &tell, &mut requests),
                    Err(e) => {
                        tracing::warn!("a teammate says what is not understood: {e}");
                        break;
                    }
                }
            }
            drop(requests);
            host.clients.send_modify(|clients| clients.retain(|client| !client.same_channel(&tell)));
        });
    }

    fn begin(self: &Rc<Self>, request: Request, tell: &mpsc::UnboundedSender<String>, requests: &mut Requests) {
        let Request { id, wish } = request;
        requests.0.retain(|_, request| !request.is_finished());
        let (server, call) = match wish {
            Wish::Cancel => {
                if let Some(request) = requests.0.remove(&id) {
                    request.abort();
                }
                return;
            }
            Wish::List { server } => (self.server(server), None),
            Wish::Call { server, tool, arguments } => (self.server(server), Some((tool, arguments))),
        };
        let (tell, mut ending) = (tell.clone(), self.ending.subscribe());
        let task = async move {
            let answer = async {
                match call {
                    None => server.list().await,
                    Some((tool, arguments)) => server.call(tool, arguments).await,
                }
            };
            let answer = tokio::select! {
                biased;
                _ = ending.wait_for(|ending| *ending) => return,
                answer = answer => answer,
            };
            let _ = tell.send(line(&Said::Answer { id, answer }));
        };
        requests.0.insert(id, spawn_local(task));
    }

    fn server(&self, settings: Settings) -> Rc<Server> {
        let mut servers = self.servers.borrow_mut();
        Rc::clone(servers.entry(settings.clone()).or_insert_with(|| Rc::new(Server::of(settings, Rc::clone(&self.means)))))
    }

    fn tell_all(&self, changed: &str) {
        let line = line(&Said::Changed(changed.to_owned()));
        self.clients.borrow().iter().for_each(|client| drop(client.send(line.clone())));
    }

    /// Waits until nobody was connected for so long.
    async fn nobody_for(&self, idle: Duration) {
        let mut clients = self.clients.subscribe();
        loop {
            let patience = if clients.borrow_and_update().is_empty() { idle } else { Duration::MAX };
            if tokio::time::timeout(patience, clients.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Whether a person is to see what one of the servers shows: a notice holds it.
    async fn is_held(&self) -> bool {
        let asks = self.run.asks.all().unwrap_or_default();
        for server in self.all() {
            if server.capability().is_some_and(|capability| holding::holder(&asks, capability).is_some()) && server.is_live().await {
                return true;
            }
        }
        false
    }

    /// Whether a run is at work: its teammates come and go, and what they have open in a browser stays.
    fn is_of_a_run(&self) -> bool {
        self.run.state.read().is_ok_and(|state| state.state.is_active() && state.is_alive())
    }

    async fn end(&self) {
        // A server that is just being started would be waited for.
        self.ending.send_replace(true);
        let ending: Vec<JoinHandle<()>> = self.all().into_iter().map(|server| spawn_local(async move { server.end().await })).collect();
        for server in ending {
            let _ = server.await;
        }
    }

    fn all(&self) -> Vec<Rc<Server>> {
        self.servers.borrow().values().cloned().collect()
    }
}

/// What a teammate has under way: it ends with the connection.
#[derive(Default)]
struct Requests(HashMap<u64, JoinHandle<()>>);

impl Drop for Requests {
    fn drop(&mut self) {
        self.0.values().for_each(JoinHandle::abort);
    }
}

/// Why whoever has connected is not heard.
fn refusal(stream: &UnixStream, admits: &dyn Fn(u32) -> bool) -> Option<String> {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(e) => return Some(format!("the system does not say who it is: {e}")),
    };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Some(format!("it is another user's, {}", peer.uid()));
    }
    match peer.pid().and_then(|pid| u32::try_from(pid).ok()) {
        Some(pid) if admits(pid) => None,
        Some(pid) => Some(format!("process {pid} is no teammate of this project")),
        None => Some("the system does not say which process it is".into()),
    }
}
