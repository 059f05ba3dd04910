//! Values as a configuration file has them: in the form in which they are read.

use std::time::Duration;

use serde::{Serialize, Serializer};
use weir_types::{NodeField, Pattern, TypeUrl};

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
