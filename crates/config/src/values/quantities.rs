//! Numbers, durations and sizes that are within their bounds.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Bytes;
use super::text::{Form, Text};

/// A duration that is greater than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "Text<Duration>", into = "Text<Duration>")]
pub struct PositiveDuration(Duration);

impl PositiveDuration {
    /// So many milliseconds.
    pub const fn millis<const N: u64>() -> Self {
        const { assert!(N > 0) };
        Self(Duration::from_millis(N))
    }

    /// So many seconds.
    pub const fn seconds<const N: u64>() -> Self {
        const { assert!(N > 0) };
        Self(Duration::from_secs(N))
    }

    /// The duration.
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Two thirds of the duration, in whole milliseconds; at least one.
    pub(crate) fn two_thirds(self) -> Self {
        let millis = u64::try_from(self.0.as_millis() * 2 / 3).unwrap_or(u64::MAX);
        Self(Duration::from_millis(millis.max(1)))
    }
}

impl TryFrom<Text<Duration>> for PositiveDuration {
    type Error = &'static str;

    fn try_from(Text(duration): Text<Duration>) -> Result<Self, &'static str> {
        Self::try_from(duration)
    }
}

impl TryFrom<Duration> for PositiveDuration {
    type Error = &'static str;

    fn try_from(duration: Duration) -> Result<Self, &'static str> {
        if duration.is_zero() { Err("must be greater than zero (got 0s)") } else { Ok(Self(duration)) }
    }
}

impl From<PositiveDuration> for Text<Duration> {
    fn from(PositiveDuration(duration): PositiveDuration) -> Self {
        Self(duration)
    }
}

impl fmt::Display for PositiveDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.write())
    }
}

/// A number of bytes that is at least `MIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "Text<Bytes>", into = "Text<Bytes>")]
pub struct ByteSize<const MIN: usize = 1>(usize);

impl<const MIN: usize> ByteSize<MIN> {
    /// So many KiB.
    pub const fn kib<const N: usize>() -> Self {
        const { assert!(N << 10 >= MIN) };
        Self(N << 10)
    }

    /// So many MiB.
    pub const fn mib<const N: usize>() -> Self {
        const { assert!(N << 20 >= MIN) };
        Self(N << 20)
    }

    /// The number of bytes.
    pub const fn get(self) -> usize {
        self.0
    }
}

impl<const MIN: usize> TryFrom<Text<Bytes>> for ByteSize<MIN> {
    type Error = String;

    fn try_from(Text(Bytes(bytes)): Text<Bytes>) -> Result<Self, String> {
        Self::try_from(bytes)
    }
}

impl<const MIN: usize> TryFrom<usize> for ByteSize<MIN> {
    type Error = String;

    fn try_from(bytes: usize) -> Result<Self, String> {
        let too_small = || format!("must be at least {} (got {})", Bytes(MIN).write(), Bytes(bytes).write());
        (bytes >= MIN).then_some(Self(bytes)).ok_or_else(too_small)
    }
}

impl<const MIN: usize> From<ByteSize<MIN>> for Text<Bytes> {
    fn from(ByteSize(bytes): ByteSize<MIN>) -> Self {
        Self(Bytes(bytes))
    }
}

impl<const MIN: usize> fmt::Display for ByteSize<MIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Bytes(self.0).write())
    }
}

/// A number of things that is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "i64", bound(deserialize = "Self: TryFrom<i64, Error = String>"))]
pub struct Count<N = usize>(N);

impl<N: Copy> Count<N> {
    /// The number.
    pub const fn get(self) -> N {
        self.0
    }
}

macro_rules! counts {
    ($($of:ident: $number:ty),*) => {
        $(impl Count<$number> {
            /// So many.
            pub const fn $of<const N: $number>() -> Self {
                const { assert!(N > 0) };
                Self(N)
            }
        }

        impl TryFrom<i64> for Count<$number> {
            type Error = String;

            fn try_from(number: i64) -> Result<Self, String> {
                match <$number>::try_from(number) {
                    Ok(number) if number > 0 => Ok(Self(number)),
                    Err(_) if number > 0 => Err(format!("must be at most {} (got {number})", <$number>::MAX)),
                    _ => Err(format!("must be at least 1 (got {number})")),
                }
            }
        })*
    };
}

counts!(of: usize, of_u32: u32);

impl<N: fmt::Display> fmt::Display for Count<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of percent from 1 to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "i64", into = "u8")]
pub struct Percent<const MAX: u8 = 100>(u8);

impl<const MAX: u8> Percent<MAX> {
    /// So many.
    pub const fn of<const N: u8>() -> Self {
        const { assert!(N > 0 && N <= MAX) };
        Self(N)
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl<const MAX: u8> TryFrom<i64> for Percent<MAX> {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let percent = u8::try_from(number).ok().filter(|percent| (1..=MAX).contains(percent));
        percent.map(Self).ok_or_else(|| format!("must be a percentage from 1 to {MAX} (got {number})"))
    }
}

impl<const MAX: u8> From<Percent<MAX>> for u8 {
    fn from(Percent(number): Percent<MAX>) -> Self {
        number
    }
}

impl<const MAX: u8> fmt::Display for Percent<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A share: a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Ratio(f64);

impl Ratio {
    pub(crate) const fn percent<const N: u8>() -> Self {
        const { assert!(N <= 100) };
        Self(N as f64 / 100.0)
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Ratio {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        let within = (0.0..=1.0).contains(&number);
        within.then_some(Self(number)).ok_or_else(|| format!("must be from 0 to 1 (got {number})"))
    }
}

impl From<Ratio> for f64 {
    fn from(Ratio(number): Ratio) -> Self {
        number
    }
}

/// A string that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub struct NonEmptyString(String);

impl NonEmptyString {
    pub(crate) fn weir() -> Self {
        Self("weir".to_owned())
    }

    /// The string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NonEmptyString {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.is_empty() { Err("must not be empty (got \"\")") } else { Ok(Self(text)) }
    }
}
