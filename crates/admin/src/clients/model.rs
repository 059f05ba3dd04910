//! A client as it is shown.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use weir_types::{ClientParameters, Pattern};

use crate::unavailable::Lacking;

/// An open stream, or a poll that waits.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Client {
    /// Never given twice; the larger is the younger.
    pub id: u64,
    /// The `node` that it states.
    pub node: Node,
    /// Where it comes from.
    #[schema(value_type = String)]
    pub peer: SocketAddr,
    /// Whom its certificate names; null where it has shown none.
    pub identity: Option<Identity>,
    /// The places in `[[access]]`, from 0, of the rules that state what it may have; null where there was no rule when
    /// it came.
    pub access: Option<Vec<usize>>,
    /// Which service it calls: `ads`, `cds`, …, `rest`.
    #[schema(value_type = String)]
    pub service: Cow<'static, str>,
    /// By the names of which generation of the API: `v2`, `v3`.
    #[schema(value_type = String)]
    pub transport: Cow<'static, str>,
    /// `sotw`, `delta` or `rest`.
    #[schema(value_type = String)]
    pub dialect: Cow<'static, str>,
    /// How many streams its node has open, this one and polls that wait among them.
    pub streams_of_node: usize,
    /// Since when it is connected.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub since: SystemTime,
    /// How it stands: the worst of its types.
    pub state: Condition,
    /// The dynamic parameters of the names that it asks for without a locator, and of locators that omit their keys.
    pub parameters: Vec<Parameter>,
    /// What it is subscribed to.
    pub types: Vec<TypeState>,
}

/// Whose a stream is, as far as that is known from its first message on.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// `node.id`.
    pub node: String,
    /// `node.cluster`.
    pub cluster: String,
    /// `node.user_agent_name`.
    pub user_agent: String,
    /// Whom its certificate names; none where it has shown none.
    pub identity: Option<Identity>,
    /// `sotw`, `delta` or `rest`.
    pub dialect: &'static str,
    /// The dynamic parameters of the names that it asks for without a locator.
    pub parameters: ClientParameters,
}

/// Whom a client's certificate names.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Identity {
    /// The SPIFFE id, where it has one.
    pub spiffe: Option<String>,
    /// The names that are URIs.
    pub uris: Vec<String>,
    /// The names that are DNS names.
    pub dns: Vec<String>,
}

impl Identity {
    /// Whether one of the names matches `pattern`, read as the configuration does.
    pub(crate) fn matches(&self, pattern: &Pattern) -> bool {
        weir_tls::Identity::new(self.uris.clone(), self.dns.clone()).matches(pattern)
    }
}

/// The `node` that a client states.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Node {
    /// `node.id`.
    pub id: String,
    /// `node.cluster`.
    pub cluster: String,
    /// `node.user_agent_name`.
    pub user_agent: String,
    /// `node.user_agent_version`.
    pub user_agent_version: String,
    /// `node.locality`.
    pub locality: Locality,
    /// `node.metadata`.
    pub metadata: Value,
}

/// Where a client runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Locality {
    /// The region.
    pub region: String,
    /// The zone within the region.
    pub zone: String,
    /// The part of the zone.
    pub sub_zone: String,
}

/// A dynamic parameter.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Parameter {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether locators that omit the key are given it.
    pub fills_locators: bool,
}

/// Where a dynamic parameter comes from.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum Origin {
    /// A rule of the configuration.
    Rule {
        /// The place of the rule in `[[dynamic_parameters]]`, from 0.
        rule: usize,
        /// Where the rule looks.
        from: String,
        /// What is there.
        value: Option<String>,
        /// Whether the rule's default had to do.
        defaulted: bool,
    },
    /// Stated by the client, in a locator.
    Locator,
    /// It stands for the part of the client's node that is forwarded to a control plane.
    Node {
        /// The authority of the control plane.
        authority: String,
    },
}

/// How a client stands with a type, or with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It has accepted everything that there is for it.
    InSync,
    /// It still has to be sent a change, or to answer for one.
    Behind,
    /// It has rejected something, and accepted nothing since.
    Rejecting,
}

impl Condition {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::InSync, Self::Behind, Self::Rejecting];

    /// As it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InSync => "in-sync",
            Self::Behind => "behind",
            Self::Rejecting => "rejecting",
        }
    }
}

/// How a stream stands that stands so with its views.
pub(crate) fn worst(standing: &[(u64, Condition)]) -> Condition {
    standing.iter().map(|(_, condition)| *condition).max().unwrap_or(Condition::InSync)
}

/// A type that a client is subscribed to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TypeState {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub short_name: Cow<'static, str>,
    /// The type's URL.
    pub type_url: String,
    /// How the client stands with it.
    pub state: Condition,
    /// The view that it is attached to; clients with equal subscriptions share it.
    pub view: u64,
    /// How many names, locators and collections it is subscribed to.
    pub subscribed: usize,
    /// Of how much of it there is nothing to give.
    #[serde(flatten)]
    pub lacking: Lacking,
    /// The newest response on this stream.
    pub sent: Option<Sent>,
    /// What the client has accepted last on this stream.
    pub accepted: Option<Accepted>,
    /// What it has rejected last on this stream; it stands when something was accepted since.
    pub last_nack: Option<Nacked>,
    /// For how long it owes an answer to the newest response, in seconds; 0 if it does not.
    pub lag_seconds: f64,
    /// The distinct dynamic parameters of the locators that it sent, and how many locators have them. Only where one
    /// client is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locators: Vec<Located>,
}

/// The dynamic parameters of locators.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Located {
    /// How many locators have them.
    pub locators: usize,
    /// What they are, and where each comes from.
    pub parameters: Vec<Parameter>,
}

/// A response.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Sent {
    /// The version of what the client then has.
    pub version: String,
    /// Its nonce.
    pub nonce: String,
    /// When it left.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub at: SystemTime,
    /// Whether the client has accepted or rejected it.
    pub answered: bool,
}

/// What a client has accepted.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// The version of what it has.
    pub version: String,
}

/// What a client has rejected.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Nacked {
    /// When.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub at: SystemTime,
    /// The nonce of the response; null if it was not the newest one.
    pub nonce: Option<String>,
    /// The version of the newest response.
    pub version: String,
    /// The gRPC status code.
    pub code: i32,
    /// The client's error text.
    pub message: String,
}
