//! u09: a Weir that is started anew goes on where an earlier one has ended, whether or not upstream is there.

use std::future::ready;
use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use weir_store::Store;
use weir_testkit::client::DIALECTS;
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, type_url};

use crate::weir::{Ends, Uses, Weir};

const GLOB: &str = "xdstp:///envoy.config.route.v3.RouteConfiguration/shop/*";
const MEMBER: &str = "xdstp:///envoy.config.route.v3.RouteConfiguration/shop/cart";

/// Where processes that come after each other keep what they know.
struct Kept(TempDir);

impl Kept {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn open(&self) -> Store {
        let settings = weir_config::Store::at(self.0.path().join("store"));
        Store::open(settings, None).expect("there is a thread")
    }
}

async fn weir(upstream: SocketAddr, uses: Uses, dialect: Dialect, store: &Store) -> Weir {
    Weir::start_with(upstream, dialect, uses, |settings| {
        settings.store = Some(store.clone());
        settings.does_not_exist = Duration::from_millis(500);
    })
    .await
}

/// Runs `test` in all dialects on either side.
async fn in_each_way(test: impl AsyncFn(FakeControlPlane, Uses, Ends)) {
    for uses in [Uses::Nodes, Uses::Locators] {
        for upstream in DIALECTS {
            for downstream in DIALECTS {
                let native = uses == Uses::Locators;
                // Shown when the test fails.
                println!("{upstream:?} above, {downstream:?} below, TP2: {native}");
                test(uses.control_plane().await, uses, Ends { upstream, downstream }).await;
            }
        }
    }
}

/// Subscribes, and gathers what comes until all of `names` have come, with their texts.
async fn gather(
    client: &mut XdsClient,
    type_url: &str,
    asked: &[&str],
    names: &[&str],
) -> Vec<(String, String)> {
    client.subscribe(type_url, asked);
    let mut texts: Vec<(String, String)> = Vec::new();
    while !names.iter().all(|name| texts.iter().any(|(known, _)| known == name)) {
        texts.extend(client.accept(type_url).await.texts());
    }
    texts.sort();
    texts.dedup();
    texts
}

/// Nothing has come before the answer to something that was known in the first life.
async fn expect_nothing_else(client: &mut XdsClient) {
    let eds = type_url("eds");
    client.subscribe(eds, &["known"]);
    let received = client.receive().await;
    assert_eq!((&*received.type_url, received.names()), (eds, vec!["known"]));
    client.ack(&received);
}

