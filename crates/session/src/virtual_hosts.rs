//! Virtual hosts are fetched on demand, and yet Envoy subscribes to all of them.
//!
//! Owns what a wildcard of virtual hosts means: the nameless first request of VHDS, and the `*` that Envoy states when it
//! reconnects. The protocol has no word about either. Never touches requests for other types.

use weir_types::{Kind, Selector};

use crate::stream::{Names, SubscriptionRequest};

/// The meaning of a wildcard of virtual hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VirtualHostWildcard {
    /// It asks for nothing: virtual hosts are sent to clients that name them.
    #[default]
    Ignored,
    /// It asks for all virtual hosts.
    Honoured,
}

impl VirtualHostWildcard {
    /// Has `request` ask for what it means, if it is for virtual hosts.
    pub(crate) fn apply(self, request: &mut SubscriptionRequest) {
        if request.type_url.kind() != Kind::VirtualHost {
            return;
        }
        match self {
            Self::Honoured => request.has_legacy_wildcard = true,
            Self::Ignored => without_wildcard(request),
        }
    }
}

fn without_wildcard(request: &mut SubscriptionRequest) {
    let is_name = |selector: &Selector| !selector.locator.is_wildcard();
    request.refused.retain(|selector, _| is_name(selector));
    match &mut request.names {
        Names::Replace(names) => names.retain(is_name),
        Names::Patch { subscribe, unsubscribe } => {
            subscribe.retain(is_name);
            unsubscribe.retain(is_name);
        }
    }
}
