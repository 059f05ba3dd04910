//! What must not be cached (`cache_control.do_not_cache`): for those who are subscribed when it comes, and fetched
//! anew for everyone who comes later.

use std::future::ready;

use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::{locator, value};
use weir_testkit::node;
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, RestClient, XdsClient, type_url};
use weir_upstream::Services;

use crate::weir::{Ends, Uses, Weir, in_each_dialect};

/// A resource that must not be cached.
fn uncacheable(short: &str, name: &str, text: &str) -> Published {
    Published::text(type_url(short), name, text).do_not_cache()
}

fn text(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

/// The resources with these names, in however many responses they come.
async fn all(client: &mut XdsClient, type_url: &str, names: &[&str]) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    while texts.len() < names.len() {
        texts.extend(client.accept(type_url).await.texts());
    }
    texts.sort_unstable();
    texts
}

/// Waits until none of these holds anything.
async fn forgotten(weirs: &[&Weir]) {
    let held = || weirs.iter().map(|weir| weir.proxy.database.statistics().variants).sum::<usize>();
    until("it is forgotten", || ready((held() == 0).then_some(()))).await;
}

/// By name, of a type whose responses are the full state and of one whose are not; and by wildcard.
const SUBSCRIPTIONS: [(&str, &[&str]); 3] = [("eds", &["a"]), ("cds", &["a"]), ("cds", &[])];

#[tokio::test]
async fn p17_it_is_delivered_and_fetched_anew_for_who_comes_later() {
    for (short, names) in SUBSCRIPTIONS {
        in_each_dialect(Uses::Nodes, async |control_plane, weir, Ends { downstream, .. }| {
            println!("{short} {names:?}");
            let type_url = type_url(short);
            control_plane.set(uncacheable(short, "a", "1"));
            let mut first = weir.client(downstream, "prod").await;
            first.subscribe(type_url, names);
            assert_eq!(first.accept(type_url).await.texts(), [text("a", "1")]);
            control_plane.wait_for_ack(type_url).await;

            let sent = control_plane.look(|state| state.sent.len());
            let mut later = [weir.client(downstream, "prod").await, weir.client(downstream, "prod").await];
            for client in &mut later {
                client.subscribe(type_url, names);
                assert_eq!(client.accept(type_url).await.texts(), [text("a", "1")]);
            }
            assert!(control_plane.look(|state| state.sent.len()) > sent, "it was fetched");
            control_plane.wait_for_ack(type_url).await;

            let asked = control_plane.look(|state| state.requests.len());
            control_plane.pause();
            let mut last = weir.client(downstream, "prod").await;
            last.subscribe(type_url, names);
            control_plane.wait_for("another request", |s| (s.requests.len() > asked).then_some(())).await;
            control_plane.set(uncacheable(short, "a", "2"));
            control_plane.resume();
            let [second, third] = &mut later;
            for client in [&mut first, second, third, &mut last] {
                assert_eq!(client.accept(type_url).await.texts(), [text("a", "2")], "and nothing else");
            }
            drop((first, later, last));
            forgotten(&[&weir]).await;
        })
        .await;
    }
}

