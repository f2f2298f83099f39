//! The one module that reads the clock.

#![allow(clippy::disallowed_methods)] // This is the door that the lint sends others to.

use jiff::{Timestamp, Unit};

/// The present moment, to the millisecond, as documents and journals write it (RFC 3339, UTC).
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// Nanoseconds since the epoch by the same clock that stamps files.
pub(crate) fn nanos() -> i128 {
    Timestamp::now().as_nanosecond()
}
