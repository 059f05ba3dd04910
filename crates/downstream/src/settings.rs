//! How clients are served.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_protocol::server::Patience;

use crate::access::AccessRules;
use crate::admission::Admission;
use crate::drain::Drain;
use crate::rules::NodeRules;
use weir_session::ColdStarts;
use weir_session::Limits;
use weir_session::SessionSettings;

/// Who may ask for the status of clients. It shows what they are configured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Csds {
    /// Nobody.
    Off,
    /// Whoever connects from the same machine.
    #[default]
    Loopback,
    /// Whoever may connect.
    Any,
}

/// How clients are served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names this instance to clients (`control_plane.identifier`).
    pub identifier: String,
    /// How parameters are derived for clients that send none.
    pub rules: NodeRules,
    /// By `user_agent_name`: whether state-of-the-world resources are wrapped in `Resource`, and state their time to
    /// live, whatever the client announces.
    pub wrapping: HashMap<String, bool>,
    /// How much a client may ask for.
    pub limits: Limits,
    /// The longest that the answer to a REST poll is held back while nothing changes.
    pub rest_hold: Duration,
    /// How many bytes of encoded responses are kept for streams that have yet to make the same step.
    pub frame_cache: u64,
    /// The largest response that clients accept, in bytes; what is larger is split where it can be.
    pub max_response_size: usize,
    /// After how much silence a client is pinged.
    pub keepalive_interval: Duration,
    /// How long a pinged client may take to answer before it is taken for dead.
    pub keepalive_timeout: Duration,
    /// How long a client may take to send what has to come before it is served.
    pub receive_timeout: Duration,
    /// How long a client may leave unread what it was sent, until its connection is closed.
    pub stall_timeout: Duration,
    /// How many streams a connection may have.
    pub max_streams_per_connection: u32,
    /// How many clients there is room for.
    pub admission: Admission,
    /// How clients are moved elsewhere.
    pub drain: Drain,
    /// Who may ask for the status of clients.
    pub csds: Csds,
    /// Whether tools can list which services and types there are.
    pub reflection: bool,
    /// Who may have what.
    pub access: AccessRules,
    /// What becomes of clients of whose questions nothing is cached, while there is nobody to ask.
    pub cold_start: ColdStarts,
    /// For how long streams wait for what may never come.
    pub patience: Arc<Patience>,
}

impl Settings {
    /// What holds for each stream.
    pub(crate) fn session(&self) -> SessionSettings {
        let (limits, cold_start, patience) = (self.limits, self.cold_start, Arc::clone(&self.patience));
        SessionSettings { limits, cold_start, patience, retry_after: self.admission.retry_after }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            identifier: "weir".into(),
            rules: NodeRules::default(),
            wrapping: HashMap::new(),
            limits: Limits::default(),
            rest_hold: Duration::from_secs(30),
            frame_cache: 256 << 20,
            max_response_size: 4 << 20,
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
            receive_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(300),
            max_streams_per_connection: 1000,
            admission: Admission::default(),
            drain: Drain::default(),
            csds: Csds::default(),
            reflection: false,
            access: AccessRules::default(),
            cold_start: ColdStarts::default(),
            patience: Arc::default(),
        }
    }
}
