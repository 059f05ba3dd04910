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

/// What an error means for a resource of which nothing is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A control plane has answered that it cannot deliver the resource.
    Undeliverable,
    /// No control plane is reachable. That is no answer.
    Unavailable,
    /// A control plane is reachable again: the resource is no longer unavailable.
    Available,
}

/// Why a resource is not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceError {
    /// What it means.
    pub kind: ErrorKind,
    /// The variants that it is about; without constraints, whatever the name stands for.
    pub constraints: Constraints,
    /// The status code.
    pub code: Code,
    /// The message, for people.
    pub message: Arc<str>,
}

/// The error for every name that is unknown while no control plane is reachable. Its text never changes: a client is
/// sent it, and a Weir in front of another one recognises it.
const UNAVAILABLE: &str = "the control plane cannot be reached";

impl ResourceError {
    /// An error about whatever a name stands for.
    pub fn new(code: Code, message: impl Into<Arc<str>>) -> Self {
        let constraints = Constraints::unconstrained();
        Self { kind: ErrorKind::Undeliverable, constraints, code, message: message.into() }
    }

    /// An error that a control plane has sent. That of another Weir may be that it cannot reach its own.
    pub fn reported(constraints: Constraints, code: Code, message: Arc<str>) -> Self {
        let kind = match code {
            Code::UNAVAILABLE if *message == *UNAVAILABLE => ErrorKind::Unavailable,
            Code::OK => ErrorKind::Available,
            _ => ErrorKind::Undeliverable,
        };
        Self { kind, constraints, code, message }
    }

    /// The error for a resource of which nothing is cached, while no control plane is reachable.
    pub fn unavailable(constraints: Constraints) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            constraints,
            code: Code::UNAVAILABLE,
            message: UNAVAILABLE.into(),
        }
    }

    /// The end of [`Self::unavailable`].
    pub fn available(constraints: Constraints) -> Self {
        Self { kind: ErrorKind::Available, constraints, code: Code::OK, message: Arc::default() }
    }

    /// Whether no control plane is reachable.
    pub fn is_unavailable(&self) -> bool {
        self.kind == ErrorKind::Unavailable
    }
}

/// An error for the locators of a name.
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
    fn e01_the_sentence_of_another_weir_is_recognised() {
        let reported = |code, message: &str| {
            ResourceError::reported(Constraints::unconstrained(), code, message.into()).kind
        };
        assert_eq!(
            reported(Code::UNAVAILABLE, "the control plane cannot be reached"),
            ErrorKind::Unavailable
        );
        assert_eq!(reported(Code::UNAVAILABLE, "try again"), ErrorKind::Undeliverable);
        assert_eq!(
            reported(Code::NOT_FOUND, "the control plane cannot be reached"),
            ErrorKind::Undeliverable
        );
        assert_eq!(reported(Code::OK, ""), ErrorKind::Available);
    }

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
