//! What passes, and what does not.

use bytes::Bytes;
use tonic::Code;
use weir_testkit::process::Weir;
use weir_testkit::wait::until;
use weir_testkit::{FakeControlPlane, Published, type_url};

use crate::{discovers, first, metric, relay, reporter};

const V2: &str = "/envoy.service.load_stats.v2.LoadReportingService/StreamLoadStats";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_messages_status_and_half_close_pass_unread_and_unchanged() {
    for parameters in ["native", "streams"] {
        println!("--- {parameters}");
        let control_plane = match parameters {
            "native" => FakeControlPlane::start_tp2().await,
            _ => FakeControlPlane::start().await,
        };
        let weir =
            relay(&control_plane, parameters).section("headers = { x-tenant = \"shop\" }\n").start().await;
        let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
        let mut client = connection.report_load();
        // After the first message anything passes: also what is no message, and what is empty.
        let sent = [first(&reporter()), Bytes::from_static(&[0xff; 100_000]), Bytes::new()];
        sent.iter().for_each(|report| client.send(report.clone()));
        assert_eq!(control_plane.wait_for_reports(0, 3).await, sent);
        for response in [&[0xfe; 50_000][..], b""] {
            control_plane.send_on_load(0, response);
            assert_eq!(client.receive().await.unwrap().unwrap(), response);
        }
        client.half_close();
        control_plane.wait_for("the half-close", |state| state.loads[0].half_closed.then_some(())).await;
        control_plane.send_on_load(0, b"after it");
        assert_eq!(client.receive().await.unwrap().unwrap(), &b"after it"[..]);
        control_plane.end_load(0, Code::Ok, "");
        assert_eq!(client.closed().await.code(), Code::Ok);

        let mut by_old_name = connection.report_load_at(V2);
        by_old_name.send(first(&reporter()));
        control_plane.wait_for_reports(1, 1).await;
        control_plane.end_load(1, Code::FailedPrecondition, "no load here, 100 %");
        let end = by_old_name.closed().await;
        assert_eq!((end.code(), end.message()), (Code::FailedPrecondition, "no load here, 100 %"));
        control_plane.look(|state| {
            for load in &state.loads {
                assert!(load.path.starts_with("/envoy.service.load_stats.v3."), "{}", load.path);
                assert_eq!(load.headers["x-tenant"], "shop");
            }
        });
        for (sender, messages) in [("client", 4.0), ("control_plane", 3.0)] {
            let label = format!("sender=\"{sender}\"");
            assert_eq!(metric(&weir, "weir_load_reports_messages_total{", &label).await, Some(messages));
        }
        assert_eq!(metric(&weir, "weir_load_reports_streams", "").await, Some(0.0));
        let ended = metric(&weir, "weir_load_reports_ends_total{", "FAILED_PRECONDITION").await;
        assert_eq!(ended, Some(1.0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_where_load_reports_go_nowhere_clients_are_sent_so_and_it_is_logged_once() {
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    for _ in 0..3 {
        let mut client = connection.report_load();
        client.send(first(&reporter()));
        let end = client.closed().await;
        assert_eq!(end.code(), Code::Unimplemented);
        assert!(end.message().contains("upstream.load_reports is \"off\""), "{end}");
    }
    let output = weir.child().output();
    let logged = output.lines().filter(|line| line.contains("upstream.load_reports = ")).count();
    assert_eq!(logged, 1, "{output}");
    control_plane.look(|state| assert!(state.loads.is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_a_control_plane_that_does_not_read_reports_holds_up_their_client_and_no_discovery() {
    let control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").start().await;
    let (connection, mut ads) = discovers(&weir, &control_plane, &reporter()).await;
    let client = connection.report_load();
    client.send(first(&reporter()));
    control_plane.wait_for_reports(0, 1).await;
    control_plane.read_loads(false);
    let sent: Vec<Bytes> = (0..100_u8).map(|i| vec![i; 64 << 10].into()).collect();
    sent.iter().for_each(|report| client.send(report.clone()));
    for change in ["2", "3", "4"] {
        control_plane.set(Published::text(type_url("cds"), "c", change));
        assert_eq!(ads.accept(type_url("cds")).await.resource("c").text(), change);
    }
    // What the windows of HTTP/2 take on three hops, by far less than what waits.
    let passed = metric(&weir, "weir_load_reports_messages_total{", "sender=\"client\"").await;
    assert!(passed.is_some_and(|passed| passed < 50.0), "{passed:?}");
    control_plane.read_loads(true);
    assert_eq!(control_plane.wait_for_reports(0, 101).await[1..], sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_streams_have_connections_beside_those_of_discovery_which_end_with_them() {
    const STREAMS: usize = 250;
    let control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    let clients: Vec<_> = (0..STREAMS).map(|_| connection.report_load()).collect();
    clients.iter().for_each(|client| client.send(first(&reporter())));
    control_plane
        .wait_for("all streams", |state| {
            let reports = state.loads.iter().filter(|load| load.reports.len() == 1).count();
            (reports == STREAMS).then_some(())
        })
        .await;
    assert_eq!(metric(&weir, "weir_load_reports_connections{", "").await, Some(3.0));
    assert_eq!(metric(&weir, "weir_load_reports_streams", "").await, Some(STREAMS as f64));
    drop(clients);
    control_plane
        .wait_for("the end of all streams", |state| state.loads.iter().all(|load| !load.open).then_some(()))
        .await;
    until("the connections to be closed", async || {
        (metric(&weir, "weir_load_reports_connections{", "").await == Some(0.0)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_a_connection_has_no_more_streams_than_its_server_takes() {
    const STREAMS: usize = 5;
    let control_plane = FakeControlPlane::start_taking(2).await;
    let weir = relay(&control_plane, "streams").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    let clients: Vec<_> = (0..STREAMS).map(|_| connection.report_load()).collect();
    clients.iter().for_each(|client| client.send(first(&reporter())));
    control_plane
        .wait_for("all streams", |state| {
            let reports = state.loads.iter().filter(|load| load.reports.len() == 1).count();
            (reports == STREAMS).then_some(())
        })
        .await;
    assert_eq!(metric(&weir, "weir_load_reports_connections{", "").await, Some(3.0));
}
