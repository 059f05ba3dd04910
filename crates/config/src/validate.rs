//! The rules between values, and the defaults that depend on other values.

mod acknowledge;
mod admission;
mod debounce;
mod demand;
mod export;
mod node;
mod prefetch;
mod security;
mod shrink_guard;
mod store;
mod telemetry;
mod tls;
mod upstream;

use std::collections::BTreeSet;
use std::path::Path;

use crate::file::{self, File};
use crate::findings::Findings;
use crate::sections::{Broken, Read};
use crate::settings::{Cache, Config, Downstream, Drain, Limits, Locality, Log, Node, NodeRule};

/// Validates `file`, and reports what breaks a rule. Relative paths start from `directory`. A rule is checked where all the
/// sections that it is about could be read.
pub(crate) fn validate(file: File, directory: &Path, findings: &mut Findings) -> Read<Config> {
    check_listeners(&file, findings);
    if let Ok(rules) = &file.dynamic_parameters {
        check_node_rules(rules, findings);
    }
    if let Ok(limits) = &file.limits {
        check_limits(limits, findings);
    }
    if let Ok(downstream) = &file.downstream {
        check_downstream(downstream, findings);
    }
    if let (Ok(limits), Ok(downstream)) = (&file.limits, &file.downstream) {
        check_partial_requests(limits, downstream, findings);
    }
    if let Ok(admission) = &file.admission {
        admission::check(admission, findings);
    }
    security::check(&file, findings);
    let node = file.node.map(node::settings);
    let upstreams = match (file.upstream, &node, &file.dynamic_parameters) {
        (Ok(upstreams), Ok(node), Ok(rules)) => {
            Ok(upstream::validate(upstreams, directory, node, &rule_keys(rules), findings))
        }
        _ => Err(Broken),
    };
    let store = file.store.map(|store| store.and_then(|store| store::validate(store, directory, findings)));
    let telemetry = file.telemetry.map(|telemetry| telemetry::validate(telemetry, findings));
    let exports = file.export.map(|exports| export::validate(exports, directory, findings));
    let (admission, drain) = (file.admission?, file.drain?);
    let (log, cache) = (file.log?, file.cache?);
    Ok(Config {
        node: node?,
        telemetry: telemetry?,
        log: Log { level: log.level, format: log.format },
        downstream: downstream(file.downstream?, directory),
        admin: file.admin?.map(|admin| security::admin(admin, directory)),
        access: file.access?.into_iter().map(security::access_rule).collect(),
        cache: Cache { idle_timeout: cache.idle_timeout.0.0, max_frames_size: cache.max_frames_size.0.0 },
        limits: limits(file.limits?),
        admission: admission::settings(&admission),
        drain: self::drain(&drain),
        store: store?,
        upstreams: upstreams?,
        node_rules: file.dynamic_parameters?.into_iter().map(node_rule).collect(),
        exports: exports?,
    })
}

/// Keys that the rules give to clients, sorted.
fn rule_keys(rules: &[file::DynamicParameter]) -> Vec<String> {
    let keys: BTreeSet<_> = rules.iter().map(|rule| rule.key.clone()).collect();
    keys.into_iter().collect()
}

fn check_listeners(file: &File, findings: &mut Findings) {
    let mut addresses = Vec::new();
    if let Ok(downstream) = &file.downstream {
        if downstream.listen.is_empty() {
            findings.add("downstream.listen", "[] has no address; at least one is needed");
        }
        for (key, listen) in
            [("listen", &downstream.listen), ("listen_plaintext", &downstream.listen_plaintext)]
        {
            let keys = (0..).map(|i| format!("downstream.{key}[{i}]"));
            addresses.extend(keys.zip(listen));
        }
    }
    if let Ok(Some(admin)) = &file.admin {
        addresses.push(("admin.listen".to_owned(), &admin.listen));
    }
    let addresses = addresses.into_iter().map(|(key, address)| (key, address.0.0));
    let fixed = addresses.filter(|(_, address)| address.port() != 0);
    findings.add_duplicates(fixed, |address, other| {
        format!("\"{address}\" is also {other}; each listener needs its own")
    });
}

fn check_node_rules(rules: &[file::DynamicParameter], findings: &mut Findings) {
    let keys = || {
        rules.iter().enumerate().map(|(i, rule)| (format!("dynamic_parameters[{i}].key"), rule.key.as_str()))
    };
    for (key, _) in keys().filter(|(_, value)| value.is_empty()) {
        findings.add(key, "\"\" is no key; name the dynamic parameter");
    }
    for (i, rule) in rules.iter().enumerate() {
        if rules[..i].iter().any(|earlier| earlier.key == rule.key && earlier.default.is_some()) {
            let message = format!("{:?} always has a value already: an earlier rule has a default", rule.key);
            findings.add(format!("dynamic_parameters[{i}].key"), message);
        }
    }
}

