//! Streams to control planes, and files.

use weir_admin::{
    LastError, Propagated, Unconfirmed, Upstream, UpstreamConnection, UpstreamState, WithheldRemovals,
    seconds, seconds_since,
};
use weir_types::{ClientNode, DynamicParameters, TypeUrl};
use weir_upstream::{Carrier, Loss, Role, StreamState, WithheldLosses};

use super::clients;

/// As the admin server shows it.
pub(super) fn shown(stream: StreamState) -> Upstream {
    let carries = match (stream.lane.role, stream.lane.type_url) {
        _ if stream.idle => "nothing: no client has subscribed".to_owned(),
        (Role::Primary, None) => "wildcards, and names of types without one".to_owned(),
        (Role::Secondary, None) => "names of types with a wildcard".to_owned(),
        (Role::Primary, Some(type_url)) => format!("{}, or its names", type_url.short_name()),
        (Role::Secondary, Some(type_url)) => format!("names of {}", type_url.short_name()),
    };
    let client = stream.parameters.as_ref().and_then(DynamicParameters::node);
    let header_values = client.map(ClientNode::header_values).filter(|values| !values.is_empty());
    let unconfirmed = stream.unconfirmed.into_iter().filter(|(_, count)| *count > 0);
    Upstream {
        id: stream.id,
        authority: stream.authority,
        state: UpstreamState::of(stream.endpoint.is_some(), stream.in_sync),
        parameters: stream.parameters.as_ref().map(DynamicParameters::to_pairs),
        forwarded: client.map(clients::forwarded),
        header_values: header_values.map(DynamicParameters::to_pairs),
        carries,
        endpoint: stream.endpoint,
        connection: stream.carrier.map(connection),
        since: stream.since,
        age_seconds: seconds_since(stream.since),
        last_error: stream.last_failure.map(|failure| LastError {
            at: failure.at,
            message: format!("{}: {}", failure.endpoint, failure.reason),
        }),
        problems: stream.problems,
        unconfirmed: unconfirmed.map(self::unconfirmed).collect(),
        withheld: stream.withheld.into_iter().map(withheld).collect(),
    }
}

fn connection(Carrier { id, address }: Carrier) -> UpstreamConnection {
    UpstreamConnection { id, address }
}

fn unconfirmed((type_url, resources): (TypeUrl, usize)) -> Unconfirmed {
    Unconfirmed { short_name: type_url.short_name().into(), type_url: type_url.to_string(), resources }
}

fn withheld(((type_url, loss), held): ((TypeUrl, Loss), WithheldLosses)) -> WithheldRemovals {
    WithheldRemovals {
        loss: loss.as_str().into(),
        short_name: type_url.short_name().into(),
        type_url: type_url.to_string(),
        removals: held.count,
        of: held.of,
        names: held.names.iter().map(ToString::to_string).collect(),
        since: held.since,
    }
}

/// A change that was followed, as the admin server shows it.
pub(super) fn propagated(change: weir_upstream::Propagated) -> Propagated {
    Propagated {
        number: change.number,
        at: change.at,
        authority: change.authority,
        short_name: change.type_url.short_name().into(),
        type_url: change.type_url.to_string(),
        streams: change.streams,
        seconds: seconds(change.took),
        outcome: change.outcome.into(),
    }
}
