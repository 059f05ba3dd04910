//! The fake control plane and the test client against each other: what both sides of later tests rest on.

use weir_testkit::client::{Change, DIALECTS};
use weir_testkit::constraints::{locator, value, variant};
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};

#[tokio::test]
async fn a_wildcard_gets_everything_and_then_what_changes() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        control_plane.set_all([Published::text(cds, "a", "1"), Published::text(cds, "b", "1")]);
        let mut client = XdsClient::connect(dialect, control_plane.address(), &node("n")).await;
        client.subscribe(cds, &[]);
        assert_eq!(client.accept(cds).await.names(), ["a", "b"]);
        control_plane.wait_for_ack(cds).await;
        control_plane.set(Published::text(cds, "b", "1"));
        client.expect_nothing().await;

        control_plane.set(Published::text(cds, "b", "2"));
        let received = client.accept(cds).await;
        assert_eq!(received.resource("b").text(), "2");
        assert_eq!(received.resources.len(), if dialect == Dialect::Sotw { 2 } else { 1 });

        control_plane.remove(cds, "a");
        let received = client.accept(cds).await;
        match dialect {
            Dialect::Sotw => assert_eq!(received.names(), ["b"]),
            Dialect::Delta => assert_eq!(received.removed, ["a"]),
        }
    }
}

#[tokio::test]
async fn names_come_when_they_are_asked_for_and_when_they_appear() {
    let eds = type_url("eds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        control_plane.set(Published::text(eds, "a", "1"));
        let mut client = XdsClient::connect(dialect, control_plane.address(), &node("n")).await;
        client.subscribe(eds, &["a"]);
        assert_eq!(client.accept(eds).await.names(), ["a"]);
        client.subscribe(eds, &["late"]);
        let received = client.accept(eds).await;
        match dialect {
            Dialect::Sotw => assert_eq!(received.names(), ["a"]),
            Dialect::Delta => assert_eq!(received.removed, ["late"]),
        }
        control_plane.set(Published::text(eds, "late", "1"));
        assert_eq!(client.accept(eds).await.resource("late").text(), "1");

        client.unsubscribe(eds, &["a"]);
        client.expect_nothing().await;
        control_plane.set(Published::text(eds, "a", "2"));
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn stated_versions_save_what_did_not_change() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let mut control_plane = FakeControlPlane::start().await;
        control_plane.set_all([Published::text(cds, "a", "1"), Published::text(cds, "b", "1")]);
        let mut client = XdsClient::connect(dialect, control_plane.address(), &node("n")).await;
        client.subscribe(cds, &[]);
        let received = client.accept(cds).await;

        control_plane.restart().await;
        client.closed().await;
        let mut client = XdsClient::connect(dialect, control_plane.address(), &node("n")).await;
        let (version, initial_versions) = (Some(received.version.clone()), received.versions());
        client.change(cds, Change { version, initial_versions, ..Change::default() });
        let answers = client.drain().await;
        assert!(answers.iter().all(|answer| answer.resources.is_empty()), "{answers:?}");
    }
}

#[tokio::test]
async fn locators_get_the_variant_that_matches() {
    let rds = type_url("rds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start_tp2().await;
        let of = |env, text| Published::text(rds, "r", text).constrained(value("env", env));
        control_plane.set_all([of("prod", "p"), of("test", "t")]);
        let mut client = XdsClient::connect(dialect, control_plane.address(), &node("n")).await;
        client.locate(rds, &[locator("r", &[("env", "prod"), ("zone", "a")])]);
        let received = client.accept(rds).await;
        let resource = received.resource("r");
        assert_eq!((resource.text().as_str(), resource.located), ("p", true));
        assert_eq!(resource.constraints, Some(value("env", "prod")));

        control_plane.change(|published| {
            published.retain(|r| r.constraints != Some(value("env", "prod")));
            published.push(Published::text(rds, "r", "a").constrained(value("zone", "a")));
        });
        let received = client.accept(rds).await;
        assert_eq!(received.resource("r").text(), "a");
        if dialect == Dialect::Delta {
            assert_eq!(received.removed_variants, [variant("r", value("env", "prod"))]);
        }
    }
}

#[tokio::test]
async fn nodes_get_what_is_for_them() {
    let lds = type_url("lds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        control_plane.set_all([
            Published::text(lds, "l", "p").for_metadata("env", "prod"),
            Published::text(lds, "l", "t").for_metadata("env", "test"),
        ]);
        for (env, text) in [("prod", "p"), ("test", "t")] {
            let node = node("n").metadata("env", env).as_large_as_envoy();
            let mut client = XdsClient::connect(dialect, control_plane.address(), &node).await;
            client.subscribe(lds, &[]);
            assert_eq!(client.accept(lds).await.resource("l").text(), text);
        }
        control_plane.wait_for("both nodes", |s| (s.open_streams().count() == 0).then_some(())).await;
    }
}

#[tokio::test]
async fn the_record_holds_refusals_and_pauses_hold_answers_back() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        control_plane.pause();
        control_plane.set(Published::text(cds, "a", "1"));
        let mut client = XdsClient::connect(dialect, control_plane.address(), &node("n")).await;
        client.subscribe(cds, &[]);
        control_plane.wait_for_request("CDS", |request| request.type_url == cds).await;
        assert!(control_plane.look(|state| state.sent.is_empty()));
        control_plane.resume();
        let received = client.receive().await;
        client.nack(&received, "no");
        let nack = control_plane.wait_for_request("a NACK", |request| request.error.is_some()).await;
        assert_eq!((nack.nonce, nack.error.unwrap().message), (received.nonce, "no".to_owned()));

        control_plane.reset_streams();
        assert_eq!(client.closed().await.code(), tonic::Code::Unavailable);
        control_plane.wait_until_alone().await;
    }
}
