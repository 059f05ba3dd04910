//! Settings as a configuration file: every key with its value, also where that is a default.
//!
//! Owns how values are written. What is written is read back to the same settings, but for secrets, which are not
//! written at all.

use std::time::Duration;

use serde::{Serialize, Serializer};
use toml::{Table, Value};
use weir_types::{NodeField, Pattern, TypeUrl};

use crate::settings::Config;

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
        if let Some(Value::Table(store)) = document.get_mut("store") {
            store.insert("persist_secrets".to_owned(), store.contains_key("key_file").into());
        }
        if let Some(Value::Table(admission)) = document.get_mut("admission")
            && !admission.contains_key("new_streams_per_second")
        {
            admission.remove("new_streams_burst");
        }
        let upstreams = document.get_mut("upstream").and_then(Value::as_array_mut);
        for upstream in upstreams.into_iter().flatten().filter_map(Value::as_table_mut) {
            let polled = upstream.get("protocol").and_then(Value::as_str) == Some("rest");
            let foreign = if polled { &OF_STREAMS[..] } else { &OF_POLLS };
            upstream.retain(|key, _| !foreign.contains(&key));
        }
        Ok(document)
    }
}

/// What is written as a text of its own form.
pub(crate) trait Written {
    /// What becomes of it.
    type Form: Serialize;

    fn written(&self) -> Self::Form;
}

/// For `serialize_with`.
pub(crate) fn written<T: Written, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.written().serialize(serializer)
}

/// For `serialize_with`: a size.
pub(crate) fn size<S: Serializer>(
    bytes: &(impl Copy + TryInto<u64>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bytes: u64 = (*bytes).try_into().unwrap_or(u64::MAX);
    serializer
        .serialize_str(&in_units(bytes, &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)]))
}

/// In the largest unit that divides it; the last one does always.
fn in_units(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, size): &&(&str, u64)| number.is_multiple_of(*size) && number > 0;
    match units.iter().find(fits).or(units.last()) {
        Some((unit, size)) => format!("{}{unit}", number / size),
        None => number.to_string(),
    }
}

impl Written for Duration {
    type Form = String;

    fn written(&self) -> String {
        let millis = u64::try_from(self.as_millis()).unwrap_or(u64::MAX);
        in_units(millis, &[("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)])
    }
}

macro_rules! as_displayed {
    ($($form:ty),*) => {
        $(impl Written for $form {
            type Form = String;

            fn written(&self) -> String {
                self.to_string()
            }
        })*
    };
}

as_displayed!(http::Uri, regex::Regex, Pattern, TypeUrl, NodeField);

impl<T: Written> Written for Option<T> {
    type Form = Option<T::Form>;

    fn written(&self) -> Self::Form {
        self.as_ref().map(T::written)
    }
}

impl<T: Written> Written for Vec<T> {
    type Form = Vec<T::Form>;

    fn written(&self) -> Self::Form {
        self.iter().map(T::written).collect()
    }
}
