//! What a valid file says, with every default filled in.

mod clients;
mod security;
mod telemetry;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_types::{FileFormat, NodeField, TypeUrl};

pub use security::{AccessRule, AdminTls, DownstreamTls, KeyPair, UpstreamTls};

use crate::metadata::Metadata;
use crate::template::Template;
use crate::values::{Csds, DataError, Level, LogFormat, NackUpstream, Protocol, Transport};

pub use self::clients::ColdStarts;
pub use self::telemetry::Telemetry;

/// Everything.
#[derive(Clone, Debug)]
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
    pub upstreams: Vec<Upstream>,
    /// How clients get dynamic parameters from their `Node`.
    pub node_rules: Vec<NodeRule>,
    /// Who may have what; everybody everything where there is no rule.
    pub access: Vec<AccessRule>,
    /// Which subscriptions are written to files.
    pub exports: Vec<Export>,
}

/// Who this instance is: sent upstream, and the id to clients as `control_plane.identifier`.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The file.
    pub path: PathBuf,
    /// How large it may become, in bytes.
    pub max_size: u64,
    /// How long something is kept after nobody wants it any more.
    pub keep_unwanted: Duration,
    /// The file with the key that secrets are encrypted with; without it, they are not stored.
    pub key_file: Option<PathBuf>,
}

/// Where a node runs; unset parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locality<T = String> {
    /// The region.
    pub region: T,
    /// The zone within the region.
    pub zone: T,
    /// The part of the zone.
    pub sub_zone: T,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// The least severe messages that are logged.
    pub level: Level,
    /// How they are written.
    pub format: LogFormat,
}

/// The side that clients connect to.
#[derive(Clone, Debug)]
pub struct Downstream {
    /// Where to listen; never empty, all different.
    pub listen: Vec<SocketAddr>,
    /// Where to listen without TLS although there is a `tls`; all different.
    pub listen_plaintext: Vec<SocketAddr>,
    /// How TLS is spoken at `listen`; where it is none, none is.
    pub tls: Option<DownstreamTls>,
    /// The largest request accepted, in bytes.
    pub max_request_size: usize,
    /// The largest response that clients accept, in bytes; what is larger is split where it can be.
    pub max_response_size: usize,
    /// How often an idle connection is pinged.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: Duration,
    /// The longest that the answer to a REST poll is held back while nothing changes.
    pub rest_hold: Duration,
    /// Who may ask for the status of clients.
    pub csds: Csds,
    /// Whether tools are told which services and types there are.
    pub reflection: bool,
    /// How long a client may take to send what has to come before it is served.
    pub receive_timeout: Duration,
    /// How long a client may leave unread what it was sent.
    pub stall_timeout: Duration,
    /// After how long a client is asked to connect anew, so that clients spread over replicas; not zero.
    pub max_connection_age: Option<Duration>,
    /// By `user_agent_name`: whether resources in state-of-the-world responses are wrapped in `Resource`, and say
    /// their time to live, whatever the client announces.
    pub wrap_resources: HashMap<String, bool>,
    /// What becomes of clients that ask for what nobody knows yet, while there is nobody to ask.
    pub cold_start: ColdStarts,
}

/// The admin server. Where anybody could connect, something is needed to look.
#[derive(Clone, Debug)]
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
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// How long a resource stays subscribed upstream after its last subscriber has gone.
    pub idle_timeout: Duration,
    /// How many bytes of encoded responses are kept for streams that have yet to be sent the same.
    pub max_frames_size: usize,
}

/// How much clients may ask for, one and all. All are at least 1.
#[derive(Clone, Copy, Debug)]
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
    /// The most names that one stream is subscribed to, over all types.
    pub max_names_per_stream: usize,
    /// The most that is kept of requests that are not complete, of all clients together, in bytes.
    pub max_partial_requests: usize,
    /// How many names a second that nobody else asks for one client may ask for; at least 1.
    pub new_names_per_client: Option<u32>,
}

/// How new streams are let in.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// How many there may be in a second, in the long run; at least 1.
    pub new_streams_per_second: Option<usize>,
    /// How many there may be at once; at least 1.
    pub new_streams_burst: usize,
    /// How many may be sent their first response at once; at least 1.
    pub max_first_responses: usize,
    /// The least that who is turned away is asked to wait.
    pub retry_after: Duration,
}

/// How clients are moved elsewhere, when the program is asked to end.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// How long clients are still accepted, so that who balances load can notice.
    pub delay: Duration,
    /// Over how long the clients are spread as they are asked to go.
    pub over: Duration,
    /// How long a client's streams go on after that.
    pub grace: Duration,
}

/// Where the resources of one authority come from.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The authority; empty for names without one.
    pub authority: String,
    /// Where they come from.
    pub source: Source,
}

/// Where resources come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// This directory or file; relative to where the program runs.
    Files(PathBuf),
    /// A control plane.
    ControlPlane(Box<ControlPlane>),
}

