//! The services beside the aggregated one of v3: those of single types, and those of v2.

use tonic::Code;
use weir_config::{Count, PositiveDuration};
use weir_testkit::client::{Connection, DIALECTS};
use weir_testkit::{Dialect, Published, Received, Service, XdsClient, node, type_url, type_url_v2};
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};

use crate::proxy::{Proxy, Settings};

/// Every method of a single type's service, as Envoy's API names it.
#[rustfmt::skip]
const METHODS: [(&str, &str); 33] = [
    ("lds", "/envoy.service.listener.v3.ListenerDiscoveryService/StreamListeners"),
    ("lds", "/envoy.service.listener.v3.ListenerDiscoveryService/DeltaListeners"),
    ("rds", "/envoy.service.route.v3.RouteDiscoveryService/StreamRoutes"),
    ("rds", "/envoy.service.route.v3.RouteDiscoveryService/DeltaRoutes"),
    ("srds", "/envoy.service.route.v3.ScopedRoutesDiscoveryService/StreamScopedRoutes"),
    ("srds", "/envoy.service.route.v3.ScopedRoutesDiscoveryService/DeltaScopedRoutes"),
    ("vhds", "/envoy.service.route.v3.VirtualHostDiscoveryService/DeltaVirtualHosts"),
    ("cds", "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"),
    ("cds", "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters"),
    ("eds", "/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints"),
    ("eds", "/envoy.service.endpoint.v3.EndpointDiscoveryService/DeltaEndpoints"),
    ("leds", "/envoy.service.endpoint.v3.LocalityEndpointDiscoveryService/DeltaLocalityEndpoints"),
    ("sds", "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets"),
    ("sds", "/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets"),
    ("rtds", "/envoy.service.runtime.v3.RuntimeDiscoveryService/StreamRuntime"),
    ("rtds", "/envoy.service.runtime.v3.RuntimeDiscoveryService/DeltaRuntime"),
    ("ecds", "/envoy.service.extension.v3.ExtensionConfigDiscoveryService/StreamExtensionConfigs"),
    ("ecds", "/envoy.service.extension.v3.ExtensionConfigDiscoveryService/DeltaExtensionConfigs"),
    ("v2 lds", "/envoy.api.v2.ListenerDiscoveryService/StreamListeners"),
    ("v2 lds", "/envoy.api.v2.ListenerDiscoveryService/DeltaListeners"),
    ("v2 rds", "/envoy.api.v2.RouteDiscoveryService/StreamRoutes"),
    ("v2 rds", "/envoy.api.v2.RouteDiscoveryService/DeltaRoutes"),
    ("v2 srds", "/envoy.api.v2.ScopedRoutesDiscoveryService/StreamScopedRoutes"),
    ("v2 srds", "/envoy.api.v2.ScopedRoutesDiscoveryService/DeltaScopedRoutes"),
    ("v2 vhds", "/envoy.api.v2.VirtualHostDiscoveryService/DeltaVirtualHosts"),
    ("v2 cds", "/envoy.api.v2.ClusterDiscoveryService/StreamClusters"),
    ("v2 cds", "/envoy.api.v2.ClusterDiscoveryService/DeltaClusters"),
    ("v2 eds", "/envoy.api.v2.EndpointDiscoveryService/StreamEndpoints"),
    ("v2 eds", "/envoy.api.v2.EndpointDiscoveryService/DeltaEndpoints"),
    ("v2 sds", "/envoy.service.discovery.v2.SecretDiscoveryService/StreamSecrets"),
    ("v2 sds", "/envoy.service.discovery.v2.SecretDiscoveryService/DeltaSecrets"),
    ("v2 rtds", "/envoy.service.discovery.v2.RuntimeDiscoveryService/StreamRuntime"),
    ("v2 rtds", "/envoy.service.discovery.v2.RuntimeDiscoveryService/DeltaRuntime"),
];

fn url(short: &str) -> &'static str {
    short.strip_prefix("v2 ").map_or_else(|| type_url(short), type_url_v2)
}

fn dialect_of(path: &str) -> Dialect {
    let method = path.rsplit('/').next().unwrap();
    if method.starts_with("Stream") { Dialect::Sotw } else { Dialect::Delta }
}

