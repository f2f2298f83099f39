//! Text of others, made harmless for a terminal: what moves the cursor, changes colours or turns the direction of
//! writing is shown as its code.

use std::borrow::Cow;

/// Text that must stay on one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_harmful)
}

/// Text whose line breaks and tabs are its author's layout.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_harmful(c) && c != '\n' && c != '\t')
}

/// JSON text: what JSON allows raw in a string and a terminal obeys all the same, as `\u` escapes.
pub(crate) fn json(text: String) -> String {
    // DEL, and the C1 controls, which begin with this byte in UTF-8.
    // Piece by piece without a way out in between, which the compiler makes into a few wide comparisons.
    let suspicious = |piece: &[u8]| piece.iter().fold(0, |found, &byte| found | u8::from(byte == 0x7f) | u8::from(byte == 0xc2)) != 0;
    if !text.as_bytes().chunks(256).any(suspicious) {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{7f}'..='\u{9f}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => safe.push(c),
        }
    }
    safe
}

/// At most so many characters of a text, with `…` for the rest.
pub(crate) fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

fn escape(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&harmful) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match harmful(c) {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    safe.into()
}

/// Control characters, line and paragraph separators, and those that reorder text.
fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        assert_eq!(line("plain é 🐢"), "plain é 🐢");
        assert_eq!(line("a\u{1b}[31mb\nc\u{9b}d\u{202e}e"), "a\\u{1b}[31mb\\nc\\u{9b}d\\u{202e}e");
        assert_eq!(block("a\n\tb\r\u{7}"), "a\n\tb\\r\\u{7}");
        assert_eq!(json("\"a\u{7f}b\u{9b}cé\u{a0}\"".into()), "\"a\\u007fb\\u009bcé\u{a0}\"");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("ééé", 2), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
    }
}