/// How a control plane is spoken to.
#[derive(Clone, Debug)]
pub struct ControlPlane {
    /// Where it is, in order of preference; never empty.
    pub endpoints: Vec<http::Uri>,
    /// In which protocol.
    pub protocol: Protocol,
    /// By the names of which generation of the API.
    pub transport: Transport,
    /// How it is told dynamic parameters.
    pub parameters: Parameters,
    /// How TLS is spoken to endpoints that are `https`; none where none is.
    pub tls: Option<UpstreamTls>,
    /// Headers of each call: names and values that HTTP allows.
    pub headers: BTreeMap<String, String>,
    /// The file with the token that is sent as `authorization: Bearer …`.
    pub token_file: Option<PathBuf>,
    /// How much clients can have it asked for.
    pub demand: Demand,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a resource may take to come before it is taken not to exist.
    pub does_not_exist_timeout: Duration,
    /// On which errors of a resource what is cached of it is dropped.
    pub drop_on_errors: Vec<DataError>,
    /// How bursts are recognized, which are made one change; none where nothing waits.
    pub debounce: Option<Debounce>,
    /// How much it may remove at once, if not everything.
    pub shrink_guard: Option<ShrinkGuard>,
    /// The longest first wait between attempts to connect.
    pub backoff_base: Duration,
    /// The longest wait between attempts to connect; at least `backoff_base`.
    pub backoff_max: Duration,
    /// How long a new stream may take to answer before other endpoints are tried beside it; shorter than
    /// `does_not_exist_timeout` where there are several endpoints.
    pub answer_timeout: Duration,
    /// How long a stream has to last before its endpoint counts as a good one.
    pub stable_after: Duration,
    /// Whether a version means the same at all endpoints.
    pub shared_versions: bool,
    /// How often an idle connection is pinged.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: Duration,
    /// The largest response accepted, in bytes.
    pub max_response_size: usize,
    /// Whether the node goes with the first request of a stream only.
    pub node_on_first_message_only: bool,
    /// When it is told that a response is accepted.
    pub acknowledge: Acknowledge,
    /// How it is polled; for [`Protocol::Rest`].
    pub polling: Polling,
}

/// How bursts of a control plane are recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// After how long a silence it is over; not zero.
    pub quiet: Duration,
    /// How long it may last; at least `quiet`.
    pub max: Duration,
}

/// How much clients can have a control plane asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The most distinct subscriptions; at least 1.
    pub max_subscriptions: usize,
    /// How many new ones a second; at least 1.
    pub new_subscriptions_per_second: Option<u32>,
    /// How many new parameter sets a second; at least 1.
    pub new_parameter_sets_per_second: Option<u32>,
}

/// Which removals are withheld until they are confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrinkGuard {
    /// More than so many percent of what a stream holds of a type: 1 to 99,
    pub percent: u8,
    /// and at least so many; not zero.
    pub minimum: usize,
    /// How long at most; not zero.
    pub confirm_after: Duration,
}

/// How a control plane is polled.
#[derive(Clone, Copy, Debug)]
pub struct Polling {
    /// How long to wait after an answer before the next poll.
    pub refresh_interval: Duration,
    /// How much longer at most, by chance.
    pub refresh_jitter: Duration,
    /// How long an answer may take.
    pub request_timeout: Duration,
}

/// When a control plane is told that a response is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once it is applied.
    OnReceipt,
    /// Once the subscribers that it concerns have accepted it.
    AfterSubscribers {
        /// How many of them are waited for, in percent: 1 to 100.
        share: u8,
        /// How long they are waited for; not zero.
        deadline: Duration,
        /// Whether it is told that they have rejected a response.
        nack: NackUpstream,
    },
}

/// How a control plane is told dynamic parameters.
#[derive(Clone, Debug)]
pub enum Parameters {
    /// By locators: it speaks TP2.
    Native,
    /// By a stream, with a `Node` of its own, for each distinct set of them.
    Streams {
        /// The keys that make a difference to this control plane, sorted.
        keys: Vec<String>,
        /// The most sets; more are refused. At least 1.
        max_sets: usize,
        /// The `Node` for a set.
        node: NodeTemplate,
    },
}

/// The `Node` sent for a set of dynamic parameters. Placeholders are only for keys of the set's universe.
#[derive(Clone, Debug, PartialEq)]
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

/// How a client gets one dynamic parameter from its `Node`.
#[derive(Clone, Debug)]
pub struct NodeRule {
    /// The parameter's key. Of several rules for one key, the first that gives a value counts.
    pub key: String,
    /// The part of the client's `Node` that it is taken from.
    pub from: NodeField,
    /// Which part of that is the value: the first capture group, or the whole match. Without it, all.
    pub pattern: Option<regex::Regex>,
    /// The value where the node has none, or none that matches.
    pub default: Option<String>,
    /// Whether clients that send locators are given the parameter too, where they omit its key.
    pub fill_locators: bool,
    /// Whether no client can choose the parameter itself; only for what comes from its certificate.
    pub enforce: bool,
}

/// A subscription that is written to a file.
#[derive(Clone, Debug)]
pub struct Export {
    /// The type of the resources.
    pub type_url: TypeUrl,
    /// Their names; none is the wildcard.
    pub names: Vec<String>,
    /// For which dynamic parameters.
    pub parameters: BTreeMap<String, String>,
    /// The file; relative to where the program runs. Different from all others.
    pub to: PathBuf,
    /// Its format.
    pub format: FileFormat,
}