/// What [`expect_nothing_else`] asks for.
fn known() -> Published {
    Published::text(type_url("eds"), "known", "1")
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// What a first Weir has learnt, for its clients with `env=prod` and `env=test`, when the control plane goes away.
async fn first_life(control_plane: &mut FakeControlPlane, uses: Uses, ends: Ends) -> Kept {
    let kept = Kept::new();
    let [cds, rds, sds, eds] = ["cds", "rds", "sds", "eds"].map(type_url);
    control_plane.set_all([
        Published::text(cds, "a", "1").version("a1"),
        Published::text(cds, "b", "1").version("b1"),
        Published::text(cds, "c", "1").version("c1"),
        Published::text(rds, "r", "1").version("r1"),
        Published::text(rds, MEMBER, "1").version("m1"),
        Published::text(sds, "s", "1").version("s1"),
        // Nothing else brings these, so that they show that names were answered.
        Published::text(cds, "only-prod", "1").unlisted(),
        Published::text(cds, "only-test", "1").unlisted(),
        known(),
    ]);
    let store = kept.open();
    let weir = weir(control_plane.address(), uses, ends.upstream, &store).await;
    for env in ["prod", "test"] {
        let mut client = weir.client(ends.downstream, env).await;
        gather(&mut client, cds, &["*"], &["a", "b", "c"]).await;
        gather(&mut client, rds, &["r", "missing", GLOB], &["r", MEMBER]).await;
        gather(&mut client, sds, &["s"], &["s"]).await;
        // That there is no `missing` may be sent whenever it is known.
        gather(&mut client, eds, &["known"], &["known"]).await;
        let mut named = weir.client(ends.downstream, env).await;
        let only = format!("only-{env}");
        gather(&mut named, cds, &["a", &only, "missing"], &["a", &only]).await;
        until_in_sync(&weir).await;
    }
    assert!(store.flush());
    control_plane.stop().await;
    kept
}

/// Until upstream has answered everything, and no collection may have more.
async fn until_in_sync(weir: &Weir) {
    let in_sync = || weir.status.streams().iter().all(|stream| stream.is_connected() && stream.in_sync);
    until("upstream to have answered", || ready(in_sync().then_some(()))).await;
}

/// Until a store has what was sent last, whenever that came.
async fn until_unconfirmed(weir: &Weir, count: usize) {
    until(format!("{count} resources that upstream has not vouched for"), || {
        let streams = weir.status.streams();
        let unconfirmed: usize = streams.iter().flat_map(|stream| stream.unconfirmed.values()).sum();
        ready((unconfirmed == count).then_some(()))
    })
    .await;
}

#[tokio::test]
async fn u09_with_upstream_away_clients_get_everything_but_secrets_at_once() {
    let [cds, rds, sds] = ["cds", "rds", "sds"].map(type_url);
    in_each_way(async |mut control_plane, uses, ends| {
        let kept = first_life(&mut control_plane, uses, ends).await;
        let store = kept.open();
        let weir = weir(control_plane.address(), uses, ends.upstream, &store).await;
        for env in ["prod", "test"] {
            for downstream in DIALECTS {
                let mut client = weir.client(downstream, env).await;
                client.subscribe(sds, &["s"]);
                let clusters = gather(&mut client, cds, &["*"], &["a", "b", "c"]).await;
                assert_eq!(clusters, pairs(&[("a", "1"), ("b", "1"), ("c", "1")]));
                let routes = gather(&mut client, rds, &["r", GLOB], &["r", MEMBER]).await;
                assert_eq!(routes, pairs(&[("r", "1"), (MEMBER, "1")]));
                // Full state waits until nothing in it is unknown, so what is absent has to be known as well.
                let mut named = weir.client(downstream, env).await;
                let clusters = gather(&mut named, cds, &["a", "missing"], &["a"]).await;
                assert_eq!(clusters, pairs(&[("a", "1")]));
                expect_nothing_else(&mut named).await;
                expect_nothing_else(&mut client).await;
            }
        }
        let unconfirmed: usize =
            weir.status.streams().iter().flat_map(|stream| stream.unconfirmed.values()).sum();
        assert!(unconfirmed > 5, "{:?}", weir.status.streams());

        let mut client = weir.client(ends.downstream, "prod").await;
        client.subscribe(sds, &["s"]);
        control_plane.restart().await;
        assert_eq!(client.accept(sds).await.texts(), pairs(&[("s", "1")]), "the secret comes from upstream");
    })
    .await;
}

#[tokio::test]
async fn u09_upstream_is_asked_for_differences_and_equal_content_is_sent_to_nobody() {
    let cds = type_url("cds");
    in_each_way(async |mut control_plane, uses, ends| {
        let kept = first_life(&mut control_plane, uses, ends).await;
        let store = kept.open();
        let weir = weir(control_plane.address(), uses, ends.upstream, &store).await;
        let mut client = weir.client(ends.downstream, "prod").await;
        gather(&mut client, cds, &["*"], &["a", "b", "c"]).await;
        until_unconfirmed(&weir, 3).await;
        let before = control_plane.look(|state| state.streams.len());
        control_plane.restart().await;
        let request = control_plane
            .wait_for_request("the first request", |r| r.stream >= before && r.type_url == cds)
            .await;
        until_unconfirmed(&weir, 0).await;
        client.expect_nothing().await;
        if ends.upstream == Dialect::Delta {
            let stated = request.initial_versions;
            assert_eq!((&*stated["b"], &*stated["c"], stated.len()), ("b1", "c1", 3));
            let sent = control_plane.look(|state| {
                let sent = state.sent.iter().filter(|sent| sent.stream >= before && sent.type_url == cds);
                sent.map(|sent| sent.resources).sum::<usize>()
            });
            assert_eq!(sent, 1, "one of them, to show that the rest is as it was");
        }
    })
    .await;
}

#[tokio::test]
async fn u09_what_changed_came_or_went_while_weir_was_away_is_told_once_upstream_says_so() {
    let cds = type_url("cds");
    in_each_way(async |mut control_plane, uses, ends| {
        let kept = first_life(&mut control_plane, uses, ends).await;
        control_plane.set(Published::text(cds, "b", "2").version("b2"));
        control_plane.set(Published::text(cds, "d", "1").version("d1"));
        control_plane.remove(cds, "c");
        let after = pairs(&[("a", "1"), ("b", "2"), ("d", "1")]);
        {
            let store = kept.open();
            let weir = weir(control_plane.address(), uses, ends.upstream, &store).await;
            let mut client = weir.client(ends.downstream, "prod").await;
            gather(&mut client, cds, &["*"], &["a", "b", "c"]).await;
            control_plane.restart().await;
            match ends.downstream {
                Dialect::Sotw => {
                    let mut texts = Vec::new();
                    while texts != after {
                        texts = client.accept(cds).await.texts();
                        texts.sort();
                    }
                }
                Dialect::Delta => {
                    let (mut texts, mut removed) = (Vec::new(), Vec::new());
                    while texts.len() < 2 || removed.is_empty() {
                        let received = client.accept(cds).await;
                        texts.extend(received.texts());
                        removed.extend(received.removed);
                    }
                    texts.sort();
                    assert_eq!((texts, removed), (pairs(&[("b", "2"), ("d", "1")]), vec!["c".to_owned()]));
                }
            }
            until_unconfirmed(&weir, 0).await;
            assert!(store.flush());
        }
        // And a third life begins with just that.
        control_plane.stop().await;
        let store = kept.open();
        let weir = weir(control_plane.address(), uses, ends.upstream, &store).await;
        let mut client = weir.client(ends.downstream, "prod").await;
        assert_eq!(gather(&mut client, cds, &["*"], &["a", "b", "d"]).await, after);
        expect_nothing_else(&mut client).await;
    })
    .await;
}

#[tokio::test]
async fn u09_what_was_never_answered_is_waited_for() {
    let cds = type_url("cds");
    in_each_way(async |mut control_plane, uses, ends| {
        let kept = first_life(&mut control_plane, uses, ends).await;
        let store = kept.open();
        let weir = weir(control_plane.address(), uses, ends.upstream, &store).await;
        let mut client = weir.client(ends.downstream, "canary").await;
        client.subscribe(cds, &["*"]);
        let mut named = weir.client(Dialect::Sotw, "prod").await;
        named.subscribe(cds, &["a", "never-asked-for"]);
        assert_eq!(named.accept(cds).await.names(), ["a"], "s13: nobody can be asked for the other");
        expect_nothing_else(&mut named).await;
        control_plane.restart().await;
        gather(&mut client, cds, &["*"], &["a", "b", "c"]).await;
    })
    .await;
}

#[tokio::test]
async fn u09_what_lived_for_a_time_only_is_served_for_what_is_left_of_it() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let kept = Kept::new();
        let mut control_plane = FakeControlPlane::start().await;
        control_plane.set_all([
            Published::text(cds, "long", "1").ttl(Duration::from_secs(600)),
            Published::text(cds, "short", "1").ttl(Duration::from_secs(4)),
        ]);
        {
            let store = kept.open();
            let weir = weir(control_plane.address(), Uses::Nodes, dialect, &store).await;
            let mut client = weir.client(Dialect::Delta, "prod").await;
            gather(&mut client, cds, &["*"], &["long", "short"]).await;
            until_in_sync(&weir).await;
        }
        control_plane.stop().await;
        let gone = || async {
            let store = kept.open();
            let weir = weir(control_plane.address(), Uses::Nodes, dialect, &store).await;
            let mut client = weir.client(Dialect::Delta, "prod").await;
            client.subscribe(cds, &["*"]);
            let received = client.accept(cds).await;
            let left = received.resource("long").ttl.expect("its time to live is sent").seconds;
            assert!((300..=600).contains(&left), "{left}");
            (received.names() == ["long"]).then_some(())
        };
        until("the short life to be over", gone).await;
    }
}

