//! One server, as its host has it: started at the first wish for it, and again when it has died.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::disk::{self, Dir};
use board::turn;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientRequest, Implementation, RequestId,
    ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RoleClient, RunningService};
use rmcp::{ClientHandler, Peer, ServiceError, ServiceExt as _};
use serde_json::{Map, Value};
use tokio::net::unix::pipe;
use tokio::sync::{Mutex, mpsc};

use super::process::Process;
use super::settings::Settings;
use super::wire::{Got, Offered};
use super::words;
use crate::children::Children;
use crate::process::Spawn;

/// How long a server may take to begin.
const BEGIN: Duration = Duration::from_secs(30);
/// So much longer than its answer may take, it may take to read what it is told.
const READS: Duration = Duration::from_secs(2);
/// The pauses before it is started again: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// One that has lived so long has not died of its beginning.
const LONG: Duration = Duration::from_secs(60);
/// A log that is longer begins anew with the next start.
const LONGEST_LOG: u64 = 1 << 20;

/// What its host gives each server.
pub(super) struct Means {
    pub(super) project: PathBuf,
    /// The state directory.
    pub(super) dir: Arc<Dir>,
    /// Where servers' logs are.
    pub(super) logs: Dir,
    pub(super) children: Children,
    /// Where servers record their process groups.
    pub(super) groups: File,
    /// Is told the name of a server that has begun anew, or has other tools now.
    pub(super) changed: mpsc::UnboundedSender<String>,
}

/// A server.
pub(super) struct Server {
    settings: Settings,
    means: Rc<Means>,
    standing: Mutex<Standing>,
}

#[derive(Default)]
struct Standing {
    live: Option<Live>,
    /// How often in a row it has died young, or not begun.
    troubles: u32,
    /// Not before is it started again.
    again: Option<Instant>,
    /// Why it did not begin the last time.
    failed: Option<String>,
    was_there: bool,
}

/// One that runs.
struct Live {
    service: RunningService<RoleClient, Hearing>,
    since: Instant,
    process: Process,
}

/// What is heard of a server besides its answers.
struct Hearing {
    name: String,
    changed: mpsc::UnboundedSender<String>,
}

impl ClientHandler for Hearing {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("crew", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.changed.send(self.name.clone());
    }
}

impl Server {
    /// One that is not started yet.
    pub(super) fn of(settings: Settings, means: Rc<Means>) -> Server {
        Server { settings, means, standing: Mutex::default() }
    }

    /// The capability of those who may use it.
    pub(super) fn capability(&self) -> Option<&str> {
        self.settings.capability.as_deref()
    }

    /// Its tools.
    pub(super) async fn list(&self) -> Result<Got, String> {
        let peer = self.peer().await?;
        let limit = self.settings.timeout;
        let tools = match tokio::time::timeout(limit, peer.list_all_tools()).await {
            Ok(tools) => tools.map_err(|e| self.said(&format!("does not tell its tools: {e}")))?,
            Err(_) => return Err(self.said(&format!("did not tell its tools within {}", board::duration::print(limit)))),
        };
        let offered = |tool: rmcp::model::Tool| Offered {
            description: tool.description.map(Into::into).or(tool.title).unwrap_or_default(),
            schema: Value::Object(Arc::unwrap_or_clone(tool.input_schema)),
            only_reads: tool.annotations.is_some_and(|hints| hints.read_only_hint == Some(true)),
            name: tool.name.into(),
        };
        Ok(Got::Tools(tools.into_iter().map(offered).collect()))
    }

