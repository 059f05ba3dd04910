//! The discovery services: which of them carries what, in which dialects, and under which names.

use weir_types::{ApiVersion, Dialect, Kind};

use ApiVersion::{V2, V3};

/// One gRPC service.
#[derive(Debug, PartialEq, Eq)]
pub struct Service {
    /// The generation of the API that names it. The messages are the same in both.
    pub version: ApiVersion,
    /// What it carries; none for the aggregated service, which carries everything.
    pub kind: Option<Kind>,
    /// Its full name.
    pub name: &'static str,
    /// The path of its state-of-the-world method, if it has one.
    sotw: Option<&'static str>,
    /// The path of its incremental method.
    delta: &'static str,
}

/// A service by its name, and by what its methods are called behind `Stream` and `Delta`.
macro_rules! service {
    ($version:ident, $kind:expr, $name:literal, $resources:literal) => {
        Service {
            version: $version,
            kind: $kind,
            name: $name,
            sotw: Some(concat!("/", $name, "/Stream", $resources)),
            delta: concat!("/", $name, "/Delta", $resources),
        }
    };
}

const fn delta_only(service: Service) -> Service {
    Service { sotw: None, ..service }
}

/// All there are.
#[rustfmt::skip]
pub static SERVICES: [Service; 20] = [
    service!(V3, None, "envoy.service.discovery.v3.AggregatedDiscoveryService", "AggregatedResources"),
    service!(V3, Some(Kind::Cluster), "envoy.service.cluster.v3.ClusterDiscoveryService", "Clusters"),
    service!(V3, Some(Kind::ClusterLoadAssignment), "envoy.service.endpoint.v3.EndpointDiscoveryService", "Endpoints"),
    service!(V3, Some(Kind::Listener), "envoy.service.listener.v3.ListenerDiscoveryService", "Listeners"),
    service!(V3, Some(Kind::ScopedRouteConfiguration), "envoy.service.route.v3.ScopedRoutesDiscoveryService", "ScopedRoutes"),
    service!(V3, Some(Kind::RouteConfiguration), "envoy.service.route.v3.RouteDiscoveryService", "Routes"),
    delta_only(service!(V3, Some(Kind::VirtualHost), "envoy.service.route.v3.VirtualHostDiscoveryService", "VirtualHosts")),
    service!(V3, Some(Kind::Secret), "envoy.service.secret.v3.SecretDiscoveryService", "Secrets"),
    service!(V3, Some(Kind::Runtime), "envoy.service.runtime.v3.RuntimeDiscoveryService", "Runtime"),
    service!(V3, Some(Kind::TypedExtensionConfig), "envoy.service.extension.v3.ExtensionConfigDiscoveryService", "ExtensionConfigs"),
    delta_only(service!(V3, Some(Kind::LbEndpoint), "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService", "LocalityEndpoints")),
    service!(V2, None, "envoy.service.discovery.v2.AggregatedDiscoveryService", "AggregatedResources"),
    service!(V2, Some(Kind::Cluster), "envoy.api.v2.ClusterDiscoveryService", "Clusters"),
    service!(V2, Some(Kind::ClusterLoadAssignment), "envoy.api.v2.EndpointDiscoveryService", "Endpoints"),
    service!(V2, Some(Kind::Listener), "envoy.api.v2.ListenerDiscoveryService", "Listeners"),
    service!(V2, Some(Kind::ScopedRouteConfiguration), "envoy.api.v2.ScopedRoutesDiscoveryService", "ScopedRoutes"),
    service!(V2, Some(Kind::RouteConfiguration), "envoy.api.v2.RouteDiscoveryService", "Routes"),
    delta_only(service!(V2, Some(Kind::VirtualHost), "envoy.api.v2.VirtualHostDiscoveryService", "VirtualHosts")),
    service!(V2, Some(Kind::Secret), "envoy.service.discovery.v2.SecretDiscoveryService", "Secrets"),
    service!(V2, Some(Kind::Runtime), "envoy.service.discovery.v2.RuntimeDiscoveryService", "Runtime"),
];

// === impl Service ===

impl Service {
    /// The service of that generation of the API that carries `kind`, or everything.
    pub fn of(version: ApiVersion, kind: Option<Kind>) -> Option<&'static Self> {
        SERVICES.iter().find(|service| (service.version, service.kind) == (version, kind))
    }

    /// The service and the dialect that a request to `path` (`/SERVICE/METHOD`) asks for.
    pub fn at(path: &str) -> Option<(&'static Self, Dialect)> {
        SERVICES.iter().find_map(|service| {
            let mut dialects = [Dialect::Sotw, Dialect::Delta].into_iter();
            Some((service, dialects.find(|dialect| service.path(*dialect) == Some(path))?))
        })
    }

    /// The path of its method for this dialect, if it has one.
    pub fn path(&self, dialect: Dialect) -> Option<&'static str> {
        match dialect {
            Dialect::Sotw => self.sotw,
            Dialect::Delta => Some(self.delta),
        }
    }

    /// `ads`, `cds`, …: fit for a metric label.
    pub fn short_name(&self) -> &'static str {
        self.kind.map_or("ads", Kind::short_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held against Envoy's own definitions of its services, as far as the package has them.
    #[test]
    fn d01_every_method_is_as_envoy_defines_it() {
        let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/envoy-types.bin"));
        let pool = prost_reflect::DescriptorPool::decode(&descriptors[..]).unwrap();
        for service in SERVICES.iter().filter(|service| service.version == V3) {
            let defined = pool.get_service_by_name(service.name);
            let defined = defined.unwrap_or_else(|| panic!("{} is not defined", service.name));
            for method in defined.methods().filter(prost_reflect::MethodDescriptor::is_client_streaming) {
                let path = format!("/{}/{}", service.name, method.name());
                let (found, dialect) = Service::at(&path).unwrap_or_else(|| panic!("{path} is missing"));
                assert_eq!((found, found.path(dialect)), (service, Some(&*path)));
            }
            let methods = [Dialect::Sotw, Dialect::Delta].map(|dialect| service.path(dialect));
            for path in methods.into_iter().flatten() {
                assert!(defined.methods().any(|method| path.ends_with(&format!("/{}", method.name()))));
            }
        }
    }

    #[test]
    fn d01_what_is_no_method_is_not_found() {
        for path in [
            "",
            "/",
            "/envoy.service.cluster.v3.ClusterDiscoveryService",
            "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters",
            "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaListeners",
            "/envoy.service.route.v3.VirtualHostDiscoveryService/StreamVirtualHosts",
            "/envoy.service.cluster.v4.ClusterDiscoveryService/DeltaClusters",
        ] {
            assert_eq!(Service::at(path), None, "{path}");
        }
    }

    #[test]
    fn v01_each_service_of_v2_has_its_like_in_v3() {
        for v2 in SERVICES.iter().filter(|service| service.version == V2) {
            let v3 = Service::of(V3, v2.kind).unwrap();
            for dialect in [Dialect::Sotw, Dialect::Delta] {
                let method = |service: &Service| service.path(dialect)?.rsplit('/').next();
                assert_eq!(method(v2), method(v3));
            }
            assert_eq!(Service::of(V2, v2.kind), Some(v2));
        }
        assert_eq!(Service::of(V2, Some(Kind::LbEndpoint)), None);
    }
}
