//! `.claude/agents/<name>.md`, as Claude Code reads it.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Profile, ProfileError, Runner, refused};
use crate::front_matter::{OneOrMore, yaml};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaudeFront {
    name: Option<String>,
    description: Option<String>,
    tools: Option<OneOrMore>,
    model: Option<String>,
    permission_mode: Option<String>,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, IgnoredAny>,
}

pub(super) fn profile(front: &str, file: &Path, stem: &str) -> Result<Profile, ProfileError> {
    let front = match yaml::<ClaudeFront>(front) {
        Ok(front) => front,
        Err(error) => plain_lines(front).ok_or_else(|| refused(file, &error))?,
    };
    let name = front.name.as_deref().unwrap_or(stem);
    let defaults = Profile::named(name).map_err(|source| ProfileError::Name { file: file.to_owned(), source })?;
    Ok(Profile {
        description: front.description,
        runner: Runner::ClaudeCode,
        // That of whoever calls it: here nobody does.
        model: front.model.filter(|model| model.trim() != "inherit"),
        tools: front.tools.map(OneOrMore::separated),
        permission_mode: front.permission_mode,
        ignored: front.rest.into_keys().collect(),
        ..defaults
    })
}

/// Front matter of which every line is `key: value`, the value taken as it stands. `None`: it has
/// other lines, so this is no way to read it.
fn plain_lines(front: &str) -> Option<ClaudeFront> {
    let mut read = ClaudeFront::default();
    for line in front.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let (key, value) = line.split_once(':')?;
        if key.is_empty() || !key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-')) {
            return None;
        }
        let value = value.trim().to_owned();
        match key {
            "name" => read.name = Some(value),
            "description" => read.description = Some(value),
            "tools" => read.tools = Some(OneOrMore::One(value)),
            "model" => read.model = Some(value),
            "permissionMode" => read.permission_mode = Some(value),
            other => {
                read.rest.insert(other.to_owned(), IgnoredAny);
            }
        }
    }
    Some(read)
}
