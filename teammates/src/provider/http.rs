//! The one HTTP client, and the one place where a key leaves this process.

use std::time::Duration;

use board::clock;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::Value;

use super::error::classify;
use super::{Cancel, Kind, ProviderError, limits};
use crate::account::Key;

/// The longest error text that is read, and that is told, in bytes.
const LONGEST_ERROR: usize = 64 << 10;
const LONGEST_MESSAGE: usize = 1000;
/// How long the text of an error is waited for.
const ERROR_TAKES: Duration = Duration::from_secs(20);

/// How long is waited for a provider.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the next byte of an answer; the first one may be a long time coming from a model that thinks.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: Duration::from_secs(20), silence: Duration::from_secs(300) }
    }
}

/// Whether to go through the proxies that the environment names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxies {
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    OfEnvironment,
    /// Straight to the server.
    None,
}

/// How a key is shown to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// In `x-api-key`.
    ApiKey,
    /// In `authorization`, as a bearer token.
    Bearer,
}

/// Where a provider is, and how it knows who pays.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// What the paths of the API stand behind.
    pub base: String,
    /// `None`: a server that asks for none.
    pub key: Option<Key>,
    /// How it is shown.
    pub auth: Auth,
}

/// Connections to providers. Clones share them.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    timeouts: Timeouts,
}

/// Why there is no HTTP client.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the HTTP client: {0}")]
pub struct HttpError(reqwest::Error);

impl Http {
    /// A client that follows no redirect: a key goes to the server that it is for and nowhere else.
    pub fn new(timeouts: Timeouts, proxies: Proxies) -> Result<Http, HttpError> {
        // An error says that there is one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().connect_timeout(timeouts.connect).redirect(Policy::none());
        let client = client.user_agent(concat!("crewboard/", env!("CARGO_PKG_VERSION")));
        let client = if proxies == Proxies::None { client.no_proxy() } else { client };
        Ok(Http { client: client.build().map_err(HttpError)?, timeouts })
    }

    /// Sends a request and returns its answer once that has begun well. Any other answer is an error.
    pub(super) async fn post(
        &self,
        endpoint: &Endpoint,
        path: &str,
        headers: &[(&'static str, &'static str)],
        body: String,
        cancel: &Cancel,
    ) -> Result<Answer, ProviderError> {
        let sent = self.client.post(format!("{}{path}", endpoint.base.trim_end_matches('/'))).headers(header_map(endpoint, headers)?).body(body);
        let response = within(self.timeouts.silence, cancel, sent.send()).await?;
        let status = response.status().as_u16();
        let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let mut answer = Answer { response, silence: self.timeouts.silence, cancel: cancel.clone() };
        // Some servers answer with an error where a stream was to come, and call it a success.
        if status != 200 || is_json {
            let text = answer.error_text().await?;
            // Before anything is cut: half a key is no key to look for.
            let text = endpoint.key.as_ref().map_or(text.clone(), |key| key.redact(&text));
            return Err(refused(status, answer.response.headers(), &text));
        }
        Ok(answer)
    }
}

