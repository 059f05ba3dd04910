//! What a control plane is, as far as configuration says.

use std::sync::Arc;
use std::time::Duration;

use weir_protocol::Dialect;
use weir_wire::discovery::Node;

use crate::{Backoff, NodeTemplate};

/// How a control plane is spoken to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The authority whose names it serves; empty for names without one.
    pub authority: String,
    /// Where it is, in order of preference: `http://host:port`.
    pub endpoints: Vec<String>,
    /// In which dialect.
    pub dialect: Dialect,
    /// How it is told dynamic parameters.
    pub naming: Naming,
    /// The largest response that is accepted, in bytes.
    pub max_message_size: usize,
    /// After how long without an answer a resource is taken not to exist.
    pub does_not_exist: Duration,
    /// How long to wait between attempts to connect.
    pub backoff: Backoff,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How often an idle connection is pinged.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: Duration,
    /// Whether the node goes with the first request of a stream only, which is all that the protocol asks for.
    pub node_on_first_message_only: bool,
}

/// How a control plane is told dynamic parameters.
#[derive(Clone, Debug)]
pub enum Naming {
    /// By locators, for all parameter sets on the same streams: it speaks TP2.
    Native {
        /// Who asks.
        node: Node,
    },
    /// By streams of their own for each distinct parameter set.
    Streams {
        /// The keys that make a difference to it.
        keys: Arc<[Arc<str>]>,
        /// Who asks, for a set.
        node: NodeTemplate,
    },
}

impl Settings {
    /// A control plane at `endpoints`, spoken to in delta, with usual limits.
    pub fn new(authority: impl Into<String>, endpoints: Vec<String>, naming: Naming) -> Self {
        Self {
            authority: authority.into(),
            endpoints,
            dialect: Dialect::Delta,
            naming,
            max_message_size: 128 << 20,
            does_not_exist: Duration::from_secs(15),
            backoff: Backoff::default(),
            connect_timeout: Duration::from_secs(5),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
            node_on_first_message_only: true,
        }
    }
}
