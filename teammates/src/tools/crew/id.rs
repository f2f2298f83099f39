//! A task's id as a model says it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An id: text, or the number that it reads as. Models turn one into the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Said", into = "String")]
pub struct Id(String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "an id is a text, or a whole number")]
enum Said {
    Text(String),
    Number(u64),
}

impl From<Said> for Id {
    fn from(said: Said) -> Id {
        Id(match said {
            Said::Text(text) => text,
            Said::Number(number) => number.to_string(),
        })
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.0
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Id {
        Id(text.to_owned())
    }
}

impl AsRef<str> for Id {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Id {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_id_that_it_reads_as() {
        let read = |json: &str| serde_json::from_str::<Id>(json).map(String::from).ok();
        assert_eq!((read("7").as_deref(), read("\"7\"").as_deref(), read("\"a b\"").as_deref()), (Some("7"), Some("7"), Some("a b")));
        assert_eq!((read("7.5"), read("-1"), read("null"), read("[7]")), (None, None, None, None));
        assert_eq!(serde_json::to_string(&Id::from("7")).unwrap(), "\"7\"");
    }
}
