//! On demand: i10, i14, i15 and i17, with what i09, i12, i13 and w01 have to do with it, through a whole Weir.

use std::time::Duration;

use weir_config::VirtualHosts;
use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::locator;
use weir_testkit::control_plane::{Missing, Request, State};
use weir_testkit::{Dialect, FakeControlPlane, Published, type_url};

use crate::proxy::Settings as ProxySettings;
use crate::weir::{Uses, Weir, in_each_dialect};

/// When silence is taken for absence in these tests.
const SOON: Duration = Duration::from_millis(200);

/// Every name that was ever asked for of a type, each as often as that was.
fn asked(state: &State, type_url: &str) -> Vec<String> {
    let requests = state.requests_for(type_url);
    requests.flat_map(|r| r.names.iter().cloned().chain(r.locators.iter().map(|l| l.name.clone()))).collect()
}

#[tokio::test]
async fn i10_a_virtual_host_is_fetched_when_it_is_asked_for_and_no_other() {
    let vhds = type_url("vhds");
    for uses in [Uses::Nodes, Uses::Locators] {
        let control_plane = uses.control_plane().await;
        let weir = Weir::start(control_plane.address(), Dialect::Delta, uses).await;
        control_plane.set_all([
            Published::text(vhds, "r/vh1", "1").alias("r/one.test").alias("r/uno.test"),
            Published::text(vhds, "r/vh2", "1").alias("r/two.test"),
            Published::text(vhds, "r/none.test", "").alias("r/none.test").without_body(),
        ]);
        let mut client = weir.client(Dialect::Delta, "prod").await;
        client.subscribe(vhds, &[]);
        client.expect_nothing().await;
        assert!(control_plane.look(|state| asked(state, vhds)).is_empty(), "i13: nothing is asked for yet");

        client.subscribe(vhds, &["r/one.test"]);
        let one = client.accept(vhds).await;
        assert_eq!((one.names(), &*one.resource("r/vh1").aliases[0]), (vec!["r/vh1"], "r/one.test"));
        client.subscribe(vhds, &["r/none.test"]);
        assert_eq!(client.accept(vhds).await.resource("r/none.test").body, None, "i12");
        assert_eq!(control_plane.look(|state| asked(state, vhds)), ["r/one.test", "r/none.test"]);

        // Who comes later is served from the cache.
        let mut late = weir.client(Dialect::Delta, "prod").await;
        late.subscribe(vhds, &["r/one.test"]);
        assert_eq!(late.accept(vhds).await.names(), ["r/vh1"]);
        assert_eq!(control_plane.look(|state| asked(state, vhds)), ["r/one.test", "r/none.test"]);
        control_plane.set(Published::text(vhds, "r/vh1", "2").alias("r/one.test"));
        assert_eq!(late.accept(vhds).await.resource("r/vh1").text(), "2");
        assert_eq!(client.accept(vhds).await.resource("r/vh1").text(), "2");
        // A host that was missing appears when it is pushed.
        control_plane.remove(vhds, "r/none.test");
        control_plane.set(Published::text(vhds, "r/vh3", "1").alias("r/none.test"));
        loop {
            let sent = client.accept(vhds).await;
            if sent.names() == ["r/vh3"] {
                break;
            }
        }
    }
}

#[tokio::test]
async fn i17_a_wildcard_of_virtual_hosts_may_bring_all_of_them() {
    let vhds = type_url("vhds");
    for uses in [Uses::Nodes, Uses::Locators] {
        let control_plane = uses.control_plane().await;
        let all = |settings: &mut ProxySettings| settings.server.virtual_hosts = VirtualHosts::Wildcard;
        let upstream = control_plane.address();
        let weir = Weir::start_serving(upstream, Dialect::Delta, uses, |_| (), all).await;
        control_plane.set_all([
            Published::text(vhds, "r/vh1", "1").alias("r/one.test"),
            Published::text(vhds, "s/vh2", "1").alias("s/two.test"),
            Published::text(vhds, "r/none.test", "").alias("r/none.test").without_body().unlisted(),
        ]);
        let mut client = weir.client(Dialect::Delta, "prod").await;
        client.subscribe(vhds, &[]);
        assert_eq!(client.accept(vhds).await.names(), ["r/vh1", "s/vh2"], "of two route configurations");
        assert_eq!(control_plane.look(|state| asked(state, vhds)), ["*"]);

        client.subscribe(vhds, &["r/none.test"]);
        assert_eq!(client.accept(vhds).await.resource("r/none.test").body, None, "i14");
        assert_eq!(control_plane.look(|state| asked(state, vhds)), ["*", "r/none.test"]);
        control_plane.set(Published::text(vhds, "r/vh3", "1").alias("r/three.test"));
        assert_eq!(client.accept(vhds).await.names(), ["r/vh3"]);
        control_plane.remove(vhds, "s/vh2");
        assert_eq!(client.accept(vhds).await.removed, ["s/vh2"]);

        // As Envoy comes back.
        let mut back = weir.client(Dialect::Delta, "prod").await;
        back.subscribe(vhds, &["*", "r/none.test"]);
        assert_eq!(back.accept(vhds).await.names(), ["r/none.test", "r/vh1", "r/vh3"]);
    }
}

