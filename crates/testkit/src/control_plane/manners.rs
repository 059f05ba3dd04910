//! How a control plane behaves where the protocol leaves it a choice.

use weir_wire::discovery::{Resource, ResourceError, Status};

use super::wanted::Wanted;
use crate::constraints::variant;

/// How a control plane answers a subscription to a name that it does not have. In the state of the world, only an
/// error can be sent, and everything else is silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// As a removal in the form of the subscription: `removed_resources`, or `removed_resource_names` for a locator.
    #[default]
    AsSubscribed,
    /// In `removed_resources`, whatever the form of the subscription.
    Removed,
    /// By a resource that has the name, the name as its alias, and no body.
    Marker,
    /// In `resource_errors`, as NOT_FOUND.
    Error,
    /// Not at all.
    Silent,
}

impl Missing {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::AsSubscribed, Self::Removed, Self::Marker, Self::Error, Self::Silent];
}

/// What a control plane does where the protocol leaves it a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manners {
    /// How it answers a subscription to a name that it does not have.
    pub missing: Missing,
    /// Whether it does not answer a wildcard of which it has nothing.
    pub ignores_empty_wildcards: bool,
    /// Incremental: whether each resource has a response of its own.
    pub sends_one_by_one: bool,
    /// Whether it names what is gone in a spelling of its own.
    pub respells: bool,
}

impl Manners {
    /// Some of all that are possible, by a seed.
    pub fn drawn(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        Self {
            missing: Missing::ALL[rng.usize(0..Missing::ALL.len())],
            ignores_empty_wildcards: rng.bool(),
            sends_one_by_one: rng.bool(),
            respells: rng.bool(),
        }
    }
}

/// The same name with its context parameters in the reverse order.
pub(super) fn respelled(name: &str) -> String {
    match name.split_once('?') {
        Some((path, parameters)) => {
            let parameters: Vec<&str> = parameters.split('&').rev().collect();
            format!("{path}?{}", parameters.join("&"))
        }
        None => name.to_owned(),
    }
}

/// The answer that the resource of a subscription does not exist, without a body.
pub(super) fn marker(wanted: &Wanted) -> Resource {
    let resource = Resource { aliases: vec![wanted.name.clone()], ..Resource::default() };
    match wanted.located {
        true => Resource { resource_name: Some(variant(&wanted.name, None)), ..resource },
        false => Resource { name: wanted.name.clone(), ..resource },
    }
}

/// The error that the resource of a subscription does not exist.
pub(super) fn not_found(wanted: &Wanted) -> ResourceError {
    let detail = Status { code: tonic::Code::NotFound as i32, message: "no such resource".to_owned() };
    ResourceError { resource_name: Some(variant(&wanted.name, None)), error_detail: Some(detail) }
}