    /// Calls a tool. Dropping this tells the server that nobody waits any more.
    pub(super) async fn call(&self, tool: String, arguments: Map<String, Value>) -> Result<Got, String> {
        let peer = self.peer().await?;
        let limit = self.settings.timeout;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new(tool.clone()).with_arguments(arguments)));
        let lost = |e: ServiceError| match e {
            ServiceError::Timeout { .. } => self.said(&format!(
                "did not answer {tool:?} within {}; it was told to leave it, and what it did until then is not known",
                board::duration::print(limit)
            )),
            ServiceError::McpError(e) => self.said(&format!("refuses the call: {}", e.message)),
            e => self.said(&format!("ended while it ran {tool:?} ({e}): whether that was done is not known; the next call starts it again")),
        };
        let answered = async {
            let handle = peer.send_cancellable_request(request, PeerRequestOptions::with_timeout(limit)).await?;
            let mut underway = Underway { peer, id: Some(handle.id.clone()) };
            let answer = handle.await_response().await;
            underway.id = None;
            answer
        };
        let Ok(answer) = tokio::time::timeout(limit + READS, answered).await else {
            self.end().await;
            return Err(self.said(&format!(
                "does not even read what it is told: {tool:?} was not run, or not to its end; it is ended, and the next call starts it again"
            )));
        };
        match answer.map_err(lost)? {
            ServerResult::CallToolResult(result) => {
                let (text, is_error) = words::result(&result);
                Ok(Got::Result { text, is_error })
            }
            _ => Err(self.said(&format!("answered {tool:?} with something else than a result, such as a question to a person"))),
        }
    }

    /// Whether it runs now.
    pub(super) async fn is_live(&self) -> bool {
        self.standing.lock().await.live.as_ref().is_some_and(Live::is_alive)
    }

    /// Ends it.
    pub(super) async fn end(&self) {
        if let Some(live) = self.standing.lock().await.live.take() {
            live.end().await;
        }
    }

    /// What speaks to it; it is started where it does not run.
    async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut standing = self.standing.lock().await;
        if let Some(live) = standing.live.as_ref().filter(|live| live.is_alive()) {
            return Ok(live.service.peer().clone());
        }
        if let Some(died) = standing.live.take() {
            standing.troubles = if died.since.elapsed() > LONG { 0 } else { standing.troubles + 1 };
            standing.again = Some(Instant::now() + pause(standing.troubles));
            tracing::warn!("{}; it is started again", self.said(&died.end().await));
        }
        let early = standing.again.map(|again| again.saturating_duration_since(Instant::now())).unwrap_or_default();
        match &standing.failed {
            // Every turn of every teammate asks; none is to wait for what does not begin.
            Some(why) if !early.is_zero() => return Err(why.clone()),
            _ => tokio::time::sleep(early).await,
        }
        match self.start().await {
            Ok(live) => {
                tracing::info!("the MCP server {} has begun: process {}", self.settings.name, live.process.pid);
                if std::mem::replace(&mut standing.was_there, true) {
                    let _ = self.means.changed.send(self.settings.name.clone());
                }
                standing.failed = None;
                Ok(standing.live.insert(live).service.peer().clone())
            }
            Err(why) => {
                tracing::warn!("{why}");
                standing.troubles += 1;
                standing.again = Some(Instant::now() + pause(standing.troubles + 1) * 4);
                standing.failed = Some(why.clone());
                Err(why)
            }
        }
    }

    async fn start(&self) -> Result<Live, String> {
        let Settings { name, argv, .. } = &self.settings;
        let env = self.settings.environment(|name| std::env::var_os(name)).map_err(|e| e.to_string())?;
        let cwd = self.settings.directory(&self.means.project).map_err(|e| e.to_string())?;
        let failed = |e: &dyn std::fmt::Display| self.said(&format!("cannot be started: {e}"));
        // Its standard output is for the protocol alone: what it says beside that goes into its log.
        let log = self.begin_log().map_err(|e| failed(&e))?;
        let argv = argv.iter().map(Into::into).collect();
        let (its_input, to_it) = std::io::pipe().map_err(|e| failed(&e))?;
        let (from_it, its_output) = std::io::pipe().map_err(|e| failed(&e))?;
        let turn = format!("server-{}", turn::fresh());
        let output = File::from(OwnedFd::from(its_output));
        let stdin = Some(File::from(OwnedFd::from(its_input)));
        let spawn = Spawn { turn: &turn, argv, cwd, env, stdin, output: &output, errors: Some(&log), group_record: Some(&self.means.groups) };
        let running = self.means.children.spawn(spawn).map_err(|e| failed(&e))?;
        drop(output);
        let process = Process::keep(running, turn, &self.means);
        let pipes = (pipe::Receiver::from_owned_fd(from_it.into()), pipe::Sender::from_owned_fd(to_it.into()));
        let (Ok(from_it), Ok(to_it)) = pipes else { return Err(failed(&"its pipes cannot be used")) };
        let hearing = Hearing { name: name.clone(), changed: self.means.changed.clone() };
        let why = match tokio::time::timeout(BEGIN, hearing.serve((from_it, to_it))).await {
            Ok(Ok(service)) => return Ok(Live { service, since: Instant::now(), process }),
            Ok(Err(e)) => e.to_string(),
            Err(_) => format!("it did not answer within {}", board::duration::print(BEGIN)),
        };
        let how = process.end().await;
        Err(self.said(&format!("did not begin: {why} ({how}); its log is {}", self.means.logs.join(&log_of(name)).display())))
    }

    /// What it says beside the protocol is kept, as far as anybody may want to read it.
    fn begin_log(&self) -> board::Result<File> {
        let name = log_of(&self.settings.name);
        let log = self.means.logs.open_append(&name, 0o600)?;
        if log.metadata().is_ok_and(|log| log.len() > LONGEST_LOG) {
            disk::truncate(&log, &self.means.logs.join(&name), 0)?;
        }
        Ok(log)
    }

    fn said(&self, what: &str) -> String {
        format!("the MCP server {} {}", self.settings.name, words::clean(what, 2000))
    }
}

fn log_of(server: &str) -> String {
    format!("{server}.log")
}

/// Before a server is started again that often in a row: at once the first time, then longer and longer.
fn pause(troubles: u32) -> Duration {
    match troubles {
        0 | 1 => Duration::ZERO,
        more => FIRST_PAUSE.saturating_mul(1 << (more - 2).min(16)).min(LONGEST_PAUSE),
    }
}

impl Live {
    /// Also where its end was not told yet.
    fn is_alive(&self) -> bool {
        !self.service.peer().is_transport_closed() && !self.process.has_ended()
    }

    async fn end(self) -> String {
        drop(self.service);
        self.process.end().await
    }
}

/// A call that a server works on. Dropped before its answer came, the server is told.
struct Underway {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Underway {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let peer = self.peer.clone();
            runtime.spawn(async move {
                let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some("nobody waits for it any more".into()))).await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_and_end() {
        let millis = |troubles| pause(troubles).as_millis();
        assert_eq!([0, 1, 2, 3, 4, 9, 1000].map(millis), [0, 0, 500, 1000, 2000, 30_000, 30_000]);
    }
}
