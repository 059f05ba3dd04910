//! The configuration of a control plane.

use std::sync::Arc;
use std::time::Duration;

use weir_config::{Debounce, Polling};
use weir_protocol::client::{EndpointGuard, ShrinkGuard};
use weir_protocol::{Dialect, client};
use weir_store::{Origin, Store};
use weir_types::{ApiVersion, Code, DynamicParameters, NODE_KEY, TypeUrl};
use weir_wire::discovery::Node;
use weir_wire::rest;
use weir_wire::services::Service;

use crate::stream::failover::Failover;
use crate::transport::Method;
use crate::{Acknowledge, Backoff, Credentials, Lane, NodeTemplate, Prefetch, Role, Trial};

/// The protocol.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The authority whose names it serves; empty for names without one.
    pub authority: String,
    /// Where it is, in order of preference: `http://host:port` or `https://host:port`.
    pub endpoints: Vec<String>,
    /// Over which services.
    pub services: Services,
    /// By the names of which generation of the API: of the services only, resource types are subscribed as they are.
    pub transport: ApiVersion,
    /// In which dialect.
    pub dialect: Dialect,
    /// The form in which it is sent dynamic parameters.
    pub naming: Naming,
    /// The largest response that is accepted, in bytes.
    pub max_message_size: usize,
    /// After how long without an answer a resource is taken not to exist.
    pub does_not_exist: Duration,
    /// On which errors of a resource what is cached of it is dropped. Transient ones never count.
    pub drop_on_errors: Arc<[Code]>,
    /// How much it may remove at once, if not everything.
    pub shrink_guard: Option<ShrinkGuard>,
    /// How many assignments it may empty at once, if not all.
    pub endpoint_guard: Option<EndpointGuard>,
    /// How bursts are recognized, which are made one change; none where nothing waits. Not where subscribers are
    /// waited for.
    pub debounce: Option<Debounce>,
    /// How long to wait between attempts to connect.
    pub backoff: Backoff,
    /// How many streams share a connection at most.
    pub streams_per_connection: usize,
    /// How many streams connect in a second, those of all parameter sets together; without a limit where there is none.
    pub connects_per_second: Option<u32>,
    /// What it takes for an endpoint to be a good one.
    pub trial: Trial,
    /// Whether a version means the same at all endpoints. Where it does not, all is asked for again after a move to
    /// another one.
    pub shared_versions: bool,
    /// TLS settings for endpoints that are `https`.
    pub tls: Option<weir_tls::Client>,
    /// Credentials for it.
    pub credentials: Credentials,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How often an idle connection is pinged.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: Duration,
    /// Whether the node goes with the first request of a stream only, which is all that the protocol asks for.
    pub node_on_first_message_only: bool,
    /// When a response is acknowledged to it.
    pub acknowledge: Acknowledge,
    /// Where its resources outlive the process; none where nothing does.
    pub store: Option<Store>,
    /// How long it is followed whether clients accept what came, for traces and metrics.
    pub propagation_deadline: Duration,
    /// What is subscribed to before any client asks.
    pub prefetch: Vec<Prefetch>,
    /// Whether load reports of clients are passed on to it.
    pub load_reports: bool,
}

/// Over which services a control plane is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Services {
    /// The aggregated one: its streams carry all types.
    Aggregated,
    /// That of each type, each on a stream of its own. Types that have no service cannot be had.
    PerType,
    /// None: each type is polled over REST-JSON, in state of the world. Types that have no path cannot be had.
    Rest(Polling),
}

/// The form in which a control plane is sent dynamic parameters.
#[derive(Clone, Debug)]
pub enum Naming {
    /// By locators, for all parameter sets on the same streams: it uses TP2.
    Native {
        /// Who asks.
        node: Node,
    },
    /// By streams of their own for each distinct parameter set.
    Streams {
        /// The keys that make a difference to it; with [`NODE_KEY`] where it is sent parts of the node
        /// of a client, or headers that are filled with its values.
        keys: Arc<[Arc<str>]>,
        /// Who asks, for a set.
        node: NodeTemplate,
    },
}

