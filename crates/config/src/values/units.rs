//! Durations and sizes, as numbers with a unit.

use std::time::Duration;

use super::text::Form;

const DURATIONS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl Form for Duration {
    const FORM: &str = "a duration like \"15s\"";

    fn parse(text: &str) -> Result<Self, String> {
        let bad =
            || format!("{text:?} is not a duration; write it like \"15s\", \"500ms\", \"2m\" or \"1h\"");
        from_units(text, &DURATIONS).map(Self::from_millis).ok_or_else(bad)
    }

    fn write(&self) -> String {
        in_units(u64::try_from(self.as_millis()).unwrap_or(u64::MAX), &DURATIONS)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(pub(crate) usize);

impl Form for Bytes {
    const FORM: &str = "a size like \"4MiB\"";

    fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a size; write it like \"4MiB\" or \"512KiB\"");
        let bytes = from_units(text, &SIZES).and_then(|bytes| usize::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(bad)
    }

    fn write(&self) -> String {
        in_units(u64::try_from(self.0).unwrap_or(u64::MAX), &SIZES)
    }
}

fn from_units(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// Writes a number in the largest unit that divides it; the last one always does.
fn in_units(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, size): &&(&str, u64)| number.is_multiple_of(*size) && number > 0;
    match units.iter().find(fits).or(units.last()) {
        Some((unit, size)) => format!("{}{unit}", number / size),
        None => number.to_string(),
    }
}
