//! Where resources come from.

use anyhow::Result;
use weir_config::{
    Config, ControlPlane, DataError, Parameters, PositiveDuration, Protocol, Transport, Upstream,
};
use weir_protocol::Dialect;
use weir_store::Store;
use weir_types::{ApiVersion, Code};
use weir_upstream::{
    Acknowledge, AfterSubscribers, Backoff, Debounce, NackUpstream, Naming, NodeTemplate, Polling, Prefetch,
    Services, Settings, ShrinkGuard, Source, Trial, files,
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
        weir_config::Source::Files { path, poll_interval } => Source::Files {
            authority: upstream.authority.clone(),
            settings: files::Settings { path: path.clone(), poll: poll_interval.map(PositiveDuration::get) },
        },
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
    let naming = match &control_plane.parameters {
        Parameters::Native => Naming::Native { node: node::own(&config.node) },
        Parameters::Streams { keys, node, .. } => {
            Naming::Streams { keys: shared(keys), node: NodeTemplate::new(node::template(node)) }
        }
    };
    let (services, dialect) = match control_plane.protocol {
        Protocol::AdsDelta => (Services::Aggregated, Dialect::Delta),
        Protocol::AdsSotw => (Services::Aggregated, Dialect::Sotw),
        Protocol::Delta => (Services::PerType, Dialect::Delta),
        Protocol::Sotw => (Services::PerType, Dialect::Sotw),
        Protocol::Rest => (Services::Rest(polling(control_plane.polling)), Dialect::Sotw),
    };
    let endpoints = control_plane.endpoints.iter().map(ToString::to_string).collect();
    Settings {
        services,
        transport: match control_plane.transport {
            Transport::V3 => ApiVersion::V3,
            Transport::V2 => ApiVersion::V2,
        },
        dialect,
        max_message_size: control_plane.max_response_size.get(),
        node_on_first_message_only: control_plane.node_on_first_message_only,
        acknowledge: acknowledge(control_plane.acknowledge),
        propagation_deadline: config.telemetry.propagation_deadline.get(),
        does_not_exist: control_plane.does_not_exist_timeout.get(),
        drop_on_errors: control_plane.drop_on_errors.iter().map(|error| code(*error)).collect(),
        debounce: control_plane.debounce.map(debounce),
        shrink_guard: control_plane.shrink_guard.map(shrink_guard),
        backoff: Backoff { base: control_plane.backoff_base.get(), max: control_plane.backoff_max },
        trial: Trial { answer: control_plane.answer_timeout.get(), lasting: control_plane.stable_after },
        shared_versions: control_plane.shared_versions,
        connect_timeout: control_plane.connect_timeout.get(),
        keepalive_interval: control_plane.keepalive_interval.get(),
        keepalive_timeout: control_plane.keepalive_timeout.get(),
        prefetch: control_plane.prefetch.iter().flat_map(prefetch).collect(),
        ..Settings::new(authority, endpoints, naming)
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

fn acknowledge(acknowledge: weir_config::Acknowledge) -> Acknowledge {
    match acknowledge {
        weir_config::Acknowledge::OnReceipt => Acknowledge::OnReceipt,
        weir_config::Acknowledge::AfterSubscribers { share, deadline, nack } => {
            let nack = match nack {
                weir_config::NackUpstream::Never => NackUpstream::Never,
                weir_config::NackUpstream::Any => NackUpstream::Any,
                weir_config::NackUpstream::Percent(percent) => NackUpstream::Percent(percent.get()),
            };
            Acknowledge::AfterSubscribers(AfterSubscribers {
                share: share.get(),
                deadline: deadline.get(),
                nack,
            })
        }
    }
}

fn shrink_guard(guard: weir_config::ShrinkGuard) -> ShrinkGuard {
    let weir_config::ShrinkGuard { percent, minimum, confirm_after } = guard;
    ShrinkGuard { percent: percent.get(), minimum: minimum.get(), confirm_after: confirm_after.get() }
}

fn debounce(debounce: weir_config::Debounce) -> Debounce {
    Debounce { quiet: debounce.quiet.get(), max: debounce.max }
}

fn polling(polling: weir_config::Polling) -> Polling {
    Polling {
        interval: polling.refresh_interval.get(),
        jitter: polling.refresh_jitter,
        timeout: polling.request_timeout.get(),
    }
}
