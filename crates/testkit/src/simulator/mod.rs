//! A whole tier in virtual time: an origin, Weir's machines and databases, and clients, linked by streams that
//! delay, stall and break.
//!
//! ```text
//!  Origin: content ──> Database ──> Session ~~~> UpstreamSession ──> Database ──> Session ~~~> Client
//!                                         hop      Proxy (one, or two in a row)                Peer
//! ```
//!
//! There is no thread and no clock: everything that happens follows from a seed. While it goes on, a
//! [`Witness`](witness::Witness) holds what each client sees against the origin's history. When all has come
//! to rest, every client must have what the origin has for its parameters, as the naive
//! [`Reference`](crate::model::Reference) works it out, and nobody asks for what nobody wants.

mod agenda;
mod checks;
mod excuse;
mod faults;
mod history;
mod hostile;
mod manners;
mod origin;
mod peer;
mod play;
mod proxy;
mod script;
mod transport;
mod ttl;
mod upstream;
mod witness;

pub use hostile::{Follower, Hostile};
pub use play::{Hop, Setup, Simulation, Summary, Tally};

use weir_types::{DynamicParameters, Kind, TypeUrl};

/// The types in play: full state and not, with and without wildcards.
fn types() -> Vec<TypeUrl> {
    let kinds = [Kind::Cluster, Kind::ClusterLoadAssignment, Kind::Listener, Kind::RouteConfiguration];
    let known = kinds.into_iter().filter_map(TypeUrl::of_kind);
    known.chain([TypeUrl::new("type.googleapis.com/acme.Widget")]).collect()
}

/// The names in play.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The keys that an origin which goes by the `Node` distinguishes clients by.
const KEYS: [&str; 2] = ["env", "version"];

/// The parameter sets in play: two of them differ only in a key that no constraint mentions.
fn parameter_sets() -> [DynamicParameters; 5] {
    let sets: [&[(&str, &str)]; 5] = [
        &[],
        &[("env", "prod")],
        &[("env", "test")],
        &[("env", "prod"), ("version", "v1")],
        &[("env", "prod"), ("pod", "7")],
    ];
    sets.map(|pairs| pairs.iter().copied().collect())
}
