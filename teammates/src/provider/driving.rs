//! What all streaming APIs have in common: a request goes out, events come in, one answer or one error comes of it.

use std::time::Instant;

use serde_json::Value;

use super::http::{Answer, Endpoint, Http, failed_within};
use super::sse::{Event, Sse};
use super::{Cancel, Delta, Kind, ProviderError, Response, Usage, surrogates};

/// Makes one API's answer of its events.
pub(super) trait Reader {
    /// Takes an event. `true`: it is the last one.
    fn event(&mut self, event: &Value, sink: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ProviderError>;

    /// What the call took, as far as that was said.
    fn usage(&self) -> Usage;

    /// The answer, when the events are over; what is missing makes it an error.
    fn finish(&mut self) -> Result<Response, ProviderError>;
}

/// A request as one API wants it.
pub(super) struct Call<'a> {
    pub(super) path: &'a str,
    pub(super) headers: &'a [(&'static str, &'static str)],
    /// JSON.
    pub(super) body: String,
}

/// The longest answer, in bytes as it comes: far more than any model says.
const LONGEST_ANSWER: usize = 64 << 20;

/// Makes a call. No error that comes out of here has the key in it.
pub(super) async fn drive(
    http: &Http,
    endpoint: &Endpoint,
    call: Call<'_>,
    mut reader: impl Reader,
    sink: &mut dyn FnMut(Delta<'_>),
    cancel: &Cancel,
) -> Result<Response, ProviderError> {
    let redacted = |mut error: ProviderError| {
        if let Some(key) = &endpoint.key {
            error.message = key.redact(&error.message);
        }
        error
    };
    let mut answer = http.post(endpoint, call.path, call.headers, call.body, cancel).await.map_err(redacted)?;
    let (limits, request_id) = (answer.limits(), answer.request_id());
    match read(&mut answer, &mut reader, sink).await {
        Ok(response) => Ok(Response { limits, ..response }),
        Err(error) => Err(redacted(ProviderError { usage: reader.usage(), request_id, ..error })),
    }
}

async fn read(answer: &mut Answer, reader: &mut impl Reader, sink: &mut dyn FnMut(Delta<'_>)) -> Result<Response, ProviderError> {
    let mut sse = Sse::default();
    let mut ended = false;
    let (mut length, mut progressed) = (0, Instant::now());
    while !ended {
        // A server that only says that it is there says nothing.
        if progressed.elapsed() > answer.silence() {
            return Err(ProviderError::new(Kind::Timeout, format!("nothing of the answer came for {} s", answer.silence().as_secs_f64())));
        }
        let Some(chunk) = answer.chunk().await? else {
            if let Some(event) = sse.finish() {
                take(&event, reader, sink)?;
            }
            break;
        };
        length += chunk.as_ref().len();
        if length > LONGEST_ANSWER {
            return Err(ProviderError::new(Kind::Invalid { status: 200 }, format!("the answer has more than {} MB and does not end", LONGEST_ANSWER >> 20)));
        }
        sse.feed(chunk.as_ref());
        while let Some(event) = sse.next().map_err(|e| ProviderError::new(Kind::Truncated, e.to_string()))? {
            ended = take(&event, reader, sink)?;
            if !is_ping(&event) {
                progressed = Instant::now();
            }
            if ended {
                break;
            }
        }
    }
    reader.finish()
}

fn is_ping(event: &Event) -> bool {
    event.data.len() < 64 && event.data.contains("\"ping\"")
}

fn take(event: &Event, reader: &mut impl Reader, sink: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ProviderError> {
    if event.data.trim() == "[DONE]" {
        return Ok(true);
    }
    if event.data.trim().is_empty() {
        return Ok(false);
    }
    let parsed = serde_json::from_str(&event.data).or_else(|e| serde_json::from_str(&surrogates::without_lone(&event.data)).map_err(|_| e));
    let event: Value = parsed.map_err(|e| ProviderError::new(Kind::Truncated, format!("an event that is no JSON: {e}")))?;
    if event.get("error").is_some_and(|error| !error.is_null()) {
        return Err(failed_within(&event));
    }
    reader.event(&event, sink)
}

/// What a stream that ended too soon is.
pub(super) fn broken_off(missing: &str) -> ProviderError {
    ProviderError::new(Kind::Truncated, format!("the stream ended without {missing}"))
}

/// A text within an event; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A count within an event.
pub(super) fn count(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// A text within an event that is there and not empty.
pub(super) fn some_text(value: &Value, pointer: &str) -> Option<String> {
    Some(text(value, pointer)).filter(|text| !text.is_empty()).map(str::to_owned)
}
