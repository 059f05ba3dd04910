//! The sections of a file, a module each: its keys, their defaults, and the rules between its values.

mod access;
mod admin;
mod admission;
mod cache;
mod cold_start;
mod debounce;
mod downstream;
mod downstream_tls;
mod drain;
mod export;
mod limits;
mod log;
mod node;
mod node_rule;
mod prefetch;
mod shrink_guard;
mod store;
mod telemetry;
mod upstream;
mod upstream_tls;

use std::path::{Path, PathBuf};

pub use self::access::AccessRule;
pub use self::admin::{Admin, AdminTls};
pub use self::admission::Admission;
pub use self::cache::Cache;
pub use self::cold_start::ColdStarts;
pub use self::debounce::Debounce;
pub use self::downstream::Downstream;
pub use self::downstream_tls::DownstreamTls;
pub use self::drain::Drain;
pub use self::export::Export;
pub use self::limits::Limits;
pub use self::log::Log;
pub use self::node::{Locality, Node};
pub use self::node_rule::NodeRule;
pub use self::prefetch::Prefetch;
pub use self::shrink_guard::{GuardedEndpoints, ShrinkGuard};
pub use self::store::Store;
pub use self::telemetry::Telemetry;
pub(crate) use self::upstream::RESERVED;
pub use self::upstream::{
    Acknowledge, AfterSubscribers, ControlPlane, DynamicParameters, Exchange, Files, General, Modes,
    NodeTemplate, ParameterStreams, Polling, Source, Streaming, Upstream,
};
pub use self::upstream_tls::UpstreamTls;

/// Has relative paths start from `directory`.
pub(crate) fn resolve<'a>(directory: &Path, paths: impl IntoIterator<Item = &'a mut PathBuf>) {
    for path in paths {
        *path = directory.join(&*path);
    }
}
