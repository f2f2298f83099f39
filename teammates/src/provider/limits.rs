//! What a provider's headers say about its limits. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderMap;

/// One of the provider's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Of what, as the provider calls it: `requests`, `tokens`, `input-tokens` …
    pub of: String,
    /// How much there is altogether.
    pub limit: Option<u64>,
    /// How much of it is left.
    pub remaining: Option<u64>,
    /// When it is whole again, by this machine's clock.
    pub reset: Option<Timestamp>,
}

/// What the prefix of a family of headers is, and whether the limit's name stands before the word (`requests-limit`) or
/// behind it (`limit-requests`).
const FAMILIES: [(&str, bool); 2] = [("anthropic-ratelimit-", true), ("x-ratelimit-", false)];

/// The limits that the headers name. `now`: this machine's clock. A moment in them is by the server's clock, and is put
/// right by what the server says that its clock shows.
pub fn windows(headers: &HeaderMap, now: Timestamp) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for (name, value) in headers {
        let Some((of, word)) = FAMILIES.iter().find_map(|(prefix, name_first)| {
            let rest = name.as_str().strip_prefix(prefix)?;
            if *name_first { rest.rsplit_once('-') } else { rest.split_once('-').map(|(word, of)| (of, word)) }
        }) else {
            continue;
        };
        let (Ok(value), true) = (value.to_str(), ["limit", "remaining", "reset"].contains(&word)) else { continue };
        let at = windows.iter().position(|window| window.of == of).unwrap_or_else(|| {
            windows.push(Window { of: of.to_owned(), limit: None, remaining: None, reset: None });
            windows.len() - 1
        });
        let window = &mut windows[at];
        match word {
            "limit" => window.limit = value.trim().parse().ok(),
            "remaining" => window.remaining = value.trim().parse().ok(),
            _ => window.reset = moment(value.trim(), headers, now),
        }
    }
    windows.sort_by(|one, other| one.of.cmp(&other.of));
    windows
}

/// How long the server asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = text("retry-after")?;
    match number(after) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let until = date(after)?.duration_since(server_now(headers, now));
            Some(Duration::try_from(until).unwrap_or(Duration::ZERO))
        }
    }
}

/// When a request that was refused for a limit may be tried again: as the server asks, or when the last of the limits
/// with nothing left is whole again. `None`: the headers do not say.
pub fn reset(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    if let Some(after) = retry_after(headers, now) {
        return now.checked_add(SignedDuration::try_from(after).ok()?).ok();
    }
    let windows = windows(headers, now);
    let used_up = windows.iter().filter(|window| window.remaining == Some(0)).filter_map(|window| window.reset).max();
    // A limit over all of them is told without what is left of it.
    used_up.or_else(|| windows.iter().find(|window| window.of == "unified").and_then(|window| window.reset)).map(|reset| reset.max(now))
}

/// A moment as one of: RFC 3339, seconds since the epoch, or a span from now (`6m0s`, `20ms`, seconds).
fn moment(text: &str, headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    const SINCE_EPOCH: f64 = 1e9;
    let by_server = |at: Timestamp| now.checked_add(at.duration_since(server_now(headers, now))).ok();
    if let Ok(at) = text.parse::<Timestamp>() {
        return by_server(at);
    }
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= SINCE_EPOCH => by_server(Timestamp::from_duration(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()?),
        Ok(seconds) => now.checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?).ok(),
        Err(_) => now.checked_add(span(text)?).ok(),
    }
}

/// A span like `1h2m3.5s`.
fn span(text: &str) -> Option<SignedDuration> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let number_end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, behind) = rest.split_at(number_end);
        let unit_end = behind.find(|letter: char| letter.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_end);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * seconds;
        rest = behind;
    }
    (!text.is_empty()).then_some(())?;
    SignedDuration::try_from_secs_f64(sum).ok()
}

/// What the server's clock shows.
fn server_now(headers: &HeaderMap, now: Timestamp) -> Timestamp {
    headers.get("date").and_then(|value| date(value.to_str().ok()?)).unwrap_or(now)
}

/// A date of HTTP.
fn date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text.trim()).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T12:00:00Z";

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse::<reqwest::header::HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn when_to_try_again() {
        type Headers<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Headers<'_>, Option<&str>); 14] = [
            (&[], None),
            (&[("retry-after", "30")], Some("2026-01-01T12:00:30Z")),
            (&[("retry-after", "0.5")], Some("2026-01-01T12:00:00.5Z")),
            (&[("retry-after-ms", "1500"), ("retry-after", "30")], Some("2026-01-01T12:00:01.5Z")),
            (&[("retry-after", "Thu, 01 Jan 2026 12:10:00 GMT")], Some("2026-01-01T12:10:00Z")),
            // The server's clock is an hour ahead of this machine's.
            (&[("retry-after", "Thu, 01 Jan 2026 13:10:00 GMT"), ("date", "Thu, 01 Jan 2026 13:00:00 GMT")], Some("2026-01-01T12:10:00Z")),
            (&[("retry-after", "Thu, 01 Jan 2026 11:00:00 GMT")], Some(NOW)),
            (&[("retry-after", "soon")], None),
            (&[("anthropic-ratelimit-tokens-remaining", "0"), ("anthropic-ratelimit-tokens-reset", "2026-01-01T12:01:00Z")], Some("2026-01-01T12:01:00Z")),
            (
                &[
                    ("date", "Thu, 01 Jan 2026 11:00:00 GMT"),
                    ("anthropic-ratelimit-requests-remaining", "5"),
                    ("anthropic-ratelimit-requests-reset", "2026-01-01T19:00:00Z"),
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T11:01:00Z"),
                ],
                Some("2026-01-01T12:01:00Z"),
            ),
            (&[("anthropic-ratelimit-unified-reset", "1767272400")], Some("2026-01-01T13:00:00Z")),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1h6m0.5s")], Some("2026-01-01T13:06:00.5Z")),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "200ms")], Some("2026-01-01T12:00:00.2Z")),
            (&[("x-ratelimit-remaining-tokens", "3"), ("x-ratelimit-reset-tokens", "200ms")], None),
        ];
        for (pairs, expected) in cases {
            assert_eq!(reset(&headers(pairs), at(NOW)), expected.map(at), "{pairs:?}");
        }
    }

    #[test]
    fn all_limits_are_told() {
        let headers = headers(&[
            ("anthropic-ratelimit-input-tokens-limit", "100"),
            ("anthropic-ratelimit-input-tokens-remaining", "40"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T12:01:00Z"),
            ("x-ratelimit-limit-requests", "9"),
            ("x-ratelimit-reset-requests", "1s2parsecs"),
            ("x-ratelimit-other", "7"),
        ]);
        let expected = [
            Window { of: "input-tokens".into(), limit: Some(100), remaining: Some(40), reset: Some(at("2026-01-01T12:01:00Z")) },
            Window { of: "requests".into(), limit: Some(9), remaining: None, reset: None },
        ];
        assert_eq!(windows(&headers, at(NOW)), expected);
    }
}
