//! Streams to control planes, and files.

use weir_admin::{Propagated, Upstream, WithheldRemovals};
use weir_upstream::{Role, StreamFailure, StreamState};

/// As the admin server shows it.
pub(super) fn shown(stream: StreamState) -> Upstream {
    let carries = match (stream.lane.role, stream.lane.type_url) {
        _ if stream.idle => "nothing: no client has subscribed".to_owned(),
        (Role::Primary, None) => "wildcards, and names of types without one".to_owned(),
        (Role::Secondary, None) => "names of types with a wildcard".to_owned(),
        (Role::Primary, Some(type_url)) => format!("{}, or its names", type_url.short_name()),
        (Role::Secondary, Some(type_url)) => format!("names of {}", type_url.short_name()),
    };
    let withheld = |(type_url, held): (_, weir_upstream::WithheldRemovals)| {
        let weir_upstream::WithheldRemovals { count, of, names, since } = held;
        WithheldRemovals { type_url, count, of, names, since }
    };
    Upstream {
        id: stream.id,
        authority: stream.authority,
        parameters: stream.parameters,
        carries,
        endpoint: stream.endpoint,
        in_sync: stream.in_sync,
        since: stream.since,
        last_error: stream.last_failure.map(|failure| {
            let StreamFailure { endpoint, reason, at } = failure;
            (format!("{endpoint}: {reason}"), at)
        }),
        problems: stream.problems,
        unconfirmed: stream.unconfirmed.into_iter().filter(|(_, count)| *count > 0).collect(),
        withheld: stream.withheld.into_iter().map(withheld).collect(),
    }
}

/// A change that was followed, as the admin server shows it.
pub(super) fn propagated(change: weir_upstream::Propagated) -> Propagated {
    let weir_upstream::Propagated { number, at, authority, type_url, streams, took, outcome } = change;
    Propagated { number, at, authority, type_url, streams, took, outcome }
}
