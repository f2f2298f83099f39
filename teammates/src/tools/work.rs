//! The workspace's tools: files, search, the shell. All of them stay within one directory.

mod background;
mod finding;
mod reading;
mod shell;
#[cfg(test)]
mod tests;
mod walking;
mod workspace;
mod writing;

pub use background::{Backgrounds, Seen, background_turn};
pub use shell::{Shell, Terms};
pub use workspace::{Workspace, WorkspaceError};

use std::rc::Rc;
use std::sync::Arc;

use serde_json::json;

use super::outputs::Outputs;
use super::page::Page;
use super::{Answer, Tool};

/// The tools of a workspace. `shell`: where `None`, there is no `bash`.
pub fn tools(workspace: &Arc<Workspace>, outputs: &Arc<Outputs>, shell: Option<Rc<Shell>>) -> Vec<Tool> {
    let mut tools = vec![reading::read_file(workspace, outputs), writing::write_file(workspace), writing::edit_file(workspace)];
    tools.extend([finding::glob(workspace), finding::grep(workspace)]);
    tools.extend(shell.iter().flat_map(|shell| [shell::bash(Rc::clone(shell)), shell::end_background(Rc::clone(shell))]));
    tools
}

/// Does what reads or writes files beside the other teammates of this process.
async fn aside(work: impl FnOnce() -> Result<String, String> + Send + 'static) -> Answer {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.into(),
        Err(e) => Answer::failed(format!("it was not done: {e}")),
    }
}

/// A page of lines, with the call that reads on.
pub(super) fn shown(path: &str, offset: usize, limit: Option<usize>, page: Page) -> String {
    let Page { mut text, next, seen } = page;
    if let Some(next) = next {
        let mut call = json!({ "path": path, "offset": next });
        if let (Some(limit), Some(call)) = (limit, call.as_object_mut()) {
            call.insert("limit".into(), limit.into());
        }
        text.push_str(&format!("[there is more: read_file {call}]\n"));
    } else if text.is_empty() {
        text = match seen {
            0 => format!("{path} is empty."),
            lines => format!("{path} has {lines} lines: there is none from {offset} on."),
        };
    }
    text
}
