//! What a collector receives of the way of a change: real spans of real processes.

use std::net::SocketAddr;

use weir_testkit::collector::ExportedSpan;
use weir_testkit::process::{Weir, WeirBuilder};
use weir_testkit::wait::until;
use weir_testkit::{Collector, FakeControlPlane, Published, XdsClient, node, type_url};
use weir_wire::discovery::{DeltaDiscoveryResponse, TraceContext};

fn cluster(version: &str) -> Published {
    Published::text(type_url("cds"), "a", version)
}

/// A Weir that traces everything, and exports it at once.
fn traced(collector: &Collector, protocol: &str, upstream: SocketAddr, naming: &str) -> WeirBuilder {
    Weir::builder()
        .upstream_at(upstream, "ads-delta", naming)
        .variable("OTEL_BSP_SCHEDULE_DELAY", "50")
        .section(&format!(
            "[telemetry]\nendpoint = \"{}\"\nprotocol = \"{protocol}\"\nmetrics = false\nsample_ratio = 1.0\n\
             propagation_deadline = \"20s\"\n",
            collector.endpoint()
        ))
}

/// Clients that have accepted everything until now.
async fn clients(server: SocketAddr, ids: &[&str]) -> Vec<XdsClient> {
    let mut clients = Vec::new();
    for id in ids {
        let mut client = XdsClient::delta(server, &node(id)).await;
        client.subscribe(type_url("cds"), &[]);
        client.accept(type_url("cds")).await;
        clients.push(client);
    }
    clients
}

