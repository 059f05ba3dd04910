//! Errors that upstream reports for a resource that it cannot deliver (xRFC TP3).

use std::fmt;
use std::sync::Arc;

use crate::{Constraints, Name, Scope};

/// A canonical status code, as in `google.rpc.Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub i32);

impl Code {
    /// Nothing is wrong, or nothing any more.
    pub const OK: Self = Self(0);
    /// What was sent is not valid.
    pub const INVALID_ARGUMENT: Self = Self(3);
    /// The resource does not exist.
    pub const NOT_FOUND: Self = Self(5);
    /// Whoever asks may not have the resource.
    pub const PERMISSION_DENIED: Self = Self(7);
    /// More is asked for than there may be.
    pub const RESOURCE_EXHAUSTED: Self = Self(8);
    /// Something is broken.
    pub const INTERNAL: Self = Self(13);
    /// The resource cannot be had for the moment.
    pub const UNAVAILABLE: Self = Self(14);

    /// Whether the last good content is still good: all but what TP3 calls data errors, codes that it lists
    /// nothing of included.
    pub fn is_transient(self) -> bool {
        self != Self::NOT_FOUND && self != Self::PERMISSION_DENIED
    }

    /// The code's canonical name; fit for a metric label, since all that are not canonical share one.
    pub fn as_str(self) -> &'static str {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        usize::try_from(self.0).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or("other")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a resource is not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceError {
    /// The variants that it is about; without constraints, whatever the name stands for.
    pub constraints: Constraints,
    /// What kind of error it is.
    pub code: Code,
    /// What is wrong, for people.
    pub message: Arc<str>,
}

/// The error for every name that is unknown while no control plane is reachable. Its text never changes: a client is sent it once, and a
/// Weir in front of another one recognises it.
const AWAY: &str = "the control plane cannot be reached";

impl ResourceError {
    /// That a resource, of which nothing is known, cannot be had while no control plane can be reached.
    pub fn away(constraints: Constraints) -> Self {
        Self { constraints, code: Code::UNAVAILABLE, message: AWAY.into() }
    }

    /// That a control plane can be reached again.
    pub fn back(constraints: Constraints) -> Self {
        Self { constraints, code: Code::OK, message: Arc::default() }
    }

    /// Whether it is the error for names that are unknown while no control plane is reachable.
    pub fn is_away(&self) -> bool {
        self.code == Code::UNAVAILABLE && *self.message == *AWAY
    }

    /// An error about whatever a name stands for.
    pub fn new(code: Code, message: impl Into<Arc<str>>) -> Self {
        Self { constraints: Constraints::unconstrained(), code, message: message.into() }
    }
}

/// Upstream's word that the locators of a name get an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The name that was asked for.
    pub name: Name,
    /// For whom.
    pub scope: Scope,
    /// The error that they are sent.
    pub error: Arc<ResourceError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e01_only_data_errors_are_not_transient() {
        for (code, name, transient) in [
            (Code::NOT_FOUND, "NOT_FOUND", false),
            (Code::PERMISSION_DENIED, "PERMISSION_DENIED", false),
            (Code::UNAVAILABLE, "UNAVAILABLE", true),
            (Code(13), "INTERNAL", true),
            (Code(16), "UNAUTHENTICATED", true),
            (Code(17), "other", true),
            (Code(-1), "other", true),
        ] {
            assert_eq!((code.as_str(), code.is_transient()), (name, transient));
        }
    }
}