#[tokio::test]
async fn i10_a_cluster_beside_a_wildcard_is_fetched_by_its_name_only() {
    let cds = type_url("cds");
    for uses in [Uses::Nodes, Uses::Locators] {
        in_each_dialect(uses, async |control_plane, weir, ends| {
            control_plane.set_all([
                Published::text(cds, "listed", "1"),
                Published::text(cds, "lazy", "1").unlisted(),
                Published::text(cds, "other", "1").unlisted(),
            ]);
            let mut client = weir.client(ends.downstream, "prod").await;
            let mut wildcard = weir.client(ends.downstream, "prod").await;
            client.subscribe(cds, &["*"]);
            wildcard.subscribe(cds, &["*"]);
            assert_eq!(client.accept(cds).await.names(), ["listed"]);
            assert_eq!(wildcard.accept(cds).await.names(), ["listed"]);

            client.subscribe(cds, &["lazy"]);
            assert!(client.accept(cds).await.names().contains(&"lazy"));
            let named = control_plane.look(|state| asked(state, cds));
            let named: Vec<_> = named.into_iter().filter(|name| name != "*" && name != "lazy").collect();
            assert!(named.is_empty(), "only that name: {named:?}");
            wildcard.expect_nothing().await;

            control_plane.set_all(["listed", "lazy"].map(|name| {
                let resource = Published::text(cds, name, "2");
                if name == "lazy" { resource.unlisted() } else { resource }
            }));
            let mut seen = std::collections::BTreeSet::new();
            while seen.len() < 2 {
                let sent = client.accept(cds).await;
                seen.extend(sent.texts().into_iter().filter(|(_, text)| text == "2").map(|(name, _)| name));
            }
            assert_eq!(wildcard.accept(cds).await.names(), ["listed"], "w01");

            client.unsubscribe(cds, &["lazy"]);
            if ends.downstream == Dialect::Delta {
                assert_eq!(client.accept(cds).await.removed, ["lazy"], "i04");
            }
        })
        .await;
    }
}

#[tokio::test]
async fn i10_a_missing_cluster_beside_a_wildcard_is_answered_at_once() {
    let cds = type_url("cds");
    for upstream in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), upstream, Uses::Nodes).await;
        control_plane.set(Published::text(cds, "listed", "1"));
        let mut client = weir.client(Dialect::Delta, "prod").await;
        client.subscribe(cds, &["*"]);
        client.accept(cds).await;
        client.subscribe(cds, &["missing"]);
        if upstream == Dialect::Delta {
            assert_eq!(client.accept(cds).await.removed, ["missing"]);
        }
        control_plane.set(Published::text(cds, "missing", "now").unlisted());
        assert_eq!(client.accept(cds).await.names(), ["missing"]);
    }
}

#[tokio::test]
async fn i14_a_missing_virtual_host_is_answered_by_a_resource_without_a_body() {
    let vhds = type_url("vhds");
    for uses in [Uses::Nodes, Uses::Locators] {
        for missing in Missing::ALL {
            println!("{missing:?}:");
            let control_plane = uses.control_plane().await;
            control_plane.answer_missing(missing);
            let short = |settings: &mut weir_upstream::Settings| settings.does_not_exist = SOON;
            let weir = Weir::start_with(control_plane.address(), Dialect::Delta, uses, short).await;
            let mut client = weir.client(Dialect::Delta, "prod").await;
            client.subscribe(vhds, &["r/none.test"]);
            let answer = client.accept(vhds).await;
            let none = answer.resource("r/none.test");
            assert_eq!((&none.body, &*none.aliases), (&None, &["r/none.test".to_owned()][..]));
            assert!(answer.removed.is_empty(), "i12: {answer:?}");

            // Who comes later is answered from the cache, and who subscribes by locator is not sent a resource.
            let mut late = weir.client(Dialect::Delta, "prod").await;
            late.subscribe(vhds, &["r/none.test"]);
            assert_eq!(late.accept(vhds).await.resource("r/none.test").body, None);
            let mut located = weir.client(Dialect::Delta, "prod").await;
            located.locate(vhds, &[locator("r/none.test", &[("env", "prod")])]);
            let answer = located.accept(vhds).await;
            assert!(answer.resources.is_empty(), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn i15_a_virtual_host_that_lists_a_missing_name_takes_the_place_of_that_answer() {
    let vhds = type_url("vhds");
    for uses in [Uses::Nodes, Uses::Locators] {
        let control_plane = uses.control_plane().await;
        let weir = Weir::start(control_plane.address(), Dialect::Delta, uses).await;
        let mut client = weir.client(Dialect::Delta, "prod").await;
        control_plane.answer_missing(Missing::Marker);
        client.subscribe(vhds, &["r/none.x"]);
        assert_eq!(client.accept(vhds).await.resource("r/none.x").body, None);
        control_plane.set(Published::text(vhds, "r/vh9", "1").alias("r/none.x"));
        let came = client.accept(vhds).await;
        assert_eq!((came.names(), came.removed.len()), (vec!["r/vh9"], 0));
        let mut late = weir.client(Dialect::Delta, "prod").await;
        late.subscribe(vhds, &["r/none.x"]);
        assert_eq!(late.accept(vhds).await.names(), ["r/vh9"]);

        // Nor does a new upstream stream bring back the old answer.
        let streams = control_plane.look(|state| state.streams.len());
        control_plane.reset_streams();
        let again = |request: &Request| request.stream >= streams && request.asks_for("r/none.x");
        control_plane.wait_for_request("the name again", again).await;
        control_plane.set(Published::text(vhds, "r/vh9", "2").alias("r/none.x"));
        assert_eq!(client.accept(vhds).await.resource("r/vh9").text(), "2");
        let mut later = weir.client(Dialect::Delta, "prod").await;
        later.subscribe(vhds, &["r/none.x"]);
        assert_eq!(later.accept(vhds).await.resource("r/vh9").text(), "2");
    }
}
