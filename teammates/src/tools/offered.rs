//! Tools for an MCP client: the protocol, spoken by standard input and output, and nothing of what a call does.
//!
//! What the client asks for ([`Asked`]) goes over a channel to whoever does it, who takes one after the other; a call that
//! the client has taken back before its turn came has nobody who waits for its answer. A line that is no JSON is passed
//! over, and one that is no message is answered with the protocol's error: neither ends the connection.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool as McpTool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};

use crate::conversation::ToolCall;
use crate::provider::{Tool, call};

/// What is under way when the client goes has so long to come to its end and be answered.
const GRACE: Duration = Duration::from_secs(1);

/// What a client is told of at the beginning.
#[derive(Debug)]
pub struct Offer {
    /// What the server is called.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What the client is told of it, for its model.
    pub instructions: String,
    /// The tools.
    pub tools: Vec<Tool>,
    /// The names of those that only read.
    pub only_read: Vec<String>,
    /// What can be read.
    pub resources: Vec<Readable>,
}

/// Something that can be read.
#[derive(Debug, Clone, Copy)]
pub struct Readable {
    /// Its address, or in braces what of it is to be filled in.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
}

/// What can be read is JSON, as far as it is not said otherwise.
pub const JSON: &str = "application/json";

/// A part of what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its address.
    pub uri: String,
    /// Its kind.
    pub mime: &'static str,
    /// What it says.
    pub text: String,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// In words.
    pub text: String,
    /// Whether what was wanted was not done.
    pub is_error: bool,
}

/// Why something was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRead {
    /// There is no such thing.
    Unknown,
    /// It is there, but cannot be read.
    Failed(String),
}

/// What a client asks for.
#[derive(Debug)]
pub enum Asked {
    /// A call of a tool that there is.
    Call(ToolCall, oneshot::Sender<Said>),
    /// To read what is at an address, which may be anything.
    Read(String, oneshot::Sender<Result<Vec<Part>, NotRead>>),
}

/// Speaks to one client until that goes. The error is why it did not come to a conversation.
pub async fn serve<R, W>(offer: Offer, asked: mpsc::UnboundedSender<Asked>, read: R, write: W) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (gone, has_gone) = oneshot::channel();
    let read = UntilEnd { read, gone: Mutex::new(Some(gone)) };
    let served = async {
        let service = serve_server(Server { offer, asked }, (read, write)).await.map_err(|e| e.to_string())?;
        service.waiting().await.map(drop).map_err(|e| e.to_string())
    };
    let left = async {
        // That its reader is dropped says the same.
        let _ = has_gone.await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = served => served,
        () = left => Ok(()),
    }
}

/// Says when there is nothing more to read.
struct UntilEnd<R> {
    read: R,
    gone: Mutex<Option<oneshot::Sender<()>>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for UntilEnd<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.read).poll_read(context, into);
        let ended = match &read {
            Poll::Ready(Ok(())) => into.filled().len() == before && into.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended && let Some(gone) = self.gone.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = gone.send(());
        }
        read
    }
}

struct Server {
    offer: Offer,
    asked: mpsc::UnboundedSender<Asked>,
}

type Answered<T> = Result<T, ErrorData>;

impl Server {
    /// Hands on what is asked for, and waits for what comes of it, or until the client takes it back.
    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Asked, context: &RequestContext<RoleServer>) -> Answered<T> {
        let (tell, told) = oneshot::channel();
        let ended = || ErrorData::internal_error("the server is ending", None);
        self.asked.send(ask(tell)).map_err(|_| ended())?;
        tokio::select! {
            told = told => told.map_err(|_| ended()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("it was cancelled", None)),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Implementation::new(self.offer.name, self.offer.version))
            .with_instructions(self.offer.instructions.clone())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE))
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answered<ListToolsResult> {
        let tools = self.offer.tools.iter().map(|tool| {
            let schema = tool.schema.as_object().cloned().unwrap_or_default();
            let hints = ToolAnnotations::new().read_only(self.offer.only_read.contains(&tool.name)).open_world(false);
            McpTool::new(tool.name.clone(), tool.description.clone(), Arc::new(schema)).with_annotations(hints)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answered<CallToolResponse> {
        let call = ToolCall {
            id: context.id.to_string(),
            name: request.name.into_owned(),
            input: Value::Object(request.arguments.unwrap_or_default()),
            malformed: None,
        };
        if let Some(refusal) = call::refusal(&call, &self.offer.tools) {
            return Err(ErrorData::invalid_params(refusal, None));
        }
        let said = self.ask(|tell| Asked::Call(call, tell), &context).await?;
        let words = vec![ContentBlock::text(said.text)];
        Ok(if said.is_error { CallToolResult::error(words) } else { CallToolResult::success(words) }.into())
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answered<ListResourcesResult> {
        let all = self.offer.resources.iter().filter(|it| !it.uri.contains('{'));
        let all = all.map(|it| Resource::new(it.uri, it.name).with_description(it.description).with_mime_type(JSON));
        Ok(ListResourcesResult::with_all_items(all.collect()))
    }

    async fn list_resource_templates(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answered<ListResourceTemplatesResult> {
        let all = self.offer.resources.iter().filter(|it| it.uri.contains('{'));
        let all = all.map(|it| ResourceTemplate::new(it.uri, it.name).with_description(it.description).with_mime_type(JSON));
        Ok(ListResourceTemplatesResult::with_all_items(all.collect()))
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, context: RequestContext<RoleServer>) -> Answered<ReadResourceResponse> {
        let uri = request.uri;
        match self.ask(|tell| Asked::Read(uri.clone(), tell), &context).await? {
            Ok(parts) => {
                let parts = parts.into_iter().map(|part| ResourceContents::text(part.text, part.uri).with_mime_type(part.mime));
                Ok(ReadResourceResult::new(parts.collect()).into())
            }
            Err(NotRead::Unknown) => Err(ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))),
            Err(NotRead::Failed(why)) => Err(ErrorData::internal_error(why, Some(json!({ "uri": uri })))),
        }
    }

    /// A method that there is comes here too, where its parameters are not its own.
    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Answered<CustomResult> {
        match request.method.as_str() {
            "tools/call" => Err(ErrorData::invalid_params("a call has a `name`, and `arguments` that are an object", None)),
            "resources/read" => Err(ErrorData::invalid_params("what is to be read has a `uri`", None)),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        }
    }
}
