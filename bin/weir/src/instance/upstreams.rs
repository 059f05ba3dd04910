//! Streams to control planes, and files.

use weir_admin::{Propagated, Upstream, WithheldRemovals};
use weir_upstream::{LinkFailure, LinkState, Role};

/// As the admin server shows it.
pub(super) fn shown(link: LinkState) -> Upstream {
    let carries = match (link.lane.role, link.lane.type_url) {
        _ if link.idle => "nothing: no client has subscribed".to_owned(),
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
        id: link.id,
        authority: link.authority,
        parameters: link.parameters,
        carries,
        endpoint: link.endpoint,
        in_sync: link.in_sync,
        since: link.since,
        last_error: link.last_failure.map(|failure| {
            let LinkFailure { endpoint, reason, at } = failure;
            (format!("{endpoint}: {reason}"), at)
        }),
        problems: link.problems,
        unconfirmed: link.unconfirmed.into_iter().filter(|(_, count)| *count > 0).collect(),
        withheld: link.withheld.into_iter().map(withheld).collect(),
    }
}

/// A change that was followed, as the admin server shows it.
pub(super) fn propagated(change: weir_upstream::Propagated) -> Propagated {
    let weir_upstream::Propagated { number, at, authority, type_url, streams, took, outcome } = change;
    Propagated { number, at, authority, type_url, streams, took, outcome }
}
