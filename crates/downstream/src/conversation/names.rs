//! How much a stream asks for: names over all types, and types.

use tonic::Status;
use weir_protocol::server::{Inbound, Names, ServerStream, View};

use crate::limits::Limits;

/// Checks that `stream` would be subscribed to no more names and types after `inbound` than `limits` allow. A type counts
/// as one name at least.
///
/// # Errors
/// RESOURCE_EXHAUSTED, with what it would be and the limit.
pub(super) fn check<V: View, F>(
    stream: &ServerStream<V, F>,
    inbound: &Inbound,
    limits: &Limits,
) -> Result<(), Status> {
    let (mut others, mut own) = (0, None);
    for logical in stream.logical() {
        match *logical.type_url() == inbound.type_url {
            true => own = Some(logical.view().subscription()),
            false => others += logical.view().subscription().len().max(1),
        }
    }
    let (types, limit) = (stream.logical().len() + 1, limits.types_per_stream as usize);
    if own.is_none() && types > limit {
        return Err(Status::resource_exhausted(format!(
            "the stream would be subscribed to {types} types, over the limit of {limit} (limits.max_types_per_stream)"
        )));
    }
    let limit = limits.names_per_stream;
    let count = match &inbound.names {
        Names::Replace(names) => names.len(),
        Names::Patch { subscribe, unsubscribe } => {
            let held = own.map_or(0, |own| own.len());
            // What is asked for again, and what is given up, is looked up only where it matters.
            if others + (held + subscribe.len()).max(1) <= limit {
                return Ok(());
            }
            let is_held = |selector: &&_| own.is_some_and(|own| own.contains(selector));
            let new = subscribe.iter().filter(|selector| !is_held(selector)).count();
            held + new - unsubscribe.iter().filter(is_held).count()
        }
    };
    let total = others + count.max(1);
    if total > limit {
        return Err(Status::resource_exhausted(format!(
            "the stream would be subscribed to {total} names, over the limit of {limit} for all its types \
             (limits.max_names_per_stream)"
        )));
    }
    Ok(())
}
