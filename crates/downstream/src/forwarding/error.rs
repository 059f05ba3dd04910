//! Why a client's node is not forwarded.

use weir_types::Code;

/// Why a client's node cannot be forwarded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// The parts are too large.
    #[error(
        "the forwarded parts of node ({parts}) must have at most {max} bytes (upstream.node.max_size), got {size}"
    )]
    TooLarge {
        /// Which parts.
        parts: String,
        /// How many bytes they have.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// The certificate of the client does not vouch for its node.
    #[error(
        "the certificate of the client ({identity}) has none of the names that its node stands for \
         (upstream.node.verify): {wanted}"
    )]
    Unverified {
        /// The names in the certificate.
        identity: String,
        /// The names of which it needs one.
        wanted: String,
    },
    /// Headers are filled with what the certificate of the client does not have.
    #[error(
        "the certificate of the client ({identity}) gives no value for {{{placeholder}}}, with which headers are filled \
         (upstream.headers)"
    )]
    NoHeaderValue {
        /// The names in the certificate.
        identity: String,
        /// What has no value.
        placeholder: String,
    },
    /// A value could end the field of the header that it is in, and begin another one.
    #[error(
        "{{{placeholder}}} of the client must be visible ASCII without , ; = % \" and \\, since headers are filled with it \
         (upstream.headers), got {value:?}"
    )]
    UnsafeHeaderValue {
        /// What has the value.
        placeholder: String,
        /// The value.
        value: String,
    },
}

impl ForwardError {
    /// What the client's stream ends with.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::TooLarge { .. } => Code::INVALID_ARGUMENT,
            Self::Unverified { .. } | Self::NoHeaderValue { .. } | Self::UnsafeHeaderValue { .. } => {
                Code::PERMISSION_DENIED
            }
        }
    }

    /// The reason, as a metric label.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::Unverified { .. } => "unverified",
            Self::NoHeaderValue { .. } => "no_header_value",
            Self::UnsafeHeaderValue { .. } => "unsafe_header_value",
        }
    }
}
