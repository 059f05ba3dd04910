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

use std::collections::BTreeMap;
use std::path::Path;

use crate::file::{self, File};
use crate::settings::{
    Cache, Config, Downstream, DownstreamTls, Drain, Limits, Locality, Log, Node, NodeRule,
};

/// Something that breaks a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push(Finding { key: key.into(), message: message.into() });
    }

    /// Two of the same, where all must differ.
    fn add_duplicates<T: Ord + Copy>(
        &mut self,
        items: impl IntoIterator<Item = (String, T)>,
        message: impl Fn(T, &str) -> String,
    ) {
        let mut first: BTreeMap<T, String> = BTreeMap::new();
        for (key, item) in items {
            match first.get(&item) {
                Some(other) => self.add(key, message(item, other)),
                None => _ = first.insert(item, key),
            }
        }
    }

    fn add_zero(&mut self, key: &str, value: usize) {
        if value == 0 {
            self.add(key, "0 is too small; the least is 1");
        }
    }
}

/// Validates `file`. Relative paths in it start from `directory`.
pub(crate) fn validate(mut file: File, directory: &Path) -> Result<Config, Vec<Finding>> {
    let mut findings = Findings::default();
    check_listeners(&file, &mut findings);
    check_node_rules(&file.dynamic_parameters, &mut findings);
    check_limits(&file, &mut findings);
    admission::check(&file.admission, &mut findings);
    let mut rule_keys: Vec<_> = file.dynamic_parameters.iter().map(|rule| rule.key.clone()).collect();
    rule_keys.sort_unstable();
    rule_keys.dedup();
    let secured = security::validate(&mut file, directory, &mut findings);
    let node = node::settings(file.node);
    let upstreams = upstream::validate(file.upstream, directory, &node, &rule_keys, &mut findings);
    let store = file.store.and_then(|store| store::validate(store, directory, &mut findings));
    let telemetry = telemetry::validate(file.telemetry, &mut findings);
    let exports = export::validate(file.export, directory, &mut findings);
    if !findings.0.is_empty() {
        return Err(findings.0);
    }
    Ok(Config {
        node,
        telemetry,
        log: Log { level: file.log.level, format: file.log.format },
        downstream: downstream(file.downstream, secured.downstream),
        admin: secured.admin,
        access: secured.access,
        cache: Cache {
            idle_timeout: file.cache.idle_timeout.0.0,
            max_frames_size: file.cache.max_frames_size.0.0,
        },
        limits: limits(file.limits),
        admission: admission::settings(&file.admission),
        drain: drain(&file.drain),
        store,
        upstreams,
        node_rules: file.dynamic_parameters.into_iter().map(node_rule).collect(),
        exports,
    })
}

fn check_listeners(file: &File, findings: &mut Findings) {
    if file.downstream.listen.is_empty() {
        findings.add("downstream.listen", "[] has no address; at least one is needed");
    }
    let listen = file
        .downstream
        .listen
        .iter()
        .enumerate()
        .map(|(i, address)| (format!("downstream.listen[{i}]"), address));
    let plaintext = file.downstream.listen_plaintext.iter().enumerate();
    let plaintext = plaintext.map(|(i, address)| (format!("downstream.listen_plaintext[{i}]"), address));
    let admin = file.admin.iter().map(|admin| ("admin.listen".to_owned(), &admin.listen));
    let addresses = listen.chain(plaintext).chain(admin).map(|(key, address)| (key, address.0.0));
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

fn check_limits(file: &File, findings: &mut Findings) {
    for (key, value) in [
        ("limits.max_name_length", file.limits.max_name_length),
        ("limits.max_names", file.limits.max_names),
        ("limits.max_connections", file.limits.max_connections),
        ("limits.max_connections_per_address", file.limits.max_connections_per_address.unwrap_or(1)),
        ("limits.max_handshakes", file.limits.max_handshakes),
        ("limits.max_streams", file.limits.max_streams),
        ("limits.max_streams_per_connection", file.limits.max_streams_per_connection as usize),
        ("limits.max_streams_per_node", file.limits.max_streams_per_node.unwrap_or(1)),
        ("limits.max_names_per_stream", file.limits.max_names_per_stream),
        ("limits.max_locators_per_name", file.limits.max_locators_per_name),
        ("limits.max_types_per_stream", file.limits.max_types_per_stream),
        ("limits.max_node_size", file.limits.max_node_size.0.0),
        ("limits.max_new_names_per_client", file.limits.max_new_names_per_client.unwrap_or(1)),
        (
            "limits.max_new_parameter_sets_per_client",
            file.limits.max_new_parameter_sets_per_client.unwrap_or(1),
        ),
        ("limits.new_names_per_client", file.limits.new_names_per_client.unwrap_or(1) as usize),
        (
            "limits.new_parameter_sets_per_client",
            file.limits.new_parameter_sets_per_client.unwrap_or(1) as usize,
        ),
        ("downstream.max_request_size", file.downstream.max_request_size.0.0),
        ("downstream.max_response_size", file.downstream.max_response_size.0.0),
    ] {
        findings.add_zero(key, value);
    }
    let downstream = &file.downstream;
    let (partial, whole) = (file.limits.max_partial_requests.0.0, downstream.max_request_size.0.0);
    if partial / 2 < whole {
        let message = format!(
            "{partial} bytes are too small; the least is twice downstream.max_request_size, which is {whole} bytes"
        );
        findings.add("limits.max_partial_requests", message);
    }
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

fn downstream(file: file::Downstream, tls: Option<DownstreamTls>) -> Downstream {
    Downstream {
        listen: file.listen.iter().map(|address| address.0.0).collect(),
        listen_plaintext: file.listen_plaintext.iter().map(|address| address.0.0).collect(),
        tls,
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
