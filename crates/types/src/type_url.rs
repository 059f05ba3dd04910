//! Resource types, and what the protocol says about the few that it names.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The resource types that the protocol text treats in a way of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// CDS.
    Cluster,
    /// EDS.
    ClusterLoadAssignment,
    /// LDS.
    Listener,
    /// SRDS.
    ScopedRouteConfiguration,
    /// RDS.
    RouteConfiguration,
    /// VHDS.
    VirtualHost,
    /// SDS.
    Secret,
    /// RTDS.
    Runtime,
    /// ECDS.
    TypedExtensionConfig,
    /// LEDS.
    LbEndpoint,
    /// Any other type: Weir is agnostic of it.
    Other,
}

/// Short name, kind and type URL of the types that the protocol names.
const KNOWN: [(&str, Kind, &str); 10] = [
    ("cds", Kind::Cluster, "type.googleapis.com/envoy.config.cluster.v3.Cluster"),
    (
        "eds",
        Kind::ClusterLoadAssignment,
        "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
    ),
    ("lds", Kind::Listener, "type.googleapis.com/envoy.config.listener.v3.Listener"),
    (
        "srds",
        Kind::ScopedRouteConfiguration,
        "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration",
    ),
    ("rds", Kind::RouteConfiguration, "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"),
    ("vhds", Kind::VirtualHost, "type.googleapis.com/envoy.config.route.v3.VirtualHost"),
    ("sds", Kind::Secret, "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"),
    ("rtds", Kind::Runtime, "type.googleapis.com/envoy.service.runtime.v3.Runtime"),
    ("ecds", Kind::TypedExtensionConfig, "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"),
    ("leds", Kind::LbEndpoint, "type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint"),
];

/// A resource type, by its URL. Cheap to clone.
#[derive(Clone)]
pub struct TypeUrl {
    kind: Kind,
    url: Arc<str>,
}

impl TypeUrl {
    /// The type with this URL.
    pub fn new(url: impl Into<Arc<str>>) -> Self {
        let url = url.into();
        let kind =
            KNOWN.iter().find(|(_, _, known)| **known == *url).map_or(Kind::Other, |(_, kind, _)| *kind);
        Self { kind, url }
    }

    /// The type of a discovery service, by its short name: `cds`, `lds`, `rds`, ….
    pub fn from_short_name(short: &str) -> Option<Self> {
        let (_, kind, url) = KNOWN.iter().find(|(known, ..)| *known == short)?;
        Some(Self { kind: *kind, url: Arc::from(*url) })
    }

    /// The type of a kind that the protocol names; none for [`Kind::Other`].
    pub fn of_kind(kind: Kind) -> Option<Self> {
        let (_, kind, url) = KNOWN.iter().find(|(_, known, _)| *known == kind)?;
        Some(Self { kind: *kind, url: Arc::from(*url) })
    }

    /// The URL, as it goes over the wire.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// What the protocol knows of this type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// `cds`, `lds`, …: a bounded name, fit for a metric label; `other` for types that Weir does not know.
    pub fn short_name(&self) -> &'static str {
        KNOWN.iter().find(|(_, kind, _)| *kind == self.kind).map_or("other", |(short, ..)| short)
    }

    /// Whether a state-of-the-world response carries everything that the client subscribes to, so that
    /// absence means deletion. The protocol text names Listener and Cluster; Envoy does the same for
    /// ScopedRouteConfiguration.
    pub fn is_full_state(&self) -> bool {
        matches!(self.kind, Kind::Cluster | Kind::Listener | Kind::ScopedRouteConfiguration)
    }

    /// Whether a first request without names is a wildcard ("How the client specifies what resources to
    /// return"). Types that Weir does not know are given the protocol's general rule.
    pub fn has_legacy_wildcard(&self) -> bool {
        self.is_full_state() || self.kind == Kind::Other
    }

    /// The place of this type's additions in make-before-break order; removals go in reverse.
    pub fn rank(&self) -> u8 {
        match self.kind {
            Kind::Cluster => 0,
            Kind::ClusterLoadAssignment => 1,
            Kind::Listener => 2,
            Kind::ScopedRouteConfiguration => 3,
            Kind::RouteConfiguration => 4,
            Kind::VirtualHost => 5,
            _ => 6,
        }
    }
}

impl PartialEq for TypeUrl {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && (self.kind != Kind::Other || self.url == other.url)
    }
}

impl Eq for TypeUrl {}

impl PartialOrd for TypeUrl {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TypeUrl {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.kind.cmp(&other.kind).then_with(|| self.url.cmp(&other.url))
    }
}

impl Hash for TypeUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        if self.kind == Kind::Other {
            self.url.hash(state);
        }
    }
}

impl fmt::Debug for TypeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Display for TypeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_lead_to_urls_and_back() {
        for (short, kind, url) in KNOWN {
            let by_url = TypeUrl::new(url);
            assert_eq!(Some(by_url.clone()), TypeUrl::from_short_name(short));
            assert_eq!(Some(by_url.clone()), TypeUrl::of_kind(kind));
            assert_eq!((by_url.kind(), by_url.short_name(), by_url.as_str()), (kind, short, url));
        }
        assert_eq!(TypeUrl::new("type.googleapis.com/acme.Widget").short_name(), "other");
        assert_eq!(TypeUrl::from_short_name("xds"), None);
    }

    #[test]
    fn only_full_state_and_unknown_types_have_the_legacy_wildcard() {
        let wildcard = |short| TypeUrl::from_short_name(short).is_some_and(|t| t.has_legacy_wildcard());
        assert!(["cds", "lds", "srds"].into_iter().all(wildcard));
        assert!(!["rds", "eds", "sds", "rtds", "ecds", "vhds", "leds"].into_iter().any(wildcard));
        assert!(TypeUrl::new("type.googleapis.com/acme.Widget").has_legacy_wildcard());
    }
}
