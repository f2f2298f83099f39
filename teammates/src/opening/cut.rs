//! Words of others, made short and harmless: cut between what a reader sees as letters, and with the codes of what a
//! terminal would obey.

use board::visible;
use unicode_segmentation::UnicodeSegmentation as _;

/// The longest beginning of a text that has at most so many characters and splits no grapheme cluster.
pub(crate) fn beginning(text: &str, longest: usize) -> &str {
    // Most texts fit, and counting is all that they cost.
    if text.chars().nth(longest).is_none() {
        return text;
    }
    let mut count = 0;
    let fits = |cluster: &(usize, &str)| {
        count += cluster.1.chars().count();
        count <= longest
    };
    let end = text.grapheme_indices(true).take_while(fits).last().map_or(0, |(begin, cluster)| begin + cluster.len());
    &text[..end]
}

/// A text on one line of at most so many characters, `…` included where more follows. Line breaks and tabs become spaces.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let (mut line, mut count, mut room_for_more) = (String::new(), 0, 0);
    for cluster in text.trim().graphemes(true) {
        let shown = match cluster {
            "\n" | "\r" | "\r\n" | "\t" => " ".to_owned(),
            cluster => visible::line(cluster).into_owned(),
        };
        count += shown.chars().count();
        if count > longest {
            line.truncate(room_for_more);
            line.push('…');
            break;
        }
        line.push_str(&shown);
        if count < longest {
            room_for_more = line.len();
        }
    }
    line
}

/// A text whose line breaks and tabs are its author's layout.
pub(super) fn block(text: &str) -> String {
    visible::block(&text.replace("\r\n", "\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clusters of several characters: a flag, a letter with marks, a family, a syllable, a skin tone.
    const CLUSTERS: [&str; 5] = ["🇩🇪", "e\u{301}\u{323}", "👨‍👩‍👧‍👦", "각", "👋🏽"];

    #[test]
    fn clusters_are_never_split() {
        for cluster in CLUSTERS {
            let length = cluster.chars().count();
            let text = cluster.repeat(50);
            for longest in 1..60 {
                let whole = longest / length;
                assert_eq!(beginning(&text, longest), cluster.repeat(whole.min(50)), "{cluster} in {longest}");
                let line = one_line(&text, longest);
                assert!(line.chars().count() <= longest, "{cluster} in {longest}");
                let shown = line.strip_suffix('…').unwrap_or(&line);
                assert!(shown.replace(cluster, "").is_empty(), "{cluster} in {longest}: {line}");
            }
            assert_eq!(beginning(&text, 50 * length), text);
            assert_eq!(one_line(&text, 50 * length), text);
        }
        // One cluster may be of any length.
        let endless = format!("e{}", "\u{301}".repeat(1000));
        assert_eq!((beginning(&endless, 90), one_line(&endless, 90).as_str()), ("", "…"));
    }

    #[test]
    fn limits_at_their_edges() {
        for (length, cut) in [(89, false), (90, false), (91, true), (5000, true)] {
            let line = one_line(&"é".repeat(length), 90);
            assert_eq!(line, if cut { "é".repeat(89) + "…" } else { "é".repeat(length) });
            assert_eq!(beginning(&"é".repeat(length), 90), "é".repeat(length.min(90)));
        }
        assert_eq!((one_line("", 90), beginning("", 90)), (String::new(), ""));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        assert_eq!(one_line("\na\nb\r\nc\td\u{1b}[31m\u{202e}e\u{2028}f\n", 90), "a b c d\\u{1b}[31m\\u{202e}e\\u{2028}f");
        assert_eq!(one_line("a\u{200b}b\u{e0041}c👩\u{200d}🚀", 90), "a\\u{200b}b\\u{e0041}c👩\u{200d}🚀");
        assert_eq!(block("a\u{61c}b\u{feff}"), "a\\u{61c}b\\u{feff}");
        assert_eq!(block("a\r\nb\tc\u{7}\rd"), "a\nb\tc\\u{7}\\rd");
        // A code is shown whole or not at all.
        assert_eq!(one_line("ab\u{1b}\u{1b}", 9), "ab\\u{1b}…");
        assert_eq!(one_line("ab\u{1b}\u{1b}", 8), "ab…");
    }
}
