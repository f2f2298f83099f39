//! What is different on every machine and in every run, and has a placeholder in a recording instead. Pure.
//!
//! A path of the [`Names`] is always the same thing, and its placeholder says which: `{project}`, `{state}`, `{home}`. What
//! a run makes up by itself is known by its looks: moments, spans of time, lengths in bytes, ids of turns and of git's
//! objects, process ids in our own words, places for temporary files. In what a model is *asked* these are `{time}`,
//! `{span}`, `{bytes}`, `{turn}`, `{object}`, `{pid}` and `{temp}`, and that is all that is compared.
//!
//! In what a model *answers* the last four mean something: it names the turn, the commit, the process or the file that it
//! was told of. [`Seen`] remembers what a conversation was told of, the latest first; `{object}` in an answer is the latest
//! of git's objects, `{object:2}` the one before. Where an answer has the letters of a placeholder in it itself, `literal:`
//! stands within the braces.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use board::place::Place;
use regex::{Captures, Match, Regex};

/// The words of placeholders.
const WORDS: [&str; 11] = ["project", "state", "home", "team", "time", "span", "bytes", "turn", "object", "pid", "temp"];
/// Those whose values are remembered.
const REMEMBERED: [&str; 4] = ["turn", "object", "pid", "temp"];

/// How long the id of one of git's objects is, in letters; of some repositories' it is longer.
const WHOLE_ID: usize = 40;

/// What a run makes up by itself, each kind as a group of that name. Where a digit alone may be one, what stands before it
/// decides.
static MADE_UP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
    let day = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
    let time = format!(
        r"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?(?:Z\b|[+-]\d\d:?\d\d\b))?|{day},? {month} +\d+ \d\d:\d\d:\d\d \d{{4}}(?: [+-]\d{{4}}\b)?|\b{month} +\d+ +(?:\d\d:\d\d\b|\d{{4}}\b)"
    );
    let span = r"\b(?:\d+m ?)?\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|min|minutes?)\b|\bduration_ms:? \d+(?:\.\d+)?";
    let turn = r"\b[0-9a-hjkmnp-tv-z]{12}-\d+\b";
    let object = r"\b(?:[0-9a-f]{64}|[0-9a-f]{7,40})\b";
    let pid = r"(?P<before>process group |kill -- -|\b[Pp][Ii][Dd][ :=] ?)(?P<pid>\d+)\b";
    let temp = r"/(?:var/)?tmp/[\w.+-]+";
    let all = format!(r"(?P<time>{time})|(?P<turn>{turn})|{pid}|(?P<span>{span})|(?P<bytes>\b\d+ bytes\b)|(?P<object>{object})|(?P<temp>{temp})");
    Regex::new(&all).ok()
});

/// What looks like a placeholder.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{(?P<literal>(?:literal:)*)(?P<word>[a-z]+)(?::(?P<back>[1-9]\d{0,3}))?\}").ok());

/// What may be the id of one of git's objects, or its beginning.
static HEX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[0-9a-f]{7,64}\b").ok());

/// Where a process id is meant in an answer, whatever its digits are elsewhere.
static KILLING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\bkill\b[^\n;&|]*").ok());

/// A path with a placeholder of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// The project.
    Project,
    /// Where the project's state is on this machine.
    State,
    /// The person's home.
    Home,
}

/// The paths of a machine that have placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// What stands in a text and what stands for it, the longest first.
    pairs: Vec<(String, &'static str)>,
    /// The project's directory, which is what its team is called.
    team: Option<String>,
}

/// What a conversation was told of, each kind with the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen(HashMap<&'static str, Vec<String>>);

