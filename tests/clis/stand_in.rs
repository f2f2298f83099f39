//! A stand-in for a coding CLI, for tests: it prints what Claude Code or Codex print (by the name that it is called by) and
//! calls the team's tools through the MCP server that it is told of, as they do. What it does in a turn is the next file of
//! a directory, `$STAND_IN/<teammate>/<number>.json`, a list of steps; it waits until there is one. What it was asked it
//! writes beside that.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)] // It stands in tests only.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// What it speaks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Claude,
    Codex,
}

struct StandIn {
    kind: Kind,
    session: String,
    tools: Option<Tools>,
    calls: u32,
}

/// The team's tools, as their client has them.
struct Tools {
    server: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    number: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let kind = if arguments[0].ends_with("codex") { Kind::Codex } else { Kind::Claude };
    if arguments.iter().any(|word| word == "--version") {
        println!("9.9.9 (stand-in)");
        return;
    }
    if arguments.get(1).is_some_and(|word| word == "auth" || word == "login") {
        std::process::exit(i32::from(std::env::var_os("STAND_IN_LOGGED_OUT").is_some()));
    }
    let Some(dir) = std::env::var_os("STAND_IN") else { return };
    let name = std::env::var("CREW_AS").unwrap();
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).unwrap();
    let (number, steps) = next(&PathBuf::from(dir).join(name));
    let resumed = value_of(&arguments, if kind == Kind::Codex { "resume" } else { "--resume" });
    let is_lost = steps.iter().any(|step| step == "lost");
    let session = resumed.clone().filter(|_| !is_lost).unwrap_or_else(|| format!("session-{}", std::process::id()));
    let environment: Vec<String> = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let mut stand_in = StandIn { kind, session, tools: tools(kind, &arguments), calls: 0 };
    let of_tools = stand_in.tools.as_ref().map(|tools| std::fs::read(format!("/proc/{}/environ", tools.server.id())).unwrap_or_default());
    let of_tools: Vec<String> = of_tools.unwrap_or_default().split(|byte| *byte == 0).map(|one| String::from_utf8_lossy(one).into_owned()).collect();
    let asked = json!({ "argv": arguments, "prompt": prompt, "resumed": resumed, "environment": environment, "ofTools": of_tools, "pid": std::process::id() });
    let (beside, whole) = (number.with_extension("new"), number.with_extension("asked"));
    std::fs::write(&beside, asked.to_string()).unwrap();
    std::fs::rename(beside, whole).unwrap();
    if is_lost && let Some(resumed) = resumed {
        return stand_in.has_no_session(&resumed);
    }
    stand_in.begin();
    for step in &steps {
        stand_in.step(step);
    }
    stand_in.end();
}

/// The next turn's steps, when there are some; they are taken away.
fn next(dir: &Path) -> (PathBuf, Vec<Value>) {
    loop {
        let mut all: Vec<PathBuf> = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        all.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
        all.sort();
        if let Some(file) = all.first() {
            let steps = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            std::fs::remove_file(file).unwrap();
            return (file.clone(), steps);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn value_of(arguments: &[String], name: &str) -> Option<String> {
    let place = arguments.iter().position(|word| word == name)?;
    arguments.get(place + 1).cloned()
}

/// The server that the command line names, greeted; `None`: it does not begin.
fn tools(kind: Kind, arguments: &[String]) -> Option<Tools> {
    let (program, words) = match kind {
        Kind::Claude => {
            let config: Value = serde_json::from_str(&value_of(arguments, "--mcp-config")?).unwrap();
            let crew = &config["mcpServers"]["crew"];
            (crew["command"].as_str()?.to_owned(), crew["args"].as_array()?.iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>())
        }
        Kind::Codex => {
            let of = |key: &str| arguments.iter().find_map(|word| word.strip_prefix(&format!("mcp_servers.crew.{key}="))).unwrap();
            let table: toml::Table = format!("command={}\nargs={}", of("command"), of("args")).parse().unwrap();
            let words = table["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
            (table["command"].as_str().unwrap().to_owned(), words.collect())
        }
    };
    let mut server = Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let (requests, answers) = (server.stdin.take()?, BufReader::new(server.stdout.take()?));
    let mut tools = Tools { server, requests, answers, number: 0 };
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "stand-in", "version": "1" } });
    tools.ask("initialize", hello)?;
    writeln!(tools.requests, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).ok()?;
    Some(tools)
}

impl Tools {
    fn ask(&mut self, method: &str, parameters: Value) -> Option<Value> {
        self.number += 1;
        writeln!(self.requests, "{}", json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters })).ok()?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let answer: Value = serde_json::from_str(&line).ok()?;
            if answer["id"] == self.number {
                return Some(answer["result"].clone());
            }
        }
    }
}

