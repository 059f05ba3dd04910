//! The end of a stream, as gRPC has it.

use tonic::{Code, Status};

use weir_session::StreamError;

/// The status that a stream ends with.
pub(crate) fn status(error: StreamError) -> Status {
    Status::new(Code::from(error.code.0), error.message)
}