impl Names {
    /// Those of these paths. A path may have several names, as where a link leads to it; put the one first that an answer
    /// is to get.
    pub fn of(paths: &[(Named, &Path)]) -> Names {
        let word = |named: &Named| match named {
            Named::Project => "project",
            Named::State => "state",
            Named::Home => "home",
        };
        let text = |path: &Path| path.to_str().map(|text| text.trim_end_matches('/').to_owned()).filter(|text| text.len() > 1);
        let mut pairs: Vec<(String, &'static str)> = paths.iter().filter_map(|(named, path)| Some((text(path)?, word(named)))).collect();
        // By length alone, so that of two as long as each other the first stays the first.
        pairs.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let project = paths.iter().find(|(named, _)| *named == Named::Project);
        Names { pairs, team: project.and_then(|(_, path)| Some(path.file_name()?.to_str()?.to_owned())) }
    }

    /// Those of a project on this machine.
    pub fn of_place(place: &Place, home: Option<&Path>) -> Names {
        let own = [(Named::Project, place.project()), (Named::State, place.state())];
        Names::of(&own.into_iter().chain(home.map(|home| (Named::Home, home))).collect::<Vec<_>>())
    }

    /// A text that a model was given, with placeholders. What it tells of is remembered.
    pub fn plain(&self, text: &str, seen: &mut Seen) -> String {
        let mut plain = text.to_owned();
        let Some(pattern) = MADE_UP.as_ref() else { return plain };
        loop {
            let before = plain;
            plain = self.without_paths(&before);
            let mut told = Vec::new();
            let next = pattern.replace_all(&plain, |found: &Captures<'_>| {
                let whole = found.get(0).map_or("", |whole| whole.as_str());
                let Some((word, matched)) = word_of(found).filter(|(word, matched)| is_meant(word, &plain, *matched)) else { return whole.to_owned() };
                told.push((word, matched.as_str().to_owned()));
                format!("{}{{{word}}}", found.name("before").map_or("", |before| before.as_str()))
            });
            let next = next.into_owned();
            if next == before {
                return next;
            }
            told.into_iter().filter(|(word, _)| REMEMBERED.contains(word)).for_each(|(word, value)| seen.tell(word, value));
            // What stood before one of these may end with it now.
            plain = next;
        }
    }

    /// What a model answered, with placeholders. [`Names::real`] puts back what stood there.
    pub fn concealed(&self, text: &str, seen: &Seen) -> String {
        let (Some(placeholder), Some(killing), Some(hex)) = (PLACEHOLDER.as_ref(), KILLING.as_ref(), HEX.as_ref()) else { return text.to_owned() };
        let literal = placeholder.replace_all(text, |found: &Captures<'_>| {
            let whole = &found[0];
            if WORDS.contains(&&found["word"]) { format!("{{literal:{}", &whole[1..]) } else { whole.to_owned() }
        });
        let mut text = self.without_paths(&literal);
        for word in ["turn", "temp"] {
            text = seen.concealed(word, &text);
        }
        // Git takes the beginning of a whole id for it.
        let of_git = |found: &Captures<'_>| {
            let back = seen.all("object").position(|object| *object == found[0] || (object.len() >= WHOLE_ID && object.starts_with(&found[0])));
            back.map_or_else(|| found[0].to_owned(), |back| written("object", back))
        };
        let text = hex.replace_all(&text, of_git);
        killing.replace_all(&text, |found: &Captures<'_>| seen.concealed("pid", &found[0])).into_owned()
    }

    /// A recorded answer as it is meant on this machine and in this conversation.
    pub fn real(&self, text: &str, seen: &Seen) -> String {
        let Some(placeholder) = PLACEHOLDER.as_ref() else { return text.to_owned() };
        let real = placeholder.replace_all(text, |found: &Captures<'_>| {
            let (whole, word) = (&found[0], &found["word"]);
            if !WORDS.contains(&word) {
                return whole.to_owned();
            }
            if !found["literal"].is_empty() {
                return format!("{{{}", &whole["{literal:".len()..]);
            }
            let back = found.name("back").map_or(Ok(1), |back| back.as_str().parse::<usize>()).unwrap_or(1);
            let named = self.pairs.iter().find(|(_, named)| *named == word).map(|(text, _)| text.clone());
            let value = named.or_else(|| self.team.clone().filter(|_| word == "team")).or_else(|| seen.all(word).nth(back - 1).map(str::to_owned));
            value.unwrap_or_else(|| whole.to_owned())
        });
        real.into_owned()
    }

    fn without_paths(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, word) in &self.pairs {
            text = replaced(&text, path, &format!("{{{word}}}"), is_path);
        }
        match &self.team {
            Some(team) => replaced(&text, &format!("team: {team}"), "team: {team}", is_whole),
            None => text,
        }
    }
}

