//! Which known word a misspelt one is most like.

/// The entry of `known` that is most like `word`, or `None` when `known` is empty.
///
/// Case, `_` and `-` do not count, so `idle_timeout` is at no distance from `idleTimeout`. Of two
/// that are equally near, the first wins.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = plain(word);
    known.iter().copied().min_by_key(|candidate| strsim::damerau_levenshtein(&word, &plain(candidate)))
}

/// The entry of `known` for which `word` was probably meant: it is in none of them, and differs from that by a slip of
/// the hand or by its case and separators.
pub fn meant<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let slips = |candidate: &&str| strsim::damerau_levenshtein(&plain(word), &plain(candidate));
    nearest(word, known).filter(|near| !known.contains(&word) && slips(near) <= (near.len() / 4).min(2))
}

fn plain(word: &str) -> String {
    word.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_case_and_separators() {
        let known = ["idleTimeout", "poll", "role", "runner"];
        let cases = [("idle_timeout", "idleTimeout"), ("IDLETIMEOUT", "idleTimeout"), ("rol", "role"), ("runer", "runner"), ("pool", "poll")];
        for (word, expected) in cases {
            assert_eq!(nearest(word, &known), Some(expected), "{word}");
        }
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn what_was_meant_is_near() {
        let known = ["blockedBy", "status", "run", "id"];
        for (word, expected) in [("blocked_by", Some("blockedBy")), ("blockedby", Some("blockedBy")), ("stauts", Some("status")), ("Run", Some("run"))] {
            assert_eq!(meant(word, &known), expected, "{word}");
        }
        for word in ["run", "ran", "due", "ids", "state", "blocker", "x", ""] {
            assert_eq!(meant(word, &known), None, "{word}");
        }
    }
}
