//! What clients see of an upstream that fails: u03 and u04.

use std::time::Duration;

use weir_testkit::client::DIALECTS;
use weir_testkit::control_plane::Request;
use weir_testkit::{FakeControlPlane, Fault, FaultProxy, Published, type_url};
use weir_upstream::Trial;

use crate::weir::{Speaks, Weir};

const TRIAL: Trial = Trial { answer: Duration::from_millis(100), lasting: Duration::from_millis(100) };

/// Waits until a stream to `upstream` after the first `before` has been answered what it asked of a type.
async fn answered(upstream: &FakeControlPlane, type_url: &str, before: usize) {
    let acknowledges = |r: &Request| r.stream >= before && r.type_url == type_url && !r.nonce.is_empty();
    upstream.wait_for_request("an acknowledgement", acknowledges).await;
}

#[tokio::test]
async fn u04_a_client_notices_nothing_of_a_fallback_and_a_return() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for (upstream, version) in [(&first, "v1"), (&second, "v2")] {
            upstream.set_all(["a", "b"].map(|name| Published::text(cds, name, "1").version(version)));
        }
        let weir = Weir::start_with(first.address(), dialect, Speaks::Nodes, |settings| {
            settings.endpoints.push(second.uri());
            settings.trial = TRIAL;
        });
        let weir = weir.await;
        let mut client = weir.client(dialect, "prod").await;
        client.subscribe(cds, &[]);
        assert_eq!(client.accept(cds).await.names(), ["a", "b"]);

        first.stop().await;
        answered(&second, cds, 0).await;
        client.expect_nothing().await;
        let before = first.look(|state| state.streams.len());
        first.restart().await;
        // One stream is the try, the other is there to stay.
        answered(&first, cds, before + 1).await;
        client.expect_nothing().await;
        first.set(Published::text(cds, "a", "2"));
        assert_eq!(client.accept(cds).await.resource("a").text(), "2");
    }
}

#[tokio::test]
async fn u03_a_peer_that_is_dead_without_a_word_is_left_and_withdraws_nothing() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for upstream in [&first, &second] {
            upstream.set(Published::text(cds, "a", "1"));
        }
        let network = FaultProxy::start(first.address()).await;
        let weir = Weir::start_with(network.address(), dialect, Speaks::Nodes, |settings| {
            settings.endpoints.push(second.uri());
            settings.trial = TRIAL;
            settings.keepalive_interval = Duration::from_millis(100);
            settings.keepalive_timeout = Duration::from_millis(100);
        });
        let weir = weir.await;
        let mut client = weir.client(dialect, "prod").await;
        client.subscribe(cds, &[]);
        client.accept(cds).await;

        network.inject(Fault::Stall);
        answered(&second, cds, 0).await;
        client.expect_nothing().await;
        second.set(Published::text(cds, "a", "2"));
        assert_eq!(client.accept(cds).await.resource("a").text(), "2");
    }
}
