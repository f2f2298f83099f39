//! Which known word a misspelt one is most like.

/// The entry of `known` that is most like `word`, or `None` when `known` is empty.
///
/// Case, `_` and `-` do not count, so `idle_timeout` is at no distance from `idleTimeout`. Of two
/// that are equally near, the first wins.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = plain(word);
    known.iter().copied().min_by_key(|candidate| strsim::damerau_levenshtein(&word, &plain(candidate)))
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
}
