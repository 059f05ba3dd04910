//! Settings as a configuration file: every key with its value, also where that is a default.
//!
//! Owns which keys stand there. What is written is read back to the same settings, but for secrets, which are not
//! written at all.

use toml::{Table, Value};

use crate::Config;

/// Keys that have no meaning for a control plane that is polled.
const OF_STREAMS: [&str; 4] =
    ["transport", "keepalive_interval", "keepalive_timeout", "node_on_first_message_only"];

/// Keys that have none for any other.
const OF_POLLS: [&str; 3] = ["refresh_interval", "refresh_jitter", "request_timeout"];

impl Config {
    /// As a file says it, with every default, and without secrets.
    ///
    /// # Errors
    /// When a path is not UTF-8.
    pub fn document(&self) -> Result<Table, toml::ser::Error> {
        let mut document = Table::try_from(self)?;
        let upstreams = document.get_mut("upstream").and_then(Value::as_array_mut);
        for upstream in upstreams.into_iter().flatten().filter_map(Value::as_table_mut) {
            let polled = upstream.get("protocol").and_then(Value::as_str) == Some("rest");
            let foreign = if polled { &OF_STREAMS[..] } else { &OF_POLLS };
            upstream.retain(|key, _| !foreign.contains(&key));
        }
        Ok(document)
    }
}
