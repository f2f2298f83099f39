//! What a person may say of a task: options that `add` and `edit` share.

use board::duration;
use board::name::Name;
use board::task::Tier;
use serde_json::json;

/// Keys of a task.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct TaskOptions {
    /// The brief, in Markdown
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,

    /// The command that does it, for sh -c
    #[arg(long, value_name = "COMMAND")]
    pub(super) run: Option<String>,

    /// A command that must succeed after the work, or it is not done
    #[arg(long, value_name = "COMMAND")]
    pub(super) check: Option<String>,

    /// Higher first (default 0)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(super) priority: Option<i64>,

    /// Only this teammate may claim it
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<Name>,

    /// Only teammates of this tier or a higher one may claim it
    #[arg(long, value_name = "TIER", value_parser = tier)]
    pub(super) tier: Option<Tier>,

    /// Only teammates with this role may claim it
    #[arg(long, value_name = "ROLE")]
    pub(super) role: Option<String>,

    /// Only teammates with all these capabilities may claim it
    #[arg(long, value_name = "CAPABILITY,…", value_delimiter = ',')]
    pub(super) needs: Vec<String>,

    /// The plan that it belongs to
    #[arg(long, value_name = "PLAN")]
    pub(super) plan: Option<String>,

    /// Wall clock for one attempt ("90s", "15m", "1h30m")
    #[arg(long, value_name = "DURATION", value_parser = a_duration)]
    pub(super) timeout: Option<String>,

    /// Further attempts after a failure (default 0)
    #[arg(long, value_name = "NUMBER")]
    pub(super) retries: Option<u32>,

    /// Processes that it leaves running survive it
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(super) keep: Option<bool>,

    /// It has a git worktree of its own to work in, which is merged when it is done
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(super) worktree: Option<bool>,
}

impl TaskOptions {
    /// The keys that were given, in the order in which documents have them, with the JSON text of their values.
    pub(super) fn keys(&self) -> Vec<(&'static str, String)> {
        let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
        let keys = [
            ("description", text(&self.description)),
            ("owner", self.owner.as_ref().map(|owner| json!(owner.as_str()))),
            ("priority", self.priority.map(|priority| json!(priority))),
            ("tier", self.tier.map(|tier| json!(tier.as_str()))),
            ("role", text(&self.role)),
            ("needs", (!self.needs.is_empty()).then(|| json!(self.needs))),
            ("plan", text(&self.plan)),
            ("run", text(&self.run)),
            ("check", text(&self.check)),
            ("timeout", text(&self.timeout)),
            ("retries", self.retries.map(|retries| json!(retries))),
            ("keep", self.keep.map(|keep| json!(keep))),
            ("worktree", self.worktree.map(|worktree| json!(worktree))),
        ];
        keys.into_iter().filter_map(|(key, value)| Some((key, value?.to_string()))).collect()
    }
}

/// A duration, as it was written.
fn a_duration(text: &str) -> Result<String, String> {
    duration::parse(text).map(|_| text.trim().to_owned())
}

fn tier(word: &str) -> Result<Tier, String> {
    match word {
        "cheap" => Ok(Tier::Cheap),
        "mid" => Ok(Tier::Mid),
        "top" => Ok(Tier::Top),
        _ => Err("a tier is cheap, mid or top".into()),
    }
}
