//! Resource types, and the rules of the protocol for some of them.

mod parse;

use std::fmt;
use std::sync::Arc;

pub use parse::NoSuchType;

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

/// The generations of the API, by which types and services are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApiVersion {
    /// `envoy.api.v2` and its like: the types of control planes and clients from before 2021.
    V2,
    /// All that came later.
    V3,
}

impl ApiVersion {
    /// `v2` or `v3`: fit for a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
        }
    }
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

/// What stands before the names of messages.
const PREFIX: &str = "type.googleapis.com/";

/// What those types were called in v2, which had no ECDS and no LEDS.
const KNOWN_V2: [(Kind, &str); 8] = [
    (Kind::Cluster, "type.googleapis.com/envoy.api.v2.Cluster"),
    (Kind::ClusterLoadAssignment, "type.googleapis.com/envoy.api.v2.ClusterLoadAssignment"),
    (Kind::Listener, "type.googleapis.com/envoy.api.v2.Listener"),
    (Kind::ScopedRouteConfiguration, "type.googleapis.com/envoy.api.v2.ScopedRouteConfiguration"),
    (Kind::RouteConfiguration, "type.googleapis.com/envoy.api.v2.RouteConfiguration"),
    (Kind::VirtualHost, "type.googleapis.com/envoy.api.v2.route.VirtualHost"),
    (Kind::Secret, "type.googleapis.com/envoy.api.v2.auth.Secret"),
    (Kind::Runtime, "type.googleapis.com/envoy.service.discovery.v2.Runtime"),
];

/// The URL of a kind that the protocol names, if it is in that generation of the API.
fn url(kind: Kind, version: ApiVersion) -> Option<&'static str> {
    match version {
        ApiVersion::V3 => KNOWN.iter().find(|(_, known, _)| *known == kind).map(|(.., url)| *url),
        ApiVersion::V2 => KNOWN_V2.iter().find(|(known, _)| *known == kind).map(|(_, url)| *url),
    }
}

/// A resource type, by its URL. Cheap to clone, and takes no memory of its own for the types that the protocol names.
/// The v2 type of a kind and its v3 type are two types: what is subscribed as one is never answered with the other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeUrl {
    kind: Kind,
    version: ApiVersion,
    /// The URL of any other type.
    other: Option<Arc<str>>,
}

impl TypeUrl {
    /// The type with this URL.
    pub fn new(url: impl AsRef<str> + Into<Arc<str>>) -> Self {
        let text = url.as_ref();
        if let Some((_, kind, _)) = KNOWN.iter().find(|(_, _, known)| *known == text) {
            return Self { kind: *kind, version: ApiVersion::V3, other: None };
        }
        match KNOWN_V2.iter().find(|(_, known)| *known == text) {
            Some((kind, _)) => Self { kind: *kind, version: ApiVersion::V2, other: None },
            None => Self { kind: Kind::Other, version: ApiVersion::V3, other: Some(url.into()) },
        }
    }

    /// The type of a discovery service, by its short name: `cds`, `lds`, `rds`, ….
    pub fn from_short_name(short: &str) -> Option<Self> {
        let (_, kind, _) = KNOWN.iter().find(|(known, ..)| *known == short)?;
        Some(Self { kind: *kind, version: ApiVersion::V3, other: None })
    }

    /// The v3 type of a kind that the protocol names; none for [`Kind::Other`].
    pub fn of_kind(kind: Kind) -> Option<Self> {
        Self::of_version(kind, ApiVersion::V3)
    }

    /// The type of a kind in that generation of the API, if it has one.
    pub fn of_version(kind: Kind, version: ApiVersion) -> Option<Self> {
        url(kind, version).map(|_| Self { kind, version, other: None })
    }

    /// The URL, as it goes over the wire.
    pub fn as_str(&self) -> &str {
        let other = || self.other.as_deref();
        url(self.kind, self.version).or_else(other).unwrap_or_default()
    }

    /// What the protocol knows of this type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The full name of the message: the last segment of the URL. The segments before it locate its definition and do
    /// not identify the type.
    pub fn message(&self) -> &str {
        let url = self.as_str();
        url.rsplit_once('/').map_or(url, |(_, message)| message)
    }

    /// The kind of the message, whatever stands before its name. Rights go by it, so that nobody gets by another
    /// spelling of a type what is not given by the usual one.
    pub fn kind_of_message(&self) -> Kind {
        if self.kind != Kind::Other {
            return self.kind;
        }
        Self::new(format!("{PREFIX}{}", self.message())).kind
    }

    /// Whether both are types of one kind, or of one message that the protocol does not name.
    pub fn is_alike(&self, other: &Self) -> bool {
        match self.kind_of_message() {
            Kind::Other => self.message() == other.message(),
            kind => kind == other.kind_of_message(),
        }
    }

    /// `cds`, `lds`, …, also of the v2 types: a bounded name, fit for a metric label; `other` for types that
    /// Weir does not know.
    pub fn short_name(&self) -> &'static str {
        self.kind.short_name()
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

impl Kind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Cluster,
        Self::ClusterLoadAssignment,
        Self::Listener,
        Self::ScopedRouteConfiguration,
        Self::RouteConfiguration,
        Self::VirtualHost,
        Self::Secret,
        Self::Runtime,
        Self::TypedExtensionConfig,
        Self::LbEndpoint,
        Self::Other,
    ];

    /// `cds`, `lds`, …; `other` for [`Kind::Other`].
    pub fn short_name(self) -> &'static str {
        KNOWN.iter().find(|(_, kind, _)| *kind == self).map_or("other", |(short, ..)| short)
    }
}

impl fmt::Debug for TypeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for TypeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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
    fn the_message_is_the_last_segment_of_the_url() {
        for url in ["type.googleapis.com/acme.Widget", "a.example/b/acme.Widget", "acme.Widget"] {
            assert_eq!(TypeUrl::new(url).message(), "acme.Widget", "{url}");
        }
    }

    #[test]
    fn v01_the_types_of_v2_have_the_rules_of_their_kind_and_are_other_types() {
        for (kind, url) in KNOWN_V2 {
            let (v2, v3) = (TypeUrl::new(url), TypeUrl::of_kind(kind).unwrap());
            assert_eq!(Some(&v2), TypeUrl::of_version(kind, ApiVersion::V2).as_ref());
            assert_eq!((v2.kind(), v2.short_name(), v2.as_str()), (kind, v3.short_name(), url));
            assert_eq!((v2.rank(), v2.is_full_state()), (v3.rank(), v3.is_full_state()));
            assert_eq!(v2.has_legacy_wildcard(), v3.has_legacy_wildcard());
            assert!(v2 != v3 && v2.cmp(&v3).is_ne());
            assert_eq!(HashSet::from([v2.clone(), v3, v2]).len(), 2);
        }
        assert_eq!(TypeUrl::of_version(Kind::LbEndpoint, ApiVersion::V2), None);
    }

    #[test]
    fn only_full_state_and_unknown_types_have_the_legacy_wildcard() {
        let wildcard = |short| TypeUrl::from_short_name(short).is_some_and(|t| t.has_legacy_wildcard());
        assert!(["cds", "lds", "srds"].into_iter().all(wildcard));
        assert!(!["rds", "eds", "sds", "rtds", "ecds", "vhds", "leds"].into_iter().any(wildcard));
        assert!(TypeUrl::new("type.googleapis.com/acme.Widget").has_legacy_wildcard());
    }
}
