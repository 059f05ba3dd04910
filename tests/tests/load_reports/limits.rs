//! Who may report load, and how much.

use bytes::Bytes;
use tonic::Code;
use weir_testkit::client::{Connection, Dialect};
use weir_testkit::{FakeControlPlane, Published, node, type_url};

use crate::support::pki::Pki;
use crate::{discovers, first, metric, relay, reporter};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_streams_beyond_the_limit_are_refused_with_the_limit() {
    let control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").section("[limits]\nmax_load_streams = 1\n").start().await;
    let (connection, mut ads) = discovers(&weir, &control_plane, &reporter()).await;
    let one = connection.report_load();
    one.send(first(&reporter()));
    control_plane.wait_for_reports(0, 1).await;
    let end = connection.report_load().closed().await;
    assert_eq!(end.code(), Code::ResourceExhausted);
    assert!(end.message().contains("limits.max_load_streams"), "{end}");
    let rejected = metric(&weir, "weir_downstream_admission_rejections_total{", "load_streams").await;
    assert_eq!(rejected, Some(1.0));
    drop(one);
    control_plane.wait_for("the end of the first", |state| (!state.loads[0].open).then_some(())).await;
    let mut again = connection.report_load();
    again.send(first(&reporter()));
    control_plane.wait_for_reports(1, 1).await;
    control_plane.end_load(1, Code::Ok, "");
    assert_eq!(again.closed().await.code(), Code::Ok);
    control_plane.set(Published::text(type_url("cds"), "c", "2"));
    assert_eq!(ads.accept(type_url("cds")).await.resource("c").text(), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_e05_what_cannot_be_read_ends_the_stream_after_what_came_before() {
    let control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").downstream("max_request_size = \"1KiB\"").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    let mut large = connection.report_load();
    large.send(first(&reporter()));
    large.send(vec![0; 1025]);
    let end = large.closed().await;
    assert_eq!(end.code(), Code::ResourceExhausted);
    assert!(end.message().contains("1025 bytes is over the limit of 1024"), "{end}");
    assert_eq!(control_plane.wait_for_reports(0, 1).await, [first(&reporter())]);
    control_plane.wait_for("the end of it", |state| (!state.loads[0].open).then_some(())).await;

    let mut malformed = connection.report_load();
    malformed.send(Bytes::from_static(&[0x0a, 9, 0]));
    let end = malformed.closed().await;
    assert_eq!(end.code(), Code::Internal);
    assert!(end.message().contains("cannot decode the report"), "{end}");
    let mut silent = connection.report_load();
    silent.half_close();
    assert_eq!(silent.closed().await.code(), Code::Ok);
    control_plane.look(|state| assert_eq!(state.loads.len(), 1, "there is nothing to pass on"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_p20_a_client_reports_as_the_node_that_its_certificate_vouches_for() {
    const SHOP: &str = "spiffe://prod.example/ns/shop";
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    control_plane.set(Published::text(type_url("cds"), "c", "1"));
    let weir = relay(&control_plane, "streams")
        .section("[upstream.node]\nverify = [\"spiffe://prod.example/ns/{node.metadata.NAMESPACE}\"]\n")
        .section(&pki.tls("downstream.tls", ""))
        .start()
        .await;
    let connection = Connection::secured(weir.address(), &pki.shows(SHOP)).await.unwrap();
    let of = |namespace: &str| node("a").metadata("NAMESPACE", namespace);
    // Discovery has no node of the client here, so there is nothing to verify.
    let mut ads = connection.ads(Dialect::Delta, &of("bank"));
    ads.subscribe(type_url("cds"), &["c"]);
    ads.accept(type_url("cds")).await;
    for namespace in ["bank", ""] {
        let mut client = connection.report_load();
        client.send(first(&of(namespace)));
        let end = client.closed().await;
        assert_eq!(end.code(), Code::PermissionDenied);
        assert!(end.message().contains("(spiffe://prod.example/ns/shop) has none of the names"), "{end}");
    }
    let client = connection.report_load();
    client.send(first(&of("shop")));
    assert_eq!(control_plane.wait_for_reports(0, 1).await, [first(&of("shop"))]);
    assert_eq!(metric(&weir, "weir_downstream_nodes_refused_total{", "unverified").await, Some(2.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_p21_reports_go_with_the_headers_of_their_client() {
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    control_plane.set(Published::text(type_url("cds"), "c", "1"));
    let weir = relay(&control_plane, "streams")
        .section("headers = { x-client = \"URI={identity.spiffe}\" }\n[upstream.node]\nunique_id = false\n")
        .section(&pki.tls("downstream.tls", ""))
        .start()
        .await;
    for (i, name) in ["spiffe://prod.example/shop", "spiffe://prod.example/bank"].into_iter().enumerate() {
        let connection = Connection::secured(weir.address(), &pki.shows(name)).await.unwrap();
        let mut ads = connection.ads(Dialect::Delta, &node("a"));
        ads.subscribe(type_url("cds"), &["c"]);
        ads.accept(type_url("cds")).await;
        let client = connection.report_load();
        client.send(first(&node("a")));
        control_plane.wait_for_reports(i, 1).await;
        let header = control_plane.look(|state| state.loads[i].headers["x-client"].clone());
        assert_eq!(header, format!("URI={name}"));
    }
}
