//! What a valid file says, with every default filled in.

mod clients;
mod security;
mod telemetry;
mod upstream;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use weir_types::{FileFormat, NodeField, TypeUrl};

pub use security::{AccessRule, AdminTls, DownstreamTls, KeyPair, UpstreamTls};

use crate::metadata::Metadata;
use crate::values::{Csds, Level, LogFormat, ReadyWhen};
use crate::written::{size, written};

pub use self::clients::ColdStarts;
pub use self::telemetry::Telemetry;
pub use self::upstream::{
    Acknowledge, ControlPlane, Debounce, Demand, NodeTemplate, Parameters, Polling, Prefetch, ShrinkGuard,
    Source, Upstream,
};

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Config {
    /// Who this instance is.
    pub node: Node,
    /// What is logged, and how.
    pub log: Log,
    /// What is told to a collector of traces and metrics.
    pub telemetry: Telemetry,
    /// The side that clients connect to.
    pub downstream: Downstream,
    /// The admin server, if there is to be one.
    pub admin: Option<Admin>,
    /// How long things are kept.
    pub cache: Cache,
    /// How much clients may ask for.
    pub limits: Limits,
    /// How new streams are let in.
    pub admission: Admission,
    /// How clients are moved elsewhere.
    pub drain: Drain,
    /// What outlives the process, if anything does.
    pub store: Option<Store>,
    /// Where resources come from, one for each authority; never empty.
    #[serde(rename = "upstream")]
    pub upstreams: Vec<Upstream>,
    /// How clients get dynamic parameters from their `Node`.
    #[serde(rename = "dynamic_parameters")]
    pub node_rules: Vec<NodeRule>,
    /// Who may have what; everybody everything where there is no rule.
    pub access: Vec<AccessRule>,
    /// Which subscriptions are written to files.
    #[serde(rename = "export")]
    pub exports: Vec<Export>,
}

/// Who this instance is: sent upstream, and the id to clients as `control_plane.identifier`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// The node id.
    pub id: String,
    /// The node cluster; may be empty.
    pub cluster: String,
    /// Where it runs.
    pub locality: Locality,
    /// More about it.
    pub metadata: BTreeMap<String, Metadata>,
}

/// What outlives the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Store {
    /// The file.
    pub path: PathBuf,
    /// How large it may become, in bytes.
    #[serde(serialize_with = "size")]
    pub max_size: u64,
    /// How long something is kept after nobody wants it any more.
    #[serde(serialize_with = "written")]
    pub keep_unwanted: Duration,
    /// The file with the key that secrets are encrypted with; without it, they are not stored.
    pub key_file: Option<PathBuf>,
}

/// Where a node runs; unset parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Locality<T = String> {
    /// The region.
    pub region: T,
    /// The zone within the region.
    pub zone: T,
    /// The part of the zone.
    pub sub_zone: T,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Log {
    /// The least severe messages that are logged.
    pub level: Level,
    /// How they are written.
    pub format: LogFormat,
}

/// The side that clients connect to.
#[derive(Clone, Debug, Serialize)]
pub struct Downstream {
    /// Where to listen; never empty, all different.
    pub listen: Vec<SocketAddr>,
    /// Where to listen without TLS although there is a `tls`; all different.
    pub listen_plaintext: Vec<SocketAddr>,
    /// How TLS is spoken at `listen`; where it is none, none is.
    pub tls: Option<DownstreamTls>,
    /// The largest request accepted, in bytes.
    #[serde(serialize_with = "size")]
    pub max_request_size: usize,
    /// The largest response that clients accept, in bytes; what is larger is split where it can be.
    #[serde(serialize_with = "size")]
    pub max_response_size: usize,
    /// How often an idle connection is pinged.
    #[serde(serialize_with = "written")]
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take.
    #[serde(serialize_with = "written")]
    pub keepalive_timeout: Duration,
    /// The longest that the answer to a REST poll is held back while nothing changes.
    #[serde(serialize_with = "written")]
    pub rest_hold: Duration,
    /// Who may ask for the status of clients.
    pub csds: Csds,
    /// Whether tools are told which services and types there are.
    pub reflection: bool,
    /// When clients can be served.
    pub ready_when: ReadyWhen,
    /// How long a client may take to send what has to come before it is served.
    #[serde(serialize_with = "written")]
    pub receive_timeout: Duration,
    /// How long a client may leave unread what it was sent.
    #[serde(serialize_with = "written")]
    pub stall_timeout: Duration,
    /// How long listeners and routes wait for a client's new clusters to warm.
    #[serde(serialize_with = "written")]
    pub warming_timeout: Duration,
    /// How long the first state-of-the-world response to explicit names waits for those that are unanswered.
    #[serde(serialize_with = "written")]
    pub first_response_timeout: Duration,
    /// After how long a client is asked to connect anew, so that clients spread over replicas; not zero.
    #[serde(serialize_with = "written")]
    pub max_connection_age: Option<Duration>,
    /// By `user_agent_name`: whether resources in state-of-the-world responses are wrapped in `Resource`, and say
    /// their time to live, whatever the client announces.
    pub wrap_resources: HashMap<String, bool>,
    /// What becomes of clients that ask for what nobody knows yet, while there is nobody to ask.
    pub cold_start: ColdStarts,
}

