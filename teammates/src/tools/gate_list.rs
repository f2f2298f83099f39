//! Commands that need an approved gate before they run: pushes, publishes, deploys, force deletions, database drops.
//!
//! The list finds what is done openly. A command that hides what it does (in a script, in a variable) is not found: against
//! that there is the confinement of the shell, and that a teammate has no keys which it does not need. Pure.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

/// What may become of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run, this once.
    Run,
    /// It may never run; why.
    Denied(String),
    /// It may run once when a gate that quotes it was approved; what in it asks for one.
    Ask(String),
}

/// Who says whether a command may run. Asked once for each time that it is to run, directly before: who answers
/// [`Verdict::Run`] takes an approved gate as used.
pub trait Gatekeeper {
    /// What becomes of a command.
    fn may_run(&self, command: &str) -> Verdict;
}

/// The shipped list, as `gateAsk` has it where the config does not say otherwise: regular expressions, case ignored, found
/// anywhere in a command.
pub const SHIPPED: [&str; 12] = [
    // Pushes. Between the program and its verb there may be options, such as `-C dir` or `--context x`.
    r"\b(git|hg|jj|svn)\b[^;&|\n]*?\s(push|send-email|dcommit)\b",
    r"\bsvn\s+(commit|ci)\b",
    r"\b(docker|podman|buildah|skopeo|nerdctl|helm|gem|oras|crane)\b[^;&|\n]*?\s(push|--push)\b",
    r"\bgh\s+((pr|release|repo|workflow|gist|issue)\s+(create|merge|delete|run|edit|close|rename|archive)|api)\b",
    // Publishes.
    r"\b(npm|pnpm|yarn|bun|cargo|poetry|uv|flit|hatch|lerna|dart|flutter|vsce|ovsx|jsr|deno|mix|cabal|stack)\b[^;&|\n]*?\s(publish|upload|unpublish|yank|deprecate)\b",
    r"\b(twine\s+upload|goreleaser\s+release|semantic-release|npx\s+semantic-release|gradlew?\b[^;&|\n]*\bpublish\w*|(mvnw?|sbt)\b[^;&|\n]*\s(deploy|publish\w*))\b",
    // Deploys.
    r"\b(kubectl|oc)\b[^;&|\n]*?\s(apply|create|delete|replace|patch|scale|rollout|drain|set)\b|\bhelm\b[^;&|\n]*?\s(install|upgrade|uninstall|delete|rollback)\b",
    r"\b(terraform|tofu|terragrunt|pulumi|cdk|sls|serverless|copilot)\b[^;&|\n]*?\s(apply|destroy|up|deploy|remove|import)\b|\bansible-playbook\b",
    r"\b(fly|flyctl|netlify|firebase|wrangler|vercel|heroku|eb|gcloud|az|aws|railway|render|dokku|kamal|cap|surge|amplify|supabase|make|just|task|(npm|pnpm|yarn|bun)(\s+run)?)\b[^;&|\n]*?[\s:](deploy|release|rollback|promote|delete|destroy|--prod)\b",
    // Force deletions.
    r"\brm\s([^;&|\n]*\s)?(-[a-z]*r[a-z]*f|-[a-z]*f[a-z]*r|-[a-z]*r[a-z]*\s([^;&|\n]*\s)?(-[a-z]*f|--force)|-[a-z]*f[a-z]*\s([^;&|\n]*\s)?(-[a-z]*r|--recursive)|--recursive\s([^;&|\n]*\s)?(-[a-z]*f|--force)|--force\s([^;&|\n]*\s)?(-[a-z]*r|--recursive))|\bgit\b[^;&|\n]*?\sclean\b[^;&|\n]*\s(-[a-z]*f|--force)|\bgit\b[^;&|\n]*?\sbranch\b[^;&|\n]*\s(?-i:-[a-zA-Z]*D)|\b(shred|wipefs|mkfs(\.\w+)?|blkdiscard)\b",
    // Database drops.
    r"\b(drop\s+(database|table|schema|tablespace|keyspace|collection|user|role|index)|truncate\s+(table\s+)?\w+\s*(;|cascade|restart)|truncate\s+table)\b|\b(dropdb|dropuser)\b|\bmysqladmin\b[^;&|\n]*\sdrop\b|\.dropDatabase\s*\(|\.drop\s*\(\s*\)",
    r"\b(flushall|flushdb)\b|\bdb:(drop|reset|purge)\b|\b(manage\.py|django-admin)\s+(flush|reset_db)\b|\bprisma\b[^;&|\n]*\b(migrate\s+reset|--force-reset)\b|\bartisan\s+(migrate:fresh|migrate:reset|db:wipe)\b",
];

