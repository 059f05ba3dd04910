//! What clients get of whose questions nothing is cached, while there is nobody to ask: u14.

use tonic::Code;
use weir_config::{ColdStart, ColdStarts};
use weir_testkit::client::{Connection, DIALECTS};
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};

use crate::observed;
use crate::weir::{Uses, Weir};

/// A Weir in front of a control plane that is away, and gives `envoy` this answer.
async fn cold(dialect: Dialect, envoy: ColdStart) -> (FakeControlPlane, Weir) {
    let mut control_plane = FakeControlPlane::start().await;
    control_plane.stop().await;
    let address = control_plane.address();
    let weir = Weir::start_serving(
        address,
        dialect,
        Uses::Nodes,
        |_| (),
        |settings| {
            settings.server.downstream.cold_start =
                ColdStarts { envoy, other: ColdStart::Error, ..ColdStarts::default() };
        },
    );
    (control_plane, weir.await)
}

async fn client(weir: &Weir, dialect: Dialect, user_agent: &str) -> XdsClient {
    weir.proxy.client_of(dialect, &node("n").metadata("env", "prod").user_agent(user_agent)).await
}

/// Waits until the streams of Weir know that there is nobody to ask of a type: somebody who is sent that, is.
async fn nobody_to_ask(weir: &Weir, type_url: &str) {
    let mut sent = client(weir, Dialect::Delta, "sent").await;
    sent.subscribe(type_url, &["nobody-has-it"]);
    assert_eq!(sent.accept(type_url).await.error_codes(), [("nobody-has-it", Code::Unavailable)]);
}

#[tokio::test]
async fn u14_who_can_be_told_is_told_by_name_until_somebody_can_be_asked() {
    let rds = type_url("rds");
    for dialect in DIALECTS {
        let (mut control_plane, weir) = cold(dialect, ColdStart::Hold).await;
        control_plane.set(Published::text(rds, "r", "1"));
        let mut early = client(&weir, dialect, "sent").await;
        early.subscribe(rds, &["r"]);
        assert_eq!(early.accept(rds).await.error_codes(), [("r", Code::Unavailable)]);
        let mut late = client(&weir, dialect, "sent").await;
        late.subscribe(rds, &["s"]);
        assert_eq!(late.accept(rds).await.error_codes(), [("s", Code::Unavailable)], "what comes later too");
        control_plane.restart().await;
        assert_eq!(early.accept(rds).await.resource("r").text(), "1");
    }
}

#[tokio::test]
async fn u14_an_envoy_waits_and_is_served_when_somebody_can_be_asked() {
    let (cds, eds) = (type_url("cds"), type_url("eds"));
    for dialect in DIALECTS {
        let (mut control_plane, weir) = cold(dialect, ColdStart::Hold).await;
        control_plane.set_all([Published::text(cds, "c", "1"), Published::text(eds, "e", "1")]);
        let mut envoy = client(&weir, dialect, "envoy").await;
        envoy.subscribe(cds, &[]);
        envoy.subscribe(eds, &["e"]);
        nobody_to_ask(&weir, eds).await;
        // The first that it receives is what it has asked for.
        control_plane.restart().await;
        assert_eq!(envoy.accept(cds).await.names(), ["c"]);
        assert_eq!(envoy.accept(eds).await.names(), ["e"]);
    }
}

#[tokio::test]
async fn u14_a_stream_of_grpc_is_closed_so_that_it_falls_back() {
    let lds = type_url("lds");
    for dialect in DIALECTS {
        let (mut control_plane, weir) = cold(dialect, ColdStart::Hold).await;
        control_plane.set(Published::text(lds, "l", "1"));
        let closed = observed::metric("weir_downstream_closed_unavailable_total");
        let mut grpc = client(&weir, dialect, "gRPC C-core").await;
        grpc.subscribe(lds, &["l"]);
        let end = grpc.closed().await;
        assert_eq!(end.code(), Code::Unavailable, "{end}");
        assert!(end.message().contains("no control plane can be reached"), "{end}");
        assert!(observed::metric("weir_downstream_closed_unavailable_total") > closed);
        control_plane.restart().await;
        until("the control plane to be asked", async || {
            let mut again = client(&weir, dialect, "gRPC C-core").await;
            again.subscribe(lds, &["l"]);
            let answer = again.try_receive(weir_testkit::wait::PATIENCE).await;
            answer?.ok().map(|received| assert_eq!(received.resource("l").text(), "1"))
        })
        .await;
    }
}

