//! The upstream side of the xDS transport protocol as a state machine without IO ([`client`]).
//!
//! Owns what a stream to a control plane means, in both dialects. Never reads a clock, waits, or knows of transports:
//! time is an argument and timers are data.

pub mod client;

pub use weir_types::Dialect;
