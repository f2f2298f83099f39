//! What goes over the socket between a teammate and the host of the servers: one JSON document a line.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::settings::Settings;

/// What a teammate wants. Several may be under way at once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// Its number, never the same twice on one connection.
    pub(super) id: u64,
    pub(super) wish: Wish,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Wish {
    /// The tools of a server, which is started for that.
    List { server: Settings },
    /// A call of a tool.
    Call { server: Settings, tool: String, arguments: Map<String, Value> },
    /// That the request of this number comes to its end without an answer.
    Cancel,
}

/// What the host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Said {
    /// First of all: the teammate is heard.
    Hello,
    /// First of all: it is not, and why.
    Refused(String),
    /// What came of a request.
    Answer { id: u64, answer: Result<Got, String> },
    /// The server of this name has begun anew, or has other tools now.
    Changed(String),
}

/// What a request got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Got {
    Tools(Vec<Offered>),
    Result { text: String, is_error: bool },
}

/// A tool, as its server offers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Offered {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) only_reads: bool,
}

/// A line of it.
pub(super) fn line(of: &impl Serialize) -> String {
    // These types have nothing that JSON does not have.
    serde_json::to_string(of).unwrap_or_default() + "\n"
}