impl Seen {
    fn tell(&mut self, word: &'static str, value: String) {
        let values = self.0.entry(word).or_default();
        values.retain(|other| *other != value);
        values.insert(0, value);
    }

    /// What it was told of that kind, the latest first.
    fn all(&self, word: &str) -> impl Iterator<Item = &str> {
        self.0.get(word).into_iter().flatten().map(String::as_str)
    }

    fn concealed(&self, word: &'static str, text: &str) -> String {
        let mut values: Vec<(usize, &str)> = self.all(word).enumerate().collect();
        // One may be the beginning of another.
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        values.iter().fold(text.to_owned(), |text, (back, value)| replaced(&text, value, &written(word, *back), is_whole))
    }
}

/// The placeholder of what is so far back; 0: the latest.
fn written(word: &str, back: usize) -> String {
    if back == 0 { format!("{{{word}}}") } else { format!("{{{word}:{}}}", back + 1) }
}

/// Which kind it is that was found, and where.
fn word_of<'t>(found: &Captures<'t>) -> Option<(&'static str, Match<'t>)> {
    WORDS.iter().find_map(|word| Some((*word, found.name(word)?)))
}

/// Whether what looks like an id or a place is one.
fn is_meant(word: &str, text: &str, found: Match<'_>) -> bool {
    let before = &text[..found.start()];
    match word {
        "object" if found.len() < WHOLE_ID => {
            let is_mixed =
                found.as_str().contains(|letter: char| letter.is_ascii_digit()) && found.as_str().contains(|letter: char| letter.is_ascii_alphabetic());
            is_mixed || before.is_empty() || ["\n", "commit ", "index ", "..", " is now at ", "*"].iter().any(|end| before.ends_with(end)) || of_branch(before)
        }
        "temp" => !before.ends_with(in_word),
        _ => true,
    }
}

/// Whether a line begins as git's does that tells of a commit just made: `[main 1234567] …`.
fn of_branch(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.strip_prefix('[').is_some_and(|branch| branch.ends_with(' ') && !branch.contains(']'))
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.".contains(letter)
}

/// Whether a part of a text is a path, or the beginning of one, and not a part of another's name.
fn is_path(text: &str, from: usize, to: usize) -> bool {
    let (before, mut behind) = (&text[..from], text[to..].chars());
    // The letter of an escape is none of a name.
    let escaped = ["\\n", "\\r", "\\t"].iter().any(|escape| before.ends_with(escape));
    let ends = match behind.next() {
        Some('.') => !behind.next().is_some_and(in_word),
        Some(letter) => !in_word(letter),
        None => true,
    };
    ends && (escaped || !before.ends_with(in_word))
}

fn is_whole(text: &str, from: usize, to: usize) -> bool {
    !text[..from].ends_with(char::is_alphanumeric) && !text[to..].starts_with(char::is_alphanumeric)
}

fn replaced(text: &str, what: &str, with: &str, is_it: fn(&str, usize, usize) -> bool) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for (from, _) in text.match_indices(what) {
        if is_it(text, from, from + what.len()) {
            new.push_str(&text[done..from]);
            new.push_str(with);
            done = from + what.len();
        }
    }
    new.push_str(&text[done..]);
    new
}
