//! Times as text.

use std::time::{Duration, SystemTime};

use prost_types::Timestamp;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// As RFC 3339 writes it, in UTC.
pub fn rfc3339(at: SystemTime) -> String {
    Timestamp::from(at).to_string()
}

fn parse<E: Error>(text: &str) -> Result<SystemTime, E> {
    let at: Timestamp = text.parse().map_err(E::custom)?;
    at.try_into().map_err(E::custom)
}

/// For `serde(with)`.
pub(crate) fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*at))
}

/// For `serde(with)`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    parse(&String::deserialize(deserializer)?)
}

/// For `serde(with)`: times that may be missing.
pub(crate) mod optional {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        at: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(rfc3339).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        Option::<String>::deserialize(deserializer)?.as_deref().map(parse).transpose()
    }
}

/// Seconds, to the microsecond.
pub fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

/// Seconds from `at` to now, to the millisecond.
pub fn seconds_since(at: SystemTime) -> f64 {
    SystemTime::now().duration_since(at).unwrap_or_default().as_millis() as f64 / 1000.0
}
