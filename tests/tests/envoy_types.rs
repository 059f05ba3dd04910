//! Runtime layers (RTDS), extensions (ECDS), scoped routes (SRDS) and secrets (SDS) that real Envoys take from Weir,
//! and what they do when these change.

mod support;

use std::io::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};
use support::{Bed, Source, for_all, local};
use weir_testkit::client::DIALECTS;
use weir_testkit::process::http::{self, Answer};
use weir_testkit::process::{Caller, Certificate, Envoy, EnvoyOptions, free_port};
use weir_testkit::resources::{direct_routes, listener, listener_with_routes};
use weir_testkit::wait::until;
use weir_testkit::{Dialect, type_url};

const SOURCES: [Source; 3] = [Source::Files, Source::Streams("ads-delta"), Source::Streams("ads-sotw")];

/// Each source, with clients of each dialect.
fn cells() -> impl Iterator<Item = (Source, Dialect)> {
    SOURCES.into_iter().flat_map(|source| DIALECTS.map(|dialect| (source, dialect)))
}

fn over_ads() -> Value {
    json!({ "ads": {}, "resource_api_version": "V3" })
}

async fn live_envoy(server: SocketAddr, dialect: Dialect) -> Envoy {
    let mut envoy = Envoy::start(server, &EnvoyOptions::new(dialect, "envoy"));
    envoy.live().await;
    envoy
}

/// Asks until the answer is as it should be.
async fn get_until(port: u16, headers: &[(&str, &str)], what: &str, wanted: impl Fn(&Answer) -> bool) {
    let headers = &[&[("host", "test")], headers].concat();
    let wanted = &wanted;
    until(what, || async move { http::get_with(local(port), "/", headers).await.ok().filter(wanted) }).await;
}

