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
