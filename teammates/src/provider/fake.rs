//! A server for tests that says what a test tells it, cut where the test wants it.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// How an answer ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// As it should.
    Whole,
    /// The connection is gone in the middle.
    Cut,
    /// It never does.
    Never,
}

/// An answer: a head (status line and headers) and the chunks of its body, each of which comes by itself.
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

impl Answer {
    /// A stream of events.
    pub(crate) fn stream(chunks: Vec<Vec<u8>>, end: End) -> Answer {
        Answer { head: "200 OK\r\ncontent-type: text/event-stream".into(), chunks, end }
    }

    /// A whole stream of events, in one piece.
    pub(crate) fn events(events: &[Value]) -> Answer {
        Answer::stream(vec![sse(events).into_bytes()], End::Whole)
    }
}

/// Events as they are sent, each with the line for its type.
pub(crate) fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"))).collect()
}

/// The server. A connection, an answer.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    task: AbortHandle,
}

impl Server {
    pub(crate) async fn of(answers: Vec<Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                seen.lock().unwrap().push(request);
                // Beside the next one: some answers never end. The client may be gone, if it was told to end.
                tokio::spawn(async move { write(&mut stream, &answer).await });
            }
        });
        Server { url, requests, task: task.abort_handle() }
    }

    /// What was asked: the head in small letters and the body.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap();
            if bytes.len() == end + 4 + length {
                return (head, serde_json::from_slice(&bytes[end + 4..]).unwrap());
            }
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the client went away");
    }
}

async fn write(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n", answer.head);
    stream.write_all(head.as_bytes()).await?;
    for chunk in answer.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
        stream.write_all(chunk).await?;
        stream.write_all(b"\r\n").await?;
    }
    match answer.end {
        End::Whole => stream.write_all(b"0\r\n\r\n").await,
        End::Cut => Ok(()),
        End::Never => std::future::pending().await,
    }
}