/// Asks for `a`, and states of which type or not.
fn ask_for_a(client: &mut XdsClient, type_url: &str) {
    let (type_url, names) = (type_url.to_owned(), vec!["a".to_owned()]);
    match client.dialect() {
        Dialect::Sotw => {
            client.send_sotw(DiscoveryRequest { type_url, resource_names: names, ..Default::default() });
        }
        Dialect::Delta => {
            let resource_names_subscribe = names;
            client.send_delta(DeltaDiscoveryRequest {
                type_url,
                resource_names_subscribe,
                ..Default::default()
            });
        }
    }
}

/// Accepts a response without stating of which type it was.
fn accept_tersely(client: &mut XdsClient, received: &Received) {
    let response_nonce = received.nonce.clone();
    match client.dialect() {
        Dialect::Sotw => client.send_sotw(DiscoveryRequest {
            version_info: received.version.clone(),
            resource_names: vec!["a".to_owned()],
            response_nonce,
            ..Default::default()
        }),
        Dialect::Delta => {
            client.send_delta(DeltaDiscoveryRequest { response_nonce, ..Default::default() });
        }
    }
}

#[tokio::test]
async fn d01_every_service_serves_its_type_and_fills_it_in() {
    let proxy = Proxy::start().await;
    let connection = Connection::to(proxy.address()).await;
    for (i, (short, path)) in METHODS.into_iter().enumerate() {
        let text = |text: &str| Published::text(url(short), "a", &format!("{text} {i}"));
        proxy.origin.set(text("first"));
        let mut client = connection.open(path, dialect_of(path), &node("n"));
        ask_for_a(&mut client, if i % 3 == 0 { url(short) } else { "" });
        let received = client.receive().await;
        assert_eq!((&*received.type_url, received.texts()), (url(short), text_of(&format!("first {i}"))));
        accept_tersely(&mut client, &received);
        proxy.origin.set(text("second"));
        let received = client.receive().await;
        assert_eq!((&*received.type_url, received.texts()), (url(short), text_of(&format!("second {i}"))));
        proxy.origin.remove(url(short), "a");
    }
}

#[tokio::test]
async fn d13_a_client_that_half_closes_is_answered_before_the_stream_ends() {
    let proxy = Proxy::start().await;
    let connection = Connection::to(proxy.address()).await;
    for (short, path) in METHODS {
        proxy.origin.set(Published::text(url(short), "a", short));
        let mut client = connection.open(path, dialect_of(path), &node("n"));
        ask_for_a(&mut client, "");
        client.finish();
        assert_eq!(client.receive().await.texts(), text_of(short), "{path}");
        assert_eq!(client.closed().await.code(), Code::Ok, "{path}");
    }
    for dialect in DIALECTS {
        let mut client = proxy.client(dialect).await;
        for short in ["cds", "eds", "rds"] {
            ask_for_a(&mut client, url(short));
        }
        ask_for_a(&mut client, type_url("sds"));
        client.finish();
        for short in ["cds", "eds", "rds", "sds"] {
            assert_eq!(client.receive_type(url(short)).await.texts(), text_of(short), "{dialect:?}");
        }
        assert_eq!(client.closed().await.code(), Code::Ok, "{dialect:?}");
    }
    let mut silent = proxy.client(Dialect::Delta).await;
    silent.finish();
    assert_eq!(silent.closed().await.code(), Code::Ok, "nothing was asked for");
}

fn text_of(text: &str) -> Vec<(String, String)> {
    vec![("a".to_owned(), text.to_owned())]
}

#[tokio::test]
async fn d01_every_service_of_a_type_refuses_the_others() {
    let proxy = Proxy::start().await;
    let connection = Connection::to(proxy.address()).await;
    for (short, path) in METHODS {
        let foreign = if short.ends_with("cds") && short != "ecds" { "lds" } else { "cds" };
        for foreign in [type_url(foreign), type_url_v2(foreign), type_url("acme")] {
            let mut client = connection.open(path, dialect_of(path), &node("n"));
            ask_for_a(&mut client, foreign);
            let status = client.closed().await;
            assert_eq!(status.code(), Code::InvalidArgument, "{path}");
            let service = path.split('/').nth(1).unwrap();
            let message = format!("{service} carries {}, not {foreign}: ", url(short));
            assert!(status.message().starts_with(&message), "{status}");
        }
    }
}

