//! A page of a text: numbered lines from one on, no more than fit into a result.

use std::io::{self, BufRead};

use super::bounds::{self, PAGE};

/// The longest line that is shown, in bytes. What is longer than this is made for programs.
const LONGEST_LINE: usize = 2_000;

/// What a page shows.
pub(super) struct Page {
    /// The lines with their numbers.
    pub(super) text: String,
    /// The number of the first line that is not shown; `None`: there is none.
    pub(super) next: Option<usize>,
    /// How many lines there were before its end or that line.
    pub(super) seen: usize,
}

/// Reads the lines from number `offset` (counted from 1) on, at most `limit`.
pub(super) fn read(mut from: impl BufRead, offset: usize, limit: Option<usize>) -> io::Result<Page> {
    let (mut text, mut shown, mut seen) = (String::new(), 0, 0);
    let mut line = Vec::new();
    loop {
        let length = next_line(&mut from, &mut line)?;
        if length == 0 {
            return Ok(Page { text, next: None, seen });
        }
        let number = seen + 1;
        if number < offset {
            seen = number;
            continue;
        }
        let words = String::from_utf8_lossy(&line);
        let words = words.trim_end_matches(['\n', '\r']);
        let cut = bounds::head(words, LONGEST_LINE);
        let more = length.saturating_sub(cut.len() + 2);
        let more = if cut.len() < words.len() || more > 0 { format!(" [{more} bytes more in this line: cut them out with bash]") } else { String::new() };
        let numbered = format!("{number:6}\t{cut}{more}\n");
        if limit.is_some_and(|limit| shown >= limit) || text.len() + numbered.len() > PAGE {
            return Ok(Page { text, next: Some(number), seen });
        }
        text.push_str(&numbered);
        seen = number;
        shown += 1;
    }
}

/// Reads a line, of which no more is kept than is shown. Returns how long it is; 0 at the end.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let mut length = 0;
    loop {
        let there = match from.fill_buf() {
            Ok(there) => there,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let end = there.iter().position(|&byte| byte == b'\n');
        let part = there.get(..end.map_or(there.len(), |end| end + 1)).unwrap_or_default();
        let room = (LONGEST_LINE + 8).saturating_sub(line.len());
        line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        let took = part.len();
        length += took;
        from.consume(took);
        if end.is_some() || took == 0 {
            return Ok(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, offset: usize, limit: Option<usize>) -> (String, Option<usize>, usize) {
        let page = read(text.as_bytes(), offset, limit).unwrap();
        (page.text, page.next, page.seen)
    }

    #[test]
    fn lines_have_their_numbers_and_a_page_says_where_the_next_begins() {
        assert_eq!(page("", 1, None), (String::new(), None, 0));
        assert_eq!(page("a\r\n\nb", 1, None), ("     1\ta\n     2\t\n     3\tb\n".into(), None, 3));
        assert_eq!(page("a\nb\nc\n", 2, Some(1)), ("     2\tb\n".into(), Some(3), 2));
        assert_eq!(page("a\nb\n", 2, Some(1)), ("     2\tb\n".into(), None, 2));
        assert_eq!(page("a\n", 5, None), (String::new(), None, 1));
    }

    #[test]
    fn neither_many_lines_nor_a_long_one_make_a_long_page() {
        let (text, next, _) = page(&"x\n".repeat(100_000), 1, None);
        assert!(text.len() <= PAGE && text.len() > PAGE - 20);
        assert_eq!(next, Some(text.lines().count() + 1));
        let (text, next, seen) = page(&format!("{}\nb\n", "é".repeat(500_000)), 1, None);
        assert!(text.len() < 2_200 && text.contains("bytes more in this line"), "{}", text.len());
        assert_eq!((next, seen), (None, 2));
        assert!(text.ends_with("     2\tb\n"));
    }
}