impl StandIn {
    fn print(&self, line: &Value) {
        println!("{line}");
    }

    fn begin(&self) {
        match self.kind {
            Kind::Claude => {
                let status = if self.tools.is_some() { "connected" } else { "failed" };
                self.print(&json!({ "type": "system", "subtype": "init", "session_id": self.session, "mcp_servers": [{ "name": "crew", "status": status }] }));
            }
            Kind::Codex if self.tools.is_none() => {
                eprintln!("Error: thread/start failed: required MCP servers failed to initialize: crew: No such file or directory (os error 2)");
                std::process::exit(1);
            }
            Kind::Codex => self.print(&json!({ "type": "thread.started", "thread_id": self.session })),
        }
    }

    fn has_no_session(&self, asked: &str) {
        match self.kind {
            Kind::Claude => {
                let errors = [format!("No conversation found with session ID: {asked}")];
                self.print(&json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "errors": errors, "session_id": asked }));
            }
            Kind::Codex => eprintln!("Error: thread/resume failed: no rollout found for thread id {asked} (code -32600)"),
        }
        std::process::exit(1);
    }

    fn step(&mut self, step: &Value) {
        if let Some(text) = step["say"].as_str() {
            self.print(&match self.kind {
                Kind::Claude => json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] }, "session_id": self.session }),
                Kind::Codex => json!({ "type": "item.completed", "item": { "id": "said", "type": "agent_message", "text": text } }),
            });
        } else if let Some(tool) = step["call"].as_str() {
            self.call(tool, &step["with"]);
        } else if let Some(command) = step["sh"].as_str() {
            assert!(Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
        } else if step["line"].is_object() {
            self.print(&step["line"]);
        } else if let Some(line) = step["stderr"].as_str() {
            eprintln!("{line}");
        } else if let Some(code) = step["exit"].as_i64() {
            std::process::exit(i32::try_from(code).unwrap());
        } else if step == "hang" {
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }

    fn call(&mut self, tool: &str, with: &Value) {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let (claude, session) = (self.kind == Kind::Claude, &self.session);
        self.print(&match claude {
            true => {
                let call = json!({ "type": "tool_use", "id": id, "name": format!("mcp__crew__{tool}"), "input": with });
                json!({ "type": "assistant", "message": { "content": [call] }, "session_id": session })
            }
            false => json!({ "type": "item.started", "item": { "id": id, "type": "mcp_tool_call", "server": "crew", "tool": tool, "arguments": with } }),
        });
        let answer = self.tools.as_mut().and_then(|tools| tools.ask("tools/call", json!({ "name": tool, "arguments": with }))).unwrap_or_default();
        self.print(&match claude {
            true => {
                let result = json!({ "type": "tool_result", "tool_use_id": id, "content": answer["content"], "is_error": answer["isError"] });
                json!({ "type": "user", "message": { "content": [result] }, "session_id": session })
            }
            false => {
                let item = json!({ "id": id, "type": "mcp_tool_call", "server": "crew", "tool": tool, "arguments": with, "result": answer, "error": null });
                json!({ "type": "item.completed", "item": item })
            }
        });
    }

    /// A good end, and what the turn took.
    fn end(&self) {
        self.print(&match self.kind {
            Kind::Claude => {
                let usage = json!({ "input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 0 });
                json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "session_id": self.session, "usage": usage, "permission_denials": [] })
            }
            Kind::Codex => json!({ "type": "turn.completed", "usage": { "input_tokens": 120, "cached_input_tokens": 20, "output_tokens": 10 } }),
        });
    }
}
