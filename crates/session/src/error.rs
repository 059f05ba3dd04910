//! Why a client's stream ends.

use weir_types::Code;

use crate::rights::Denied;

/// Why a stream ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct StreamError {
    /// The status that the stream ends with.
    pub code: Code,
    /// What is wrong, for people.
    pub message: String,
    /// What the client asked for and may not have, if that is the reason.
    pub denied: Option<Box<Denied>>,
}

impl StreamError {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), denied: None }
    }

    /// The client sent what nobody may send.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(Code::INVALID_ARGUMENT, message)
    }

    /// The client asks for more than it may ask for.
    pub fn resource_exhausted(message: impl Into<String>) -> Self {
        Self::new(Code::RESOURCE_EXHAUSTED, message)
    }

    /// The client may not have what it asks for.
    pub(crate) fn permission_denied(message: impl Into<String>) -> Self {
        Self::new(Code::PERMISSION_DENIED, message)
    }

    /// Nobody can be asked for what the client asks for.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::UNAVAILABLE, message)
    }

    /// What the client sent cannot be read.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::INTERNAL, message)
    }

    /// The same with what was denied.
    pub(crate) fn with_denied(self, denied: Option<Denied>) -> Self {
        Self { denied: denied.map(Box::new), ..self }
    }
}
