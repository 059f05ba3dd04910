//! The end of a Weir that has clients: they move elsewhere, and nobody notices more than a reconnect.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::interval;
use tonic::Code;
use weir_testkit::client::{Connection, DIALECTS};
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Load, Weir, WeirBuilder, free_port};
use weir_testkit::resource::Published;
use weir_testkit::resources::{envoy_path, published};
use weir_testkit::wait::{PATIENCE, until, within};
use weir_testkit::{Dialect, FakeControlPlane, Received, Service, XdsClient, node, type_url};

const WIDGET: &str = "type.googleapis.com/acme.Widget";

/// More changes than there ever are.
const LAST: usize = 1_000_000;

/// A Weir that takes this long to move its clients elsewhere.
fn weir(control_plane: &FakeControlPlane, over: &str) -> WeirBuilder {
    let drain = format!("[drain]\nover = \"{over}\"\ngrace = \"100ms\"\n");
    Weir::builder().upstream(control_plane, "ads-delta", "streams").section(&drain)
}

/// What is changed all the time: a text with the number of changes.
fn widget(count: usize) -> Published {
    Published::text(WIDGET, "w", &count.to_string())
}

fn count(received: &Received) -> usize {
    received.resources[0].text().parse().expect("a count")
}

/// A client that goes on until it has been sent the change [`LAST`], on one connection as gRPC has it, and returns how
/// often it had to open its stream. No stream goes back; another instance may be a moment behind the one before.
async fn follows(connection: Connection, dialect: Dialect, id: String) -> usize {
    let mut opened = 0;
    loop {
        let mut newest = 0;
        let mut client = connection.open(&Service::Ads.path(dialect), dialect, &node(&id));
        client.subscribe(WIDGET, &["w"]);
        opened += 1;
        let end = loop {
            match client.try_receive(PATIENCE).await {
                None => panic!("{id} was sent nothing after {newest}"),
                Some(Err(end)) => break end,
                Some(Ok(received)) => {
                    client.ack(&received);
                    assert!(count(&received) >= newest, "{id} went back to {}", count(&received));
                    newest = count(&received);
                    if newest == LAST {
                        return opened;
                    }
                }
            }
        };
        if end.code() == Code::Cancelled {
            // It was never opened: the connection went at that moment. gRPC tries again by itself.
            opened -= 1;
            continue;
        }
        assert_eq!(end.code(), Code::Unavailable, "{id}: {end}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_instance_takes_over_and_nobody_misses_a_change() {
    const CLIENTS: usize = 200;
    let control_plane = FakeControlPlane::start().await;
    let (one, port) = (Backend::start("one").await, free_port());
    control_plane.set_all(envoy_path(port, "c", one.address()).iter().map(published));
    control_plane.set(widget(1));
    let mut first = weir(&control_plane, "3s").start().await;

    let mut envoy = Envoy::start(first.address(), &EnvoyOptions::new(Dialect::Delta, "envoy"));
    envoy.live().await;
    let load = Load::start(([127, 0, 0, 1], port).into());
    load.wait_for("one").await;
    let mut clients = JoinSet::new();
    for i in 0..CLIENTS {
        let connection = Connection::to(first.address()).await;
        clients.spawn(follows(connection, DIALECTS[i % 2], format!("n-{i}")));
    }
    until("everybody to be with the first", async || {
        let shown: Value = serde_json::from_str(&first.admin("/drain").await.body).expect("JSON");
        (shown["streams"] == CLIENTS + 1).then_some(())
    })
    .await;

    let second = weir(&control_plane, "3s").beside(&first).start().await;
    first.signal("TERM").await;
    let mut pace = interval(Duration::from_millis(30));
    let changing = async {
        for change in 2..LAST {
            pace.tick().await;
            control_plane.set(widget(change));
        }
    };
    let ended = tokio::select! {
        ended = first.ended() => ended,
        () = changing => panic!("the first does not end"),
    };
    assert_eq!(ended.code(), Some(0));
    control_plane.set(widget(LAST));
    first.child().wait_for_line(&["the last client has gone"]).await;

    let opened = within("the clients to be sent the last change", clients.join_all()).await;
    assert_eq!(opened, [2; CLIENTS], "everybody moves, and nobody comes back twice");

    let two = Backend::start("two").await;
    control_plane.set_all(envoy_path(port, "c", two.address()).iter().map(published));
    load.wait_for("two").await;
    load.wait_for_more(20).await;
    load.finish();
    assert!(second.admin("/metrics").await.body.contains("weir_downstream_streams"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_clients_the_end_does_not_wait() {
    let control_plane = FakeControlPlane::start().await;
    let mut weir = weir(&control_plane, "24h").start().await;
    assert_eq!(weir.terminate().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_is_seen_at_once_and_a_second_signal_ends_it() {
    let control_plane = FakeControlPlane::start().await;
    control_plane.set(widget(1));
    let mut weir = weir(&control_plane, "24h").start().await;
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(WIDGET, &["w"]);
    client.accept(WIDGET).await;
    assert_eq!(weir.admin("/ready").await.status, 200);

    weir.signal("TERM").await;
    weir.child().wait_for_line(&["draining clients"]).await;
    let ready = weir.admin("/ready").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("clients are moved elsewhere"), "{}", ready.body);
    control_plane.set(widget(2));
    assert_eq!(count(&client.accept(WIDGET).await), 2, "who is still here is served");

    weir.signal("TERM").await;
    assert_eq!(client.closed().await.code(), Code::Unavailable);
    assert_eq!(weir.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_interrupts_does_not_wait_for_clients() {
    let control_plane = FakeControlPlane::start().await;
    let mut weir = weir(&control_plane, "24h").start().await;
    let mut client = XdsClient::sotw(weir.address(), &node("n")).await;
    client.subscribe(type_url("cds"), &[]);
    weir.child().wait_for_line(&["client connected"]).await;
    weir.signal("INT").await;
    assert_eq!(client.closed().await.code(), Code::Unavailable);
    assert_eq!(weir.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_its_age_a_client_is_asked_to_connect_anew() {
    let control_plane = FakeControlPlane::start().await;
    control_plane.set(widget(1));
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams");
    let weir =
        weir.downstream("max_connection_age = \"300ms\"").section("[drain]\ngrace = \"50ms\"").start().await;
    let connection = Connection::to(weir.address()).await;
    let mut moved = 0;
    while moved < 3 {
        let mut client = connection.open(&Service::Ads.path(Dialect::Delta), Dialect::Delta, &node("n"));
        client.subscribe(WIDGET, &["w"]);
        let end = match client.try_receive(PATIENCE).await {
            Some(Ok(received)) => {
                client.ack(&received);
                client.closed().await
            }
            Some(Err(end)) => end,
            None => panic!("nothing was sent"),
        };
        // Where it was never opened, the connection went at that moment. gRPC tries again by itself.
        if end.code() != Code::Cancelled {
            assert_eq!(end.code(), Code::Unavailable, "{end}");
            moved += 1;
        }
    }
    let metrics = weir.admin("/metrics").await.body;
    let aged = metrics
        .lines()
        .find_map(|line| line.strip_prefix("weir_downstream_reconnects_requested_total{reason=\"age\"} "));
    assert!(aged.is_some_and(|count| count.parse::<usize>().is_ok_and(|count| count >= moved)), "{metrics}");
}
