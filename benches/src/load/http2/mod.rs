//! Just enough of HTTP/2 and gRPC for a client that costs next to nothing: frames, a connection without IO,
//! and a reader of discovery responses that skips what it need not know.

pub(crate) mod connection;
pub(crate) mod frames;
pub(crate) mod message;

#[cfg(test)]
mod tests;

pub(crate) use connection::{Connection, Event};
pub(crate) use frames::grpc_call;
pub(crate) use message::Message;
