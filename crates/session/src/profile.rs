//! What a stream has to know of its client: what it may have, and what it understands.

use weir_types::{ClientParameters, Dialect, DynamicParameters};

use crate::rights::Rights;

/// Whose implementation a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClientKind {
    /// An Envoy (`envoy`).
    Envoy,
    /// One of gRPC's own clients, which name themselves after their language (`gRPC C-core`, `grpc-go` and the like).
    Grpc,
    /// Another Weir (`weir`).
    Weir,
    /// Any other client.
    #[default]
    Other,
}

impl ClientKind {
    /// The kind of a client with this `user_agent_name`.
    pub fn of(user_agent: &str) -> Self {
        let begins_with_grpc = user_agent.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("grpc"));
        match user_agent {
            "envoy" => Self::Envoy,
            "weir" => Self::Weir,
            _ if begins_with_grpc => Self::Grpc,
            _ => Self::Other,
        }
    }

    /// Whether errors by name do no harm to it. An Envoy skips the field, and in state of the world it takes what is
    /// missing in the response for missing.
    pub(crate) fn takes_errors(self, dialect: Dialect) -> bool {
        !(self == Self::Envoy && dialect == Dialect::Sotw)
    }
}

/// What a stream has to know of its client.
#[derive(Clone, Debug, Default)]
pub struct ClientProfile {
    /// Whose implementation it is.
    pub kind: ClientKind,
    /// The parameters of its plain names.
    pub parameters: ClientParameters,
    /// The parameters that its locators are given where they omit the key.
    pub locator_defaults: DynamicParameters,
    /// What it may have.
    pub rights: Rights,
    /// Whether it announces that it takes wrapped resources in state-of-the-world responses.
    pub announces_wrapping: bool,
    /// Whether it announces that it counts down times to live.
    pub announces_ttl: bool,
    /// Whether it reads what trace a response belongs to.
    pub takes_trace_context: bool,
    /// Whether it takes responses of any size. A Weir does, and is better given whole ones: the first response to a
    /// wildcard means to it that there is no more, and it has clients that delete what is missing.
    pub takes_any_size: bool,
}
