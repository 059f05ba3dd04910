//! `[downstream]`

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::sections::Section;
use crate::settings::{ColdStarts, DownstreamTls};
use crate::values::{ByteSize, Csds, PositiveDuration, ReadyWhen, text};

/// The side that clients connect to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Downstream {
    /// Where to listen; never empty, all different.
    #[serde(with = "text")]
    pub listen: Vec<SocketAddr>,
    /// Where to listen without TLS although there is a `tls`; all different.
    #[serde(default, with = "text")]
    pub listen_plaintext: Vec<SocketAddr>,
    /// TLS at `listen`; none where it is not configured.
    pub tls: Option<DownstreamTls>,
    /// The largest request accepted, in bytes.
    #[serde(default = "ByteSize::mib::<64>")]
    pub max_request_size: ByteSize,
    /// The largest response that clients accept, in bytes; what is larger is split where it can be.
    #[serde(default = "ByteSize::mib::<4>")]
    pub max_response_size: ByteSize,
    /// How often an idle connection is pinged.
    #[serde(default = "PositiveDuration::seconds::<30>")]
    pub keepalive_interval: PositiveDuration,
    /// How long the answer to a ping may take.
    #[serde(default = "PositiveDuration::seconds::<10>")]
    pub keepalive_timeout: PositiveDuration,
    /// The longest that the answer to a REST poll is held back while nothing changes.
    #[serde(default = "PositiveDuration::seconds::<30>")]
    pub rest_hold: PositiveDuration,
    /// Who may ask for the status of clients.
    #[serde(default)]
    pub csds: Csds,
    /// Whether gRPC reflection is served.
    #[serde(default)]
    pub reflection: bool,
    /// When clients can be served.
    #[serde(default)]
    pub ready_when: ReadyWhen,
    /// How long a client may take to send what has to come before it is served.
    #[serde(default = "PositiveDuration::seconds::<30>")]
    pub receive_timeout: PositiveDuration,
    /// How long a client may leave unread what it was sent.
    #[serde(default = "PositiveDuration::seconds::<300>")]
    pub stall_timeout: PositiveDuration,
    /// How long listeners and routes wait for a client's new clusters to warm.
    #[serde(default = "one_second", with = "text")]
    pub warming_timeout: Duration,
    /// How long the first state-of-the-world response to explicit names waits for those that are unanswered.
    #[serde(default = "one_second", with = "text")]
    pub first_response_timeout: Duration,
    /// After how long a client is asked to connect anew, so that clients spread over replicas.
    pub max_connection_age: Option<PositiveDuration>,
    /// By `user_agent_name`: whether resources in state-of-the-world responses are wrapped in `Resource`, with
    /// their time to live, whatever the client announces.
    #[serde(default)]
    pub wrap_resources: HashMap<String, bool>,
    /// What becomes of clients that ask for what nobody knows yet, while there is nobody to ask.
    #[serde(default)]
    pub cold_start: ColdStarts,
}

fn one_second() -> Duration {
    Duration::from_secs(1)
}

impl Section for Downstream {
    fn check(&self, findings: &mut Findings) {
        if self.listen.is_empty() {
            findings.add("listen", "must have at least one address (got [])");
        }
        match &self.tls {
            Some(tls) => tls.check(findings),
            None if self.listen_plaintext.is_empty() => {}
            None => findings.add("listen_plaintext", "applies only with downstream.tls"),
        }
    }
}

impl Downstream {
    /// Whether clients can have identities.
    pub(crate) fn has_identities(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some())
    }

    pub(crate) fn resolve(&mut self, directory: &Path) {
        if let Some(tls) = &mut self.tls {
            tls.resolve(directory);
        }
    }
}
