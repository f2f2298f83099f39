//! Front matter: YAML between two lines of `---` at the beginning of a Markdown file. An unknown key is a fault that
//! names the nearest known one.

use std::fmt;

use board::task::Command;
use serde::Deserialize;
use serde::de::{self, SeqAccess, Visitor};
use serde_saphyr::{MessageFormatter, UserMessageFormatter};

use crate::nearest::nearest;

/// What is wrong with it, and where. Lines are those of the file, counted from 1.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A key that is not known, and the known one that is most like it.
    UnknownKey { line: u64, key: String, nearest: &'static str },
    /// No YAML, or a value of another type.
    Yaml { line: u64, message: String },
}

/// The front matter, with the line of `---` that opens it (it is the document's beginning in YAML
/// too, so that line numbers are those of the file), and the rest. `None`: it has no end.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    match lines.next() {
        Some(first) if first.trim_end() == "---" => {
            let mut end = first.len();
            for line in lines {
                if line.trim_end() == "---" {
                    return Some((&text[..end], &text[end + line.len()..]));
                }
                end += line.len();
            }
            None
        }
        _ => Some(("", text)),
    }
}

/// Reads it; where it is empty, what is the default.
pub(crate) fn yaml<'a, T: Default + Deserialize<'a>>(front: &'a str) -> Result<T, serde_saphyr::Error> {
    // Nothing but blank lines and comments is a null document, which is no mapping.
    let empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if front.lines().skip(1).all(empty) { Ok(T::default()) } else { serde_saphyr::from_str(front) }
}

/// What an error of [`yaml`] says.
pub(crate) fn fault(error: &serde_saphyr::Error) -> Fault {
    let line = error.location().map_or(1, |location| location.line());
    match error.without_snippet() {
        serde_saphyr::Error::SerdeUnknownField { field, expected, .. } if let Some(nearest) = nearest(field, expected) => {
            Fault::UnknownKey { line, key: field.escape_debug().to_string(), nearest }
        }
        plain => {
            let message = UserMessageFormatter.format_message(plain).escape_debug().to_string();
            Fault::Yaml { line, message }
        }
    }
}

/// A string goes to the shell, a list is a program with its arguments. The error is the rule that it breaks.
pub(crate) fn command(written: &OneOrMore) -> Result<Command, &'static str> {
    match written {
        OneOrMore::One(line) if line.trim().is_empty() => Err("a command is not blank"),
        OneOrMore::More(words) if words.first().is_none_or(String::is_empty) => Err("a command as a list begins with a program"),
        OneOrMore::One(line) => Ok(Command::Shell(line.clone())),
        OneOrMore::More(words) => Ok(Command::Exec(words.clone())),
    }
}

/// A string, or a list of strings.
#[derive(Clone, Debug)]
pub(crate) enum OneOrMore {
    /// A string.
    One(String),
    /// A list.
    More(Vec<String>),
}

impl OneOrMore {
    /// As a list of names: a string is cut at its commas, but not within parentheses, for a tool
    /// may be written `Bash(git add:*, git commit:*)`.
    pub(crate) fn separated(self) -> Vec<String> {
        let text = match self {
            OneOrMore::More(list) => return list,
            OneOrMore::One(text) => text,
        };
        let mut depth = 0_usize;
        text.split(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
    }
}

impl fmt::Display for OneOrMore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OneOrMore::One(text) => out.write_str(text),
            OneOrMore::More(list) => write!(out, "[{}]", list.join(", ")),
        }
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = OneOrMore;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string or a list of strings (quote what looks like something else)")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMore, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMore::More(list))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
