//! Rules of clusters that Envoy checks in code, since the descriptors cannot state them.

use prost_reflect::{DynamicMessage, ReflectMessage, Value};

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

/// `Cluster.DiscoveryType.EDS`
const EDS: Value = Value::EnumNumber(3);

/// The field and the rule, for each rule that `message` breaks, if it is a cluster.
pub(super) fn problems(message: &DynamicMessage) -> Vec<(&'static str, String)> {
    let has = |name: &str| message.has_field_by_name(name);
    if message.descriptor().full_name() != CLUSTER || has("cluster_type") {
        return Vec::new();
    }
    let is_eds = message.get_field_by_name("type").is_some_and(|value| *value == EDS);
    let config = message.get_field_by_name("eds_cluster_config");
    let config = config.as_deref().and_then(Value::as_message).filter(|_| has("eds_cluster_config"));
    let problem = match (is_eds, config) {
        (true, Some(config)) if config.has_field_by_name("eds_config") => return Vec::new(),
        (true, _) => "must have eds_config for a cluster of type EDS",
        (false, Some(_)) => "must not be set for a cluster that is not of type EDS",
        (false, None) => return Vec::new(),
    };
    vec![("eds_cluster_config", problem.to_owned())]
}
