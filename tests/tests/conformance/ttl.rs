//! Times to live: who is sent them, what refreshes them, and what becomes of what nobody refreshes.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_testkit::client::{Change, DIALECTS, ReceivedResource};
use weir_testkit::constraints::{locator, value};
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};

use crate::proxy::{Proxy, in_each_dialect};
use crate::weir::{Uses, Weir};

/// Short enough to be waited for, and far longer than anything is on its way on a busy machine.
const SHORT: Duration = Duration::from_secs(2);
/// Long enough to outlive any test.
const LONG: Duration = Duration::from_secs(600);

fn mortal(type_url: &str, name: &str, ttl: Duration) -> Published {
    Published::text(type_url, name, "1").ttl(ttl)
}

/// A client that times to live are meant for, in either dialect.
async fn envoy(weir: &Weir, dialect: Dialect) -> XdsClient {
    let node = node("n").user_agent("envoy").metadata("env", "prod");
    XdsClient::connect(dialect, weir.proxy.address(), &node).await
}

/// The resources with these names, in however many responses they come.
async fn all(client: &mut XdsClient, type_url: &str, names: &[&str]) -> BTreeMap<String, ReceivedResource> {
    let mut all = BTreeMap::new();
    while all.len() < names.len() {
        let resources = client.accept(type_url).await.resources.into_iter();
        all.extend(resources.map(|resource| (resource.name.clone(), resource)));
    }
    all
}

/// Prints which case has failed.
struct Case<'a>(&'a str, Dialect, Dialect);

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed, or cut short: {}, {:?} above, {:?} below", self.0, self.1, self.2);
        }
    }
}

/// Runs `test` for each dialect on either side and each of these types; all at once, since it takes time.
async fn in_each(types: &[&str], test: impl AsyncFn(FakeControlPlane, Weir, XdsClient, &str, Dialect)) {
    let one = async |short: &str, upstream, downstream| {
        let _case = Case(short, upstream, downstream);
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), upstream, Uses::Nodes).await;
        let client = envoy(&weir, downstream).await;
        test(control_plane, weir, client, type_url(short), downstream).await;
    };
    for short in types {
        tokio::join!(
            one(short, Dialect::Sotw, Dialect::Sotw),
            one(short, Dialect::Sotw, Dialect::Delta),
            one(short, Dialect::Delta, Dialect::Sotw),
            one(short, Dialect::Delta, Dialect::Delta),
        );
    }
}

#[tokio::test]
async fn t01_a_ttl_is_passed_on_and_what_is_not_refreshed_expires() {
    in_each(&["cds", "rds"], async |control_plane, weir, mut client, type_url, dialect| {
        control_plane.set_all([mortal(type_url, "a", SHORT), Published::text(type_url, "b", "1")]);
        client.subscribe(type_url, &["a", "b"]);
        let received = all(&mut client, type_url, &["a", "b"]).await;
        assert!(received["a"].ttl.is_some_and(|ttl| (1..=2).contains(&ttl.seconds)), "{received:?}");
        assert_eq!((received["b"].ttl, received["b"].wrapped), (None, dialect == Dialect::Delta));
        match dialect {
            Dialect::Delta => assert_eq!(client.accept(type_url).await.removed, ["a"]),
            Dialect::Sotw if type_url.ends_with("Cluster") => {
                assert_eq!(client.accept(type_url).await.names(), ["b"]);
            }
            // It counts by itself, and cannot be notified.
            Dialect::Sotw => {}
        }
        let mut late = envoy(&weir, Dialect::Delta).await;
        late.subscribe(type_url, &["a"]);
        while late.accept(type_url).await.removed.is_empty() {}
        control_plane.send_again(type_url);
        assert_eq!(late.accept(type_url).await.resource("a").text(), "1", "upstream sends it again");
    })
    .await;
}

