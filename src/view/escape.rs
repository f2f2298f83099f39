//! Text of others, made harmless for a terminal.

use std::borrow::Cow;

use board::visible;
pub(crate) use board::visible::{block, line};

/// JSON text: what JSON allows raw in a string and a terminal obeys all the same, and what nobody would see, as `\u`
/// escapes.
pub(crate) fn json(text: String) -> String {
    // DEL, and the bytes with which all the others begin in UTF-8.
    // Piece by piece without a way out in between, which the compiler makes into a few wide comparisons.
    let begins = |byte: u8| matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf0 | 0xf3);
    let suspicious = |piece: &[u8]| piece.iter().fold(0, |found, &byte| found | u8::from(begins(byte))) != 0;
    if !text.as_bytes().chunks(256).any(suspicious) {
        return text;
    }
    let code = |c: char, into: &mut String| c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| into.push_str(&format!("\\u{unit:04x}")));
    // Within its strings JSON has no control characters raw, between them they are its layout.
    match visible::with_codes(&text, |c| c < ' ', code) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    }
}

/// At most so many characters of a text, with `…` for the rest.
pub(crate) fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        assert_eq!(json("\"a\u{7f}b\u{9b}cé\u{a0}\"".into()), "\"a\\u007fb\\u009bcé\u{a0}\"");
        for hidden in ["\u{ad}", "\u{61c}", "\u{180e}", "\u{200b}", "\u{202e}", "\u{feff}", "\u{1bca0}", "\u{1d173}", "\u{e0041}"] {
            let safe = json(serde_json::json!([hidden]).to_string());
            assert!(safe.is_ascii(), "{safe}");
            assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [hidden]);
        }
        assert_eq!(json("{\n  \"a\": \"👨\u{200d}👩…\"\n}".into()), "{\n  \"a\": \"👨\u{200d}👩…\"\n}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("ééé", 2), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
    }
}
