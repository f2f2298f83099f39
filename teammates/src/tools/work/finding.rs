//! `glob` and `grep`.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workspace::regular;
use super::{Workspace, aside, walking};
use crate::tools::bounds::{self, PAGE};
use crate::tools::{Access, Family, Tool};

/// The longest line of a match that is shown, in bytes.
const LONGEST_LINE: usize = 400;
/// The longest file that is searched, in bytes.
const LONGEST: u64 = 16 << 20;

/// The arguments of `glob`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Glob {
    /// A pattern such as **/*.rs or src/{a,b}/*.ts, matched against paths as seen from `path`. One without a slash is
    /// matched against names.
    pattern: String,
    /// The directory to look in, relative to the workspace. Default: the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// How many of the first results to leave out. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

pub(super) fn glob(workspace: &Arc<Workspace>) -> Tool {
    let workspace = Arc::clone(workspace);
    let description = "List the files of the workspace whose paths match a pattern, sorted. What .gitignore leaves out is not listed.";
    Tool::new("glob", description, Family::Work, Access::Reads, move |input: Glob| {
        let workspace = Arc::clone(&workspace);
        aside(move || list(&workspace, &input))
    })
}

fn list(workspace: &Workspace, input: &Glob) -> Result<String, String> {
    let matcher = matcher(&input.pattern)?;
    let mut page = Page::new(input.offset);
    each_file(workspace, input.path.as_deref(), Some(&matcher), |path, _| page.add(&path.display().to_string()))?;
    Ok(page.shown("no file matches", |next| call("glob", &Glob { offset: Some(next), ..input.clone() })))
}

/// The arguments of `grep`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Grep {
    /// A regular expression, as Rust's regex crate has them, looked for in each line.
    pattern: String,
    /// The file or directory to look in, relative to the workspace. Default: the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Only files that match this pattern, such as *.rs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    /// Take upper and lower case for the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// Only list the files, not the lines. Default: false.
    #[serde(default)]
    files_only: bool,
    /// So many lines before and behind each match as well. Default: 0, at most 20.
    #[serde(default)]
    context: usize,
    /// How many of the first results to leave out. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

pub(super) fn grep(workspace: &Arc<Workspace>) -> Tool {
    let workspace = Arc::clone(workspace);
    let description = "Find lines of text files of the workspace by a regular expression: path:line:text. What .gitignore leaves out is not searched.";
    Tool::new("grep", description, Family::Work, Access::Reads, move |input: Grep| {
        let workspace = Arc::clone(&workspace);
        aside(move || search(&workspace, &input))
    })
}

fn search(workspace: &Workspace, input: &Grep) -> Result<String, String> {
    let regex = RegexBuilder::new(&input.pattern).case_insensitive(input.ignore_case).build();
    let regex = regex.map_err(|e| format!("{:?} is no regular expression: {e}", input.pattern))?;
    let matcher = input.glob.as_deref().map(matcher).transpose()?;
    let mut page = Page::new(input.offset);
    let mut too_long = Vec::new();
    let mut in_file = |path: &Path, dir: &Dir, name: &Path| {
        let Ok(file) = regular(dir, name) else { return true };
        let mut bytes = Vec::new();
        match file.take(LONGEST + 1).read_to_end(&mut bytes) {
            Ok(read) if read as u64 > LONGEST => too_long.push(path.display().to_string()),
            Ok(_) if !bytes.get(..bytes.len().min(8 << 10)).unwrap_or_default().contains(&0) => return matches(path, &bytes, &regex, input, &mut page),
            _ => {}
        }
        true
    };
    match input.path.as_deref().filter(|path| workspace.directory(path).is_err()) {
        Some(file) => {
            // A file by its name: whatever is wrong with it is said.
            workspace.open_file(file).map_err(|e| e.to_string())?;
            let (dir, _) = workspace.directory("").map_err(|e| e.to_string())?;
            let path = workspace.relative(file).map_err(|e| e.to_string())?;
            in_file(&path, &dir, &path);
        }
        None => each_file(workspace, input.path.as_deref(), matcher.as_ref(), |path, dir| in_file(path, dir, path.file_name().map_or(path, Path::new)))?,
    }
    let mut text = page.shown("nothing matches", |next| call("grep", &Grep { offset: Some(next), ..input.clone() }));
    if !too_long.is_empty() {
        let few: Vec<&str> = too_long.iter().take(10).map(String::as_str).collect();
        text.push_str(&format!("\n[{} files are too long and were not searched: {}]", too_long.len(), few.join(", ")));
    }
    Ok(text)
}

