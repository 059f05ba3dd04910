//! The two ways to use xDS.

use std::fmt;

/// The dialect of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// State of the world: whole lists, versions per type.
    Sotw,
    /// Incremental: additions and removals, versions per resource.
    Delta,
}

impl Dialect {
    /// `sotw` or `delta`: fit for a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sotw => "sotw",
            Self::Delta => "delta",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