fn check_limits(limits: &file::Limits, findings: &mut Findings) {
    for (key, value) in [
        ("max_name_length", limits.max_name_length),
        ("max_names", limits.max_names),
        ("max_connections", limits.max_connections),
        ("max_connections_per_address", limits.max_connections_per_address.unwrap_or(1)),
        ("max_handshakes", limits.max_handshakes),
        ("max_streams", limits.max_streams),
        ("max_streams_per_connection", limits.max_streams_per_connection as usize),
        ("max_streams_per_node", limits.max_streams_per_node.unwrap_or(1)),
        ("max_names_per_stream", limits.max_names_per_stream),
        ("max_locators_per_name", limits.max_locators_per_name),
        ("max_types_per_stream", limits.max_types_per_stream),
        ("max_node_size", limits.max_node_size.0.0),
        ("max_new_names_per_client", limits.max_new_names_per_client.unwrap_or(1)),
        ("max_new_parameter_sets_per_client", limits.max_new_parameter_sets_per_client.unwrap_or(1)),
        ("new_names_per_client", limits.new_names_per_client.unwrap_or(1) as usize),
        ("new_parameter_sets_per_client", limits.new_parameter_sets_per_client.unwrap_or(1) as usize),
    ] {
        findings.add_zero(&format!("limits.{key}"), value);
    }
}

fn check_partial_requests(limits: &file::Limits, downstream: &file::Downstream, findings: &mut Findings) {
    let (partial, whole) = (limits.max_partial_requests.0.0, downstream.max_request_size.0.0);
    if partial / 2 < whole {
        let message = format!(
            "{partial} bytes are too small; the least is twice downstream.max_request_size, which is {whole} bytes"
        );
        findings.add("limits.max_partial_requests", message);
    }
}

fn check_downstream(downstream: &file::Downstream, findings: &mut Findings) {
    findings.add_zero("downstream.max_request_size", downstream.max_request_size.0.0);
    findings.add_zero("downstream.max_response_size", downstream.max_response_size.0.0);
    for (key, value) in [
        ("downstream.keepalive_interval", Some(&downstream.keepalive_interval)),
        ("downstream.keepalive_timeout", Some(&downstream.keepalive_timeout)),
        ("downstream.rest_hold", Some(&downstream.rest_hold)),
        ("downstream.stall_timeout", Some(&downstream.stall_timeout)),
        ("downstream.receive_timeout", Some(&downstream.receive_timeout)),
        ("downstream.max_connection_age", downstream.max_connection_age.as_ref()),
    ] {
        if value.is_some_and(|value| value.0.0.is_zero()) {
            findings.add(key, "it must be longer than nothing");
        }
    }
}

fn downstream(file: file::Downstream, directory: &Path) -> Downstream {
    Downstream {
        listen: file.listen.iter().map(|address| address.0.0).collect(),
        listen_plaintext: file.listen_plaintext.iter().map(|address| address.0.0).collect(),
        tls: file.tls.map(|tls| security::downstream_tls(tls, directory)),
        max_request_size: file.max_request_size.0.0,
        max_response_size: file.max_response_size.0.0,
        keepalive_interval: file.keepalive_interval.0.0,
        keepalive_timeout: file.keepalive_timeout.0.0,
        rest_hold: file.rest_hold.0.0,
        csds: file.csds,
        reflection: file.reflection,
        ready_when: file.ready_when,
        receive_timeout: file.receive_timeout.0.0,
        stall_timeout: file.stall_timeout.0.0,
        warming_timeout: file.warming_timeout.0.0,
        first_response_timeout: file.first_response_timeout.0.0,
        max_connection_age: file.max_connection_age.map(|age| age.0.0),
        wrap_resources: file.wrap_resources,
        cold_start: file.cold_start.into(),
    }
}

fn limits(file: file::Limits) -> Limits {
    Limits {
        max_name_length: file.max_name_length,
        max_names: file.max_names,
        max_connections: file.max_connections,
        max_connections_per_address: file.max_connections_per_address,
        max_streams: file.max_streams,
        max_streams_per_connection: file.max_streams_per_connection,
        max_streams_per_node: file.max_streams_per_node,
        max_names_per_stream: file.max_names_per_stream,
        max_locators_per_name: file.max_locators_per_name,
        max_types_per_stream: file.max_types_per_stream,
        max_node_size: file.max_node_size.0.0,
        max_partial_requests: file.max_partial_requests.0.0,
        max_handshakes: file.max_handshakes,
        new_names_per_client: file.new_names_per_client,
        max_new_names_per_client: file.max_new_names_per_client,
        new_parameter_sets_per_client: file.new_parameter_sets_per_client,
        max_new_parameter_sets_per_client: file.max_new_parameter_sets_per_client,
    }
}

fn drain(file: &file::Drain) -> Drain {
    Drain { delay: file.delay.0.0, over: file.over.0.0, grace: file.grace.0.0 }
}

fn node_rule(file: file::DynamicParameter) -> NodeRule {
    NodeRule {
        key: file.key,
        from: file.from.0,
        pattern: file.pattern.map(|pattern| pattern.0.0),
        default: file.default,
        fill_locators: file.fill_locators,
        enforce: file.enforce,
    }
}
