//! What Weir is tested with, and never part of Weir.
//!
//! It owns the other ends of the wire: a control plane that is scripted by the test
//! ([`FakeControlPlane`]), a client that sends what the test says ([`XdsClient`]), and the processes of real
//! ones: [`process::Weir`], [`process::Envoy`], [`process::GrpcPython`]. They are written against the
//! protocol, not with Weir's machines, so that a misreading of it is not confirmed by itself.
//!
//! Nothing here sleeps: every wait is for an observable event and ends with a panic that says what was
//! waited for, and what was seen instead.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

pub mod client;
pub mod constraints;
pub mod control_plane;
mod listener;
pub mod node;
pub mod process;
pub mod resource;
pub mod resources;
pub mod wait;

pub use client::{Dialect, Received, XdsClient};
pub use control_plane::FakeControlPlane;
pub use node::node;
pub use resource::{Published, type_url};
