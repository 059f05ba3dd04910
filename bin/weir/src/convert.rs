//! From the settings of the configuration file to those of the crates that they are for.

use weir_config::Config;
use weir_downstream::{NodeField, NodeRule, NodeRules};

/// How clients get dynamic parameters from their node.
pub(crate) fn node_rules(config: &Config) -> NodeRules {
    NodeRules::new(config.node_rules.iter().map(node_rule).collect())
}

fn node_rule(rule: &weir_config::NodeRule) -> NodeRule {
    NodeRule {
        key: rule.key.clone(),
        from: node_field(&rule.from),
        pattern: rule.pattern.clone(),
        default: rule.default.clone(),
        fill_locators: rule.fill_locators,
    }
}

fn node_field(field: &weir_config::NodeField) -> NodeField {
    use weir_config::NodeField as From;
    match field {
        From::Id => NodeField::Id,
        From::Cluster => NodeField::Cluster,
        From::Region => NodeField::Region,
        From::Zone => NodeField::Zone,
        From::SubZone => NodeField::SubZone,
        From::UserAgentName => NodeField::UserAgentName,
        From::Metadata(path) => NodeField::Metadata(path.clone()),
    }
}