impl Settings {
    /// What a stream's machine goes by.
    pub(crate) fn machine(&self, naming: client::Naming) -> client::Settings {
        client::Settings {
            dialect: self.dialect,
            naming,
            does_not_exist: self.does_not_exist,
            polled: matches!(self.services, Services::Rest(_)),
            drop_on_errors: Arc::clone(&self.drop_on_errors),
            shrink_guard: self.shrink_guard,
            endpoint_guard: self.endpoint_guard,
        }
    }

    /// Which endpoint a stream is to be on.
    pub(crate) fn failover(&self) -> Failover {
        Failover::new(self.backoff, self.trial, self.endpoints.len())
    }

    /// Whether versions that an earlier process was given mean something to whoever is asked now.
    pub(crate) fn versions_last(&self) -> bool {
        self.endpoints.len() == 1 || self.shared_versions
    }

    /// A control plane at `endpoints`, used in delta over ADS, with usual limits.
    pub fn new(authority: impl Into<String>, endpoints: Vec<String>, naming: Naming) -> Self {
        Self {
            authority: authority.into(),
            endpoints,
            services: Services::Aggregated,
            transport: ApiVersion::V3,
            dialect: Dialect::Delta,
            naming,
            max_message_size: 128 << 20,
            does_not_exist: Duration::from_secs(15),
            drop_on_errors: Arc::from([Code::NOT_FOUND]),
            shrink_guard: None,
            endpoint_guard: None,
            debounce: None,
            backoff: Backoff::default(),
            streams_per_connection: 100,
            connects_per_second: None,
            trial: Trial::default(),
            shared_versions: false,
            tls: None,
            credentials: Credentials::default(),
            connect_timeout: Duration::from_secs(5),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
            node_on_first_message_only: true,
            acknowledge: Acknowledge::OnReceipt,
            store: None,
            propagation_deadline: Duration::from_secs(30),
            prefetch: Vec::new(),
            load_reports: false,
        }
    }

    /// The protocol, as a metric label: a dialect, or `rest`.
    pub(crate) fn speech(&self) -> &'static str {
        match self.services {
            Services::Rest(_) => "rest",
            _ => self.dialect.as_str(),
        }
    }

    /// Whether each request has all names that are wanted, and each answer all their resources.
    pub(crate) fn repeats_what_is_wanted(&self) -> bool {
        self.dialect == Dialect::Sotw || matches!(self.services, Services::Rest(_))
    }

    /// Whether it goes by parts of the node of a client, or by headers that are filled with its values.
    pub(crate) fn forwards(&self) -> bool {
        matches!(&self.naming, Naming::Streams { keys, .. } if keys.iter().any(|key| **key == *NODE_KEY))
    }

    /// What its streams for a parameter set are called in the store.
    pub(crate) fn origin(&self, parameters: &DynamicParameters) -> Arc<Origin> {
        let keys = match &self.naming {
            Naming::Native { .. } => None,
            Naming::Streams { keys, .. } => Some(Arc::clone(keys)),
        };
        Arc::new(Origin { authority: self.authority.clone(), keys, parameters: parameters.clone() })
    }

    /// The stream, of those for a parameter set, that carries `type_url` in this role.
    pub(crate) fn lane(&self, role: Role, type_url: &TypeUrl) -> Lane {
        let type_url = (self.services != Services::Aggregated).then(|| type_url.clone());
        Lane { role, type_url }
    }

    /// What a stream is opened with; none where no service carries its type in this dialect.
    pub(crate) fn method(&self, lane: &Lane) -> Option<Method> {
        let kind = lane.type_url.as_ref().map(TypeUrl::kind);
        let path = match self.services {
            Services::Rest(_) => rest::path_of(kind?)?,
            _ => Service::of(self.transport, kind)?.path(self.dialect)?,
        };
        Some(Method { path, implied: lane.type_url.clone(), header_values: DynamicParameters::empty() })
    }
}
