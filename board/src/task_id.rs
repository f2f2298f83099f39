//! A task's id: what stands between `task_` and `.json` in its file's name.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::name::{NameError, check};

/// The highest number that is given out: what every reader of JSON takes for an integer.
pub(crate) const HIGHEST_NUMBER: u64 = (1 << 53) - 1;

/// An id, ordered naturally: `2` before `10`, `a2` before `a10`. Cloning is cheap.
///
/// In documents an id may be a string or an integer; `7` and `"7"` are the same id, `"07"` is another.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TaskId {
    /// Most ids are numbers, and are compared often: as such they need no look at the text.
    number: Option<NonZeroU64>,
    text: Arc<str>,
}

impl TaskId {
    /// Checks an id: it must stay one file name in `.tasks/`.
    pub fn new(text: &str) -> Result<Self, NameError> {
        check("task id", text, 200)?;
        let plain = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
        let number = plain.then(|| text.parse().ok()).flatten().filter(|number: &NonZeroU64| number.get() <= HIGHEST_NUMBER);
        Ok(TaskId { number, text: text.into() })
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name of its file in `.tasks/`.
    pub fn file_name(&self) -> String {
        let mut name = String::with_capacity(self.text.len() + 10);
        self.write_file_name(&mut name);
        name
    }

    /// Appends that name to a text.
    pub(crate) fn write_file_name(&self, text: &mut String) {
        ["task_", &self.text, ".json"].into_iter().for_each(|part| text.push_str(part));
    }

    /// The id that a file name bears, where it is a task's: `task_<id>.json`.
    pub fn of_file(name: &str) -> Option<Result<Self, NameError>> {
        let id = name.strip_prefix("task_")?.strip_suffix(".json")?;
        Some(TaskId::new(id))
    }

    /// The id as a number, where it is one that `crew add` could have given.
    pub fn number(&self) -> Option<u64> {
        self.number.map(NonZeroU64::get)
    }
}

impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => natural(self.text.as_bytes(), other.text.as_bytes()),
        }
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares runs of digits as numbers, everything else by bytes; equal only where the bytes are.
fn natural(a: &[u8], b: &[u8]) -> Ordering {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].is_ascii_digit() && b[j].is_ascii_digit() {
            let (run_a, run_b) = (digits(&a[i..]), digits(&b[j..]));
            let (value_a, value_b) = (without_zeros(run_a), without_zeros(run_b));
            let order = value_a.len().cmp(&value_b.len()).then_with(|| value_a.cmp(value_b));
            if order != Ordering::Equal {
                return order;
            }
            i += run_a.len();
            j += run_b.len();
        } else if a[i] != b[j] {
            return a[i].cmp(&b[j]);
        } else {
            i += 1;
            j += 1;
        }
    }
    (a.len() - i).cmp(&(b.len() - j)).then_with(|| a.cmp(b))
}

fn digits(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|b| !b.is_ascii_digit()).unwrap_or(bytes.len());
    &bytes[..end]
}

fn without_zeros(run: &[u8]) -> &[u8] {
    let start = run.iter().position(|&b| b != b'0').unwrap_or(run.len());
    &run[start..]
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl std::str::FromStr for TaskId {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        TaskId::new(text)
    }
}

/// As documents write it: a number where it is one, which other programs compare with numbers.
impl serde::Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.number() {
            Some(number) => serializer.serialize_u64(number),
            None => serializer.serialize_str(&self.text),
        }
    }
}

/// Strings and integers are ids; nothing else is.
impl<'de> serde::Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = TaskId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a task id (a string or an integer)")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TaskId, E> {
                TaskId::new(text).map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<TaskId, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<TaskId, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::new(text).unwrap()
    }

    #[test]
    fn natural_order() {
        let mut ids: Vec<_> = ["10", "2", "a10", "a2", "1", "a", "02", "a b", "1.10", "1.9"].map(id).into();
        ids.sort();
        let texts: Vec<_> = ids.iter().map(TaskId::as_str).collect();
        assert_eq!(texts, ["1", "1.9", "1.10", "02", "2", "10", "a", "a b", "a2", "a10"]);
    }

    #[test]
    fn strings_and_integers_are_the_same_id() {
        let ids: Vec<TaskId> = serde_json::from_str(r#"[7, "7", -1, "a b"]"#).unwrap();
        assert_eq!(ids[0], ids[1]);
        assert_ne!(id("07"), id("7"));
        assert!(serde_json::from_str::<TaskId>("1.5").is_err());
        assert!(serde_json::from_str::<TaskId>(r#""../x""#).is_err());
    }

    #[test]
    fn only_task_files_bear_an_id() {
        for (file, expected) in
            [("task_1.json", Some("1")), ("task_a b.json", Some("a b")), ("task_1.json~", None), (".task_1.json.swp", None), ("#task_1.json#", None)]
        {
            assert_eq!(TaskId::of_file(file).map(|id| id.unwrap().to_string()).as_deref(), expected);
        }
        assert!(TaskId::of_file("task_.json").unwrap().is_err());
    }
}
