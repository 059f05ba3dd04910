//! `[limits]`

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::sections::Section;
use crate::settings::Downstream;
use crate::values::{ByteSize, Count};

/// How much clients may ask for, one and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The longest resource name, in bytes.
    pub max_name_length: Count,
    /// The most names in one request.
    pub max_names: Count,
    /// The most connections.
    pub max_connections: Count,
    /// The most connections of one address.
    pub max_connections_per_address: Option<Count>,
    /// The most streams and polls.
    pub max_streams: Count,
    /// The most streams of one connection.
    pub max_streams_per_connection: Count<u32>,
    /// The most streams and polls of one node, over all connections.
    pub max_streams_per_node: Option<Count>,
    /// The most streams of load reports, which count as streams, too.
    pub max_load_streams: Count,
    /// The largest node that a client may introduce itself with, in bytes.
    pub max_node_size: ByteSize,
    /// The most names that one stream is subscribed to, over all types.
    pub max_names_per_stream: Count,
    /// The most locators of one name that one stream is subscribed to.
    pub max_locators_per_name: Count,
    /// The most types that one stream is subscribed to.
    pub max_types_per_stream: Count,
    /// The most that is kept of requests that are not complete, of all clients together, in bytes.
    pub max_partial_requests: ByteSize,
    /// The most connections of clients that are in their TLS handshake.
    pub max_handshakes: Count,
    /// How many names a second that nobody else asks for one client may ask for.
    pub new_names_per_client: Option<Count<u32>>,
    /// The most names that one client may be the first to ask for, at once.
    pub max_new_names_per_client: Option<Count>,
    /// How many parameter sets a second that nobody else asks for, where each costs an upstream stream.
    pub new_parameter_sets_per_client: Option<Count<u32>>,
    /// The most of them that one client may be the first to ask for, at once.
    pub max_new_parameter_sets_per_client: Option<Count>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_name_length: Count::of::<4096>(),
            max_names: Count::of::<100_000>(),
            max_connections: Count::of::<100_000>(),
            max_connections_per_address: None,
            max_streams: Count::of::<1_000_000>(),
            max_streams_per_connection: Count::of_u32::<1000>(),
            max_streams_per_node: None,
            max_load_streams: Count::of::<10_000>(),
            max_names_per_stream: Count::of::<100_000>(),
            max_locators_per_name: Count::of::<1000>(),
            max_types_per_stream: Count::of::<100>(),
            max_node_size: ByteSize::mib::<1>(),
            max_partial_requests: ByteSize::mib::<256>(),
            max_handshakes: Count::of::<10_000>(),
            new_names_per_client: None,
            max_new_names_per_client: None,
            new_parameter_sets_per_client: None,
            max_new_parameter_sets_per_client: None,
        }
    }
}

impl Section for Limits {}

impl Limits {
    /// Reports a `max_partial_requests` without room for two requests of the largest size.
    pub(crate) fn check_partial_requests(&self, downstream: &Downstream, findings: &mut Findings) {
        let (partial, whole) = (self.max_partial_requests, downstream.max_request_size);
        if partial.get() / 2 < whole.get() {
            let message = format!(
                "must be at least twice downstream.max_request_size, which is {whole} (got {partial})"
            );
            findings.add("limits.max_partial_requests", message);
        }
    }
}
