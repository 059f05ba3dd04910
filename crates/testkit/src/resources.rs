//! Resources that real clients run on, in the JSON form that Weir's files have too: publish one with
//! [`published`], or write several into a file with [`file`].

use std::net::SocketAddr;

use prost::Message as _;
use serde_json::{Value, json};

use crate::client::Dialect;
use crate::resource::{PROBE, Published};
use crate::type_url;

/// A resource from its JSON form. Panics with the reason if it has none.
pub fn published(resource: &Value) -> Published {
    let any = weir_wire::json::any_from(resource).unwrap_or_else(|e| panic!("{e}: {resource:#}"));
    let any = prost_types::Any::decode(any).expect("a well-formed Any");
    Published::new(&any.type_url, name(resource), any.value)
}

/// The name of a resource in its JSON form.
pub fn name(resource: &Value) -> &str {
    let field = resource.get("name").or_else(|| resource.get("cluster_name"));
    field.and_then(Value::as_str).unwrap_or_else(|| panic!("a resource without a name: {resource:#}"))
}

/// The content of a file of resources.
pub fn file<'a>(resources: impl IntoIterator<Item = &'a Value>) -> String {
    let resources: Vec<_> = resources.into_iter().collect();
    format!("{:#}", json!({ "resources": resources }))
}

/// A [`Published::text`] as it stands in a file; of a type that Weir does not know, since a text has no place in
/// those that it knows.
pub fn text(type_url: &str, name: &str, text: &str) -> Value {
    let body = Published::text(type_url, name, text).body.expect("it was just made");
    json!({ "name": name, "resource": weir_wire::json::any_to_json(&body) })
}

/// The first `count` resources that [`crate::XdsClient::expect_nothing`] asks for, for a file.
pub fn probes(count: usize) -> Vec<Value> {
    (1..=count).map(|i| text(PROBE, &format!("probe-{i}"), "")).collect()
}

/// A resource for nodes with one value of one dynamic parameter only, as it stands in a file.
pub fn constrained(key: &str, value: &str, resource: &Value) -> Value {
    json!({ "constraints": { key: value }, "resource": resource })
}

/// A cluster whose endpoints come by EDS, over the stream that brought the cluster.
pub fn eds_cluster(name: &str) -> Value {
    json!({
        "@type": type_url("cds"),
        "name": name,
        "type": "EDS",
        "connect_timeout": "1s",
        "eds_cluster_config": { "eds_config": ads() },
    })
}

/// Where an Envoy polls: the static cluster `xds`, over REST-JSON.
pub fn rest() -> Value {
    json!({
        "resource_api_version": "V3",
        "api_config_source": {
            "api_type": "REST",
            "transport_api_version": "V3",
            "cluster_names": ["xds"],
            "refresh_delay": "0.1s",
            // Weir holds an answer back for three quarters of it.
            "request_timeout": "4s",
        },
    })
}

/// A resource with everything that it takes over ADS polled instead.
pub fn polled(mut resource: Value) -> Value {
    fn replace(value: &mut Value) {
        if *value == ads() {
            *value = rest();
            return;
        }
        match value {
            Value::Array(values) => values.iter_mut().for_each(replace),
            Value::Object(fields) => fields.values_mut().for_each(replace),
            _ => {}
        }
    }
    replace(&mut resource);
    resource
}

/// A cluster that brings its endpoints along.
pub fn static_cluster(name: &str, endpoints: &[SocketAddr]) -> Value {
    let mut assignment = assignment(name, endpoints);
    assignment.as_object_mut().expect("an object").remove("@type");
    json!({
        "@type": type_url("cds"),
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": assignment,
    })
}

/// The endpoints of a cluster.
pub fn assignment(cluster: &str, endpoints: &[SocketAddr]) -> Value {
    let endpoints: Vec<_> =
        endpoints.iter().map(|endpoint| json!({ "endpoint": { "address": address(*endpoint) } })).collect();
    json!({
        "@type": type_url("eds"),
        "cluster_name": cluster,
        "endpoints": [{
            "locality": { "region": "here" },
            "load_balancing_weight": 1,
            "lb_endpoints": endpoints,
        }],
    })
}

