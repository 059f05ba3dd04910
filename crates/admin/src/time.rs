//! Times as text.

use std::time::{Duration, SystemTime};

/// As RFC 3339 writes it, in UTC.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    prost_types::Timestamp::from(at).to_string()
}

/// Seconds, to the microsecond.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

/// Seconds from `at` to now, to the millisecond.
pub(crate) fn seconds_since(at: SystemTime) -> f64 {
    SystemTime::now().duration_since(at).unwrap_or_default().as_millis() as f64 / 1000.0
}
