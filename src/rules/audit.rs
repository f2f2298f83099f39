//! What counts when a teammate says that the goal is reached: its checks, run again, and the auditor's answer.

use board::task::Command;
use serde::{Deserialize, Serialize};

use super::{no_tests, paths};

/// A check that was run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckRun {
    /// What was run, in the project's directory.
    pub(crate) command: Command,
    /// How it ended; `None`: a signal ended it, or its time was up.
    pub(crate) exit: Option<i32>,
    /// What it wrote, both streams as they came.
    pub(crate) output: String,
}

/// Why a check does not count as passed; `None`: it does. `is_missing` is asked about paths relative to the project.
///
/// A check that exits with 0 and has checked nothing proves nothing: no test ran, or what it names is not there.
pub(crate) fn failed(check: &CheckRun, is_missing: impl Fn(&str) -> bool) -> Option<String> {
    let shown = check.command.to_string();
    match check.exit {
        None => return Some(format!("`{shown}` did not come to its end")),
        Some(126) => return Some(format!("`{shown}` exited with 126: its program cannot be executed")),
        Some(127) => return Some(format!("`{shown}` exited with 127: its program was not found")),
        Some(0) => {}
        Some(code) => return Some(format!("`{shown}` exited with {code}")),
    }
    if let Some(runner) = no_tests::of(&check.output) {
        return Some(format!("`{shown}` exited with 0, and its output says that no test ran ({runner})"));
    }
    let missing = paths::named_by(&check.command, &is_missing).into_iter().find(|path| is_missing(path))?;
    Some(format!("`{shown}` exited with 0, but names {missing}, which is not there"))
}

/// An auditor's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// Whether the goal is reached.
    pub(crate) accept: bool,
    /// What is missing; empty only when accepted.
    pub(crate) gap: String,
}

impl Verdict {
    /// Reads what an auditor printed: one JSON object, `{"accept":…,"gap":…}`. The error says what it is instead; then
    /// nothing is accepted.
    pub(crate) fn parse(stdout: &str) -> Result<Verdict, String> {
        #[derive(Deserialize)]
        struct Answer {
            accept: bool,
            gap: Option<String>,
        }
        let text = stdout.trim();
        if text.is_empty() {
            return Err("the auditor answered nothing".into());
        }
        // An array would do for serde.
        if !text.starts_with('{') {
            return Err(format!("the auditor's answer is no JSON object: {}", beginning(text)));
        }
        let answer: Answer =
            serde_json::from_str(text).map_err(|e| format!("the auditor's answer is not {{\"accept\":…,\"gap\":…}}: {e}: {}", beginning(text)))?;
        let gap = answer.gap.unwrap_or_default();
        if !answer.accept && gap.trim().is_empty() {
            return Err("the auditor did not accept, and did not say what is missing".into());
        }
        Ok(Verdict { accept: answer.accept, gap })
    }

    /// Reads what a model answered: the object, alone or as a block of code. One that does not accept may stand among other
    /// words; one that accepts may be quoted there, from what somebody wrote for the auditor to read, and counts for
    /// nothing.
    pub(crate) fn of_model(said: &str) -> Result<Verdict, String> {
        let text = unfenced(said.trim());
        let why = match Verdict::parse(text) {
            Ok(verdict) => return Ok(verdict),
            Err(why) => why,
        };
        let mut among = objects(text).into_iter().filter_map(|object| Verdict::parse(object).ok());
        match (among.next(), among.next()) {
            (Some(only), None) if !only.accept => Ok(only),
            (Some(_), _) => Err(format!("{why}; an acceptance among other words counts for nothing")),
            (None, _) => Err(why),
        }
    }
}

/// Without the fence of a block of code that is all of it.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let code = inside.and_then(|inside| inside.split_once('\n')).map(|(_, code)| code.trim());
    code.unwrap_or(text)
}

/// The JSON objects in a text, in order; what lies within another is none of its own.
fn objects(text: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<serde_json::Value>();
        from = match values.next() {
            Some(Ok(_)) => {
                let end = at + values.byte_offset();
                found.push(&text[at..end]);
                end
            }
            _ => at + 1,
        };
    }
    found
}

/// So many characters of an answer are shown in a message about it.
const SHOWN: usize = 80;

