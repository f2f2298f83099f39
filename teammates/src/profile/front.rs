//! `.crew/teammates/<name>.md`: our own keys.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::rules::{duration, lanes, positive, role, ruled, runner, some, stdin, tier};
use super::{Profile, ProfileError, refused};
use crate::front_matter::{OneOrMore, command, yaml};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CrewFront {
    name: Option<Spanned<String>>,
    description: Option<String>,
    role: Option<Spanned<String>>,
    runner: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    effort: Option<String>,
    fallback: Option<OneOrMore>,
    account: Option<String>,
    tier: Option<Spanned<String>>,
    writes: Option<bool>,
    capabilities: Option<OneOrMore>,
    lanes: Option<Spanned<u32>>,
    poll: Option<Spanned<String>>,
    idle_timeout: Option<Spanned<String>>,
    tools: Option<OneOrMore>,
    command: Option<Spanned<OneOrMore>>,
    stdin: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    worktree: Option<bool>,
    may_run: Option<bool>,
    base_url: Option<String>,
    tool_mode: Option<String>,
    context: Option<Spanned<u32>>,
    max_output: Option<Spanned<u32>>,
    max_calls: Option<Spanned<u32>>,
    script: Option<String>,
    permission_mode: Option<String>,
}

pub(super) fn profile(front: &str, file: &Path, stem: &str) -> Result<Profile, ProfileError> {
    let front: CrewFront = yaml(front).map_err(|error| refused(file, &error))?;
    if let Some(inside) = &front.name
        && inside.value != stem
    {
        return Err(ProfileError::OtherName { file: file.to_owned(), line: inside.defined.line(), inside: inside.value.escape_debug().to_string() });
    }
    let defaults = Profile::named(stem).map_err(|source| ProfileError::Name { file: file.to_owned(), source })?;
    let runs_commands = front.runner.as_ref().is_none_or(|runner| runner.value == "command");
    let model = |name: &str| if runs_commands { Err("a model needs a runner: add `runner: anthropic` or `runner: openai`") } else { Ok(name.to_owned()) };
    Ok(Profile {
        description: front.description,
        model: ruled(file, "model", front.model, model)?,
        role: ruled(file, "role", front.role, role)?.unwrap_or(defaults.role),
        runner: ruled(file, "runner", front.runner, runner)?.unwrap_or(defaults.runner),
        effort: front.effort,
        fallback: front.fallback.map_or(defaults.fallback, OneOrMore::separated),
        account: front.account,
        tier: ruled(file, "tier", front.tier, tier)?,
        writes: front.writes.unwrap_or(defaults.writes),
        capabilities: front.capabilities.map_or(defaults.capabilities, OneOrMore::separated),
        lanes: ruled(file, "lanes", front.lanes, lanes)?.unwrap_or(defaults.lanes),
        poll: ruled(file, "poll", front.poll, positive)?.unwrap_or(defaults.poll),
        idle_timeout: ruled(file, "idleTimeout", front.idle_timeout, duration)?.unwrap_or(defaults.idle_timeout),
        tools: front.tools.map(OneOrMore::separated),
        command: ruled(file, "command", front.command, command)?,
        stdin: ruled(file, "stdin", front.stdin, stdin)?.unwrap_or(defaults.stdin),
        timeout: ruled(file, "timeout", front.timeout, positive)?,
        worktree: front.worktree.unwrap_or(defaults.worktree),
        may_run: front.may_run.unwrap_or(defaults.may_run),
        base_url: front.base_url,
        tool_mode: front.tool_mode,
        context: ruled(file, "context", front.context, some)?.map(u64::from),
        max_output: ruled(file, "maxOutput", front.max_output, some)?,
        max_calls: ruled(file, "maxCalls", front.max_calls, some)?.unwrap_or(defaults.max_calls),
        script: front.script.map(PathBuf::from),
        permission_mode: front.permission_mode,
        name: defaults.name,
        instructions: defaults.instructions,
        ignored: defaults.ignored,
    })
}
