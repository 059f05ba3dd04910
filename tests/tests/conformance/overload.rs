//! More clients than there is room for.

use std::pin::pin;

use tonic::{Code, Status};
use weir_config::Count;
use weir_testkit::client::{Connection, DIALECTS};
use weir_testkit::wait::until;
use weir_testkit::{Dialect, Published, Service, XdsClient, node, type_url};

use crate::observed;
use crate::proxy::{Proxy, Settings};

async fn proxy(adjust: impl FnOnce(&mut weir_downstream::Settings)) -> Proxy {
    let proxy = Proxy::start_with(|settings: &mut Settings| adjust(&mut settings.server)).await;
    proxy.origin.set(cluster("1"));
    proxy
}

fn cluster(text: &str) -> Published {
    Published::text(type_url("cds"), "a", text)
}

/// Panics unless a client is rejected with a hint when it may come back.
async fn expect_refused(client: &mut XdsClient, why: &str) {
    client.subscribe(type_url("cds"), &["a"]);
    refused(&client.closed().await, why);
}

/// Returns the status of a stream that is refused, and when the client may come back.
fn refused(end: &Status, why: &str) {
    assert_eq!(end.code(), Code::ResourceExhausted, "{end}");
    assert!(end.message().contains(why), "{end}");
    let pushback = end.metadata().get("grpc-retry-pushback-ms").expect("a hint when to come back");
    let millis: u64 = pushback.to_str().unwrap().parse().unwrap();
    assert!((1000..=2000).contains(&millis), "{millis}");
    let details = String::from_utf8_lossy(end.details()).into_owned();
    assert!(details.contains("type.googleapis.com/google.rpc.RetryInfo"), "{details}");
}

/// Whether a client is served.
async fn is_served(client: &mut XdsClient) -> bool {
    client.subscribe(type_url("cds"), &["a"]);
    match client.try_receive(weir_testkit::wait::PATIENCE).await {
        Some(Ok(received)) => received.resource("a").text() == "1",
        Some(Err(end)) if end.code() == Code::ResourceExhausted => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn streams_that_there_is_no_room_for_are_refused_with_a_hint_and_those_that_run_go_on() {
    for dialect in DIALECTS {
        let proxy = proxy(|settings| settings.limits.max_streams = Count::of::<1>()).await;
        let mut running = proxy.client(dialect).await;
        assert!(is_served(&mut running).await);
        expect_refused(&mut proxy.client(dialect).await, "limits.max_streams").await;
        proxy.origin.set(cluster("2"));
        assert_eq!(running.accept(type_url("cds")).await.resource("a").text(), "2");
        drop(running);
        proxy.origin.set(cluster("1"));
        // The server has yet to notice that there is room.
        until("a stream to be let in", async || {
            is_served(&mut proxy.client(dialect).await).await.then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn new_streams_over_the_rate_are_refused_with_a_hint() {
    let proxy = proxy(|settings| {
        settings.admission.new_streams_per_second = Some(Count::of::<1>());
        settings.admission.new_streams_burst = Some(Count::of::<2>());
    })
    .await;
    // A connection that is there already.
    let connection = Connection::to(proxy.address()).await;
    let open = || connection.open(&Service::Ads.path(Dialect::Delta), Dialect::Delta, &node("n"));
    let mut clients = [open(), open()];
    for client in &mut clients {
        assert!(is_served(client).await);
    }
    // Another second may have begun meanwhile.
    let mut last = loop {
        let mut next = open();
        if !is_served(&mut next).await {
            break next;
        }
    };
    refused(&last.closed().await, "admission.new_streams_per_second");
    until("another second to begin", async || is_served(&mut open()).await.then_some(())).await;
}

#[tokio::test]
async fn streams_of_one_node_are_limited_over_all_its_connections() {
    for dialect in DIALECTS {
        let proxy = proxy(|settings| settings.limits.max_streams_per_node = Some(Count::of::<1>())).await;
        let mut running = proxy.client_of(dialect, &node("leaks")).await;
        assert!(is_served(&mut running).await);
        let counted = observed::metric("weir_downstream_admission_rejections_total");
        let mut second = proxy.client_of(dialect, &node("leaks")).await;
        second.subscribe(type_url("cds"), &["a"]);
        let end = second.closed().await;
        assert_eq!(end.code(), Code::ResourceExhausted, "{end}");
        assert!(
            end.message().contains("1 streams") && end.message().contains("limits.max_streams_per_node"),
            "{end}"
        );
        let details = String::from_utf8_lossy(end.details()).into_owned();
        assert!(details.contains("type.googleapis.com/google.rpc.RetryInfo"), "{details}");
        assert!(observed::metric("weir_downstream_admission_rejections_total") > counted);
        observed::warning(&[("node", "leaks")]).await;
        assert!(is_served(&mut proxy.client_of(dialect, &node("other")).await).await);
        drop(running);
        until("the node to be let in again", async || {
            is_served(&mut proxy.client_of(dialect, &node("leaks")).await).await.then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn connections_that_there_is_no_room_for_are_closed() {
    let proxy = proxy(|settings| settings.limits.max_connections_per_address = Some(Count::of::<1>())).await;
    let mut running = proxy.client(Dialect::Delta).await;
    assert!(is_served(&mut running).await);
    let mut refused = tokio::net::TcpStream::connect(proxy.address()).await.unwrap();
    let read = tokio::io::AsyncReadExt::read(&mut refused, &mut [0]).await;
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    proxy.origin.set(cluster("2"));
    assert_eq!(running.accept(type_url("cds")).await.resource("a").text(), "2");
}

#[tokio::test]
async fn a_first_response_waits_for_its_turn_and_changes_do_not() {
    let proxy = proxy(|settings| settings.admission.max_first_responses = Count::of::<1>()).await;
    let mut running = proxy.client_of(Dialect::Delta, &node("running")).await;
    running.subscribe(type_url("cds"), &["a"]);
    running.accept(type_url("cds")).await;
    // One that was sent its first response and has not answered.
    let mut slow = proxy.client_of(Dialect::Delta, &node("slow")).await;
    slow.subscribe(type_url("cds"), &["a"]);
    let unanswered = slow.receive().await;
    let mut next = proxy.client_of(Dialect::Delta, &node("next")).await;
    next.subscribe(type_url("cds"), &["a"]);
    {
        let mut waits = pin!(next.receive());
        for text in ["2", "3", "4", "5", "6"] {
            proxy.origin.set(cluster(text));
            tokio::select! {
                biased;
                early = &mut waits => panic!("{early:?} did not wait"),
                change = running.accept(type_url("cds")) => assert_eq!(change.resource("a").text(), text),
            }
        }
        slow.ack(&unanswered);
        assert_eq!(waits.await.resource("a").text(), "6");
    }
}