fn beginning(text: &str) -> String {
    let beginning: String = text.chars().take(SHOWN).collect();
    format!("{beginning:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, exit: impl Into<Option<i32>>, output: &str) -> CheckRun {
        CheckRun { command: Command::Shell(command.into()), exit: exit.into(), output: output.into() }
    }

    #[test]
    fn what_does_not_count_as_passed() {
        let there = |path: &str| path != "tests/gone.sh";
        let missing = |path: &str| !there(path);
        let cases = [
            (run("make", 0, ""), None),
            (run("make", 2, ""), Some("`make` exited with 2")),
            (run("make", None, ""), Some("`make` did not come to its end")),
            (run("make", 126, ""), Some("`make` exited with 126: its program cannot be executed")),
            (run("make", 127, ""), Some("`make` exited with 127: its program was not found")),
            (run("cargo test", 0, "running 0 tests\n"), Some("`cargo test` exited with 0, and its output says that no test ran (cargo test)")),
            (run("cargo test", 0, "running 0 tests\n\nrunning 2 tests\n"), None),
            (run("tests/gone.sh || true", 0, ""), Some("`tests/gone.sh || true` exited with 0, but names tests/gone.sh, which is not there")),
            (run("tests/there.sh", 0, ""), None),
        ];
        for (check, expected) in cases {
            assert_eq!(failed(&check, missing).as_deref(), expected, "{check:?}");
        }
    }

    #[test]
    fn only_one_object_is_a_verdict() {
        let verdict = |accept, gap: &str| Ok(Verdict { accept, gap: gap.into() });
        let said = [
            ("{\"accept\":true}", verdict(true, "")),
            (" \n{\"accept\":true,\"gap\":null,\"notes\":[1]}\n ", verdict(true, "")),
            ("{\"gap\":\"no tests\\nfor b\",\"accept\":false}", verdict(false, "no tests\nfor b")),
            ("{\"accept\":true,\"gap\":\"small\"}", verdict(true, "small")),
        ];
        for (text, expected) in said {
            assert_eq!(Verdict::parse(text), expected, "{text}");
        }
        let none = [
            ("", "answered nothing"),
            ("Looks good!", "no JSON object: \"Looks good!\""),
            ("```json\n{\"accept\":true}\n```", "no JSON object"),
            ("[true,\"x\"]", "no JSON object"),
            ("{\"accept\":true} {\"accept\":false}", "trailing characters"),
            ("{\"accept\":true} I think", "trailing characters"),
            ("{\"accept\":\"true\"}", "invalid type"),
            ("{\"gap\":\"\"}", "missing field `accept`"),
            ("{\"accept\":true,\"accept\":false}", "duplicate field"),
            ("{\"accept\":true", "EOF"),
            ("{\"accept\":false}", "did not say what is missing"),
            ("{\"accept\":false,\"gap\":\" \"}", "did not say what is missing"),
            ("{\"accept\":false,\"gap\":[\"a\"]}", "invalid type"),
        ];
        for (text, expected) in none {
            let message = Verdict::parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert!(Verdict::parse(&"é".repeat(10_000)).unwrap_err().chars().count() < 200);
    }

    #[test]
    fn a_model_accepts_with_the_object_alone_and_reopens_however_it_says_so() {
        let verdict = |accept, gap: &str| Ok(Verdict { accept, gap: gap.into() });
        for (said, expected) in [
            ("{\"accept\":true}\n", verdict(true, "")),
            ("```json\n{\"accept\": true, \"gap\": \"\"}\n```", verdict(true, "")),
            ("```\n{\"accept\": false, \"gap\": \"b\"}\n```", verdict(false, "b")),
            ("I looked at it. {\"accept\": false, \"gap\": \"no {x}\"} That is all.", verdict(false, "no {x}")),
            ("{\"is\": {\"accept\": true}} and {\"accept\": false, \"gap\": \"b\"}", verdict(false, "b")),
        ] {
            assert_eq!(Verdict::of_model(said), expected, "{said}");
        }
        for said in [
            "",
            "I accept.",
            "The diff tells me to answer {\"accept\": true}, and I do not.",
            "{\"accept\": true} is what it says.",
            "Sure:\n```json\n{\"accept\": true}\n```",
            "{\"accept\": false, \"gap\": \"b\"}\n{\"accept\": true}",
            "{\"accept\": true}{\"accept\": true}",
            "```json\n{\"accept\": tr",
        ] {
            assert!(Verdict::of_model(said).is_err(), "{said}");
        }
    }
}
