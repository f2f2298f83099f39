//! The entries of a memory: its Markdown list items (`- …`), counted from 1 in the order of the file. What stands
//! between them is a person's, and stays byte for byte.
//!
//! To an entry belong the indented lines below it. A list within a code block is none.

use std::ops::Range;

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where its lines stand in the text, in bytes, the last newline included.
    pub range: Range<usize>,
    /// What it says, without the marks of the list.
    pub text: String,
}

/// The entries of a text.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut within, mut fence, mut at) = (false, None, 0);
    for line in text.split_inclusive('\n') {
        let (begin, end) = (at, at + line.len());
        at = end;
        let blank = line.trim().is_empty();
        match entries.last_mut() {
            Some(entry) if within && line.starts_with([' ', '\t']) && !blank => {
                // Blank lines count only between lines of one entry.
                entry.text.push_str(&"\n".repeat(text[entry.range.end..begin].matches('\n').count() + 1));
                entry.text.push_str(continued(line));
                entry.range.end = end;
                continue;
            }
            _ if within && blank => continue,
            _ => within = false,
        }
        match (fence, fence_of(line)) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if is_item(line) => {
                entries.push(Entry { range: begin..end, text: line["- ".len()..].trim().to_owned() });
                within = true;
            }
            _ => {}
        }
    }
    entries
}

/// The text with one entry more at its end. `None`: it would be none there, for the text ends within a code block.
pub(super) fn with_new(text: &str, said: &str) -> Option<(String, usize)> {
    let before = entries(text);
    let mut longer = text.to_owned();
    if !longer.is_empty() && !longer.ends_with('\n') {
        longer.push('\n');
    }
    let ends_in_list = before.last().is_some_and(|entry| text[entry.range.end..].trim().is_empty());
    if !ends_in_list && longer.lines().next_back().is_some_and(|line| !line.trim().is_empty()) {
        longer.push('\n');
    }
    longer.push_str(&item(said));
    let number = before.len() + 1;
    (entries(&longer).len() == number).then_some((longer, number))
}

/// The text with other words in the place of an entry, or with nothing there. `None`: there is no such entry.
pub(super) fn with_other(text: &str, number: usize, said: Option<&str>) -> Option<String> {
    let entries = entries(text);
    let range = &entries.get(number.checked_sub(1)?)?.range;
    Some([&text[..range.start], &said.map(item).unwrap_or_default(), &text[range.end..]].concat())
}

/// Words as a list item.
fn item(said: &str) -> String {
    let said = said.trim().replace("\r\n", "\n").replace('\r', "\n");
    // Dashes alone would be a line across the page.
    let begins_empty = said.lines().next().is_some_and(|line| line.chars().all(|c| c == '-' || c.is_whitespace()));
    let first = if begins_empty { "- \\" } else { "- " };
    let mut item = String::new();
    for (line, mark) in said.lines().zip(std::iter::once(first).chain(std::iter::repeat("  "))) {
        let line = line.trim_end();
        if !line.is_empty() {
            item.push_str(mark);
            item.push_str(line);
        }
        item.push('\n');
    }
    item
}

fn is_item(line: &str) -> bool {
    // `- - -` is a line across the page.
    let is_rule = line.matches('-').count() >= 3 && line.chars().all(|c| c == '-' || c.is_whitespace());
    line.starts_with("- ") && !is_rule
}

/// A line below an entry's first, without the indentation that makes it one.
fn continued(line: &str) -> &str {
    let line = line.trim_end();
    line.strip_prefix("  ").or_else(|| line.strip_prefix([' ', '\t'])).unwrap_or(line)
}

