//! Where resources come from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Debounce, Locality, Prefetch, ShrinkGuard, UpstreamTls};
use crate::metadata::Metadata;
use crate::secret::Secret;
use crate::template::Template;
use crate::values::{
    ByteSize, Count, DataError, NackUpstream, Percent, PositiveDuration, Protocol, Transport, text,
};

/// Where the resources of one authority come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Upstream {
    /// The authority; empty for names without one.
    pub authority: String,
    /// Where they come from.
    #[serde(flatten)]
    pub source: Source,
}

/// Where resources come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Files.
    Files {
        /// This directory or file; relative to where the program runs.
        path: PathBuf,
        /// How often they are read without being said to have changed.
        poll_interval: Option<PositiveDuration>,
    },
    /// A control plane.
    ControlPlane(Box<ControlPlane>),
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files { path, poll_interval } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("files", path)?;
                if let Some(interval) = poll_interval {
                    map.serialize_entry("poll_interval", interval)?;
                }
                map.end()
            }
            Self::ControlPlane(control_plane) => control_plane.serialize(serializer),
        }
    }
}

/// How a control plane is spoken to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlPlane {
    /// Where it is, in order of preference; never empty.
    #[serde(with = "text")]
    pub endpoints: Vec<http::Uri>,
    /// In which protocol.
    pub protocol: Protocol,
    /// By the names of which generation of the API.
    pub transport: Transport,
    /// How it is told dynamic parameters.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// How TLS is spoken to endpoints that are `https`; none where none is.
    pub tls: Option<UpstreamTls>,
    /// Headers of each call: names and values that HTTP allows.
    pub headers: BTreeMap<String, Secret>,
    /// The file with the token that is sent as `authorization: Bearer …`.
    pub token_file: Option<PathBuf>,
    /// Whether that, or a header that is one, may be sent to endpoints that are not `https`.
    pub token_over_plaintext: bool,
    /// How much clients can have it asked for.
    #[serde(flatten)]
    pub demand: Demand,
    /// How long connecting may take.
    pub connect_timeout: PositiveDuration,
    /// How long a resource may take to come before it is taken not to exist.
    pub does_not_exist_timeout: PositiveDuration,
    /// On which errors of a resource what is cached of it is dropped.
    pub drop_on_errors: Vec<DataError>,
    /// How bursts are recognized, which are made one change; none where nothing waits.
    pub debounce: Option<Debounce>,
    /// How much it may remove at once, if not everything.
    pub shrink_guard: Option<ShrinkGuard>,
    /// The longest first wait between attempts to connect.
    pub backoff_base: PositiveDuration,
    /// The longest wait between attempts to connect; at least `backoff_base`.
    #[serde(with = "text")]
    pub backoff_max: Duration,
    /// How long a new stream may take to answer before other endpoints are tried beside it; shorter than
    /// `does_not_exist_timeout` where there are several endpoints.
    pub answer_timeout: PositiveDuration,
    /// How long a stream has to last before its endpoint counts as a good one.
    #[serde(with = "text")]
    pub stable_after: Duration,
    /// Whether a version means the same at all endpoints.
    pub shared_versions: bool,
    /// How often an idle connection is pinged.
    pub keepalive_interval: PositiveDuration,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: PositiveDuration,
    /// The largest response accepted, in bytes.
    pub max_response_size: ByteSize,
    /// Whether the node goes with the first request of a stream only.
    pub node_on_first_message_only: bool,
    /// When it is told that a response is accepted.
    #[serde(flatten)]
    pub acknowledge: Acknowledge,
    /// How it is polled; for [`Protocol::Rest`].
    #[serde(flatten)]
    pub polling: Polling,
    /// What is subscribed to before any client asks, and for as long as the program runs.
    pub prefetch: Vec<Prefetch>,
}

/// How much clients can have a control plane asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// The most distinct subscriptions.
    pub max_subscriptions: Count,
    /// How many new ones a second.
    pub new_subscriptions_per_second: Option<Count<u32>>,
    /// How many new parameter sets a second.
    pub new_parameter_sets_per_second: Option<Count<u32>>,
}

/// How a control plane is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Polling {
    /// How long to wait after an answer before the next poll.
    pub refresh_interval: PositiveDuration,
    /// How much longer at most, by chance.
    #[serde(with = "text")]
    pub refresh_jitter: Duration,
    /// How long an answer may take.
    pub request_timeout: PositiveDuration,
}

/// When a control plane is told that a response is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "acknowledge", rename_all = "kebab-case")]
pub enum Acknowledge {
    /// Once it is applied.
    OnReceipt,
    /// Once the subscribers that it concerns have accepted it.
    AfterSubscribers {
        /// How many of them are waited for, in percent: 1 to 100.
        #[serde(rename = "acknowledge_share")]
        share: Percent,
        /// How long they are waited for.
        #[serde(rename = "acknowledge_deadline")]
        deadline: PositiveDuration,
        /// Whether it is told that they have rejected a response.
        #[serde(rename = "nack_upstream")]
        nack: NackUpstream,
    },
}

/// How a control plane is told dynamic parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "dynamic_parameters", rename_all = "kebab-case")]
pub enum Parameters {
    /// By locators: it speaks TP2.
    Native,
    /// By a stream, with a `Node` of its own, for each distinct set of them.
    Streams {
        /// The keys that make a difference to this control plane, sorted.
        #[serde(rename = "parameter_keys")]
        keys: Vec<String>,
        /// The most sets; more are refused.
        #[serde(rename = "max_parameter_sets")]
        max_sets: Count,
        /// The `Node` for a set.
        node: NodeTemplate,
    },
}

/// The `Node` sent for a set of dynamic parameters. Placeholders are only for keys of the set's universe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeTemplate {
    /// The node id.
    pub id: Template,
    /// The node cluster.
    pub cluster: Template,
    /// The node locality.
    pub locality: Locality<Template>,
    /// The node metadata.
    pub metadata: BTreeMap<String, Metadata<Template>>,
}