/// The admin server. Where anybody could connect, something is needed to look.
#[derive(Clone, Debug, Serialize)]
pub struct Admin {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The file with the token that it takes to look.
    pub token_file: Option<PathBuf>,
    /// The file with the token that it takes to change something.
    pub change_token_file: Option<PathBuf>,
    /// How TLS is spoken; where it is none, none is.
    pub tls: Option<AdminTls>,
}

/// How long things are kept.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cache {
    /// How long a resource stays subscribed upstream after its last subscriber has gone.
    #[serde(serialize_with = "written")]
    pub idle_timeout: Duration,
    /// How many bytes of encoded responses are kept for streams that have yet to be sent the same.
    #[serde(serialize_with = "size")]
    pub max_frames_size: usize,
}

/// How much clients may ask for, one and all. All are at least 1.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// The longest resource name, in bytes.
    pub max_name_length: usize,
    /// The most names in one request.
    pub max_names: usize,
    /// The most connections.
    pub max_connections: usize,
    /// The most connections of one address.
    pub max_connections_per_address: Option<usize>,
    /// The most streams and polls.
    pub max_streams: usize,
    /// The most streams of one connection.
    pub max_streams_per_connection: u32,
    /// The most streams and polls of one node, over all connections.
    pub max_streams_per_node: Option<usize>,
    /// The largest node that a client may introduce itself with, in bytes.
    #[serde(serialize_with = "size")]
    pub max_node_size: usize,
    /// The most names that one stream is subscribed to, over all types.
    pub max_names_per_stream: usize,
    /// The most locators of one name that one stream is subscribed to.
    pub max_locators_per_name: usize,
    /// The most types that one stream is subscribed to.
    pub max_types_per_stream: usize,
    /// The most that is kept of requests that are not complete, of all clients together, in bytes.
    #[serde(serialize_with = "size")]
    pub max_partial_requests: usize,
    /// The most connections of clients that are in their TLS handshake; at least 1.
    pub max_handshakes: usize,
    /// How many names a second that nobody else asks for one client may ask for; at least 1.
    pub new_names_per_client: Option<u32>,
    /// The most names that one client may be the first to ask for, at once.
    pub max_new_names_per_client: Option<usize>,
    /// How many parameter sets a second that nobody else asks for, where each costs an upstream stream; at least 1.
    pub new_parameter_sets_per_client: Option<u32>,
    /// The most of them that one client may be the first to ask for, at once.
    pub max_new_parameter_sets_per_client: Option<usize>,
}

/// How new streams are let in.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Admission {
    /// How many there may be in a second, in the long run; at least 1.
    pub new_streams_per_second: Option<usize>,
    /// How many there may be at once; at least 1.
    pub new_streams_burst: usize,
    /// How many may be sent their first response at once; at least 1.
    pub max_first_responses: usize,
    /// The least that who is turned away is asked to wait.
    #[serde(serialize_with = "written")]
    pub retry_after: Duration,
}

/// How clients are moved elsewhere, when the program is asked to end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Drain {
    /// How long clients are still accepted, so that who balances load can notice.
    #[serde(serialize_with = "written")]
    pub delay: Duration,
    /// Over how long the clients are spread as they are asked to go.
    #[serde(serialize_with = "written")]
    pub over: Duration,
    /// How long a client's streams go on after that.
    #[serde(serialize_with = "written")]
    pub grace: Duration,
}

/// How a client gets one dynamic parameter from its `Node`.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRule {
    /// The parameter's key. Of several rules for one key, the first that gives a value counts.
    pub key: String,
    /// The part of the client's `Node` that it is taken from.
    #[serde(serialize_with = "written")]
    pub from: NodeField,
    /// Which part of that is the value: the first capture group, or the whole match. Without it, all.
    #[serde(serialize_with = "written")]
    pub pattern: Option<regex::Regex>,
    /// The value where the node has none, or none that matches.
    pub default: Option<String>,
    /// Whether clients that send locators are given the parameter too, where they omit its key.
    pub fill_locators: bool,
    /// Whether no client can choose the parameter itself; only for what comes from its certificate.
    pub enforce: bool,
}

/// A subscription that is written to a file.
#[derive(Clone, Debug, Serialize)]
pub struct Export {
    /// The type of the resources.
    #[serde(rename = "type", serialize_with = "written")]
    pub type_url: TypeUrl,
    /// Their names; none is the wildcard.
    pub names: Vec<String>,
    /// For which dynamic parameters.
    pub parameters: BTreeMap<String, String>,
    /// The file; relative to where the program runs. Different from all others.
    pub to: PathBuf,
    /// Its format.
    #[serde(skip)]
    pub format: FileFormat,
}
