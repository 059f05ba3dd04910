//! From the settings of the configuration file to those of the crates that they are for.

mod node;
pub(crate) mod tls;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_config::{Config, Count, Source};
use weir_database::{ClientLimits, DemandLimits, NodeIdOf, ParameterSets};
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
        settings.idle_by_authority.extend(idle(upstream).map(|idle| (upstream.authority.clone(), idle)));
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

/// How long subscriptions at an upstream outlive their subscribers, if not as long as all others.
pub(crate) fn idle(upstream: &weir_config::Upstream) -> Option<Duration> {
    let Source::ControlPlane(control_plane) = &upstream.source else { return None };
    control_plane.general.idle_timeout
}

/// How much an upstream may be asked for; files have no limits.
pub(crate) fn limits(upstream: &weir_config::Upstream) -> (Option<ParameterSets>, Option<DemandLimits>) {
    let Source::ControlPlane(control_plane) = &upstream.source else { return (None, None) };
    let parameters = control_plane.parameters.as_ref();
    let sets = parameters.map(|parameters| ParameterSets {
        keys: shared(parameters.set_keys()),
        max: parameters.max_sets.get(),
        node_id: node_id(&parameters.node),
    });
    let demand = DemandLimits {
        subscriptions: Some(control_plane.general.max_subscriptions.get()),
        new_subscriptions: control_plane.general.new_subscriptions_per_second.map(Count::get),
        new_parameter_sets: parameters
            .and_then(|parameters| parameters.new_parameter_sets_per_second)
            .map(Count::get),
    };
    (sets, Some(demand))
}

/// The node id of a set, where no two sets may have one.
fn node_id(node: &weir_config::NodeTemplate) -> Option<NodeIdOf> {
    let template = weir_upstream::NodeTemplate::new(node::template(node));
    (node.forwards() && node.unique_id).then(|| NodeIdOf::new(move |set| template.id_of(set)))
}

fn shared<'a>(keys: impl Iterator<Item = &'a str>) -> Arc<[Arc<str>]> {
    keys.map(Arc::from).collect()
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
