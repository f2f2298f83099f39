//! Some servers cut a text between the two halves of a character and send each as an escape of its own, which is no JSON.

/// The JSON with a replacement character in the place of each half that stands alone.
pub(super) fn without_lone(json: &str) -> String {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.find('\\').unwrap_or(rest.len());
        mended.push_str(&rest[..plain]);
        at += plain;
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str("\\ufffd");
                at += 6;
                continue;
            }
            (Some(_), _) => 6,
            // Another escape, whose second letter may be a backslash.
            (None, _) => rest[plain..].chars().take(2).map(char::len_utf8).sum(),
        };
        mended.push_str(&json[at..at + length]);
        at += length;
    }
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_that_stand_alone_are_replaced() {
        let cases = [
            (r#"{"a":"x\ud83e"}"#, r#"{"a":"x\ufffd"}"#),
            (r#"{"a":"\udd80 é"}"#, r#"{"a":"\ufffd é"}"#),
            (r#"{"a":"\uD83E\uDD80\ud83e\n"}"#, r#"{"a":"\uD83E\uDD80\ufffd\n"}"#),
            (r#"{"a":"\\ud83e \u00e9 \"é"}"#, r#"{"a":"\\ud83e \u00e9 \"é"}"#),
            (r#"\ud8"#, r#"\ud8"#),
            (r#"\"#, r#"\"#),
            ("", ""),
        ];
        for (json, expected) in cases {
            assert_eq!(without_lone(json), expected);
        }
    }
}
