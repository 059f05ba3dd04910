//! What the types are called in the paths of REST-JSON.

use weir_types::Kind;

/// What all paths begin with.
pub const PREFIX: &str = "/v3/discovery:";

/// By the path of its service.
const PATHS: [(&str, Kind); 8] = [
    ("/v3/discovery:listeners", Kind::Listener),
    ("/v3/discovery:routes", Kind::RouteConfiguration),
    ("/v3/discovery:scoped-routes", Kind::ScopedRouteConfiguration),
    ("/v3/discovery:clusters", Kind::Cluster),
    ("/v3/discovery:endpoints", Kind::ClusterLoadAssignment),
    ("/v3/discovery:secrets", Kind::Secret),
    ("/v3/discovery:runtime", Kind::Runtime),
    ("/v3/discovery:extension_configs", Kind::TypedExtensionConfig),
];

/// All paths there are.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(|(path, _)| *path)
}

/// Where resources of this kind are polled; none for those that are incremental only, and for types of which Weir
/// knows nothing.
pub fn path_of(kind: Kind) -> Option<&'static str> {
    PATHS.iter().find(|(_, known)| *known == kind).map(|(path, _)| *path)
}

/// What is polled there.
pub fn kind_at(path: &str) -> Option<Kind> {
    PATHS.iter().find(|(known, _)| *known == path).map(|(_, kind)| *kind)
}
