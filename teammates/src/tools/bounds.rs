//! How long a result may be, and where one is cut that is longer.

use serde_json::json;

use super::outputs::Outputs;

/// The longest result, in bytes.
pub const MOST: usize = 32 << 10;
/// How much of a result a tool fills that pages by itself, so that what it says about the rest fits in too.
pub(super) const PAGE: usize = 30 << 10;

/// The part of a text that fits into `most` bytes: whole lines, or where the first line alone is longer, whole characters.
pub fn head(text: &str, most: usize) -> &str {
    let fits = &text[..text.floor_char_boundary(most)];
    match fits.rfind('\n') {
        _ if fits.len() == text.len() => text,
        Some(end) => &fits[..=end],
        None => fits,
    }
}

/// The last part of a text that fits into `most` bytes, cut as [`head`] does.
pub fn tail(text: &str, most: usize) -> &str {
    let fits = &text[text.ceil_char_boundary(text.len().saturating_sub(most))..];
    match fits.find('\n') {
        _ if fits.len() == text.len() => text,
        Some(end) if end + 1 < fits.len() => &fits[end + 1..],
        _ => fits,
    }
}

/// A result that is no longer than [`MOST`]. What was cut off can be read where it is kept.
pub(super) fn bounded(text: String, outputs: Option<&Outputs>) -> String {
    if text.len() <= MOST {
        return text;
    }
    let shown = head(&text, PAGE);
    let left = text.len() - shown.len();
    let how = match outputs.map(|outputs| outputs.keep(&text)) {
        Some(Ok(kept)) => format!("read on with read_file {}", json!({ "path": kept, "offset": shown.lines().count() + 1 })),
        Some(Err(e)) => format!("it could not be kept: {e}"),
        None => "ask for less".to_owned(),
    };
    format!("{shown}\n[{left} bytes more: {how}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_lines_else_between_characters() {
        let cases =
            [("", 4, "", ""), ("ab", 2, "ab", "ab"), ("a\nb\nc", 4, "a\nb\n", "b\nc"), ("aé", 2, "a", "é"), ("éa", 2, "é", "a"), ("abc\n", 3, "abc", "bc\n")];
        for (text, most, first, last) in cases {
            assert_eq!((head(text, most), tail(text, most)), (first, last), "{text:?} {most}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_how_to_read_on() {
        let temp = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(board::disk::Dir::open(temp.path()).unwrap(), "turn");
        let short = "x".repeat(MOST);
        assert_eq!(bounded(short.clone(), Some(&outputs)), short);
        let long = "line\n".repeat(10_000);
        let cut = bounded(long.clone(), Some(&outputs));
        assert!(cut.len() <= MOST);
        let (_, said) = cut.rsplit_once("\n[").unwrap();
        assert!(said.contains(r#"read_file {"offset":6145,"path":"output:1"}"#), "{said}");
        let rest = outputs.page("output:1", 6145, None).unwrap().unwrap();
        assert!(rest.starts_with("  6145\tline\n"), "{rest:.20}");
        assert!(bounded(long, None).ends_with("ask for less]"));
    }
}
