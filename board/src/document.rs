//! A JSON object whose keys stay in their author's order and whose values stay as they were written.
//!
//! Only what a transition sets is replaced. Numbers keep their spelling (`1.10`, `1e2`), strings their
//! escapes, unknown keys their place; printing lays the whole out anew with two spaces.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep arrays and objects may nest: what JSON readers of other programs take without giving up.
pub const MAX_DEPTH: usize = 128;

/// What is wrong with a file that should be a task, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// In words.
    pub reason: String,
    /// Line, from 1; 0 where no place can be named.
    pub line: usize,
    /// Column in bytes, from 1; 0 where no place can be named.
    pub column: usize,
    /// Whether the text just ends too early: what a writer in mid-write leaves.
    #[serde(skip)]
    pub truncated: bool,
}

impl Problem {
    /// A problem of the file as a whole.
    pub fn whole(reason: impl Into<String>) -> Self {
        Problem { reason: reason.into(), line: 0, column: 0, truncated: false }
    }

    fn at(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        let (line, column) = place(text, offset);
        Problem { reason: reason.into(), line, column, truncated: false }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line}, column {}: {}", self.column, self.reason),
        }
    }
}

fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
    (line, before.len() - start + 1)
}

/// An object in its author's order: keys with the text of their values.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    text: &'a str,
    entries: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Document<'a> {
    /// Reads the bytes of a file: UTF-8 with or without a BOM, one JSON object, no key twice, not too deep.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let valid = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
            Problem { truncated: e.error_len().is_none(), ..Problem::at(valid, valid.len(), "the text is not UTF-8") }
        })?;
        let begin = text.trim_ascii_start();
        if begin.is_empty() {
            return Err(Problem { truncated: true, ..Problem::whole("the file is empty") });
        }
        if !begin.starts_with('{') {
            let start = text.len() - begin.len();
            let reason = if too_deep(begin, MAX_DEPTH) { TOO_DEEP } else { "a task is a JSON object" };
            return Err(Problem::at(text, start, reason));
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let entries = reader.deserialize_map(Entries).and_then(|entries| reader.end().map(|()| entries));
        let entries = entries.map_err(|e| match too_deep(begin, MAX_DEPTH) {
            true => Problem { line: e.line(), column: e.column(), reason: TOO_DEEP.into(), truncated: false },
            false => Problem { line: e.line(), column: e.column(), reason: without_place(&e), truncated: e.is_eof() },
        })?;
        let document = Document { text, entries };
        document.check_keys()?;
        Ok(document)
    }

    fn check_keys(&self) -> Result<(), Problem> {
        let mut seen = HashSet::new();
        for (index, (key, value)) in self.entries.iter().enumerate() {
            let twice = match self.entries.len() {
                0..=32 => self.entries[..index].iter().any(|(earlier, _)| earlier == key),
                _ => !seen.insert(key.as_ref()),
            };
            if twice {
                return Err(self.problem(value, format!("the key {key:?} stands here a second time")));
            }
            // The object itself is one level.
            if value.starts_with(['[', '{']) && too_deep(value, MAX_DEPTH - 1) {
                return Err(self.problem(value, TOO_DEEP));
            }
        }
        Ok(())
    }

    /// A problem at the place of a value of this document.
    pub(crate) fn problem(&self, value: &str, reason: impl Into<String>) -> Problem {
        let offset = (value.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        match offset <= self.text.len() {
            true => Problem::at(self.text, offset, reason),
            false => Problem::whole(reason),
        }
    }

    /// The text of a key's value, as it was written.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_ref())
    }

    /// The keys and the texts of their values, in the author's order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(k, v)| (k.as_ref(), v.as_ref()))
    }

    /// Sets a key to a JSON text, in its place or at the end.
    pub fn set_raw(&mut self, key: &str, value: String) {
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value.into(),
            None => self.entries.push((key.to_owned().into(), value.into())),
        }
    }

    /// Sets a key to a value, in its place or at the end.
    pub fn set(&mut self, key: &str, value: &impl Serialize) {
        // The types of this crate always serialize: none has a map with other than string keys.
        self.set_raw(key, serde_json::to_string(value).unwrap_or_else(|_| "null".into()));
    }

    /// Sets a key in front of all others when it is new.
    pub fn set_first(&mut self, key: &str, value: &impl Serialize) {
        if self.get(key).is_none() {
            self.entries.insert(0, (key.to_owned().into(), "null".into()));
        }
        self.set(key, value);
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|(k, _)| k != key);
    }

    /// Takes over what somebody changed between two versions: keys that he set, added or took out.
    pub fn take_edits(&mut self, before: &Document<'_>, after: &Document<'_>) {
        // A value that was only laid out anew is none that was set.
        let same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(serde_json::from_str::<serde_json::Value>);
            one.is_ok_and(|one| other.is_ok_and(|other| one == other))
        };
        for (key, value) in after.entries() {
            if !before.get(key).is_some_and(|before| same(before, value)) {
                self.set_raw(key, value.to_owned());
            }
        }
        for (key, _) in before.entries().filter(|(key, _)| after.get(key).is_none()) {
            self.remove(key);
        }
    }

    /// The document as a file: two-space layout, one final newline.
    pub fn pretty(&self) -> String {
        let length: usize = self.entries.iter().map(|(k, v)| k.len() + v.len() + 12).sum();
        let mut out = String::with_capacity(length + length / 4 + 8);
        self.print(&mut out, &mut |value, out| lay_out(value, 1, out), "\n  ", ": ", "\n");
        out.push('\n');
        out
    }

    /// The document in one line, without spaces between its tokens.
    pub fn compact(&self) -> String {
        let mut out = String::with_capacity(self.entries.iter().map(|(k, v)| k.len() + v.len() + 4).sum::<usize>() + 2);
        self.print(&mut out, &mut squeeze, "", ":", "");
        out
    }

    fn print(&self, out: &mut String, value: &mut dyn FnMut(&str, &mut String), indent: &str, colon: &str, end: &str) {
        out.push('{');
        for (index, (key, text)) in self.entries.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(indent);
            quote(key, out);
            out.push_str(colon);
            value(text, out);
        }
        if !self.entries.is_empty() {
            out.push_str(end);
        }
        out.push('}');
    }
}