fn header_map(endpoint: &Endpoint, headers: &[(&'static str, &'static str)]) -> Result<HeaderMap, ProviderError> {
    let own = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    let mut map: HeaderMap = own.chain([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]).collect();
    if let Some(key) = &endpoint.key {
        let (name, text) = match endpoint.auth {
            Auth::ApiKey => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
        };
        // The error of this would say nothing, and must not say the value.
        let mut value = HeaderValue::try_from(text).map_err(|_| ProviderError::new(Kind::Auth { status: 401 }, "the key has characters that no key has"))?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    Ok(map)
}

/// An answer that has begun.
pub(super) struct Answer {
    response: reqwest::Response,
    silence: Duration,
    cancel: Cancel,
}

impl Answer {
    /// What the server said of its limits.
    pub(super) fn limits(&self) -> Vec<limits::Window> {
        limits::windows(self.response.headers(), clock::now())
    }

    /// How long is waited for the next part of it.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// The provider's name for the request.
    pub(super) fn request_id(&self) -> Option<String> {
        request_id(self.response.headers())
    }

    /// What comes next; `None`: that was all.
    pub(super) async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, ProviderError> {
        within(self.silence, &self.cancel, self.response.chunk()).await
    }

    async fn error_text(&mut self) -> Result<String, ProviderError> {
        let mut text = Vec::new();
        let deadline = tokio::time::Instant::now() + ERROR_TAKES;
        while text.len() < LONGEST_ERROR {
            // The status is worth more than the end of the text.
            match tokio::time::timeout_at(deadline, self.chunk()).await {
                Ok(Ok(Some(chunk))) => text.extend_from_slice(chunk.as_ref()),
                Ok(Err(error)) if error.kind == Kind::Cancelled => return Err(error),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id"].iter().find_map(|name| Some(headers.get(*name)?.to_str().ok()?.to_owned()))
}

/// The error that an answer is.
fn refused(status: u16, headers: &HeaderMap, text: &str) -> ProviderError {
    let now = clock::now();
    let body = serde_json::from_str(text).unwrap_or(Value::Null);
    let (codes, message) = said(&body);
    let message = if message.is_empty() { text.trim() } else { message };
    let kind = match status {
        200 if body.get("error").is_none() => Kind::Invalid { status },
        _ => classify(status, &codes, message, limits::reset(headers, now), limits::retry_after(headers, now)),
    };
    let message = match kind {
        Kind::Invalid { status: 200 } => "it answered at once and in one piece, where a stream was asked for; is this the address of the API?".to_owned(),
        Kind::Invalid { status: 300..400 } => "it sends elsewhere, and nothing is sent after a redirect: name the address itself as `baseUrl`".to_owned(),
        _ => shortened(message),
    };
    ProviderError { request_id: request_id(headers), ..ProviderError::new(kind, message) }
}

/// What an error object calls itself, and what it says: that of an answer (`{"error": {…}}`) or the object itself.
pub(super) fn said(body: &Value) -> (Vec<&str>, &str) {
    let error = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    let codes = ["/details/error_code", "/code", "/type"].iter().filter_map(|place| error.pointer(place)?.as_str()).collect();
    let message = error.get("message").or_else(|| body.get("error")).and_then(Value::as_str).unwrap_or_default();
    (codes, message)
}

/// The error that came within an answer.
pub(super) fn failed_within(body: &Value) -> ProviderError {
    let (codes, message) = said(body);
    let message = if message.is_empty() { codes.join(" ") } else { message.to_owned() };
    ProviderError::new(classify(200, &codes, &message, None, None), shortened(&message))
}

fn shortened(message: &str) -> String {
    match message.len() {
        0..=LONGEST_MESSAGE => message.to_owned(),
        _ => format!("{} …", &message[..message.floor_char_boundary(LONGEST_MESSAGE)]),
    }
}

/// Waits for something of the server, but not for ever and not after a cancel.
async fn within<T>(silence: Duration, cancel: &Cancel, what: impl Future<Output = Result<T, reqwest::Error>>) -> Result<T, ProviderError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ProviderError::new(Kind::Cancelled, "")),
        done = tokio::time::timeout(silence, what) => match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(lost(&error)),
            Err(_) => Err(ProviderError::new(Kind::Timeout, format!("nothing came for {} s", silence.as_secs_f64()))),
        },
    }
}

/// What a failed connection amounts to.
fn lost(error: &reqwest::Error) -> ProviderError {
    let kind = match error {
        _ if error.is_timeout() => Kind::Timeout,
        // The answer had begun.
        _ if error.is_body() || error.is_decode() => Kind::Truncated,
        _ if error.is_builder() => Kind::Invalid { status: 0 },
        _ => Kind::Network,
    };
    // The outermost says only which address it was.
    let mut cause: &dyn std::error::Error = error;
    let mut message = String::new();
    while let Some(source) = cause.source() {
        message = if message.is_empty() { source.to_string() } else { format!("{message}: {source}") };
        cause = source;
    }
    ProviderError::new(kind, shortened(&message))
}