#[tokio::test]
async fn p17_what_is_beside_it_is_cached() {
    in_each_dialect(Uses::Nodes, async |control_plane, weir, Ends { downstream, .. }| {
        let cds = type_url("cds");
        control_plane.set_all([uncacheable("cds", "a", "1"), Published::text(cds, "b", "1")]);
        let mut first = weir.client(downstream, "prod").await;
        first.subscribe(cds, &[]);
        assert_eq!(all(&mut first, cds, &["a", "b"]).await, [text("a", "1"), text("b", "1")]);
        control_plane.wait_for_ack(cds).await;
        let mut later = weir.client(downstream, "prod").await;
        later.subscribe(cds, &[]);
        let whole = [text("a", "1"), text("b", "1")];
        match downstream {
            // Whoever takes a state for whole deletes what is missing there.
            Dialect::Sotw => assert_eq!(later.accept(cds).await.texts(), whole),
            Dialect::Delta => assert_eq!(all(&mut later, cds, &["a", "b"]).await, whole),
        }
        control_plane.wait_for_ack(cds).await;
        control_plane.set(Published::text(cds, "b", "2"));
        for client in [&mut first, &mut later] {
            let sent = client.accept(cds).await.texts();
            assert!(sent.contains(&text("b", "2")), "{sent:?}");
            // Full state repeats to everyone what it has.
            assert_eq!(sent.contains(&text("a", "1")), downstream == Dialect::Sotw, "{sent:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn p17_nobody_is_served_it_while_upstream_is_away() {
    in_each_dialect(Uses::Nodes, async |mut control_plane, weir, Ends { downstream, .. }| {
        let eds = type_url("eds");
        control_plane.set_all([uncacheable("eds", "a", "1"), Published::text(eds, "b", "1")]);
        let mut first = weir.client(downstream, "prod").await;
        first.subscribe(eds, &["a", "b"]);
        all(&mut first, eds, &["a", "b"]).await;
        control_plane.wait_for_ack(eds).await;
        control_plane.stop().await;
        let mut later = weir.client(downstream, "prod").await;
        later.subscribe(eds, &["a", "b"]);
        assert_eq!(later.accept(eds).await.texts(), [text("b", "1")]);
        control_plane.set(uncacheable("eds", "a", "2"));
        control_plane.restart().await;
        for client in [&mut first, &mut later] {
            assert_eq!(client.accept(eds).await.texts(), [text("a", "2")], "and nothing older");
        }
    })
    .await;
}

#[tokio::test]
async fn p17_absence_is_told_to_all_and_who_waits_in_vain_learns_of_it() {
    in_each_dialect(Uses::Nodes, async |control_plane, weir, Ends { downstream, .. }| {
        let cds = type_url("cds");
        control_plane.set(uncacheable("cds", "a", "1"));
        let mut first = weir.client(downstream, "prod").await;
        first.subscribe(cds, &["a"]);
        first.accept(cds).await;
        control_plane.wait_for_ack(cds).await;
        let asked = control_plane.look(|state| state.requests.len());
        control_plane.pause();
        let mut later = weir.client(downstream, "prod").await;
        later.subscribe(cds, &["a"]);
        control_plane.wait_for("another request", |s| (s.requests.len() > asked).then_some(())).await;
        control_plane.remove(cds, "a");
        control_plane.resume();
        for client in [&mut first, &mut later] {
            let sent = client.accept(cds).await;
            assert_eq!(sent.names(), Vec::<&str>::new());
            match downstream {
                Dialect::Delta => assert_eq!(sent.removed, ["a"]),
                Dialect::Sotw => {}
            }
        }
    })
    .await;
}

#[tokio::test]
async fn p17_each_parameter_set_is_fetched_for_by_itself() {
    in_each_dialect(Uses::Locators, async |control_plane, weir, Ends { downstream, .. }| {
        let eds = type_url("eds");
        let variant = |env: &str| uncacheable("eds", "a", env).constrained(value("env", env));
        control_plane.set_all([variant("prod"), variant("test")]);
        let mut first = weir.client(downstream, "prod").await;
        first.locate(eds, &[locator("a", &[("env", "prod")])]);
        assert_eq!(first.accept(eds).await.texts(), [text("a", "prod")]);
        control_plane.wait_for_ack(eds).await;
        for env in ["prod", "test", "prod"] {
            let mut later = weir.client(downstream, "prod").await;
            later.locate(eds, &[locator("a", &[("env", env)])]);
            assert_eq!(later.accept(eds).await.texts(), [text("a", env)]);
        }
        assert!(weir.proxy.database.renewals() >= 1);
        first.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn p17_who_asks_again_has_it_fetched_again_through_every_proxy() {
    for dialect in DIALECTS {
        println!("{dialect:?}");
        let control_plane = FakeControlPlane::start_tp2().await;
        let far = Weir::start(control_plane.address(), dialect, Uses::Locators).await;
        let near = Weir::start(far.proxy.address(), dialect, Uses::Locators).await;
        let eds = type_url("eds");
        control_plane.set(uncacheable("eds", "a", "1"));
        let mut first = near.client(Dialect::Delta, "prod").await;
        first.locate(eds, &[locator("a", &[])]);
        assert_eq!(first.accept(eds).await.texts(), [text("a", "1")]);
        for round in 0..2 {
            let sent = control_plane.look(|state| state.sent.len());
            match round {
                0 => first.locate(eds, &[locator("a", &[])]),
                _ => {
                    first = near.client(Dialect::Delta, "prod").await;
                    first.locate(eds, &[locator("a", &[])]);
                }
            }
            assert_eq!(first.accept(eds).await.texts(), [text("a", "1")], "{round}");
            assert!(control_plane.look(|state| state.sent.len()) > sent, "{round}: it comes from the origin");
        }
        drop(first);
        forgotten(&[&near]).await;
        near.let_idle_time_pass();
        forgotten(&[&far]).await;
    }
}

#[tokio::test]
async fn p17_each_poll_has_it_fetched() {
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::start_with(control_plane.address(), Dialect::Sotw, Uses::Nodes, |settings| {
        settings.services = Services::Rest(weir_config::Polling::default());
    })
    .await;
    control_plane.set(uncacheable("cds", "a", "1"));
    let mut polls = 0;
    for _ in 0..2 {
        let node = node("n").metadata("env", "prod");
        let mut client = RestClient::connect(weir.proxy.address(), &node).await;
        assert_eq!(client.changed("clusters", &["a"], &[]).await.texts(), [text("a", "1")]);
        let so_far = control_plane.look(|state| state.sent.len());
        assert!(so_far > polls, "the control plane was polled for it");
        polls = so_far;
        forgotten(&[&weir]).await;
    }
}
