//! What becomes of a gate: the patterns of the project decide it, else its mode, else a person.

use regex::{Regex, RegexBuilder};
use teammates::config::GateMode;

/// The patterns of a project, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct Patterns {
    deny: Vec<Pattern>,
    approve: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// As it stands in the file.
    written: String,
    regex: Regex,
}

/// A pattern that cannot be used. Nothing starts with one: a gate that it was to deny would pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {pattern:?} is no regular expression: {why}")]
pub(crate) struct BadPattern {
    /// The key of `config.toml`.
    pub(crate) key: &'static str,
    /// As it stands there.
    pub(crate) pattern: String,
    /// What is wrong with it.
    pub(crate) why: String,
}

/// What becomes of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// That pattern denies it.
    Denied(String),
    /// That pattern approves it; `None`: the mode does.
    Approved(Option<String>),
    /// A person is asked.
    Waits,
}

impl Patterns {
    /// Reads `gateAutoDeny` and `gateAutoApprove`.
    pub(crate) fn compile(deny: &[String], approve: &[String]) -> Result<Patterns, BadPattern> {
        let deny = deny.iter().map(|pattern| anywhere("gateAutoDeny", pattern)).collect::<Result<_, _>>()?;
        let approve = approve.iter().map(|pattern| whole("gateAutoApprove", pattern)).collect::<Result<_, _>>()?;
        Ok(Patterns { deny, approve })
    }

    /// Decides over a gate of that text. A deny is looked at first, and may match anywhere; an approval must match all of
    /// it, every line.
    pub(crate) fn decide(&self, text: &str, mode: GateMode) -> Decision {
        let matching = |patterns: &[Pattern]| patterns.iter().find(|pattern| pattern.regex.is_match(text)).map(|pattern| pattern.written.clone());
        if let Some(pattern) = matching(&self.deny) {
            return Decision::Denied(pattern);
        }
        match (matching(&self.approve), mode) {
            (Some(pattern), _) => Decision::Approved(Some(pattern)),
            (None, GateMode::Auto) => Decision::Approved(None),
            (None, GateMode::Gated) => Decision::Waits,
        }
    }
}

fn anywhere(key: &'static str, written: &str) -> Result<Pattern, BadPattern> {
    let regex = compile(written).map_err(|e| BadPattern { key, pattern: written.to_owned(), why: in_one_line(&e) })?;
    Ok(Pattern { written: written.to_owned(), regex })
}

/// The pattern between the text's two ends. It is read alone first: `a)|(?:b` would be another one between brackets.
fn whole(key: &'static str, written: &str) -> Result<Pattern, BadPattern> {
    anywhere(key, written)?;
    // A comment at its end, which `(?x)` allows, reaches as far as its line.
    let bracketed = compile(&format!(r"\A(?:{written})\z")).or_else(|_| compile(&format!("\\A(?:{written}\n)\\z")));
    let regex = bracketed.map_err(|e| BadPattern { key, pattern: written.to_owned(), why: in_one_line(&e) })?;
    Ok(Pattern { written: written.to_owned(), regex })
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(true).build()
}

/// What is wrong, without the drawing that points at it.
fn in_one_line(error: &regex::Error) -> String {
    let told = error.to_string();
    told.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(deny: &[&str], approve: &[&str]) -> Patterns {
        let owned = |list: &[&str]| list.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        Patterns::compile(&owned(deny), &owned(approve)).unwrap()
    }

    #[test]
    fn deny_first_and_anywhere_approve_the_whole_else_the_mode() {
        let denied = |pattern: &str| Decision::Denied(pattern.to_owned());
        let approved = |pattern: &str| Decision::Approved(Some(pattern.to_owned()));
        let cases: [(&[&str], &[&str], &str, Decision); 24] = [
            (&[], &[], "push", Decision::Waits),
            (&["prod"], &[".*"], "deploy to PRODUCTION", denied("prod")),
            (&["x", "prod"], &[], "to prod", denied("prod")),
            (&["^drop"], &[], "first\ndrop it", Decision::Waits),
            (&["(?m)^drop"], &[], "first\ndrop it", denied("(?m)^drop")),
            (&["first.drop"], &[], "first\ndrop it", Decision::Waits),
            (&[], &["push"], "push", approved("push")),
            (&[], &["push"], "PUSH", approved("push")),
            (&[], &["(?-i)push"], "PUSH", Decision::Waits),
            (&[], &["push"], "push --force", Decision::Waits),
            (&[], &["push"], "please push", Decision::Waits),
            (&[], &["push"], "push\n", Decision::Waits),
            (&[], &["push .*"], "push it\nand drop the database", Decision::Waits),
            (&[], &["(?m)^push .*$"], "push it\nand drop the database", Decision::Waits),
            (&[], &["(?s)push .*"], "push it\nand more", approved("(?s)push .*")),
            (&[], &["a|b"], "b", approved("a|b")),
            (&[], &["a|b"], "ax", Decision::Waits),
            (&[], &["a|b"], "xb", Decision::Waits),
            (&[], &["a|ab"], "ab", approved("a|ab")),
            (&[], &["(?x) push # to the staging"], "push", approved("(?x) push # to the staging")),
            (&[], &["(?x) push # to the staging"], "push it", Decision::Waits),
            // An empty pattern is found in every text, and is the whole of the empty one alone.
            (&[""], &["push"], "push", denied("")),
            (&[], &[""], "push", Decision::Waits),
            (&[], &[""], "", approved("")),
        ];
        for (deny, approve, text, expected) in cases {
            assert_eq!(patterns(deny, approve).decide(text, GateMode::Gated), expected, "{deny:?} {approve:?} {text:?}");
            let auto = if expected == Decision::Waits { Decision::Approved(None) } else { expected };
            assert_eq!(patterns(deny, approve).decide(text, GateMode::Auto), auto, "{deny:?} {approve:?} {text:?}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named_with_its_key() {
        let bad = |deny: &[String], approve: &[String]| Patterns::compile(deny, approve).unwrap_err();
        for pattern in ["(", "a)|(?:b", "[z-a]", r"\", "(?=a)", r"(a)\1", "a{9999999}"] {
            let (denied, approved) = (bad(&[pattern.to_owned()], &[]), bad(&["ok".to_owned()], &[pattern.to_owned()]));
            assert_eq!((denied.key, approved.key), ("gateAutoDeny", "gateAutoApprove"));
            assert_eq!(denied.pattern, pattern);
            assert!(!denied.why.is_empty() && !denied.why.contains('\n') && denied.why == approved.why, "{denied} / {approved}");
        }
        assert_eq!(bad(&["(".into()], &[]).to_string(), "`gateAutoDeny`: \"(\" is no regular expression: unclosed group");
    }
}
