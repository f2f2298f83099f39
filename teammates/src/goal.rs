//! What a run is for: `.crew/goal.md`, front matter with the checks that show that it is reached, then the goal.
//!
//! Both a person and `crew goal` write it. What the one part says stays byte for byte while the other is set.

use std::path::PathBuf;

use board::crew_file::CrewFile;
use board::place::Place;
use board::task::Command;
use serde::Deserialize;
use serde::de::{self, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::front_matter::{self, Fault, OneOrMore};

/// A goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// Commands that exit with 0 when it is reached.
    pub checks: Vec<Command>,
    /// The goal, without blank lines around.
    pub text: String,
}

/// Why `goal.md` cannot be used or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoalError {
    /// It cannot be read or written.
    #[error(transparent)]
    Board(#[from] board::Error),
    /// The first line is `---` and no second one follows.
    #[error("{}:1: the front matter has no end: put a line of `---` after its last key", file.display())]
    Unclosed {
        /// The file.
        file: PathBuf,
    },
    /// The front matter is no YAML, or a value has the wrong type.
    #[error("{}:{line}: {message}", file.display())]
    Yaml {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What the parser says.
        message: String,
    },
    /// A key that no goal has.
    #[error("{}:{line}: unknown key `{key}`: did you mean `{nearest}`?", file.display())]
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// As it stands in the file.
        key: String,
        /// The known key that is most like it.
        nearest: &'static str,
    },
    /// A check that is no command.
    #[error("{}:{line}: `checks`: {rule}", file.display())]
    Check {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is allowed.
        rule: &'static str,
    },
}

impl Goal {
    /// Where a project's goal is.
    pub fn path(place: &Place) -> PathBuf {
        file(place).path()
    }

    /// The goal of a project; `None`: it has none yet.
    pub fn read(place: &Place) -> Result<Option<Goal>, GoalError> {
        let file = file(place);
        file.read()?.map(|text| parse(&text, file.path())).transpose()
    }

    /// Sets the text. The front matter stays as it is; the file is made where it is missing.
    pub fn set_text(place: &Place, text: &str) -> Result<(), GoalError> {
        let file = file(place);
        file.edit(|before| {
            let (front, _) = parts(before.unwrap_or_default(), &file)?;
            Ok((joined(front, text.trim(), "\n"), ()))
        })
    }

    /// Sets the checks, each a line for the shell. The text stays as it is; the file is made where it is missing.
    pub fn set_checks(place: &Place, checks: &[String]) -> Result<(), GoalError> {
        let lines: String = checks.iter().map(|check| format!("  - {}\n", quoted(check))).collect();
        let front = format!("---\nchecks:\n{lines}---\n");
        let file = file(place);
        file.edit(|before| {
            let (_, body) = parts(before.unwrap_or_default(), &file)?;
            let checked = joined(&front, body, "");
            // Whatever was given must be what will be read.
            parse(&checked, file.path())?;
            Ok((checked, ()))
        })
    }
}

fn file(place: &Place) -> CrewFile {
    CrewFile::of(place, "goal")
}

/// The front matter with both its lines of `---`, where there is one, and the rest.
fn parts<'a>(text: &'a str, file: &CrewFile) -> Result<(&'a str, &'a str), GoalError> {
    let (_, body) = front_matter::split(unmarked(text)).ok_or_else(|| GoalError::Unclosed { file: file.path() })?;
    Ok(text.split_at(text.len() - body.len()))
}

fn joined(front: &str, body: &str, end: &str) -> String {
    // Else a body that begins with a line of `---` would be front matter.
    let front = if front.is_empty() && body.starts_with("---") { "---\n---\n" } else { front };
    let gap = if front.is_empty() || front.ends_with('\n') { "" } else { "\n" };
    [front, gap, body, end].concat()
}

/// As a string of YAML in double quotes, in which every escape of JSON means the same.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => quoted.push(plain),
        }
    }
    quoted + "\""
}

fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn parse(text: &str, file: PathBuf) -> Result<Goal, GoalError> {
    let Some((front, body)) = front_matter::split(unmarked(text)) else { return Err(GoalError::Unclosed { file }) };
    let front: Front = match front_matter::yaml(front) {
        Ok(front) => front,
        Err(error) => {
            return Err(match front_matter::fault(&error) {
                Fault::UnknownKey { line, key, nearest } => GoalError::UnknownKey { file, line, key, nearest },
                Fault::Yaml { line, message } => GoalError::Yaml { file, line, message },
            });
        }
    };
    let mut checks = Vec::new();
    if let Some(written) = front.checks {
        let line_of_all = written.defined.line();
        for (check, line) in written.value.0 {
            let refused = |rule| GoalError::Check { file: file.clone(), line: line.unwrap_or(line_of_all), rule };
            checks.push(front_matter::command(&check).map_err(refused)?);
        }
    }
    Ok(Goal { checks, text: body.trim().to_owned() })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Front {
    checks: Option<Spanned<Checks>>,
}

/// A command, or a list of commands, with the line of each.
struct Checks(Vec<(OneOrMore, Option<u64>)>);

impl<'de> Deserialize<'de> for Checks {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Checks;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a command or a list of commands")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Checks, E> {
                Ok(Checks(vec![(OneOrMore::One(line.to_owned()), None)]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Checks, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element::<Spanned<OneOrMore>>()? {
                    list.push((item.value, Some(item.defined.line())));
                }
                Ok(Checks(list))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use board::place::Surroundings;

    use super::*;

    fn read(text: &str) -> Result<Goal, String> {
        parse(text, "goal.md".into()).map_err(|error| error.to_string())
    }

    fn shell(line: &str) -> Command {
        Command::Shell(line.into())
    }

    #[test]
    fn checks_and_text() {
        let exec = |words: &[&str]| Command::Exec(words.iter().map(|word| (*word).to_owned()).collect());
        let cases = [
            ("", vec![], ""),
            ("\n# Head\n\ntext\n\n", vec![], "# Head\n\ntext"),
            ("---\n---\ntext", vec![], "text"),
            ("---\n# none yet\nchecks:\n---\ntext", vec![], "text"),
            ("\u{feff}---\r\nchecks: cargo test\r\n---\r\ntext\r\n", vec![shell("cargo test")], "text"),
            ("---\nchecks: [cargo test, make]\n---\n", vec![shell("cargo test"), shell("make")], ""),
            ("---\nchecks:\n  - [cargo, test]\n  - make && true\n---\n", vec![exec(&["cargo", "test"]), shell("make && true")], ""),
        ];
        for (text, checks, goal) in cases {
            assert_eq!(read(text), Ok(Goal { checks, text: goal.into() }), "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            ("---\nchecks: a\n", "goal.md:1: the front matter has no end"),
            ("---\n\ncheck: a\n---\n", "goal.md:3: unknown key `check`: did you mean `checks`?"),
            ("---\nchecks: {a: b}\n---\n", "goal.md:2: "),
            ("---\nchecks: [1]\n---\n", "goal.md:2: "),
            ("---\nchecks: \" \"\n---\n", "goal.md:2: `checks`: a command is not blank"),
            ("---\nchecks:\n  - a\n  - []\n---\n", "goal.md:4: `checks`: a command as a list begins with a program"),
            ("---\n- a\n---\n", "goal.md:2: "),
        ];
        for (text, expected) in cases {
            let message = read(text).unwrap_err();
            assert!(message.starts_with(expected), "{text:?}: {message}");
        }
    }

    #[test]
    fn each_part_is_set_and_the_other_stays() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tasks")).unwrap();
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("state").into()), ..Surroundings::default() };
        let place = Place::at(&temp.path().join(".tasks"), &surroundings).unwrap();
        let written = || std::fs::read_to_string(Goal::path(&place)).unwrap();
        assert_eq!(Goal::read(&place).unwrap(), None);
        Goal::set_text(&place, "  one\n").unwrap();
        assert_eq!(written(), "one\n");
        let odd = ["a \"b\" \\ 'c' # d: é\t\u{7f}\u{85}🐢", "- x"].map(str::to_owned);
        Goal::set_checks(&place, &odd).unwrap();
        let goal = Goal::read(&place).unwrap().unwrap();
        assert_eq!(goal, Goal { checks: odd.iter().map(|check| shell(check)).collect(), text: "one".into() });
        std::fs::write(Goal::path(&place), "---\n# why\nchecks: make\n---").unwrap();
        Goal::set_text(&place, "---\ntwo\n---").unwrap();
        assert_eq!(written(), "---\n# why\nchecks: make\n---\n---\ntwo\n---\n");
        std::fs::write(Goal::path(&place), "x").unwrap();
        Goal::set_text(&place, "---\ntwo\n---").unwrap();
        assert_eq!(Goal::read(&place).unwrap().unwrap().text, "---\ntwo\n---");
        Goal::set_checks(&place, &["make".into()]).unwrap();
        assert_eq!(written(), "---\nchecks:\n  - \"make\"\n---\n---\ntwo\n---\n");
        assert!(matches!(Goal::set_checks(&place, &[" ".into()]), Err(GoalError::Check { line: 3, .. })));
        std::fs::write(Goal::path(&place), "---\nno end\n").unwrap();
        for refused in [Goal::set_text(&place, "x"), Goal::set_checks(&place, &[])] {
            assert!(matches!(refused, Err(GoalError::Unclosed { .. })));
        }
        assert_eq!(written(), "---\nno end\n");
    }
}