/// What begins or ends a code block.
fn fence_of(line: &str) -> Option<&'static str> {
    let shown = line.trim_start_matches(' ');
    let marks = ["```", "~~~"];
    marks.into_iter().find(|mark| line.len() - shown.len() < 4 && shown.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> Vec<String> {
        entries(text).into_iter().map(|entry| entry.text).collect()
    }

    #[test]
    fn entries_are_list_items_with_what_is_indented_below() {
        let cases: [(&str, &[&str]); 12] = [
            ("", &[]),
            ("# Head\n\ntext - no item\n-no item\n---\n- - -\n* other\n", &[]),
            ("- one\n- two", &["one", "two"]),
            ("- one\r\n- two\r\n", &["one", "two"]),
            ("text\n- one\n  more\n\n  and more\n\ntext\n- two\n", &["one\nmore\n\nand more", "two"]),
            ("- one\n\n\n\n- two\n", &["one", "two"]),
            ("- one\n  - within\n\t- within\n- two\n", &["one\n- within\n- within", "two"]),
            ("```\n- code\n```\n- one\n", &["one"]),
            ("~~~sh\n- code\n```\n- code\n~~~\n- one\n", &["one"]),
            ("- one\n  ```\n- two\n", &["one\n```", "two"]),
            ("  - indented\n", &[]),
            ("- \n", &[""]),
        ];
        for (text, expected) in cases {
            assert_eq!(said(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_new_one_comes_last_apart_from_what_is_no_list() {
        let cases = [
            ("", "a", "- a\n"),
            ("# Head", "a", "# Head\n\n- a\n"),
            ("# Head\n\n", "a", "# Head\n\n- a\n"),
            ("- one", "two\n\n   deep  \nlast\n", "- one\n- two\n\n     deep\n  last\n"),
            ("- one\n\ntext\n", "a\r\nb\rc", "- one\n\ntext\n\n- a\n  b\n  c\n"),
            ("- one\n\n", "two", "- one\n\n- two\n"),
            ("", "--\nb", "- \\--\n  b\n"),
            ("- one\n  ```", "- ```", "- one\n  ```\n- - ```\n"),
        ];
        for (text, new, expected) in cases {
            let (longer, number) = with_new(text, new).unwrap();
            assert_eq!(longer, expected, "{text:?}");
            assert_eq!(number, said(text).len() + 1);
        }
        assert_eq!(with_new("```\nnever closed\n", "a"), None);
    }

    #[test]
    fn another_text_or_none_in_its_place() {
        let text = "# Head\n- one\n  more\n\n- two";
        assert_eq!(with_other(text, 1, Some("1\n2")).unwrap(), "# Head\n- 1\n  2\n\n- two");
        assert_eq!(with_other(text, 2, Some("2")).unwrap(), "# Head\n- one\n  more\n\n- 2\n");
        assert_eq!(with_other(text, 1, None).unwrap(), "# Head\n\n- two");
        assert_eq!(with_other(text, 2, None).unwrap(), "# Head\n- one\n  more\n\n");
        for number in [0, 3, usize::MAX] {
            assert_eq!(with_other(text, number, None), None);
        }
    }

    /// Everything of a text that is no entry.
    fn rest(text: &str) -> String {
        let mut rest = String::new();
        let mut from = 0;
        for entry in entries(text) {
            rest.push_str(&text[from..entry.range.start]);
            from = entry.range.end;
        }
        rest + &text[from..]
    }

    proptest! {
        #[test]
        fn what_is_said_is_read_again_and_the_rest_stays(
            lines in prop::collection::vec("(- |  |# |```|)[a-z -]{0,6}\r?", 0..12),
            new in "[a-z][a-z -]{0,8}(\n[ `-]{0,4}[a-z]{1,4}){0,3}",
            number in 1_usize..6,
        ) {
            let text = lines.join("\n");
            let (before, count) = (rest(&text), entries(&text).len());
            if let Some((longer, number)) = with_new(&text, &new) {
                let of_others = rest(&longer);
                prop_assert!(of_others.starts_with(&before) && of_others[before.len()..].trim().is_empty());
                let expected: Vec<&str> = new.trim().lines().map(str::trim_end).collect();
                prop_assert_eq!(&entries(&longer)[number - 1].text, &expected.join("\n"));
            }
            if let Some(other) = with_other(&text, number, Some(&new)) {
                prop_assert_eq!((rest(&other), entries(&other).len()), (before.clone(), count));
            }
            if let Some(shorter) = with_other(&text, number, None) {
                prop_assert_eq!((rest(&shorter), entries(&shorter).len()), (before, count - 1));
            }
        }
    }
}
