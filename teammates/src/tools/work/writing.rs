//! `write_file` and `edit_file`.

use std::io::Read as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Workspace, aside};
use crate::tools::{Access, Family, Tool};

/// The longest file that is edited, in bytes.
const LONGEST: u64 = 16 << 20;

/// The arguments of `write_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    /// The file, relative to the workspace. Directories on the way are made.
    path: String,
    /// All that the file is to contain.
    content: String,
}

pub(super) fn write_file(workspace: &Arc<Workspace>) -> Tool {
    let workspace = Arc::clone(workspace);
    let description = "Write a whole file of the workspace. One that is there already must have been read, and is replaced; to change a part of \
        it, use edit_file.";
    Tool::new("write_file", description, Family::Work, Access::Writes, move |input: WriteFile| {
        let workspace = Arc::clone(&workspace);
        aside(move || {
            let replaced = workspace.put(&input.path, input.content.as_bytes()).map_err(|e| e.to_string())?;
            let lines = input.content.lines().count();
            Ok(format!("{} {}: {lines} lines.", if replaced { "Replaced" } else { "Created" }, input.path))
        })
    })
}

/// The arguments of `edit_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFile {
    /// The file, relative to the workspace. It must have been read.
    path: String,
    /// What is to be replaced, exactly as it stands in the file: with its white space, without line numbers.
    old: String,
    /// What is to stand there instead.
    new: String,
    /// Replace it everywhere. Otherwise it must stand in the file exactly once. Default: false.
    #[serde(default)]
    all: bool,
}

pub(super) fn edit_file(workspace: &Arc<Workspace>) -> Tool {
    let workspace = Arc::clone(workspace);
    let description = "Replace an exact piece of text in a file of the workspace. It must stand there exactly once, unless all is set: give as many \
        lines around it as make it unique.";
    Tool::new("edit_file", description, Family::Work, Access::Writes, move |input: EditFile| {
        let workspace = Arc::clone(&workspace);
        aside(move || edit(&workspace, &input))
    })
}

fn edit(workspace: &Workspace, input: &EditFile) -> Result<String, String> {
    let (file, path) = (workspace.open_as_read(&input.path).map_err(|e| e.to_string())?, &input.path);
    let mut text = String::new();
    let read = file.take(LONGEST + 1).read_to_string(&mut text).map_err(|e| format!("cannot read {path}: {e}"))?;
    if read as u64 > LONGEST {
        return Err(format!("{path} has more than {LONGEST} bytes: change it with bash"));
    }
    let edited = replaced(&text, &input.old, &input.new, input.all).map_err(|why| format!("{path} was not changed: {why}"))?;
    workspace.put(path, edited.0.as_bytes()).map_err(|e| e.to_string())?;
    Ok(match edited.1 {
        1 => format!("Changed {path} in 1 place."),
        places => format!("Changed {path} in {places} places."),
    })
}

/// The text with other words in the place of some, and in how many places. An error says why not.
fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<(String, usize), String> {
    if old.is_empty() {
        return Err("`old` is empty; to write a whole file, use write_file".into());
    }
    if old == new {
        return Err("`old` and `new` are the same".into());
    }
    match text.matches(old).count() {
        0 if text.contains(&old.replace('\n', "\r\n")) => Err("its lines end with \\r\\n, those of `old` do not".into()),
        0 => Err("`old` does not stand in it; read the file again, and give the text exactly, without line numbers".into()),
        1 => Ok((text.replacen(old, new, 1), 1)),
        places if all => Ok((text.replace(old, new), places)),
        places => Err(format!("`old` stands in it in {places} places: give more lines around it, or set all")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_replaced_where_it_is_unique_or_everywhere() {
        type Expected = Result<(&'static str, usize), &'static str>;
        let cases: [(&str, &str, &str, bool, Expected); 8] = [
            ("a b c", "b", "x", false, Ok(("a x c", 1))),
            ("a b b", "b", "x", false, Err("2 places")),
            ("a b b", "b", "x", true, Ok(("a x x", 2))),
            ("a", "b", "x", true, Err("does not stand in it")),
            ("a", "", "x", false, Err("`old` is empty")),
            ("a", "a", "a", false, Err("the same")),
            ("a\r\nb", "a\nb", "x", false, Err("\\r\\n")),
            ("a\n", "a\n", "", false, Ok(("", 1))),
        ];
        for (text, old, new, all, expected) in cases {
            match (replaced(text, old, new, all), expected) {
                (Ok((text, places)), Ok(expected)) => assert_eq!((&*text, places), expected),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (other, _) => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
