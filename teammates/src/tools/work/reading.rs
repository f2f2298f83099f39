//! `read_file`.

use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Workspace, aside, shown};
use crate::tools::outputs::Outputs;
use crate::tools::{Access, Family, Tool, page};

/// How much of a file is looked at to tell text from something else.
const LOOK: u64 = 8 << 10;

/// The arguments of `read_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// The file, relative to the workspace; or the name of an output, such as output:3.
    path: String,
    /// The first line, counted from 1. Default: 1.
    #[serde(default)]
    offset: Option<usize>,
    /// The most lines. Default: as many as fit.
    #[serde(default)]
    limit: Option<usize>,
}

pub(super) fn read_file(workspace: &Arc<Workspace>, outputs: &Arc<Outputs>) -> Tool {
    let (workspace, outputs) = (Arc::clone(workspace), Arc::clone(outputs));
    let description = "Read a text file of the workspace, or the output of a command. Every line comes with its number and a tab before it, \
        which are not part of the file. A file must be read before it is changed.";
    Tool::new("read_file", description, Family::Work, Access::Reads, move |input: ReadFile| {
        let (workspace, outputs) = (Arc::clone(&workspace), Arc::clone(&outputs));
        aside(move || read(&workspace, &outputs, &input))
    })
}

fn read(workspace: &Workspace, outputs: &Outputs, input: &ReadFile) -> Result<String, String> {
    let offset = input.offset.unwrap_or(1).max(1);
    if let Some(page) = outputs.page(&input.path, offset, input.limit) {
        return page.map_err(|e| e.to_string());
    }
    let mut file = workspace.open_file(&input.path).map_err(|e| e.to_string())?.into_std();
    let failed = |e: std::io::Error| format!("cannot read {}: {e}", input.path);
    let mut look = Vec::new();
    (&file).take(LOOK).read_to_end(&mut look).map_err(failed)?;
    if look.contains(&0) {
        let size = file.metadata().map_err(failed)?.len();
        return Err(format!("{} is no text ({size} bytes): look at it with bash", input.path));
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let page = page::read(BufReader::new(file), offset, input.limit).map_err(failed)?;
    Ok(shown(&input.path, offset, input.limit, page))
}
