//! Control planes that others made. Each has a file of its own.

mod steered;

use std::fmt;
use std::net::SocketAddr;

use serde_json::Value;
use weir_testkit::process::no_go;

pub use steered::Steered;

/// What can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPlaneKind {
    /// go-control-plane with this one of its caches.
    Go(&'static str),
}

impl ControlPlaneKind {
    /// Why it cannot run here, if so.
    pub fn obstacle(self) -> Option<String> {
        match self {
            Self::Go(_) => no_go(),
        }
    }
}

impl fmt::Display for ControlPlaneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go(cache) => write!(f, "go-control-plane, {cache}"),
        }
    }
}

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
