//! Values that are one of a few words.

use serde::{Deserialize, Serialize};

use super::Percent;

/// The protocol of an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// One aggregated stream, incremental.
    #[default]
    AdsDelta,
    /// One aggregated stream, state of the world.
    AdsSotw,
    /// A stream of its own service for each type, incremental.
    Delta,
    /// A stream of its own service for each type, state of the world.
    Sotw,
    /// Polls of each type over REST-JSON.
    Rest,
}

/// By the names of which generation of the API the services of an upstream are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Those of today.
    #[default]
    V3,
    /// Those of before 2021.
    V2,
}

/// What becomes of the load reports of clients (LRS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadReports {
    /// There is no such service.
    #[default]
    Off,
    /// They are passed on to the control plane, each client's on a stream of its own.
    Relay,
}

/// Whether a response that subscribers have rejected is NACKed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NackUpstream {
    /// No.
    #[default]
    Never,
    /// When any of them has.
    Any,
    /// When so many percent of those that have answered have.
    Percent(Percent),
}

/// What a wildcard of virtual hosts asks for: Envoy's first request of VHDS, and the `*` of its reconnect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VirtualHosts {
    /// Nothing: virtual hosts come for those who name them.
    #[default]
    OnDemand,
    /// All of them.
    Wildcard,
}

/// What becomes of clients that ask for what nobody knows yet, while there is nobody to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColdStart {
    /// They wait.
    Hold,
    /// Each name is answered with `UNAVAILABLE`.
    Error,
    /// Their streams are closed if there is nothing to send on them; otherwise as `Error`.
    Close,
}

/// An error that concerns the resource itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DataError {
    /// It does not exist.
    NotFound,
    /// Weir may not have it.
    PermissionDenied,
}

/// Who may ask for the status of clients (CSDS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Csds {
    /// Nobody.
    Off,
    /// Whoever connects from the same machine.
    #[default]
    Loopback,
    /// Whoever may connect.
    Any,
}

/// When clients can be served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadyWhen {
    /// While every control plane is connected, and once each has answered what is subscribed to at the start.
    InSync,
    /// Also while a control plane is away, if something of it is held, in memory or in the store.
    #[default]
    Warm,
}

/// Whether clients show certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificate {
    /// They must.
    Required,
    /// They may; what they show has to be good.
    Optional,
    /// They are not asked.
    None,
}

/// The least severe messages that are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the words of the log")]
pub enum Level {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

impl Level {
    /// As the file has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The protocol of a collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum CollectorProtocol {
    /// OTLP over gRPC.
    #[serde(rename = "grpc")]
    Grpc,
    /// OTLP as protobuf over HTTP.
    #[default]
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
}

/// How log messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// An object a line.
    Json,
}