#[tokio::test]
async fn t02_a_heartbeat_is_passed_on_as_a_heartbeat() {
    in_each(&["cds", "rds"], async |control_plane, _weir, mut client, type_url, dialect| {
        control_plane.set_all([mortal(type_url, "a", LONG), Published::text(type_url, "b", "1")]);
        client.subscribe(type_url, &["a", "b"]);
        let first = all(&mut client, type_url, &["a", "b"]).await;
        control_plane.wait_for_ack(type_url).await;
        for whole in [false, true] {
            match whole {
                false => control_plane.heartbeat(type_url),
                true => control_plane.send_again(type_url),
            }
            let received = client.accept(type_url).await;
            let beat = received.resource("a");
            assert_eq!((&beat.version, beat.ttl), (&first["a"].version, first["a"].ttl));
            match dialect {
                Dialect::Delta => assert_eq!((&beat.body, received.names()), (&None, vec!["a"])),
                Dialect::Sotw => assert_eq!(beat.text(), "1"),
            }
            client.expect_nothing().await;
        }
    })
    .await;
}

#[tokio::test]
async fn t02_what_is_refreshed_lives() {
    in_each(&["rds"], async |control_plane, weir, mut client, type_url, _| {
        let sds = weir_testkit::type_url("sds");
        control_plane.set(mortal(type_url, "a", 2 * SHORT));
        client.subscribe(type_url, &["a"]);
        let first = client.accept(type_url).await.resource("a").clone();
        // Each time that this one expires, as much time has passed.
        let mut clock = envoy(&weir, Dialect::Delta).await;
        control_plane.set(mortal(sds, "clock", SHORT));
        clock.subscribe(sds, &["clock"]);
        for _ in 0..3 {
            while clock.accept(sds).await.removed.is_empty() {}
            control_plane.heartbeat(type_url);
            let beat = client.accept(type_url).await;
            assert_eq!((&beat.resource("a").version, &beat.removed), (&first.version, &vec![]));
            control_plane.send_again(sds);
        }
    })
    .await;
}

#[tokio::test]
async fn t03_a_late_subscriber_gets_what_remains() {
    in_each(&["cds"], async |control_plane, weir, mut client, type_url, dialect| {
        control_plane.set_all([mortal(type_url, "a", LONG), mortal(type_url, "clock", SHORT)]);
        client.subscribe(type_url, &["a", "clock"]);
        all(&mut client, type_url, &["a", "clock"]).await;
        // When this one is gone, the other has less to live.
        match dialect {
            Dialect::Delta => assert_eq!(client.accept(type_url).await.removed, ["clock"]),
            Dialect::Sotw => assert_eq!(client.accept(type_url).await.names(), ["a"]),
        }
        let mut late = envoy(&weir, dialect).await;
        late.subscribe(type_url, &["a"]);
        let ttl = late.accept(type_url).await.resource("a").ttl.expect("a time to live").seconds;
        assert!((LONG.as_secs() / 2..LONG.as_secs()).contains(&(ttl as u64)), "{ttl}");
    })
    .await;
}

#[tokio::test]
async fn t04_a_resource_resent_without_ttl_has_none() {
    in_each(&["cds"], async |control_plane, _weir, mut client, type_url, dialect| {
        control_plane.set_all([mortal(type_url, "a", SHORT).version("1"), mortal(type_url, "clock", SHORT)]);
        client.subscribe(type_url, &["a", "clock"]);
        all(&mut client, type_url, &["a", "clock"]).await;
        control_plane.set(Published::text(type_url, "a", "1").version("2"));
        let again = loop {
            let received = client.accept(type_url).await;
            if let Some(again) = received.resources.iter().find(|r| r.name == "a" && r.ttl.is_none()) {
                break again.clone();
            }
        };
        assert_eq!(again.text(), "1");
        loop {
            let received = client.accept(type_url).await;
            match dialect {
                Dialect::Delta if received.removed.is_empty() => {}
                Dialect::Delta => break assert_eq!(received.removed, ["clock"]),
                Dialect::Sotw if received.resources.len() == 2 => {}
                Dialect::Sotw => break assert_eq!(received.names(), ["a"]),
            }
        }
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn t05_to_a_state_of_the_world_client_a_heartbeat_goes_as_whole_resources() {
    for (short, names) in
        [("cds", vec!["a", "b"]), ("lds", vec!["a", "b"]), ("rds", vec!["a"]), ("eds", vec!["a"])]
    {
        let type_url = type_url(short);
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
        control_plane.set_all([mortal(type_url, "a", LONG), Published::text(type_url, "b", "1")]);
        let mut client = envoy(&weir, Dialect::Sotw).await;
        client.subscribe(type_url, &["a", "b"]);
        all(&mut client, type_url, &["a", "b"]).await;
        control_plane.wait_for_ack(type_url).await;
        control_plane.heartbeat(type_url);
        let received = client.accept(type_url).await;
        assert_eq!(received.names(), names, "{short}");
        assert!(received.resources.iter().all(|resource| resource.text() == "1"));
    }
}

#[tokio::test]
async fn t02_heartbeats_are_of_one_variant() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start_tp2().await;
        let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Locators).await;
        let variant = |env, text| Published::text(cds, "a", text).constrained(value("env", env));
        control_plane.set_all([variant("prod", "p").ttl(LONG), variant("test", "t")]);
        let mut clients = Vec::new();
        for env in ["prod", "test"] {
            let node = node("n").user_agent("weir").feature("xds.config.supports-resource-ttl");
            let mut client = XdsClient::connect(dialect, weir.proxy.address(), &node).await;
            client.locate(cds, &[locator("a", &[("env", env)])]);
            client.accept(cds).await;
            clients.push(client);
        }
        control_plane.wait_for_ack(cds).await;
        control_plane.heartbeat(cds);
        let received = clients[0].accept(cds).await;
        assert_eq!(received.resource("a").body.is_none(), dialect == Dialect::Delta);
        clients[1].expect_nothing().await;
    }
}

