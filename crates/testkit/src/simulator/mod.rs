//! A whole tier in virtual time: an origin, Weir's machines and database, and clients, linked by streams that
//! delay, stall and break.
//!
//! ```text
//!  Origin: content ──> Database ──> ServerStream  ~~~>  ClientStream ──> Database ──> ServerStream  ~~~>  Client
//!                                               upstream              Weir                      downstream
//! ```
//!
//! Everything that happens follows from a seed. When all has come to rest, every client must have what the
//! origin has for its parameters, as the naive [`Reference`](crate::model::Reference) works it out.

mod events;
mod origin;
mod peers;
mod play;
mod upstream;
mod weir;

pub use origin::Origin;
pub use play::{Setup, Simulation};

use weir_types::{DynamicParameters, Kind, TypeUrl};

/// The types in play: full state and not, with and without wildcards.
fn types() -> Vec<TypeUrl> {
    let kinds = [Kind::Cluster, Kind::ClusterLoadAssignment, Kind::Listener, Kind::RouteConfiguration];
    let known = kinds.into_iter().filter_map(TypeUrl::of_kind);
    known.chain([TypeUrl::new("type.googleapis.com/acme.Widget")]).collect()
}

/// The names in play.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The parameter sets in play.
fn parameter_sets() -> [DynamicParameters; 4] {
    let sets: [&[(&str, &str)]; 4] =
        [&[], &[("env", "prod")], &[("env", "test")], &[("env", "prod"), ("version", "v1")]];
    sets.map(|pairs| pairs.iter().copied().collect())
}
