//! The xDS transport protocol as state machines without IO.
//!
//! Owns what a stream means, in both dialects: on the client's side ([`client`]) and on the server's
//! ([`server`]). Never
//! reads a clock, waits, or knows of transports: time is an argument and timers are data.

pub mod client;
pub mod server;

pub use weir_types::Dialect;