const TOO_DEEP: &str = "arrays and objects nest deeper than 128 levels";

struct Entries;

impl<'a> Visitor<'a> for Entries {
    type Value = Vec<(Cow<'a, str>, Cow<'a, str>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        #[derive(serde::Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
        let mut entries = Vec::with_capacity(12);
        while let Some((Key(key), value)) = map.next_entry::<Key<'a>, &'a RawValue>()? {
            entries.push((key, Cow::Borrowed(value.get())));
        }
        Ok(entries)
    }
}

/// serde_json's message without the place that it repeats at its end.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// Whether brackets nest deeper than `limit`. Strings are passed over; the text need not be valid.
fn too_deep(text: &str, limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

fn quote(text: &str, out: &mut String) {
    if text.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\') {
        out.extend(["\"", text, "\""]);
        return;
    }
    match serde_json::to_string(text) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => out.push_str("\"\""),
    }
}

/// The pieces of a valid JSON text: brackets, commas and colons one by one, strings and other scalars whole.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let bytes = rest.as_bytes();
        let end = match bytes.first()? {
            b'[' | b']' | b'{' | b'}' | b',' | b':' => 1,
            b'"' => string_end(bytes),
            _ => bytes.iter().position(|b| b" \t\r\n,:[]{}".contains(b)).unwrap_or(bytes.len()),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

fn string_end(bytes: &[u8]) -> usize {
    let mut index = 1;
    while index < bytes.len() {
        match bytes[index] {
            b'\\' => index += 2,
            b'"' => return index + 1,
            _ => index += 1,
        }
    }
    bytes.len()
}

fn squeeze(text: &str, out: &mut String) {
    if !text.starts_with(['[', '{']) {
        out.push_str(text);
        return;
    }
    tokens(text).for_each(|token| out.push_str(token));
}

/// Prints a valid JSON text at an indentation, each scalar as it was written.
fn lay_out(text: &str, mut depth: usize, out: &mut String) {
    if !text.starts_with(['[', '{']) {
        out.push_str(text);
        return;
    }
    let newline = |depth: usize, out: &mut String| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    let mut opened = false;
    for token in tokens(text) {
        let closes = matches!(token, "]" | "}");
        if closes {
            depth -= 1;
        }
        // An empty list or object stays on its line.
        if opened != closes {
            newline(depth, out);
        }
        opened = false;
        out.push_str(token);
        match token {
            "[" | "{" => {
                depth += 1;
                opened = true;
            }
            "," => newline(depth, out),
            ":" => out.push(' '),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        Document::parse(text.as_bytes()).unwrap().pretty()
    }

    #[test]
    fn order_numbers_and_escapes_stay() {
        let printed = round(r#"{"b":1.10,"a":{"k":[1e2,null,[],{}],"s":"\u00e9\"]{"},"é":"x"}"#);
        assert_eq!(
            printed,
            "{\n  \"b\": 1.10,\n  \"a\": {\n    \"k\": [\n      1e2,\n      null,\n      [],\n      {}\n    ],\n    \"s\": \"\\u00e9\\\"]{\"\n  },\n  \"é\": \"x\"\n}\n"
        );
        assert_eq!(round(&printed), printed, "printing twice changes nothing");
        assert_eq!(Document::parse(printed.as_bytes()).unwrap().compact(), r#"{"b":1.10,"a":{"k":[1e2,null,[],{}],"s":"\u00e9\"]{"},"é":"x"}"#);
    }

    #[test]
    fn problems_name_their_place() {
        for (text, reason, line, column, truncated) in [
            (&b""[..], "empty", 0, 0, true),
            (b" \n", "empty", 0, 0, true),
            (b"[1]", "object", 1, 1, false),
            (b"{\n \"a\": 1,\n \"a\": 2}", "second time", 3, 7, false),
            (b"{\"a\":1}x", "trailing", 1, 8, false),
            (b"{\"a\":\xe9}", "UTF-8", 1, 6, false),
            (b"{\"a\":\"half", "EOF", 1, 10, true),
            (b"{\"a\":nul}", "ident", 1, 9, false),
        ] {
            let problem = Document::parse(text).unwrap_err();
            assert!(problem.reason.contains(reason), "{problem:?}");
            assert_eq!((problem.line, problem.column, problem.truncated), (line, column, truncated), "{problem:?}");
        }
    }

    #[test]
    fn depth_is_bounded_by_the_same_rule_everywhere() {
        let nested = |levels: usize| format!("{{\"subject\":\"x\",\"deep\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(Document::parse(nested(127).as_bytes()).is_ok());
        assert!(Document::parse(nested(128).as_bytes()).unwrap_err().reason.contains("deeper"));
        assert!(Document::parse("[".repeat(100_000).as_bytes()).unwrap_err().reason.contains("deeper"));
        assert!(Document::parse(format!("{{\"a\":\"{}\"}}", "[".repeat(1000)).as_bytes()).is_ok());
        let mut crowded = String::from("{");
        (0..100_000).for_each(|i| crowded.push_str(&format!("\"k{i}\":{i},")));
        crowded.push_str("\"k5\":1}");
        assert!(Document::parse(crowded.as_bytes()).unwrap_err().reason.contains("second time"));
    }
}