/// A layer of a runtime.
fn runtime(layer: &Value) -> Value {
    json!({ "@type": type_url("rtds"), "name": "rt", "layer": layer })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d02_rtds_an_envoy_has_the_values_of_its_runtime_layer() {
    for (source, dialect) in cells() {
        let port = free_port();
        let with = |layer: Value| {
            for_all([listener_with_routes("l", port, direct_routes("r", "hello")), runtime(&layer)])
        };
        let bed = Bed::start(source, &with(json!({ "weir": { "one": 1, "two": "b" } }))).await;
        let mut envoy = Envoy::with_bootstrap("envoy", |_| {
            let mut bootstrap = EnvoyOptions::new(dialect, "envoy").bootstrap(bed.address());
            let layer = json!({ "name": "rt", "rtds_layer": { "name": "rt", "rtds_config": over_ads() } });
            bootstrap["layered_runtime"] = json!({ "layers": [layer] });
            bootstrap
        });
        envoy.live().await;
        // Envoy is not live before it has its layers.
        let entries = runtime_entries(&envoy.admin("/runtime").await);
        assert_eq!(entries, json!({ "weir.one": "1", "weir.two": "b" }), "{source:?} {dialect:?}");

        bed.set(&with(json!({ "weir": { "one": 3, "three": true } })));
        envoy
            .until("the changed layer", async |admin| {
                let entries = runtime_entries(&http::get(admin, "/runtime").await.ok()?.body);
                (entries == json!({ "weir.one": "3", "weir.three": "true" })).then_some(())
            })
            .await;
    }
}

/// Every key of the runtime with the value that holds.
fn runtime_entries(answer: &str) -> Value {
    let answer: Value = serde_json::from_str(answer).expect("Envoy answers in JSON");
    let entries = answer["entries"].as_object().cloned().unwrap_or_default();
    entries.into_iter().map(|(key, entry)| (key, entry["final_value"].clone())).collect()
}

const FAULT: &str = "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault";

/// A filter that answers every request with this status.
fn fault(status: u16) -> Value {
    json!({
        "@type": type_url("ecds"),
        "name": "fault",
        "typed_config": {
            "@type": FAULT,
            "abort": { "http_status": status, "percentage": { "numerator": 100 } },
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d02_ecds_a_filter_comes_by_itself_and_changes_by_itself() {
    for (source, dialect) in cells() {
        let port = free_port();
        let mut listener = listener_with_routes("l", port, direct_routes("r", "hello"));
        let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
        let discovery = json!({ "config_source": over_ads(), "type_urls": [FAULT] });
        let filters = manager["http_filters"].as_array_mut().expect("a list");
        filters.insert(0, json!({ "name": "fault", "config_discovery": discovery }));

        let bed = Bed::start(source, &for_all([listener.clone(), fault(418)])).await;
        let mut envoy = live_envoy(bed.address(), dialect).await;
        get_until(port, &[], "the status 418", |answer| answer.status == 418).await;
        bed.set(&for_all([listener, fault(404)]));
        get_until(port, &[], "the status 404", |answer| answer.status == 404).await;
        envoy.wait_for_stat("listener_manager.lds.update_success", |count| count == 1).await;
    }
}

/// The routes of requests whose header `x-scope` has the value `key`.
fn scope(key: &str, routes: &str) -> Value {
    json!({
        "@type": type_url("srds"),
        "name": format!("scope-{key}"),
        "route_configuration_name": routes,
        "key": { "fragments": [{ "string_key": key }] },
    })
}

fn scoped_listener(port: u16) -> Value {
    let mut listener = listener("l", port, "unused");
    let manager = listener["filter_chains"][0]["filters"][0]["typed_config"].as_object_mut();
    let manager = manager.expect("an object");
    manager.remove("rds");
    let extractor = json!({ "name": "x-scope", "index": 0 });
    let scoped = json!({
        "name": "scopes",
        "scope_key_builder": { "fragments": [{ "header_value_extractor": extractor }] },
        "rds_config_source": over_ads(),
        "scoped_rds": { "scoped_rds_config_source": over_ads() },
    });
    manager.insert("scoped_routes".to_owned(), scoped);
    listener
}

async fn expect_scopes(port: u16, scopes: &[(&str, Option<&str>)]) {
    for (key, body) in scopes {
        let what = format!("{body:?} for the scope {key}");
        get_until(port, &[("x-scope", key)], &what, |answer| match body {
            Some(body) => answer.status == 200 && answer.body == *body,
            None => answer.status == 404,
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d02_srds_scopes_come_change_and_go() {
    for (source, dialect) in cells() {
        let port = free_port();
        let with = |scopes: &[(&str, &str)]| {
            let scopes = scopes.iter().map(|(key, routes)| scope(key, routes));
            let routes = ["one", "two", "three"].map(|body| direct_routes(&format!("r-{body}"), body));
            for_all([scoped_listener(port)].into_iter().chain(routes).chain(scopes))
        };
        let bed = Bed::start(source, &with(&[("a", "r-one"), ("b", "r-two")])).await;
        let _envoy = live_envoy(bed.address(), dialect).await;
        expect_scopes(port, &[("a", Some("one")), ("b", Some("two")), ("c", None)]).await;

        bed.set(&with(&[("a", "r-one"), ("b", "r-two"), ("c", "r-three")]));
        expect_scopes(port, &[("c", Some("three")), ("a", Some("one")), ("b", Some("two"))]).await;

        bed.set(&with(&[("a", "r-one"), ("c", "r-two")]));
        expect_scopes(port, &[("b", None), ("c", Some("two")), ("a", Some("one"))]).await;
    }
}

/// A listener for TLS whose certificate is the secret `cert`.
fn tls_listener(port: u16) -> Value {
    let mut listener = listener_with_routes("l", port, direct_routes("r", "hello"));
    listener["filter_chains"][0]["transport_socket"] = json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {
                "tls_certificate_sds_secret_configs": [{ "name": "cert", "sds_config": over_ads() }],
            },
        },
    });
    listener
}

fn secret(certificate: &Certificate) -> Value {
    json!({
        "@type": type_url("sds"),
        "name": "cert",
        "tls_certificate": {
            "certificate_chain": { "inline_string": certificate.chain },
            "private_key": { "inline_string": certificate.key },
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d02_sds_a_certificate_rotates_and_no_connection_fails() {
    let [one, two] = ["one", "two"].map(Certificate::new);
    let mut trusted = tempfile::NamedTempFile::new().expect("a temporary file");
    write!(trusted, "{}{}", one.chain, two.chain).expect("write the certificates");
    for (source, dialect) in cells() {
        let port = free_port();
        let with = |certificate| for_all([tls_listener(port), secret(certificate)]);
        let bed = Bed::start(source, &with(&one)).await;
        let mut envoy = live_envoy(bed.address(), dialect).await;
        let client = Caller::tls(port, trusted.path());
        client.wait_for("one").await;
        client.wait_for_more(20).await;
        bed.set(&with(&two));
        client.wait_for("two").await;
        client.wait_for_more(20).await;
        assert_eq!(client.finish().bodies.len(), 2, "{source:?} {dialect:?}");
        // The listener is the one that it was.
        envoy.wait_for_stat("listener_manager.lds.update_success", |count| count == 1).await;
    }
}
