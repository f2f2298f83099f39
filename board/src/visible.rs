//! Text of others, with everything in it visible: what moves the cursor, changes colours, turns the direction of writing
//! or cannot be seen at all stands there as its code. One rule for whatever people, and models, are shown.

use std::borrow::Cow;

/// Text that must stay on one line.
pub fn line(text: &str) -> Cow<'_, str> {
    with_codes(text, |_| false, |c, into| into.extend(c.escape_default()))
}

/// Text whose line breaks and tabs are its author's layout.
pub fn block(text: &str) -> Cow<'_, str> {
    with_codes(text, |c| matches!(c, '\n' | '\t'), |c, into| into.extend(c.escape_default()))
}

/// Text with a code for each character that is hidden, but for those that are fine all the same.
pub fn with_codes(text: &str, is_fine: impl Fn(char) -> bool, code: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let is_in_question = |c: char| is_hidden(c) && !is_fine(c);
    let Some(first) = text.find(is_in_question) else { return text.into() };
    let mut safe = String::with_capacity(text.len() + 8);
    safe.push_str(&text[..first]);
    for (at, c) in text[first..].char_indices() {
        match is_in_question(c) && !(c == JOINER && joins(&text[..first + at], &text[first + at + c.len_utf8()..])) {
            true => code(c, &mut safe),
            false => safe.push(c),
        }
    }
    safe.into()
}

/// The zero width joiner, which makes one picture of several.
const JOINER: char = '\u{200d}';

/// Whether a joiner between these two makes one picture of the last and the first of them: anywhere else it only hides.
fn joins(before: &str, behind: &str) -> bool {
    // A picture may be followed by the sign that it is to be shown in colours.
    let before = before.strip_suffix('\u{fe0f}').unwrap_or(before);
    before.chars().next_back().is_some_and(is_picture) && behind.chars().next().is_some_and(is_picture)
}

/// Emoji, the signs that are joined to them (arrows, medicine, hearts …), and the tones of skin.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Control characters, separators of lines and paragraphs, and the format characters: what turns the direction of
/// writing, joins or parts without a mark of its own, and tags and selectors far beyond, in which whole texts hide.
fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        _ => c.is_control() || is_format(c),
    }
}

fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        assert_eq!(line("plain é 🐢 ~"), "plain é 🐢 ~");
        assert_eq!(line("a\u{1b}[31mb\nc\u{9b}d\u{202e}e\u{7f}"), "a\\u{1b}[31mb\\nc\\u{9b}d\\u{202e}e\\u{7f}");
        assert_eq!(block("a\n\tb\r\u{7}"), "a\n\tb\\r\\u{7}");
    }

    #[test]
    fn nothing_is_hidden() {
        let ranges = [0xad..=0xad, 0x61c..=0x61c, 0x200b..=0x200f, 0x2028..=0x202e, 0x2060..=0x2064, 0x2066..=0x206f, 0xfeff..=0xfeff, 0xe0000..=0xe007f];
        for code in ranges.into_iter().flatten() {
            let hidden = char::from_u32(code).unwrap();
            let text = format!("a{hidden}b");
            for shown in [line(&text), block(&text)] {
                assert_eq!(shown, format!("a\\u{{{code:x}}}b"));
            }
        }
    }

    #[test]
    fn pictures_stay_joined_and_nothing_else() {
        let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
        let others = ["👩🏽\u{200d}🚀", "❤\u{fe0f}\u{200d}🔥", "🏳\u{fe0f}\u{200d}🌈", "🧔\u{200d}♀\u{fe0f}", "🙂\u{200d}↔\u{fe0f}"];
        for whole in others.into_iter().chain([family]) {
            assert_eq!(line(whole), whole);
            assert_eq!(line(&format!("\u{7}{whole}")), format!("\\u{{7}}{whole}"));
        }
        for parted in ["a\u{200d}b", "👨\u{200d}", "\u{200d}👨", "👨\u{200d}\u{200d}👩", "👨\u{200d}a", "क\u{200d}ष"] {
            assert!(!line(parted).contains(JOINER), "{parted:?}");
        }
    }
}
