//! From the settings of the configuration file to those of the crates that they are for.

mod node;
pub(crate) mod tls;
mod upstream;

use std::sync::Arc;

use anyhow::{Context, Result};
use weir_config::{Config, Count, PositiveDuration, Source};
use weir_database::{ClientLimits, DemandLimits, ParameterSets};
use weir_downstream::export::Export;
use weir_downstream::{
    AccessRule, AccessRules, Admission, ColdStart, ColdStarts, Csds, Drain, Limits, NodeRule, NodeRules,
    Patience, Rate,
};
use weir_store::{Key, Store};

pub(crate) use upstream::source;

/// How long things are kept, and how much control planes may be asked for.
pub(crate) fn database(config: &Config) -> weir_database::Settings {
    let mut settings = weir_database::Settings {
        idle: config.cache.idle_timeout,
        per_client: client_limits(config),
        ..weir_database::Settings::default()
    };
    for upstream in &config.upstreams {
        let (sets, demand) = limits(upstream);
        settings.parameter_sets.extend(sets.map(|sets| (upstream.authority.clone(), sets)));
        settings.demand.extend(demand.map(|demand| (upstream.authority.clone(), demand)));
    }
    settings
}

/// How much each client may be the first to ask for.
pub(crate) fn client_limits(config: &Config) -> ClientLimits {
    ClientLimits {
        names: config.limits.max_new_names_per_client.map(Count::get),
        parameter_sets: config.limits.max_new_parameter_sets_per_client.map(Count::get),
        new_names: config.limits.new_names_per_client.map(Count::get),
        new_parameter_sets: config.limits.new_parameter_sets_per_client.map(Count::get),
    }
}

/// How much an upstream may be asked for; files have no limits.
pub(crate) fn limits(upstream: &weir_config::Upstream) -> (Option<ParameterSets>, Option<DemandLimits>) {
    let Source::ControlPlane(control_plane) = &upstream.source else { return (None, None) };
    let parameters = control_plane.parameters.as_ref();
    let sets = parameters
        .map(|parameters| ParameterSets { keys: shared(parameters.keys()), max: parameters.max_sets.get() });
    let demand = DemandLimits {
        subscriptions: Some(control_plane.general.max_subscriptions.get()),
        new_subscriptions: control_plane.general.new_subscriptions_per_second.map(Count::get),
        new_parameter_sets: parameters
            .and_then(|parameters| parameters.new_parameter_sets_per_second)
            .map(Count::get),
    };
    (sets, Some(demand))
}

fn shared(keys: &[String]) -> Arc<[Arc<str>]> {
    keys.iter().map(|key| Arc::from(key.as_str())).collect()
}

/// Which subscriptions are written to files.
pub(crate) fn exports(config: &Config) -> Vec<Export> {
    let export = |export: &weir_config::Export| Export {
        type_url: export.type_url.clone(),
        names: export.names.clone(),
        parameters: export.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        to: export.to.path().to_owned(),
        format: export.to.format(),
    };
    config.exports.iter().map(export).collect()
}

/// How clients are served.
pub(crate) fn downstream(config: &Config) -> weir_downstream::Settings {
    let (downstream, limits) = (&config.downstream, &config.limits);
    weir_downstream::Settings {
        identifier: config.node.id.clone(),
        rules: node_rules(config),
        wrapping: downstream.wrap_resources.clone(),
        limits: Limits {
            name_length: limits.max_name_length.get(),
            names: limits.max_names.get(),
            names_per_stream: limits.max_names_per_stream.get(),
            locators_per_name: limits.max_locators_per_name.get(),
            types_per_stream: u32::try_from(limits.max_types_per_stream.get()).unwrap_or(u32::MAX),
            message: downstream.max_request_size.get(),
            node: u32::try_from(limits.max_node_size.get()).unwrap_or(u32::MAX),
        },
        rest_hold: downstream.rest_hold.get(),
        csds: match downstream.csds {
            weir_config::Csds::Off => Csds::Off,
            weir_config::Csds::Loopback => Csds::Loopback,
            weir_config::Csds::Any => Csds::Any,
        },
        reflection: downstream.reflection,
        max_response_size: downstream.max_response_size.get(),
        frame_cache: config.cache.max_frames_size.get() as u64,
        keepalive_interval: downstream.keepalive_interval.get(),
        keepalive_timeout: downstream.keepalive_timeout.get(),
        receive_timeout: downstream.receive_timeout.get(),
        stall_timeout: downstream.stall_timeout.get(),
        max_streams_per_connection: limits.max_streams_per_connection.get(),
        admission: admission(config),
        drain: drain(config),
        access: access(config),
        cold_start: cold_starts(downstream.cold_start),
        patience: Arc::new(Patience {
            warming: downstream.warming_timeout,
            first_response: downstream.first_response_timeout,
        }),
    }
}