/// Routes that send everything to one cluster.
pub fn routes(name: &str, cluster: &str) -> Value {
    let route = json!({ "match": { "prefix": "/" }, "route": { "cluster": cluster } });
    json!({
        "@type": type_url("rds"),
        "name": name,
        "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [route] }],
    })
}

/// Routes of gRPC: the same, with the empty prefix that its methods are matched by.
pub fn grpc_routes(name: &str, cluster: &str) -> Value {
    let mut routes = routes(name, cluster);
    routes["virtual_hosts"][0]["routes"][0]["match"]["prefix"] = json!("");
    routes
}

/// Routes that answer by themselves.
pub fn direct_routes(name: &str, body: &str) -> Value {
    let direct = json!({ "status": 200, "body": { "inline_string": body } });
    let mut routes = routes(name, "none");
    routes["virtual_hosts"][0]["routes"][0] =
        json!({ "match": { "prefix": "/" }, "direct_response": direct });
    routes
}

/// An HTTP listener on a port, whose routes come by RDS over the stream that brought the listener.
pub fn listener(name: &str, port: u16, routes: &str) -> Value {
    let manager =
        http_manager(name, json!({ "rds": { "config_source": ads(), "route_config_name": routes } }));
    json!({
        "@type": type_url("lds"),
        "name": name,
        "address": address(SocketAddr::from(([127, 0, 0, 1], port))),
        "filter_chains": [{ "filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": manager,
        }] }],
    })
}

/// An HTTP listener that brings its routes along: any of the functions for routes gives them.
pub fn listener_with_routes(name: &str, port: u16, mut routes: Value) -> Value {
    routes.as_object_mut().expect("an object").remove("@type");
    let mut listener = listener(name, port, "unused");
    listener["filter_chains"][0]["filters"][0]["typed_config"] =
        http_manager(name, json!({ "route_config": routes }));
    listener
}

/// What a gRPC client looks up under the name of its target.
pub fn api_listener(target: &str, routes: &str) -> Value {
    let manager =
        http_manager(target, json!({ "rds": { "config_source": ads(), "route_config_name": routes } }));
    json!({ "@type": type_url("lds"), "name": target, "api_listener": { "api_listener": manager } })
}

fn http_manager(stat_prefix: &str, routes: Value) -> Value {
    let mut manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": stat_prefix,
        "http_filters": [{
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        }],
    });
    for (key, value) in routes.as_object().expect("an object") {
        manager[key] = value.clone();
    }
    manager
}

/// Everything that an Envoy needs to send the requests to a port of its own to a backend.
pub fn envoy_path(port: u16, cluster: &str, backend: SocketAddr) -> Vec<Value> {
    vec![
        eds_cluster(cluster),
        assignment(cluster, &[backend]),
        listener("l", port, "r"),
        routes("r", cluster),
    ]
}

/// Everything that a gRPC client needs to call the target `svc` at a server.
pub fn grpc_path(cluster: &str, server: SocketAddr) -> Vec<Value> {
    vec![
        api_listener("svc", "r"),
        grpc_routes("r", cluster),
        eds_cluster(cluster),
        assignment(cluster, &[server]),
    ]
}

/// The same configuration, but with everything that it takes from elsewhere over the service of its own type, from
/// the cluster `xds`, instead of over ADS.
pub fn separately(dialect: Dialect, mut config: Value) -> Value {
    if config.get("ads").is_some() {
        let api_type = if dialect == Dialect::Sotw { "GRPC" } else { "DELTA_GRPC" };
        return json!({ "resource_api_version": "V3", "api_config_source": {
            "api_type": api_type,
            "transport_api_version": "V3",
            "grpc_services": [{ "envoy_grpc": { "cluster_name": "xds" } }],
        }});
    }
    let inner: Vec<&mut Value> = match &mut config {
        Value::Object(fields) => fields.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    for value in inner {
        *value = separately(dialect, value.take());
    }
    config
}

fn ads() -> Value {
    json!({ "ads": {}, "resource_api_version": "V3" })
}

fn address(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } })
}