/// Adds the matches of a file. `false`: the page is full.
fn matches(path: &Path, bytes: &[u8], regex: &Regex, input: &Grep, page: &mut Page) -> bool {
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let lines = lines.strip_suffix(&[&b""[..]]).unwrap_or(&lines);
    let context = input.context.min(20);
    let mut told_to = 0;
    for (at, line) in lines.iter().enumerate() {
        if !regex.is_match(line.strip_suffix(b"\r").unwrap_or(line)) {
            continue;
        }
        if input.files_only {
            return page.add(&path.display().to_string());
        }
        let (from, to) = (at.saturating_sub(context).max(told_to), (at + context + 1).min(lines.len()));
        for (number, line) in lines.iter().enumerate().take(to).skip(from) {
            let mark = if number == at || regex.is_match(line.strip_suffix(b"\r").unwrap_or(line)) { ':' } else { '-' };
            let words = String::from_utf8_lossy(line);
            let words = words.trim_end();
            let cut = bounds::head(words, LONGEST_LINE);
            let more = if cut.len() < words.len() { " […]" } else { "" };
            if !page.add(&format!("{}{mark}{}{mark}{cut}{more}", path.display(), number + 1)) {
                return false;
            }
        }
        told_to = to.max(told_to);
    }
    true
}

fn each_file(workspace: &Workspace, path: Option<&str>, matcher: Option<&Matcher>, mut each: impl FnMut(&Path, &Dir) -> bool) -> Result<(), String> {
    let (top, _) = workspace.directory("").map_err(|e| e.to_string())?;
    let (dir, base) = workspace.directory(path.unwrap_or_default()).map_err(|e| e.to_string())?;
    let mut matching = |path: &Path, dir: &Dir| {
        let inside = path.strip_prefix(&base).unwrap_or(path);
        !matcher.is_none_or(|matcher| matcher.is_match(inside)) || each(path, dir)
    };
    walking::files(dir, &base.clone(), &top, &mut matching).map_err(|e| format!("cannot look into {}: {e}", path.unwrap_or(".")))
}

/// A pattern of paths, or of names where it has no slash.
struct Matcher {
    glob: GlobMatcher,
    of_names: bool,
}

impl Matcher {
    fn is_match(&self, path: &Path) -> bool {
        match (self.of_names, path.file_name()) {
            (true, Some(name)) => self.glob.is_match(name),
            _ => self.glob.is_match(path),
        }
    }
}

fn matcher(pattern: &str) -> Result<Matcher, String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|e| format!("{pattern:?} is no pattern: {e}"))?;
    Ok(Matcher { glob: glob.compile_matcher(), of_names: !pattern.contains('/') })
}

/// Results, from some number on, as many as fit.
struct Page {
    text: String,
    skip: usize,
    seen: usize,
    full: bool,
}

impl Page {
    fn new(offset: Option<usize>) -> Page {
        Page { text: String::new(), skip: offset.unwrap_or(0), seen: 0, full: false }
    }

    /// `false`: there is no room for it.
    fn add(&mut self, line: &str) -> bool {
        if self.seen >= self.skip {
            if self.text.len() + line.len() + 1 > PAGE && !self.text.is_empty() {
                self.full = true;
                return false;
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
        self.seen += 1;
        true
    }

    fn shown(self, nothing: &str, next: impl FnOnce(usize) -> String) -> String {
        match (self.text.is_empty(), self.full) {
            (true, _) if self.seen > 0 => format!("there are only {} results", self.seen),
            (true, _) => nothing.to_owned(),
            (false, false) => self.text,
            (false, true) => format!("{}[there is more: {}]", self.text, next(self.seen)),
        }
    }
}

fn call(tool: &str, input: &impl Serialize) -> String {
    format!("{tool} {}", serde_json::json!(input))
}
