use serde_json::{Value, json};

use super::rule::Rule;
use super::rules::{MessageRules, Rules};
use super::{Walk, violations};
use crate::json::{POOL, any_from, message_of};

fn type_url(name: &str) -> String {
    format!("type.googleapis.com/{name}")
}

/// The violations of a message of this type.
fn of(name: &str, mut message: Value) -> Vec<String> {
    message["@type"] = type_url(name).into();
    let any = any_from(message).unwrap();
    violations(&any).iter().map(ToString::to_string).collect()
}

fn cluster(message: Value) -> Vec<String> {
    of("envoy.config.cluster.v3.Cluster", message)
}

fn route(message: Value) -> Vec<String> {
    of("envoy.config.route.v3.Route", message)
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn numbers_have_bounds() {
    let port = |port: u32| {
        let address = json!({ "socket_address": { "address": "10.0.0.1", "port_value": port } });
        let endpoint = json!({ "endpoint": { "address": address } });
        let message = json!({ "cluster_name": "a", "endpoints": [{ "lb_endpoints": [endpoint] }] });
        of("envoy.config.endpoint.v3.ClusterLoadAssignment", message)
    };
    let wanted = "endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value: must be at most 65535 \
                  (got 80810)";
    assert_eq!((port(65535), port(80810)), (none(), vec![wanted.to_owned()]));
    assert_eq!(
        of("envoy.type.v3.Percent", json!({ "value": 100.5 })),
        ["value: must be at most 100 (got 100.5)"]
    );
    // A wrapper is validated by the number in it, if it is set.
    let weight =
        |weight| of("envoy.config.endpoint.v3.LbEndpoint", json!({ "load_balancing_weight": weight }));
    assert_eq!(weight(json!(0)), ["load_balancing_weight: must be at least 1 (got 0)"]);
    assert_eq!(weight(Value::Null), none());
}

#[test]
fn texts_have_lengths_and_shapes() {
    assert_eq!(cluster(json!({})), ["name: must not be empty"]);
    let header = |header: Value| of("envoy.config.core.v3.HeaderValueOption", json!({ "header": header }));
    assert_eq!(header(json!({ "key": "x-a", "value": "b" })), none());
    assert_eq!(
        header(json!({ "key": "a\nb", "value": "x".repeat(16385) })),
        [
            "header.key: must have no NUL, CR or LF (got \"a\\nb\")",
            "header.value: must have at most 16384 bytes (got 16385)"
        ]
    );
}

#[test]
fn fields_and_oneofs_are_required() {
    assert_eq!(
        route(json!({ "match": { "prefix": "/" } })),
        ["must have one of route, redirect, direct_response, filter_action, non_forwarding_action"]
    );
    assert_eq!(route(json!({ "route": { "cluster": "a" } })), ["match: must be set"]);
    let wanted = "match: must have one of prefix, path, safe_regex, ";
    let found = route(json!({ "match": {}, "redirect": {} }));
    assert!(found.len() == 1 && found[0].starts_with(wanted), "{found:?}");
}

#[test]
fn durations_lists_and_enums_have_rules() {
    assert_eq!(
        cluster(json!({ "name": "a", "connect_timeout": "-0.5s" })),
        ["connect_timeout: must be greater than 0s (got -0.5s)"]
    );
    let domains =
        |domains| of("envoy.config.route.v3.VirtualHost", json!({ "name": "a", "domains": domains }));
    assert_eq!(domains(json!(["*"])), none());
    assert_eq!(domains(json!([])), ["domains: must not be empty"]);
    assert_eq!(domains(json!(["", "a\r"])), ["domains[1]: must have no NUL, CR or LF (got \"a\\r\")"]);
    assert_eq!(
        cluster(json!({ "name": "a", "lb_policy": 77 })),
        ["lb_policy: must be a value of envoy.config.cluster.v3.Cluster.LbPolicy (got 77)"]
    );
    let codes = |codes| {
        of("envoy.config.route.v3.RetryPolicy", json!({ "retry_back_off": { "base_interval": codes } }))
    };
    assert_eq!(codes(json!("0s")), ["retry_back_off.base_interval: must be greater than 0s (got 0s)"]);
    assert_eq!(codes(Value::Null), ["retry_back_off.base_interval: must be set"]);
}

#[test]
fn typed_configs_are_validated_where_they_are() {
    let manager = json!({
        "@type": type_url("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "rds": { "route_config_name": "a", "config_source": {} },
    });
    let filter = json!({ "name": "http", "typed_config": manager });
    let listener = json!({ "name": "a", "filter_chains": [{ "filters": [filter] }] });
    assert_eq!(
        of("envoy.config.listener.v3.Listener", listener),
        [
            "filter_chains[0].filters[0].typed_config.stat_prefix: must not be empty",
            "filter_chains[0].filters[0].typed_config.rds.config_source: must have one of path, path_config_source, \
             api_config_source, ads, self",
        ]
    );
}

#[test]
fn entries_of_maps_are_named_by_their_keys() {
    let metadata = json!({ "filter_metadata": { "": {}, "b": {} } });
    assert_eq!(
        cluster(json!({ "name": "a", "metadata": metadata })),
        ["metadata.filter_metadata.: must not be empty"]
    );
}

#[test]
fn secrets_are_not_shown() {
    let any = any_from(json!({ "@type": type_url("envoy.type.v3.Percent"), "value": 100.5 })).unwrap();
    let mut walk = Walk { path: Vec::new(), is_secret: true, found: Vec::new() };
    walk.any(&prost::Message::decode(any).unwrap());
    assert_eq!(walk.found[0].to_string(), "value: must be at most 100");

    let secret =
        MessageRules::of(&message_of("envoy.extensions.transport_sockets.tls.v3.TlsCertificate").unwrap());
    let is_secret =
        |name: &str| secret.fields.iter().any(|field| field.descriptor.name() == name && field.is_secret);
    assert!(is_secret("private_key") && !is_secret("certificate_chain"));
}

#[test]
fn clusters_of_eds_need_a_source_of_endpoints() {
    let cluster = |rest: Value| {
        let mut message = json!({ "name": "a" });
        message.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        cluster(message)
    };
    let ads = json!({ "eds_config": { "ads": {} } });
    assert_eq!(cluster(json!({ "type": "EDS", "eds_cluster_config": ads })), none());
    for rest in [json!({ "type": "EDS" }), json!({ "type": "EDS", "eds_cluster_config": {} })] {
        assert_eq!(cluster(rest), ["eds_cluster_config: must have eds_config for a cluster of type EDS"]);
    }
    assert_eq!(
        cluster(json!({ "type": "STATIC", "eds_cluster_config": ads })),
        ["eds_cluster_config: must not be set for a cluster that is not of type EDS"]
    );
}

#[test]
fn e05_malformed_and_unknown_bytes_are_no_panic() {
    let any = |name: &str, value: &[u8]| {
        let any = prost_types::Any { type_url: type_url(name), value: value.to_vec() };
        violations(&prost::Message::encode_to_vec(&any)).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(any("acme.Widget", b"\xff"), none());
    assert!(
        any("envoy.config.cluster.v3.Cluster", b"\xff")[0].starts_with("must be an encoded envoy.config.")
    );
    assert!(violations(b"\xff")[0].reason.starts_with("must be an encoded google.protobuf.Any"));
    let mut bytes = Vec::new();
    for _ in 0..5_000 {
        let type_url = type_url("google.protobuf.Any");
        bytes = prost::Message::encode_to_vec(&prost_types::Any { type_url, value: bytes });
    }
    assert!(violations(&bytes).is_empty());
}

#[test]
fn every_rule_of_the_descriptors_is_known() {
    let mut rules = Vec::new();
    for message in POOL.all_messages() {
        let of = MessageRules::of(&message);
        for field in &of.fields {
            let name = field.descriptor.full_name().to_owned();
            collect(&field.rules, &mut |rule| rules.push((name.clone(), format!("{rule:?}"))));
        }
    }
    let unsupported: Vec<_> = rules.iter().filter(|(_, rule)| rule.starts_with("Unsupported")).collect();
    assert!(unsupported.is_empty(), "{unsupported:?}");
    assert!(rules.len() > 1000, "{}", rules.len());
}

fn collect(rules: &Rules, add: &mut impl FnMut(&Rule)) {
    rules.own.iter().for_each(&mut *add);
    for within in rules.within() {
        collect(within, add);
    }
}