fn cold_starts(configured: weir_config::ColdStarts) -> ColdStarts {
    let of = |answer| match answer {
        weir_config::ColdStart::Hold => ColdStart::Hold,
        weir_config::ColdStart::Error => ColdStart::Error,
        weir_config::ColdStart::Close => ColdStart::Close,
    };
    let weir_config::ColdStarts { envoy, grpc, weir, other } = configured;
    ColdStarts { envoy: of(envoy), grpc: of(grpc), weir: of(weir), other: of(other) }
}

/// How many clients there is room for.
pub(crate) fn admission(config: &Config) -> Admission {
    let (limits, admission) = (config.limits, config.admission);
    let rate = admission.new_streams_per_second.zip(admission.new_streams_burst);
    Admission {
        connections: limits.max_connections.get(),
        connections_per_address: limits.max_connections_per_address.map(Count::get),
        streams: limits.max_streams.get(),
        streams_per_node: limits.max_streams_per_node.map(Count::get),
        handshakes: limits.max_handshakes.get(),
        partial_requests: limits.max_partial_requests.get(),
        rate: rate.map(|(per_second, burst)| Rate { per_second: per_second.get(), burst: burst.get() }),
        first_responses: admission.max_first_responses.get(),
        retry_after: admission.retry_after,
    }
}

/// Opens what outlives the process, if anything does.
pub(crate) fn store(config: &Config) -> Result<Option<Store>> {
    let Some(settings) = &config.store else { return Ok(None) };
    Store::open(settings.clone(), store_key(config)?).map(Some).context("start the store")
}

/// With what the secrets in the store are encrypted, if they are stored.
///
/// # Errors
/// When the file does not hold a key.
pub(crate) fn store_key(config: &Config) -> Result<Option<Key>> {
    let file = config.store.as_ref().and_then(|store| store.key_file.as_deref());
    file.map(Key::read).transpose().context("store.key_file")
}

/// How clients are moved elsewhere.
pub(crate) fn drain(config: &Config) -> Drain {
    let weir_config::Drain { delay, over, grace } = config.drain;
    Drain {
        delay,
        over,
        grace,
        max_connection_age: config.downstream.max_connection_age.map(PositiveDuration::get),
    }
}

/// How clients get dynamic parameters from their node.
pub(crate) fn node_rules(config: &Config) -> NodeRules {
    NodeRules::new(config.node_rules.iter().map(node_rule).collect())
}

fn node_rule(rule: &weir_config::NodeRule) -> NodeRule {
    NodeRule {
        key: rule.key.clone(),
        from: rule.from.clone(),
        pattern: rule.pattern.as_deref().cloned(),
        default: rule.default.clone(),
        fill_locators: rule.fill_locators,
        enforce: rule.enforce,
    }
}

/// Who may have what.
fn access(config: &Config) -> AccessRules {
    let rule = |rule: &weir_config::AccessRule| AccessRule {
        identities: rule.identities.clone(),
        types: rule.types.clone(),
        names: rule.names.clone(),
    };
    AccessRules::new(config.access.iter().map(rule).collect())
}