#[tokio::test]
async fn u09_a_second_weir_is_warm_although_the_first_has_the_store() {
    let cds = type_url("cds");
    for downstream in DIALECTS {
        let kept = Kept::new();
        let mut control_plane = FakeControlPlane::start().await;
        control_plane.set_all(["a", "b"].map(|name| Published::text(cds, name, "1").version("1")));
        let first_store = kept.open();
        let first = weir(control_plane.address(), Uses::Nodes, Dialect::Delta, &first_store).await;
        let mut client = first.client(downstream, "prod").await;
        gather(&mut client, cds, &["*"], &["a", "b"]).await;
        until_in_sync(&first).await;
        assert!(first_store.flush());

        control_plane.pause();
        let second_store = kept.open();
        let second = weir(control_plane.address(), Uses::Nodes, Dialect::Delta, &second_store).await;
        let mut client = second.client(downstream, "prod").await;
        gather(&mut client, cds, &["*"], &["a", "b"]).await;
        control_plane.resume();
        until_unconfirmed(&second, 0).await;
        // Both write, and what the second has written is there when the first has gone.
        control_plane.set(Published::text(cds, "b", "2").version("2"));
        while client.accept(cds).await.resource("b").text() != "2" {}
        drop((first, first_store));
        control_plane.set(Published::text(cds, "b", "3").version("3"));
        while client.accept(cds).await.resource("b").text() != "3" {}
        drop((second, second_store));
        control_plane.stop().await;
        let store = kept.open();
        let third = weir(control_plane.address(), Uses::Nodes, Dialect::Delta, &store).await;
        let mut client = third.client(downstream, "prod").await;
        let texts = gather(&mut client, cds, &["*"], &["a", "b"]).await;
        assert_eq!(texts, pairs(&[("a", "1"), ("b", "3")]));
    }
}

#[tokio::test]
async fn u09_what_must_not_be_cached_is_not_served_from_before_nor_taken_for_gone() {
    let cds = type_url("cds");
    for downstream in DIALECTS {
        let kept = Kept::new();
        let mut control_plane = FakeControlPlane::start().await;
        control_plane.set_all([
            Published::text(cds, "a", "1"),
            Published::text(cds, "v", "1").do_not_cache(),
            known(),
        ]);
        {
            let store = kept.open();
            let weir = weir(control_plane.address(), Uses::Nodes, Dialect::Delta, &store).await;
            let mut client = weir.client(downstream, "prod").await;
            gather(&mut client, cds, &["*"], &["a", "v"]).await;
            expect_nothing_else(&mut client).await;
            assert!(store.flush());
        }
        control_plane.stop().await;
        let store = kept.open();
        let weir = weir(control_plane.address(), Uses::Nodes, Dialect::Delta, &store).await;
        let mut client = weir.client(downstream, "prod").await;
        client.subscribe(cds, &["*"]);
        // The rest, taken for all there is, would take it from those who have it.
        expect_nothing_else(&mut client).await;
        control_plane.restart().await;
        assert_eq!(client.accept(cds).await.resource("v").text(), "1");
    }
}
