//! Conformance over real gRPC: what a client, or a control plane, sees of Weir. Each test carries in its name
//! the id of the behaviour that it proves, so that a search for the id finds the proof.
//!
//! Most sections serve what an [`proxy::Origin`] holds; those about upstreams run a whole Weir against a fake
//! control plane.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod observed;
mod proxy;
mod raw;
mod weir;

mod acknowledgement;
mod availability;
mod cold_start;
mod collections;
mod demand;
mod do_not_cache;
mod downstream;
mod errors;
mod incremental;
mod manners;
mod node_forwarding;
mod on_demand;
mod ordering;
mod overload;
mod parameters;
mod parameters_upstream;
mod resource_errors;
mod rules;
mod services;
mod sotw;
mod split;
mod ttl;
mod upstream;
mod warm_start;
mod xdstp;