#[tokio::test]
async fn s09_a_ttl_is_not_for_who_cannot_take_it() {
    let rds = type_url("rds");
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
    control_plane.set(mortal(rds, "a", LONG));
    for (features, wrapped) in [(&[][..], false), (&["xds.config.resource-in-sotw"], true)] {
        let mut node = node("n").user_agent("grpc-c++").metadata("env", "prod");
        for feature in features {
            node = node.feature(feature);
        }
        let mut client = XdsClient::sotw(weir.proxy.address(), &node).await;
        client.subscribe(rds, &["a"]);
        let received = client.accept(rds).await;
        assert_eq!((received.resource("a").wrapped, received.resource("a").ttl), (wrapped, None));
        control_plane.heartbeat(rds);
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn t02_a_client_that_rejects_a_heartbeat_is_sent_the_resource() {
    let rds = type_url("rds");
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
    control_plane.set(mortal(rds, "a", LONG));
    let mut client = envoy(&weir, Dialect::Delta).await;
    client.subscribe(rds, &["a"]);
    client.accept(rds).await;
    let beat = async |client: &mut XdsClient| {
        control_plane.wait_for_ack(rds).await;
        control_plane.heartbeat(rds);
        client.receive_type(rds).await
    };
    let lost = beat(&mut client).await;
    assert_eq!(lost.resource("a").body, None);
    client.nack(&lost, "unknown resource");
    let whole = beat(&mut client).await;
    assert_eq!(whole.resource("a").text(), "1");
    client.ack(&whole);
    assert_eq!(beat(&mut client).await.resource("a").body, None);
}

#[tokio::test]
async fn t03_a_client_that_reconnects_with_the_current_version_is_sent_it_with_what_remains() {
    in_each(&["cds"], async |control_plane, weir, mut client, type_url, dialect| {
        control_plane.set(mortal(type_url, "a", LONG));
        client.subscribe(type_url, &[]);
        let first = client.accept(type_url).await;
        let mut again = envoy(&weir, dialect).await;
        let initial_versions = first.versions();
        let version = Some(first.version).filter(|_| dialect == Dialect::Sotw);
        again.change(type_url, Change { version, initial_versions, ..Change::default() });
        let received = again.accept(type_url).await;
        let sent = received.resource("a");
        assert_eq!(sent.ttl.map(|ttl| ttl.seconds > 0), Some(true));
        assert_eq!(sent.text(), "1", "it may have dropped it since it stated that ({dialect:?})");
    })
    .await;
}

#[tokio::test]
async fn d08_without_refreshing_nothing_is_sent_again() {
    in_each_dialect(async |proxy: Proxy, mut client| {
        let rds = type_url("rds");
        proxy.origin.set(mortal(rds, "a", LONG));
        client.subscribe(rds, &["a"]);
        client.accept(rds).await;
        proxy.origin.repeat();
        client.expect_nothing().await;
    })
    .await;
}
