//! The gRPC services that a stream can be opened on, by their names in Envoy's API.

use crate::client::Dialect;

/// A discovery service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// The aggregated one.
    Ads,
    /// The aggregated one of v2.
    AdsV2,
    /// That of one type, by its short name.
    Own(&'static str),
    /// That of one type in v2.
    OwnV2(&'static str),
}

/// The names of a type's methods, and of its services in v3 and in v2.
fn names(short: &str) -> (&'static str, &'static str, &'static str) {
    match short {
        "cds" => ("Clusters", "cluster.v3.Cluster", "api.v2.Cluster"),
        "eds" => ("Endpoints", "endpoint.v3.Endpoint", "api.v2.Endpoint"),
        "lds" => ("Listeners", "listener.v3.Listener", "api.v2.Listener"),
        "rds" => ("Routes", "route.v3.Route", "api.v2.Route"),
        "srds" => ("ScopedRoutes", "route.v3.ScopedRoutes", "api.v2.ScopedRoutes"),
        "vhds" => ("VirtualHosts", "route.v3.VirtualHost", "api.v2.VirtualHost"),
        "sds" => ("Secrets", "secret.v3.Secret", "service.discovery.v2.Secret"),
        "rtds" => ("Runtime", "runtime.v3.Runtime", "service.discovery.v2.Runtime"),
        "ecds" => ("ExtensionConfigs", "extension.v3.ExtensionConfig", "(none)"),
        "leds" => ("LocalityEndpoints", "endpoint.v3.LocalityEndpoint", "(none)"),
        other => panic!("no service has the short name {other:?}"),
    }
}

impl Service {
    /// The path of its method for a dialect, whether or not there is one.
    pub fn path(self, dialect: Dialect) -> String {
        let (service, resources) = match self {
            Self::Ads => ("service.discovery.v3.Aggregated".to_owned(), "AggregatedResources"),
            Self::AdsV2 => ("service.discovery.v2.Aggregated".to_owned(), "AggregatedResources"),
            Self::Own(short) => (format!("service.{}", names(short).1), names(short).0),
            Self::OwnV2(short) => (names(short).2.to_owned(), names(short).0),
        };
        let method = if dialect == Dialect::Sotw { "Stream" } else { "Delta" };
        format!("/envoy.{service}DiscoveryService/{method}{resources}")
    }
}
