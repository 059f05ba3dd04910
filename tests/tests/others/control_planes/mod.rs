//! Control planes that others made. Each has a file of its own.

pub mod go_control_plane;

use std::net::SocketAddr;

use serde_json::Value;

pub use go_control_plane::GoControlPlane;

/// A running control plane, which is changed by replacing all that it publishes.
pub trait ControlPlane {
    /// Where xDS clients connect to.
    fn address(&self) -> SocketAddr;

    /// Replaces all resources, also while it is stopped.
    async fn publish(&mut self, resources: &[Value]);

    /// Ends all streams, and listens no more.
    async fn stop(&mut self);

    /// Listens again.
    async fn start(&mut self);
}