/// Patterns of commands, ready for use.
#[derive(Debug, Clone)]
pub struct GateList {
    patterns: Vec<Regex>,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {pattern:?} is no regular expression: {why}")]
pub struct BadPattern {
    /// The key of `config.toml`.
    pub key: &'static str,
    /// As it stands there.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

impl GateList {
    /// Reads `gateAsk`; `None`: the shipped list.
    pub fn asking(written: Option<&[String]>) -> Result<GateList, BadPattern> {
        match written {
            Some(written) => GateList::compile("gateAsk", written.iter().map(String::as_str)),
            None => GateList::compile("gateAsk", SHIPPED),
        }
    }

    /// Reads `gateAutoDeny`.
    pub fn denying(written: &[String]) -> Result<GateList, BadPattern> {
        GateList::compile("gateAutoDeny", written.iter().map(String::as_str))
    }

    fn compile<'w>(key: &'static str, written: impl IntoIterator<Item = &'w str>) -> Result<GateList, BadPattern> {
        let one = |pattern: &str| {
            let why = |e: regex::Error| e.to_string().lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned();
            RegexBuilder::new(pattern).case_insensitive(true).build().map_err(|e| BadPattern { key, pattern: pattern.to_owned(), why: why(e) })
        };
        Ok(GateList { patterns: written.into_iter().map(one).collect::<Result<_, _>>()? })
    }

    /// The part of a command that the list names, as it stands there or as a shell would read it; `None`: nothing.
    pub fn names(&self, command: &str) -> Option<String> {
        self.found(command).map(|(_, part)| part)
    }

    /// The pattern, as it was written, that names something in a command; `None`: none does.
    pub fn pattern_in(&self, command: &str) -> Option<&str> {
        self.found(command).map(|(pattern, _)| pattern.as_str())
    }

    fn found(&self, command: &str) -> Option<(&Regex, String)> {
        let plain = plain(command);
        [command, &*plain].into_iter().find_map(|text| self.patterns.iter().find_map(|pattern| Some((pattern, pattern.find(text)?.as_str().trim().to_owned()))))
    }
}

/// A command without what a shell takes away before it runs it: quotes, backslashes, broken lines.
fn plain(command: &str) -> Cow<'_, str> {
    if !command.contains(['\'', '"', '\\', '$']) {
        return Cow::Borrowed(command);
    }
    let joined = command.replace("\\\n", " ").replace("${IFS}", " ").replace("$IFS", " ");
    Cow::Owned(joined.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect())
}

/// Whether the text of a gate quotes a command: word for word, between marks of quotation or on lines of its own. That
/// the words are part of a longer command does not count: `git push` is not what was asked with `git push --dry-run`.
pub fn quotes(text: &str, command: &str) -> bool {
    let command = command.trim();
    if command.is_empty() {
        return false;
    }
    text.match_indices(command).any(|(at, found)| {
        let (before, behind) = (&text[..at], &text[at + found.len()..]);
        let between = |mark: char| before.ends_with(mark) && behind.starts_with(mark);
        let begins_line = before.rsplit('\n').next().unwrap_or_default();
        let ends_line = behind.split('\n').next().unwrap_or_default();
        let own_lines = begins_line.trim().trim_matches(['$', '>']).is_empty() && ends_line.trim().is_empty();
        own_lines || ['`', '"', '\''].into_iter().any(between)
    })
}

#[cfg(test)]
mod tests;