#[tokio::test]
async fn u14_a_wildcard_is_closed_too_where_that_is_configured() {
    for dialect in DIALECTS {
        let (_control_plane, weir) = cold(dialect, ColdStart::Close).await;
        let mut envoy = client(&weir, dialect, "envoy").await;
        envoy.subscribe(type_url("cds"), &[]);
        assert_eq!(envoy.closed().await.code(), Code::Unavailable);
    }
}

#[tokio::test]
async fn u14_a_stream_is_closed_too_that_has_its_first_request_late() {
    let (cds, rds) = (type_url("cds"), type_url("rds"));
    for dialect in DIALECTS {
        let (_control_plane, weir) = cold(dialect, ColdStart::Close).await;
        // What it asks for is asked for already, in vain: nothing changes when the next one asks.
        let mut first = client(&weir, dialect, "sent").await;
        first.subscribe(cds, &[]);
        nobody_to_ask(&weir, cds).await;
        let connection = Connection::to(weir.proxy.address()).await;
        let opened =
            |user_agent| connection.ads(dialect, &node("n").metadata("env", "prod").user_agent(user_agent));
        let mut late = opened("envoy");
        let mut next = opened("sent");
        next.subscribe(rds, &["r"]);
        assert_eq!(next.accept(rds).await.error_codes(), [("r", Code::Unavailable)], "both are open");
        late.subscribe(cds, &[]);
        assert_eq!(late.closed().await.code(), Code::Unavailable);
    }
}

#[tokio::test]
async fn u14_what_is_cached_is_served_and_its_stream_goes_on() {
    let (lds, rds) = (type_url("lds"), type_url("rds"));
    for dialect in DIALECTS {
        let (mut control_plane, weir) = cold(dialect, ColdStart::Close).await;
        control_plane.set(Published::text(lds, "known", "1"));
        control_plane.restart().await;
        let mut before = client(&weir, dialect, "sent").await;
        before.subscribe(lds, &["known"]);
        assert!(!before.accept(lds).await.resource("known").text().is_empty());
        control_plane.stop().await;
        nobody_to_ask(&weir, rds).await;

        let mut grpc = client(&weir, dialect, "gRPC Go").await;
        grpc.subscribe(lds, &["known", "unknown"]);
        let first = grpc.accept(lds).await;
        assert_eq!(first.names(), ["known"]);
        // Incrementally, what is known does not wait for what is not.
        let sent = match dialect {
            Dialect::Delta if first.errors.is_empty() => grpc.accept(lds).await,
            _ => first,
        };
        assert_eq!(sent.error_codes(), [("unknown", Code::Unavailable)]);
        grpc.subscribe(rds, &["r"]);
        assert_eq!(grpc.accept(rds).await.error_codes(), [("r", Code::Unavailable)]);
        let mut envoy = client(&weir, dialect, "envoy").await;
        envoy.subscribe(lds, &["known"]);
        envoy.accept(lds).await;
        envoy.subscribe(rds, &["r"]);
        match dialect {
            Dialect::Sotw => {
                control_plane.set(Published::text(rds, "r", "1"));
                control_plane.restart().await;
                assert_eq!(
                    envoy.accept(rds).await.resource("r").text(),
                    "1",
                    "the first that it receives of it"
                );
            }
            Dialect::Delta => assert_eq!(envoy.accept(rds).await.error_codes(), [("r", Code::Unavailable)]),
        }
    }
}

#[tokio::test]
async fn u14_a_weir_in_front_gives_its_own_clients_what_is_right_for_them() {
    let rds = type_url("rds");
    let (mut control_plane, inner) = cold(Dialect::Delta, ColdStart::Hold).await;
    // Closed by the inner one, the outer one has nobody to ask, as if the inner one were away.
    let outer = Weir::start(inner.proxy.address(), Dialect::Delta, Uses::Nodes).await;
    let mut envoy = client(&outer, Dialect::Sotw, "envoy").await;
    envoy.subscribe(rds, &["r"]);
    let mut grpc = client(&outer, Dialect::Sotw, "gRPC Go").await;
    grpc.subscribe(rds, &["r"]);
    assert_eq!(grpc.closed().await.code(), Code::Unavailable);
    control_plane.set(Published::text(rds, "r", "1"));
    control_plane.restart().await;
    assert_eq!(envoy.accept(rds).await.resource("r").text(), "1", "the first that it receives of it");
}
