//! Breaks: nothing is sent twice, and what came before a break arrives.

use tonic::Code;
use weir_testkit::client::{Connection, LoadClient};
use weir_testkit::process::Weir;
use weir_testkit::wait::until;
use weir_testkit::{FakeControlPlane, node};

use crate::{discovers, first, relay, reporter};

/// A stream of load reports that is let through, which it is once the control plane is connected.
async fn opens(connection: &Connection, control_plane: &FakeControlPlane) -> LoadClient {
    until("load reports to be relayed", async || {
        let before = control_plane.look(|state| state.loads.len());
        let mut client = connection.report_load();
        client.send(first(&reporter()));
        tokio::select! {
            end = client.closed() => {
                assert_eq!(end.code(), Code::Unavailable, "{end}");
                return None;
            }
            _ = control_plane.wait_for_reports(before, 1) => {}
        }
        Some(client)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_while_the_control_plane_is_away_clients_are_sent_so() {
    let mut control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    let mut client = opens(&connection, &control_plane).await;
    control_plane.stop().await;
    assert_eq!(client.closed().await.code(), Code::Unavailable);
    let mut other = connection.report_load();
    other.send(first(&reporter()));
    assert_eq!(other.closed().await.code(), Code::Unavailable);
    control_plane.restart().await;
    let client = opens(&connection, &control_plane).await;
    client.send("next");
    let last = control_plane.look(|state| state.loads.len()) - 1;
    assert_eq!(control_plane.wait_for_reports(last, 2).await[1], "next");
    control_plane.look(|state| {
        let reports = state.loads.iter().map(|load| load.reports.len()).sum::<usize>();
        assert_eq!(reports, 3, "nothing is sent twice");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_a_drain_ends_streams_once_what_came_is_passed_on() {
    let control_plane = FakeControlPlane::start().await;
    let drain = "[drain]\nover = \"0s\"\ngrace = \"100ms\"\n";
    let mut weir = relay(&control_plane, "streams").section(drain).start().await;
    let (connection, ads) = discovers(&weir, &control_plane, &reporter()).await;
    let mut client = opens(&connection, &control_plane).await;
    for report in ["1", "2", "3"] {
        client.send(report);
    }
    weir.signal("TERM").await;
    let end = client.closed().await;
    assert_eq!(
        (end.code(), end.message()),
        (Code::Unavailable, "the proxy asks its clients to connect anew")
    );
    let reports = control_plane.wait_for_reports(0, 4).await;
    assert_eq!(reports[1..], ["1", "2", "3"]);
    drop((ads, client, connection));
    assert!(weir.ended().await.success());
    control_plane.wait_for("the end of it", |state| (!state.loads[0].open).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_a_client_that_goes_away_leaves_no_stream() {
    let control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    let client = opens(&connection, &control_plane).await;
    drop(client);
    control_plane.wait_for("the end of it", |state| (!state.loads[0].open).then_some(())).await;
    let lost = Connection::to(weir.address()).await;
    let client = lost.report_load();
    client.send(first(&node("other")));
    control_plane.wait_for_reports(1, 1).await;
    drop((client, lost));
    control_plane.wait_for("the end of it", |state| (!state.loads[1].open).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_reports_go_where_discovery_is() {
    let (mut preferred, other) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    preferred.stop().await;
    let endpoints = format!("[\"{}\", \"{}\"]", preferred.uri(), other.uri());
    let weir = Weir::builder().section(&format!(
        "[[upstream]]\nendpoints = {endpoints}\nload_reports = \"relay\"\nstable_after = \"0s\"\n\
         backoff_base = \"10ms\"\nbackoff_max = \"100ms\"\n"
    ));
    let weir = weir.start().await;
    let (connection, _ads) = discovers(&weir, &other, &reporter()).await;
    let mut client = opens(&connection, &other).await;
    preferred.restart().await;
    let end = client.closed().await;
    assert_eq!(end.code(), Code::Unavailable);
    assert!(end.message().contains("used elsewhere now"), "{end}");
    opens(&connection, &preferred).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_a_reload_ends_streams_and_takes_them_elsewhere_or_nowhere() {
    let control_plane = FakeControlPlane::start().await;
    let weir = relay(&control_plane, "streams").start().await;
    let (connection, _ads) = discovers(&weir, &control_plane, &reporter()).await;
    let mut client = opens(&connection, &control_plane).await;
    weir.reconfigure(|text| text.replace("load_reports = \"relay\"", "load_reports = \"off\""));
    assert_eq!(client.closed().await.code(), Code::Unavailable);
    let mut refused = connection.report_load();
    refused.send(first(&reporter()));
    assert_eq!(refused.closed().await.code(), Code::Unimplemented);
    weir.reconfigure(|text| {
        text.replace("load_reports = \"off\"", "load_reports = \"relay\"\nheaders = { x-tenant = \"a\" }")
    });
    weir.child().wait_for_line(&["upstream settings changed"]).await;
    until("load reports to be relayed again", async || {
        let mut client = connection.report_load();
        client.send(first(&reporter()));
        let last = control_plane.look(|state| state.loads.len());
        tokio::select! {
            end = client.closed() => {
                assert!(matches!(end.code(), Code::Unavailable | Code::Unimplemented), "{end}");
                None
            }
            _ = control_plane.wait_for_reports(last, 1) => Some(()),
        }
    })
    .await;
    let tenant = control_plane.look(|state| state.loads.last().unwrap().headers["x-tenant"].clone());
    assert_eq!(tenant, "a");
}
