//! What a client is sent by the `Resource` wrapper in state of the world, where resources can go without it.

use crate::profile::{ClientKind, ClientProfile};

/// Whether a state-of-the-world client gets its resources wrapped, and whether it is sent times to live.
/// Incremental resources are always wrapped, and always carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wrapping {
    /// Every resource is wrapped.
    pub always: bool,
    /// Resources that have a time to live are wrapped.
    pub for_ttl: bool,
}

impl Wrapping {
    /// For this client, of whose kind the configuration may state that it takes wrapped resources, or that it
    /// does not.
    pub fn of(client: &ClientProfile, configured: Option<bool>) -> Self {
        match configured {
            Some(wrapped) => Self { always: wrapped, for_ttl: wrapped },
            None => Self {
                always: client.announces_wrapping,
                // An Envoy takes wrapped resources and times to live, and announces neither.
                for_ttl: client.announces_ttl || client.kind == ClientKind::Envoy,
            },
        }
    }
}
