//! Names that people and programs give to teammates: safe as file names, and never one of the reserved ones.

use std::fmt;
use std::sync::Arc;

/// A teammate's name: 1 to 64 bytes, no `/`, no control character, not beginning with a dot, not reserved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// Names that posts bear which no teammate wrote, and the address of a lead.
pub const RESERVED: [&str; 4] = ["user", "system", "audit", "lead"];

/// Why a name or an id was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name:?} is refused: {reason}")]
pub struct NameError {
    /// `name` or `task id`.
    pub what: &'static str,
    /// The text that was given.
    pub name: String,
    /// The rule that it breaks.
    pub reason: &'static str,
}

/// What every name and id must be, so that it stays one file name inside its directory.
pub(crate) fn check(what: &'static str, text: &str, longest: usize) -> Result<(), NameError> {
    let reason = if text.is_empty() {
        "it is empty"
    } else if text.len() > longest {
        "it is too long"
    } else if text.contains(['/', '\\']) {
        "it contains a path separator"
    } else if text.chars().any(char::is_control) {
        "it contains a control character"
    } else if text.starts_with('.') {
        "it begins with a dot"
    } else if text.trim() != text {
        "it begins or ends with white space"
    } else {
        return Ok(());
    };
    Err(NameError { what, name: text.to_owned(), reason })
}

impl Name {
    /// Checks a name. The error says which rule it breaks.
    pub fn new(text: &str) -> Result<Self, NameError> {
        check("name", text, 64)?;
        if RESERVED.contains(&text) {
            return Err(NameError { what: "name", name: text.to_owned(), reason: "it is reserved (user, system, audit, lead)" });
        }
        Ok(Name(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Name {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Name::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for bad in ["", "../x", "/etc", "a/b", "a\0b", "a\nb", ".hidden", "..", " a", "a ", "user", "system", "audit", "lead", "\u{1b}[31m"] {
            assert!(Name::new(bad).is_err(), "{bad:?} was accepted");
        }
        for good in ["alice", "worker-1", "é", "a b", "userland"] {
            assert!(Name::new(good).is_ok(), "{good:?} was refused");
        }
    }
}
