//! Where resources come from.

use anyhow::Result;
use weir_config::{
    Config, ControlPlane, Count, DataError, Exchange, Protocol, Streaming, Transport, Upstream,
};
use weir_protocol::Dialect;
use weir_store::Store;
use weir_types::{ApiVersion, Code};
use weir_upstream::{
    Acknowledge, AcknowledgePolicy, Backoff, EndpointGuard, Naming, NodeTemplate, Prefetch, Services,
    Settings, ShrinkGuard, Source, Trial,
};

use super::{node, shared, tls};

/// The source of one authority: that of upstream number `i`. To be called in a tokio runtime.
///
/// # Errors
/// When a certificate or a token cannot be used.
pub(crate) fn source(
    config: &Config,
    i: usize,
    upstream: &Upstream,
    store: Option<&Store>,
) -> Result<Source> {
    Ok(match &upstream.source {
        weir_config::Source::Files(files) => {
            Source::Files { authority: upstream.authority.clone(), settings: files.clone() }
        }
        weir_config::Source::ControlPlane(control_plane) => {
            let (tls, credentials) = tls::upstream(i, control_plane)?;
            let settings = self::control_plane(config, &upstream.authority, control_plane);
            Source::ControlPlane(Box::new(Settings { tls, credentials, store: store.cloned(), ..settings }))
        }
    })
}

fn code(error: DataError) -> Code {
    match error {
        DataError::NotFound => Code::NOT_FOUND,
        DataError::PermissionDenied => Code::PERMISSION_DENIED,
    }
}

fn control_plane(config: &Config, authority: &str, control_plane: &ControlPlane) -> Settings {
    let general = &control_plane.general;
    let naming = match &control_plane.parameters {
        None => Naming::Native { node: node::own(&config.node) },
        Some(parameters) => Naming::Streams {
            keys: shared(parameters.set_keys()),
            node: NodeTemplate::new(node::template(&parameters.node)),
        },
    };
    let (services, dialect, streaming) = exchange(control_plane);
    let endpoints = general.endpoints.iter().map(ToString::to_string).collect();
    Settings {
        services,
        transport: match streaming.transport {
            Transport::V3 => ApiVersion::V3,
            Transport::V2 => ApiVersion::V2,
        },
        dialect,
        max_message_size: general.max_response_size.get(),
        node_on_first_message_only: streaming.node_on_first_message_only,
        acknowledge: acknowledge(control_plane),
        propagation_deadline: config.telemetry.propagation_deadline.get(),
        does_not_exist: general.does_not_exist_timeout.get(),
        drop_on_errors: general.drop_on_errors.iter().map(|error| code(*error)).collect(),
        debounce: general.debounce,
        shrink_guard: general.shrink_guard.map(shrink_guard),
        endpoint_guard: general.shrink_guard.and_then(|guard| guard.endpoints).map(endpoint_guard),
        streams_per_connection: streaming.streams_per_connection.get(),
        connects_per_second: connects_per_second(control_plane),
        backoff: Backoff { base: general.backoff_base.get(), max: general.backoff_max },
        trial: Trial { answer: general.answer_timeout().get(), lasting: general.stable_after },
        shared_versions: general.shared_versions,
        connect_timeout: general.connect_timeout.get(),
        keepalive_interval: streaming.keepalive_interval.get(),
        keepalive_timeout: streaming.keepalive_timeout.get(),
        load_reports: control_plane.exchange.relays_load_reports(),
        prefetch: general.prefetch.iter().flat_map(prefetch).collect(),
        ..Settings::new(authority, endpoints, naming)
    }
}

/// Sets that come back after an outage cost the control plane as much as new ones.
fn connects_per_second(control_plane: &ControlPlane) -> Option<u32> {
    let parameters = control_plane.parameters.as_ref()?;
    parameters.new_parameter_sets_per_second.map(Count::get)
}

/// Over which services, in which dialect, and on which terms streams are opened; polls go by the defaults of those.
fn exchange(control_plane: &ControlPlane) -> (Services, Dialect, Streaming) {
    let protocol = control_plane.modes.protocol;
    let dialect = match protocol {
        Protocol::AdsDelta | Protocol::Delta => Dialect::Delta,
        Protocol::AdsSotw | Protocol::Sotw | Protocol::Rest => Dialect::Sotw,
    };
    match (&control_plane.exchange, protocol) {
        (Exchange::Polling(polls), _) => (Services::Rest(*polls), dialect, Streaming::default()),
        (Exchange::Streaming(streaming), Protocol::AdsDelta | Protocol::AdsSotw) => {
            (Services::Aggregated, dialect, *streaming)
        }
        (Exchange::Streaming(streaming), _) => (Services::PerType, dialect, *streaming),
    }
}

/// One subscription for each parameter set.
fn prefetch(prefetch: &weir_config::Prefetch) -> impl Iterator<Item = Prefetch> {
    let weir_config::Prefetch { type_url, names, parameter_sets } = prefetch;
    parameter_sets.iter().map(|set| Prefetch {
        type_url: type_url.clone(),
        names: names.clone(),
        parameters: set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
    })
}

fn acknowledge(control_plane: &ControlPlane) -> Acknowledge {
    let nack = control_plane.general.nack_upstream;
    match control_plane.after_subscribers {
        Some(subscribers) => Acknowledge::AfterSubscribers(AcknowledgePolicy { subscribers, nack }),
        None => Acknowledge::OnReceipt,
    }
}

fn shrink_guard(guard: weir_config::ShrinkGuard) -> ShrinkGuard {
    let weir_config::ShrinkGuard { percent, minimum, confirm_after, .. } = guard;
    ShrinkGuard { percent: percent.get(), minimum: minimum.get(), confirm_after: confirm_after.get() }
}

fn endpoint_guard(guard: weir_config::GuardedEndpoints) -> EndpointGuard {
    let weir_config::GuardedEndpoints { percent, minimum, window, confirm_after } = guard;
    EndpointGuard {
        percent: percent.get(),
        minimum: minimum.get(),
        window: window.get(),
        confirm_after: confirm_after.get(),
    }
}
