//! A client: it writes lines and waits for lines, and whatever is no message of the protocol fails its test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than anything here takes on the slowest machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// One that has started its server.
pub(super) struct Client {
    child: Child,
    to: Option<ChildStdin>,
    said: Receiver<String>,
    last: u64,
}

impl Client {
    /// One that has said nothing yet.
    pub(super) fn silent(mut server: Command) -> Client {
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = server.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, said) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(tell.send(line))));
        Client { to: child.stdin.take(), child, said, last: 0 }
    }

    /// One that has greeted its server, and was greeted.
    pub(super) fn greeting(server: Command) -> Client {
        let mut client = Client::silent(server);
        client.greet("2025-11-25");
        client
    }

    /// Greets the server with this version of the protocol; what it answers.
    #[track_caller]
    pub(super) fn greet(&mut self, version: &str) -> Value {
        let hello = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let answer = self.ask("initialize", hello)["result"].clone();
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer
    }

    /// Writes a line, whatever it says.
    pub(super) fn write(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{line}\n").as_bytes()).unwrap();
        to.flush().unwrap();
    }

    /// Sends a request and does not wait for its answer; its id.
    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }).to_string());
        self.last
    }

    /// The next message.
    #[track_caller]
    pub(super) fn next(&self) -> Value {
        let line = self.said.recv_timeout(DEADLINE).expect("the server says nothing more");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("no message: {e}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "no message: {line}");
        message
    }

    /// Sends a request; its answer, whole.
    #[track_caller]
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool: its words, or why it was not done.
    #[track_caller]
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> Result<String, String> {
        let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{name} was not answered with a result: {answer}")).to_owned();
        if result["isError"] == true { Err(text) } else { Ok(text) }
    }

    #[track_caller]
    pub(super) fn done(&mut self, name: &str, arguments: Value) -> String {
        self.call(name, arguments.clone()).unwrap_or_else(|e| panic!("{name} {arguments}: {e}"))
    }

    #[track_caller]
    pub(super) fn refused(&mut self, name: &str, arguments: Value, because: &str) {
        let said = self.call(name, arguments.clone()).expect_err(&format!("{name} {arguments}"));
        assert!(said.contains(because), "{name} {arguments}: {said}");
    }

    /// Reads a resource: its parts, or the error.
    #[track_caller]
    pub(super) fn read(&mut self, uri: &str) -> Result<Vec<Value>, Value> {
        let answer = self.ask("resources/read", json!({ "uri": uri }));
        answer["result"]["contents"].as_array().cloned().ok_or_else(|| answer["error"].clone())
    }

    /// The first part of a resource, as JSON.
    #[track_caller]
    pub(super) fn read_json(&mut self, uri: &str) -> Value {
        let parts = self.read(uri).unwrap();
        assert_eq!((&parts[0]["mimeType"], &parts[0]["uri"]), (&json!("application/json"), &json!(uri)));
        serde_json::from_str(parts[0]["text"].as_str().unwrap()).unwrap()
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    /// The client goes; its server's exit code.
    #[track_caller]
    pub(super) fn goes(mut self) -> Option<i32> {
        drop(self.to.take());
        self.ended()
    }

    /// Waits for the end of the server.
    #[track_caller]
    pub(super) fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