/// The response that brought one cluster to so many streams.
async fn response(collector: &Collector, streams: &str) -> ExportedSpan {
    let wanted =
        |span: &ExportedSpan| span.name == "xds.response" && span.attribute("weir.streams") == streams;
    collector.span(&format!("a response that concerns {streams} streams"), wanted).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_trace_follows_a_response_to_the_last_acknowledgement() {
    for protocol in ["grpc", "http/protobuf"] {
        let (collector, control_plane) = (Collector::start().await, FakeControlPlane::start().await);
        control_plane.set(cluster("1"));
        let weir = traced(&collector, protocol, control_plane.address(), "streams").start().await;
        let mut clients = clients(weir.address(), &["n-1", "n-2", "n-3"]).await;

        control_plane.set(cluster("2"));
        for (i, client) in clients.iter_mut().enumerate() {
            let received = client.receive_type(type_url("cds")).await;
            match i {
                1 => client.nack(&received, "no such thing"),
                _ => client.ack(&received),
            }
        }
        let root = response(&collector, "3").await;
        assert_eq!(root.parent, "");
        assert_eq!(root.attribute("xds.type_url"), type_url("cds"));
        assert_eq!((root.attribute("weir.acked"), root.attribute("weir.nacked")), ("2", "1"));
        assert_eq!(root.error.as_deref(), Some("1 have rejected it"));
        assert_eq!(root.resource["service.name"], "weir");
        assert!(root.seconds < 20.0, "it does not wait for the deadline: {}", root.seconds);

        let children = collector.children(&root, 3).await;
        let names: Vec<_> = children.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["xds.commit", "xds.decode", "xds.view"]);
        let (commit, view) = (&children[0], &children[2]);
        assert_eq!((commit.attribute("xds.resources"), commit.attribute("weir.views")), ("1", "1"));
        let counts = ["streams", "sent", "acked", "nacked", "left", "pending"];
        let counts = counts.map(|count| view.attribute(&format!("weir.{count}")));
        assert_eq!(counts, ["3", "3", "2", "1", "0", "0"]);
        assert!(view.attribute("weir.slowest.client").starts_with("n-"), "{view:?}");
        let slowest: f64 = view.attribute("weir.slowest.seconds").parse().expect("seconds");
        assert!(slowest > 0.0 && slowest <= root.seconds + 0.001, "{slowest} {}", root.seconds);
        let [(event, about)] = &view.events[..] else { panic!("{view:?}") };
        assert_eq!(
            (event.as_str(), &*about["xds.client"], &*about["xds.message"]),
            ("xds.nack", "n-2", "no such thing")
        );

        let rejected = format!("\"trace_id\":\"{}\"", root.trace);
        weir.child().wait_for_line(&["client rejected a traced change", "n-2", &rejected]).await;

        let how = if protocol == "grpc" { "grpc" } else { "/v1/traces" };
        collector.look(|sent| assert!(sent.requests.iter().all(|(sent, _)| sent == how), "{protocol}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_ends_at_the_deadline_and_counts_who_has_not_answered() {
    let (collector, control_plane) = (Collector::start().await, FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    let weir = Weir::builder()
        .upstream(&control_plane, "ads-delta", "streams")
        .variable("OTEL_BSP_SCHEDULE_DELAY", "50")
        .section(&format!(
            "[telemetry]\nendpoint = \"{}\"\nsample_ratio = 1.0\npropagation_deadline = \"3s\"\n",
            collector.endpoint()
        ))
        .start()
        .await;
    let mut clients = clients(weir.address(), &["answers", "sleeps"]).await;
    control_plane.set(cluster("2"));
    clients[0].accept(type_url("cds")).await;
    clients[1].receive_type(type_url("cds")).await;
    let root = response(&collector, "2").await;
    assert_eq!((root.attribute("weir.acked"), root.attribute("weir.pending")), ("1", "1"));
    assert_eq!(root.error.as_deref(), Some("1 have not answered in time"));
    assert!(root.seconds >= 3.0, "{}", root.seconds);
    let children = collector.children(&root, 3).await;
    assert_eq!(
        (children[2].attribute("weir.sent"), children[2].attribute("weir.slowest.client")),
        ("2", "answers")
    );

    until("it to be counted", async || {
        let metrics = weir.admin("/metrics").await.body;
        let late = metrics.lines().any(|line| {
            line.starts_with("weir_propagation_duration_seconds_count") && line.contains("outcome=\"late\"")
        });
        late.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cascade_of_weirs_is_one_trace() {
    let (collector, control_plane) = (Collector::start().await, FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    let upper = traced(&collector, "grpc", control_plane.address(), "streams").start().await;
    let lower = traced(&collector, "grpc", upper.address(), "native")
        .variable("OTEL_SERVICE_NAME", "lower")
        // It traces what the upper one does, and nothing else.
        .variable("OTEL_TRACES_SAMPLER", "parentbased_always_off")
        .start()
        .await;
    let mut clients = clients(lower.address(), &["n"]).await;
    control_plane.set(cluster("2"));
    clients[0].accept(type_url("cds")).await;

    let below = |span: &ExportedSpan| {
        span.name == "xds.response"
            && span.resource["service.name"] == "lower"
            && span.attribute("weir.streams") == "1"
    };
    let below = collector.span("the response of the lower one", below).await;
    let view = collector.span("the view of the upper one", |span| span.id == below.parent).await;
    assert_eq!((view.name.as_str(), &*view.resource["service.name"]), ("xds.view", "weir"));
    assert_eq!((view.trace == below.trace, view.attribute("weir.slowest.client")), (true, "weir-test"));
    let root = collector.span("the response of the upper one", |span| span.id == view.parent).await;
    assert_eq!((root.parent.as_str(), root.trace == below.trace), ("", true));
    collector.children(&below, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_control_plane_states_what_trace_a_response_belongs_to() {
    let (collector, control_plane) = (Collector::start().await, FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    let weir = traced(&collector, "grpc", control_plane.address(), "streams")
        .variable("OTEL_TRACES_SAMPLER", "parentbased_always_off")
        .variable("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=named")
        .start()
        .await;
    let mut clients = clients(weir.address(), &["n"]).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (nonce, traceparent) in [("x1", parent.replace("-01", "-00")), ("x2", parent.to_owned())] {
        control_plane.inject_delta(DeltaDiscoveryResponse {
            type_url: type_url("cds").to_owned(),
            nonce: nonce.to_owned(),
            resources: vec![prost::Message::encode_to_vec(&cluster(nonce).wrapped(false)).into()],
            trace_context: Some(TraceContext { traceparent, tracestate: "vendor=1".to_owned() }),
            ..DeltaDiscoveryResponse::default()
        });
        clients[0].accept(type_url("cds")).await;
    }
    let root = response(&collector, "1").await;
    assert_eq!(
        (root.trace.as_str(), root.parent.as_str()),
        ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    );
    assert_eq!(root.resource["service.name"], "named");
    assert_eq!(root.resource["deployment.environment.name"], "test");
    collector.children(&root, 3).await;
    collector.look(|sent| {
        let traces: Vec<_> = sent.spans.iter().filter(|span| span.trace != root.trace).collect();
        assert!(traces.is_empty(), "what is not sampled is not exported: {traces:?}");
    });

    let line = |lines: &[String]| {
        let with = |line: &&String| line.contains("\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\"");
        lines.iter().find(with).cloned()
    };
    drop(clients);
    control_plane.inject_delta(DeltaDiscoveryResponse {
        type_url: type_url("cds").to_owned(),
        nonce: "bad".to_owned(),
        resources: vec![bytes::Bytes::from_static(b"\xff")],
        trace_context: Some(TraceContext { traceparent: parent.to_owned(), tracestate: String::new() }),
        ..DeltaDiscoveryResponse::default()
    });
    let line = weir.child().wait_for("a line of the log with the trace", line).await;
    assert!(line.contains("resource rejected"), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_where_the_environment_states_so() {
    let (collector, control_plane) = (Collector::start().await, FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    let quiet = traced(&collector, "grpc", control_plane.address(), "streams")
        .variable("OTEL_SDK_DISABLED", "true")
        .start()
        .await;
    let mut quiet_clients = clients(quiet.address(), &["quiet"]).await;
    let loud = traced(&collector, "grpc", control_plane.address(), "streams")
        .variable("OTEL_SERVICE_NAME", "loud")
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
        .start()
        .await;
    let mut loud_clients = clients(loud.address(), &["loud"]).await;
    control_plane.set(cluster("2"));
    quiet_clients[0].accept(type_url("cds")).await;
    loud_clients[0].accept(type_url("cds")).await;
    let root = response(&collector, "1").await;
    assert_eq!(root.resource["service.name"], "loud");
    collector.look(|sent| {
        assert!(sent.spans.iter().all(|span| span.resource["service.name"] == "loud"));
        assert!(sent.requests.iter().all(|(_, headers)| headers["authorization"] == "Bearer x"));
    });
    assert_eq!(quiet.admin("/metrics").await.body, "");
}
