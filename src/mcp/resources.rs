//! What a client can read: the board, the thread, a task. Nothing of what it names is ever a path.

use board::ready::Claimant;
use board::run::Run;
use board::task_id::TaskId;
use board::{Board, Error};
use teammates::tools::offered::{JSON, NotRead, Part, Readable};

use crate::view::document::{self, Found};
use crate::view::escape;

/// A part is as long as this at most, in bytes, unless its one entry is longer.
const LONGEST: usize = 256 << 10;

/// So many posts are looked for where the last ones are meant.
const LAST_POSTS: usize = 200;

const BOARD: &str = "crew://board";
const THREAD: &str = "crew://thread";
const TASK: &str = "crew://task/";

/// All that there is.
pub(super) const ALL: [Readable; 5] = [
    Readable {
        uri: BOARD,
        name: "board",
        description: "The tasks of the board, as `crew ls --json` has them, in one array; a long one says where it goes on.",
    },
    Readable { uri: THREAD, name: "thread", description: "The last posts of the team's thread, oldest first; a long one says where the others are." },
    Readable { uri: "crew://board?offset={offset}", name: "board from an entry on", description: "The board without so many of its first entries." },
    Readable { uri: "crew://thread?after={seq}", name: "thread from a post on", description: "The posts after the one of this number." },
    Readable { uri: "crew://task/{id}", name: "task", description: "A task of the board or its archive, as `crew show --json` has it." },
];

/// Reads what is at an address.
pub(super) fn read(board: &mut Board, uri: &str) -> Result<Vec<Part>, NotRead> {
    let (place, query) = uri.split_once('?').map_or((uri, None), |(place, query)| (place, Some(query)));
    match (place, query) {
        (BOARD, query) => tasks(board, uri, number(query, "offset")?.unwrap_or(0)),
        (THREAD, query) => thread(board, uri, number(query, "after")?),
        (_, None) => match place.strip_prefix(TASK).and_then(|id| TaskId::new(id).ok()) {
            Some(id) => task(board, uri, &id),
            None => Err(NotRead::Unknown),
        },
        _ => Err(NotRead::Unknown),
    }
}

/// The number that a query has under this key; `None`: there is no query.
fn number(query: Option<&str>, key: &str) -> Result<Option<u64>, NotRead> {
    let number = |query: &str| query.strip_prefix(key)?.strip_prefix('=')?.parse().ok();
    query.map(|query| number(query).ok_or(NotRead::Unknown)).transpose()
}

fn tasks(board: &mut Board, uri: &str, offset: u64) -> Result<Vec<Part>, NotRead> {
    board.sweep().map_err(failed)?;
    let anybody = Claimant::shell("");
    let with_id = board.index().entries().filter_map(|(id, entry)| match document::problem_of(&entry.state) {
        Some((key, problem)) => Some(document::no_task(&id.file_name(), key, problem)),
        None => {
            let (bytes, task) = board.read_task(id).ok()?;
            let mut document = board::document::Document::parse(&bytes).ok()?;
            let end = document::end(&board.why_not_of(id, Some(entry), &anybody));
            Some(document::open(&mut document, &task) + end.trim_end())
        }
    });
    let nameless = board.index().nameless().map(|(file, problem)| document::no_task(file, "invalid", problem));
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let (text, count, is_all) = array(with_id.chain(nameless).skip(offset));
    let mut parts = vec![json(uri, text)];
    if !is_all {
        parts.push(words(uri, format!("There is more: {BOARD}?offset={}", offset + count)));
    }
    Ok(parts)
}

fn thread(board: &Board, uri: &str, after: Option<u64>) -> Result<Vec<Part>, NotRead> {
    let Some(run) = Run::existing(board.place()).map_err(failed)? else { return Ok(vec![json(uri, "[]".into())]) };
    let as_json = |post: &board::post::Post| escape::json(serde_json::json!(post).to_string());
    if let Some(after) = after {
        let posts = run.thread.since(after).map_err(failed)?;
        let (text, count, is_all) = array(posts.iter().map(as_json));
        let mut parts = vec![json(uri, text)];
        if let Some(last) = posts.get(count.saturating_sub(1)).filter(|_| !is_all) {
            parts.push(words(uri, format!("There is more: {THREAD}?after={}", last.seq)));
        }
        return Ok(parts);
    }
    let posts: Vec<String> = run.thread.last(LAST_POSTS).map_err(failed)?.iter().map(as_json).collect();
    // As many of the last as one part takes.
    let mut room = LONGEST;
    let fits = posts.iter().rev().take_while(|post| {
        let left = room.checked_sub(post.len() + 2);
        room = left.unwrap_or(0);
        left.is_some()
    });
    let count = fits.count().max(1).min(posts.len());
    let shown = posts.get(posts.len() - count..).unwrap_or_default();
    let mut parts = vec![json(uri, format!("[{}]", shown.join(",\n")))];
    if count < posts.len() || posts.len() == LAST_POSTS {
        parts.push(words(uri, format!("These are the last {count}; the thread from its beginning: {THREAD}?after=0")));
    }
    Ok(parts)
}

fn task(board: &mut Board, uri: &str, id: &TaskId) -> Result<Vec<Part>, NotRead> {
    board.sweep().map_err(failed)?;
    let found = Found::of(board, id).map_err(|e| if matches!(e, Error::NoSuchTask(_)) { NotRead::Unknown } else { failed(e) })?;
    let mut document = board::document::Document::parse(&found.bytes).map_err(|e| NotRead::Failed(e.to_string()))?;
    let text = document::whole(&mut document, &found.task, &found.ready);
    if text.len() <= LONGEST {
        return Ok(vec![json(uri, text)]);
    }
    let shown = teammates::tools::bounds::head(&text, LONGEST);
    Ok(vec![words(uri, shown.to_owned()), words(uri, format!("Cut after {} of {} bytes; `crew show {id}` has all of it", shown.len(), text.len()))])
}

/// Documents as an array that one part takes, how many they are, and whether that is all of them.
fn array(documents: impl Iterator<Item = String>) -> (String, usize, bool) {
    let (mut text, mut count) = (String::from("["), 0);
    for document in documents {
        if count > 0 && text.len() + document.len() + 3 > LONGEST {
            return (text + "]", count, false);
        }
        if count > 0 {
            text.push_str(",\n");
        }
        text.push_str(&document);
        count += 1;
    }
    (text + "]", count, true)
}

fn json(uri: &str, text: String) -> Part {
    Part { uri: uri.to_owned(), mime: JSON, text }
}

fn words(uri: &str, text: String) -> Part {
    Part { uri: uri.to_owned(), mime: "text/plain", text }
}

#[allow(clippy::needless_pass_by_value)] // As `map_err` gives it.
fn failed(error: Error) -> NotRead {
    NotRead::Failed(error.to_string())
}