#[tokio::test]
async fn d01_what_is_no_method_is_unimplemented() {
    let proxy = Proxy::start().await;
    let connection = Connection::to(proxy.address()).await;
    for path in [
        "/envoy.service.route.v3.VirtualHostDiscoveryService/StreamVirtualHosts",
        "/envoy.service.endpoint.v3.LocalityEndpointDiscoveryService/StreamLocalityEndpoints",
        "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaListeners",
        "/envoy.service.health.v3.HealthDiscoveryService/StreamHealthCheck",
    ] {
        let mut client = connection.open(path, dialect_of(path), &node("n"));
        assert_eq!(client.closed().await.code(), Code::Unimplemented, "{path}");
    }
}

#[tokio::test]
async fn v01_the_aggregated_service_of_v2_carries_types_of_both_generations() {
    for dialect in DIALECTS {
        let proxy = Proxy::start().await;
        let mut client = XdsClient::on(Service::AdsV2, dialect, proxy.address(), &node("n")).await;
        for type_url in [type_url_v2("cds"), type_url("cds"), type_url_v2("eds"), type_url("acme")] {
            proxy.origin.set(Published::text(type_url, "a", type_url));
            client.subscribe(type_url, &["a"]);
            let received = client.accept(type_url).await;
            assert_eq!(received.texts(), [("a".to_owned(), type_url.to_owned())]);
        }
        proxy.origin.remove(type_url_v2("cds"), "a");
        let received = client.accept(type_url_v2("cds")).await;
        assert!(received.resources.is_empty());
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn v01_types_of_v2_have_the_rules_of_their_kind() {
    for dialect in DIALECTS {
        let proxy = Proxy::start().await;
        let (cds, eds) = (type_url_v2("cds"), type_url_v2("eds"));
        for (type_url, name) in [(cds, "a"), (cds, "b"), (eds, "a"), (type_url("cds"), "other")] {
            proxy.origin.set(Published::text(type_url, name, "1"));
        }
        let mut client = XdsClient::on(Service::AdsV2, dialect, proxy.address(), &node("n")).await;
        client.subscribe(eds, &[]);
        client.subscribe(cds, &[]);
        let first = client.accept(cds).await;
        assert_eq!(first.names(), ["a", "b"], "clusters have the legacy wildcard, endpoints have not");
        client.expect_nothing().await;

        proxy.origin.set(Published::text(cds, "a", "2"));
        let changed = client.accept(cds).await;
        let full_state = dialect == Dialect::Sotw;
        assert_eq!(changed.names(), if full_state { vec!["a", "b"] } else { vec!["a"] });
    }
}

/// An Envoy without ADS opens a stream for each cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d01_thousands_of_streams_share_a_connection() {
    const STREAMS: usize = 2000;
    let eds = type_url("eds");
    // On one connection, each request takes as long as all of them.
    let patient = |settings: &mut Settings| {
        settings.server.downstream.receive_timeout = PositiveDuration::seconds::<600>();
        settings.server.limits.max_streams_per_connection = Count::of_u32::<{ 2 * STREAMS as u32 }>();
    };
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(patient).await;
        let endpoints = |i: usize, text: &str| Published::text(eds, &format!("c{i}"), text);
        proxy.origin.set_all((0..STREAMS).map(|i| endpoints(i, "1")));
        let connection = Connection::to(proxy.address()).await;
        let node = node("n").as_large_as_envoy();
        let path = Service::Own("eds").path(dialect);
        let mut clients: Vec<_> = (0..STREAMS).map(|_| connection.open(&path, dialect, &node)).collect();
        for (i, client) in clients.iter_mut().enumerate() {
            client.subscribe(eds, &[&format!("c{i}")]);
        }
        for (i, client) in clients.iter_mut().enumerate() {
            let received = client.accept(eds).await;
            assert_eq!(received.texts(), [(format!("c{i}"), "1".to_owned())]);
        }
        proxy.origin.set_all((0..STREAMS).map(|i| endpoints(i, "2")));
        for (i, client) in clients.iter_mut().enumerate() {
            let received = client.accept(eds).await;
            assert_eq!(received.texts(), [(format!("c{i}"), "2".to_owned())]);
        }
        // Closing them all leaves the connection as good as it was.
        drop(clients);
        let mut late = connection.open(&path, dialect, &node);
        late.subscribe(eds, &["c0"]);
        assert_eq!(late.accept(eds).await.texts(), [("c0".to_owned(), "2".to_owned())]);
    }
}
